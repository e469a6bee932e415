import { type ImportGraph, withoutComments } from './import-graph.ts';

/** The rooms of `src/`: they do not import each other, but all may import `shared` (rule 1). */
const rooms = ['api', 'workers', 'operator', 'cli', 'tsa'];

/** The folders of the API and of the workers, one for each capability, with the ones that each may import, only by their `index.ts` (rule 1). */
const capabilities: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  api: {
    http: [],
    stamps: ['http'],
    verification: ['http'],
    workflows: ['http', 'stamps', 'verification'],
    evidence: ['http', 'stamps', 'verification', 'workflows'],
    'tsa-door': ['http', 'stamps', 'verification'],
    mcp: ['http', 'stamps', 'verification', 'workflows'],
    status: ['http', 'stamps', 'verification'],
    docs: ['http'],
  },
  workers: {
    providers: [],
    mail: [],
    webhooks: [],
    stamping: ['providers', 'webhooks'],
    workflows: ['providers', 'stamping', 'webhooks', 'mail'],
    renewal: ['providers'],
    housekeeping: ['stamping'],
    'trusted-lists': [],
  },
};

/** The only capability without an `index.ts`: all of it is public. */
const openCapability = 'http';

/**
 * The layers of `src/shared`, each with the ones that it may import: only layers above it (rule 1). Shared types of store and queue are in
 * `domain`, not in either of them.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  proof: [],
  rfc3161: ['proof'],
  domain: ['proof', 'rfc3161'],
  contract: ['proof', 'domain'],
  archive: ['proof', 'rfc3161', 'domain', 'contract'],
  runtime: ['domain', 'contract'],
  trust: ['rfc3161', 'domain', 'contract', 'runtime'],
  redis: ['domain', 'runtime', 'trust'],
  queue: ['domain', 'contract', 'runtime', 'trust', 'redis'],
  store: ['proof', 'domain', 'contract', 'runtime', 'trust'],
  views: ['domain', 'contract', 'runtime'],
};

/** The layers inside the RFC 3161 library, lowest first, and its only entry. */
const libraryLayers = ['refusal', 'asn1', 'x509', 'cms', 'tsp', 'ers', 'issue'];
const libraryDoor = 'src/shared/rfc3161/index.ts';
/** The library's external imports: hash trees of evidence records, which browsers compute too. */
const libraryMayUse = ['src/shared/proof/hash-tree.js'];

/** Work that operator commands share with workers: they ask TSAs, renew evidence and refresh trusted lists (rule 1). */
const operatorMayUse = ['src/workers/providers/index.ts', 'src/workers/renewal/index.ts', 'src/workers/trusted-lists/index.ts'];

/** Rule 2: pure layers, each with the packages that it may import. Browsers run `proof` unchanged. */
const pureLayers: Readonly<Record<string, readonly string[]>> = { proof: [], rfc3161: ['node:crypto'], domain: ['node:crypto'] };

/** The command may import pure layers and the interface. */
const commandLayers = ['proof', 'rfc3161', 'domain', 'contract', 'archive'];

/** The command also reads trusted lists, in the thread that workers use, and judges by them with the rule of the service. */
const commandMayUse = ['src/shared/trust/judge.ts', 'src/shared/trust/lists/index.ts'];

/** The only HTTP code of the command (rule 1). */
const clientDoor = 'clients/typescript/src/index.ts';

/** Rule 3: packages that only one place may import. */
const homes: readonly { readonly matches: RegExp; readonly places: readonly string[] }[] = [
  { matches: /^(fastify|@fastify\/.*)$/, places: ['src/api'] },
  { matches: /^bullmq$/, places: ['src/shared/queue'] },
  { matches: /^ioredis$/, places: ['src/shared/redis', 'src/shared/queue', 'src/api/http/rate-limits.ts'] },
  { matches: /^(mongodb|bson)$/, places: ['src/shared/store'] },
  { matches: /^nodemailer$/, places: ['src/workers/mail'] },
  { matches: /^libxml2-wasm$/, places: ['src/shared/trust/lists'] },
  { matches: /^(@commander-js\/extra-typings|commander)$/, places: ['src/cli'] },
  // HTTP clients: the workers ask providers. The TSA and the metrics only serve.
  { matches: /^(node:https|undici)$/, places: ['src/workers'] },
  { matches: /^node:http2?$/, places: ['src/workers', 'src/tsa', 'src/shared/runtime/metrics.ts', 'src/api'] },
];

/** At least two processes import each module of `shared` (rule 3), with these exceptions, each for a reason. */
const sharedForOne: Readonly<Record<string, string>> = {
  'src/shared/contract': 'the interface is described in one place, whoever reads a part of it (rule 7)',
  'src/shared/rfc3161': 'a library in itself',
  'src/shared/proof': 'browsers run it too, and their scripts are in no room',
  'src/shared/redis': 'only here and in the queue is ioredis known',
  'src/shared/queue': 'both ends of a queue stand beside the contract of what travels in it; only here is bullmq known',
  'src/shared/store': 'a collection has one file, with what each process does to it; only here is mongodb known',
  'src/shared/trust/judge.ts': 'beside the anchors that it judges by',
  'src/shared/trust/lists/list-worker.ts': 'a thread that list-thread.ts starts, so nothing imports it',
  'src/shared/trust/lists/read-list.ts': 'runs in that thread',
  'src/shared/trust/lists/signed-xml.ts': 'runs in that thread',
};

const isIn = (path: string, ...places: readonly string[]) => places.some((place) => path === place || path.startsWith(`${place}/`));
const roomOf = (path: string) => rooms.find((room) => isIn(path, `src/${room}`)) ?? (isIn(path, 'src/shared') ? 'shared' : undefined);
const layerOf = (path: string) => /^src\/shared\/([^/]+)\/./.exec(path)?.[1];
const libraryLayerOf = (path: string) => /^src\/shared\/rfc3161\/([^/]+)\/./.exec(path)?.[1];
/** The room and the capability of a file, if any. */
function capabilityOf(path: string): { readonly room: string; readonly name: string; readonly isDoor: boolean } | undefined {
  const [, room = '', name = '', file = ''] = /^src\/([^/]+)\/([^/]+)\/(.+)$/.exec(path) ?? [];
  return room in capabilities ? { room, name, isDoor: file === 'index.ts' || name === openCapability } : undefined;
}
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

type Fault = (from: string, target: string) => string | undefined;

/** One function for each rule: the fault of an import, or undefined. */
const law: readonly Fault[] = [
  (from) => (roomOf(from) === undefined ? 'rule 1, every source file is in a room' : undefined),
  (_, target) => (/^(test|scripts|bench)\//.test(target) ? 'rule 1, the service imports only what is in src' : undefined),
  (from, target) =>
    isIn(target, 'clients') && !(roomOf(from) === 'cli' && target === clientDoor)
      ? 'rule 1, only the command imports a client, by its index.ts'
      : undefined,
  (from, target) => {
    const to = roomOf(target);
    if (to === undefined || to === roomOf(from) || to === 'shared') return undefined;
    if (roomOf(from) === 'operator' && isIn(target, ...operatorMayUse)) return undefined;
    return `rule 1, ${roomOf(from)} may import only itself and shared`;
  },
  (from, target) => {
    const [layer, other] = [layerOf(from), layerOf(target)];
    if ([from, target].some((path) => roomOf(path) === 'shared' && !((layerOf(path) ?? '') in layers)))
      return 'rule 1, a module of shared is in one of its layers';
    if (layer === undefined || other === undefined || layer === other) return undefined;
    return layers[layer]?.includes(other) ? undefined : `rule 1, ${layer} may import only ${layers[layer]?.join(', ') || 'itself'}`;
  },
  (from, target) => {
    const [layer, other] = [libraryLayerOf(from), libraryLayerOf(target)];
    if (layer === undefined || other === undefined) return undefined;
    return libraryLayers.indexOf(other) <= libraryLayers.indexOf(layer) ? undefined : 'rule 1, the library imports downward only';
  },
  (from, target) =>
    libraryLayerOf(target) === 'issue' && libraryLayerOf(from) !== 'issue' && from !== libraryDoor
      ? 'rule 1, what verifies knows nothing of issuing'
      : undefined,
  (from, target) =>
    layerOf(target) === 'rfc3161' && layerOf(from) !== 'rfc3161' && target !== libraryDoor ? 'rule 1, by the one door' : undefined,
  (from, target) =>
    layerOf(from) === 'rfc3161' && layerOf(target) === 'proof' && !libraryMayUse.includes(target)
      ? 'rule 1, the library takes only hash trees from outside'
      : undefined,
  (from, target) => {
    const packages = pureLayers[layerOf(from) ?? ''];
    return packages && roomOf(target) === undefined && !packages.includes(target) ? 'rule 2, this layer is pure' : undefined;
  },
  (from, target) => {
    if (roomOf(target) !== undefined) return undefined;
    const home = homes.find(({ matches }) => matches.test(packageOf(target)));
    return home && !isIn(from, ...home.places) ? `rule 3, only in ${home.places.join(', ')}` : undefined;
  },
  (from, target) => {
    const layer = layerOf(target);
    return roomOf(from) === 'cli' && layer !== undefined && !commandLayers.includes(layer) && !commandMayUse.includes(target)
      ? 'rule 3, the command needs no server of ours'
      : undefined;
  },
  (from, target) => {
    const [own, other] = [capabilityOf(from), capabilityOf(target)];
    const folders = capabilities[other?.room ?? ''];
    if (!other || !folders || own?.room !== other.room || own.name === other.name) return undefined;
    const allowed = folders[own.name] ?? [];
    return allowed.includes(other.name) ? undefined : `rule 1, ${own.name} may import only ${allowed.join(', ') || 'itself'}`;
  },
  (from, target) => {
    const [own, other] = [capabilityOf(from), capabilityOf(target)];
    return other && !other.isDoor && (own?.room !== other.room || own.name !== other.name)
      ? 'rule 1, a capability is entered by its index.ts'
      : undefined;
  },
  (from) => {
    const capability = capabilityOf(from);
    return capability && !(capability.name in capabilities[capability.room]!) ? 'rule 1, every folder is a capability' : undefined;
  },
  (from, target) =>
    isIn(from, 'src/api/mcp') && isIn(target, 'src/shared/store', 'src/shared/queue', 'src/shared/trust')
      ? 'rule 4, a tool is a schema and a call'
      : undefined,
];

/** The cycles of the graph, each as the path around it. */
export function findCycles(graph: ImportGraph): string[] {
  const done = new Set<string>();
  const trail: string[] = [];
  const cycles: string[] = [];
  const visit = (path: string) => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      cycles.push(`cycle: ${[...trail.slice(start), path].join(' → ')}`);
      return;
    }
    if (done.has(path)) return;
    trail.push(path);
    for (const target of graph.get(path) ?? []) if (graph.has(target)) visit(target);
    trail.pop();
    done.add(path);
  };
  for (const path of graph.keys()) visit(path);
  return cycles;
}

/** All direct and indirect imports of the files of a room. */
function reachedFrom(graph: ImportGraph, room: string): ReadonlySet<string> {
  const reached = new Set([...graph.keys()].filter((path) => isIn(path, `src/${room}`)));
  for (const path of reached) for (const target of graph.get(path) ?? []) if (graph.has(target)) reached.add(target);
  return reached;
}

/** Modules of `shared` that fewer than two processes import (rule 3). */
function findLonely(graph: ImportGraph): string[] {
  const reached = rooms.map((room) => reachedFrom(graph, room));
  return [...graph.keys()]
    .filter((path) => isIn(path, 'src/shared') && !isIn(path, ...Object.keys(sharedForOne)))
    .filter((path) => reached.filter((ofRoom) => ofRoom.has(path)).length < 2)
    .map((path) => `${path}: rule 3, what is not imported by two processes does not live in shared`);
}

/** Files of the API that import both request handling and what services use (rule 4). Only entry files combine them. */
function findMixed(graph: ImportGraph): string[] {
  const isOfServices = (target: string) => isIn(target, 'src/shared/store', 'src/shared/queue', 'src/shared/trust');
  return [...graph]
    .filter(([path, targets]) => capabilityOf(path)?.room === 'api' && !path.endsWith('/index.ts') && targets.includes('fastify'))
    .filter(([, targets]) => targets.some(isOfServices))
    .map(([path]) => `${path}: rule 4, what sees a request does no business, and a service sees none`);
}

/** Violations of the architecture rules visible in imports (rules 1 to 4), one line each. */
export function checkImports(graph: ImportGraph): string[] {
  const imports = [...graph].flatMap(([from, targets]) => targets.map((target) => ({ from, target })));
  const broken = imports.flatMap(({ from, target }) =>
    law.flatMap((fault) => {
      const found = fault(from, target);
      return found === undefined ? [] : [`${from} imports ${target}: ${found}`];
    }),
  );
  const missing = imports
    .filter(({ target }) => isIn(target, 'src') && !graph.has(target))
    .map(({ from, target }) => `${from} imports ${target}: no such file`);
  return [...broken, ...missing, ...findCycles(graph), ...findLonely(graph), ...findMixed(graph)];
}

/** Violations that need no import, and where they are allowed. */
const lines: readonly { readonly rule: string; readonly matches: RegExp; readonly isAllowedIn: (path: string) => boolean }[] = [
  {
    rule: 'rule 3, only entry points read the environment, and hand on what they read',
    matches: /\bprocess\s*\.\s*env\b|\bprocess\s*\[|import\s*(type\s*)?\{[^}]*\benv\b[^}]*\}\s*from\s*'(node:)?process'/,
    isAllowedIn: (path) => /^src\/[a-z]+\/main\.ts$/.test(path),
  },
  {
    rule: 'rule 3, only workers ask somebody over HTTP; the command has a client for it',
    matches: /\bfetch\s*\(/,
    isAllowedIn: (path) => isIn(path, 'src/workers', 'src/operator/check-settings.ts', 'src/cli/client.ts'),
  },
  {
    rule: 'rule 7, a field of the interface is described in shared/contract',
    matches: /\bz\s*\.\s*(?!toJSONSchema\b)[a-z]\w*\s*\(/,
    isAllowedIn: (path) => !isIn(path, 'src/api'),
  },
  {
    rule: 'rule 8, only workers open a file with a secret of a TSA',
    matches: /\b(password|passphrase|token|key)(File|_file)\b/,
    isAllowedIn: (path) => isIn(path, 'src/workers', 'src/shared/trust/providers-file.ts', 'src/shared/trust/key-entry.ts'),
  },
];

/** Violations of rules 3, 7 and 8 in the text of a module, one line each. */
export function checkSource(path: string, source: string): string[] {
  const code = withoutComments(source);
  return lines.filter(({ matches, isAllowedIn }) => !isAllowedIn(path) && matches.test(code)).map(({ rule }) => `${path}: ${rule}`);
}
