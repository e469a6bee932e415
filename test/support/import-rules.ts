import { type ImportGraph, withoutComments } from './import-graph.ts';

const contracts = ['shared/domain', 'shared/contract', 'shared/proof', 'shared/archive', 'shared/views', 'shared/rfc3161/index.ts'];
const servers = ['shared/runtime', 'shared/redis', 'shared/queue', 'shared/store', 'shared/trust'];
const ofShared = [...contracts, ...servers];
/** A capability of the API sees the tools of its process and `http`; others only by their index.ts. */
const ofApi = (...others: readonly string[]) => ['api/tools.ts', 'api/http', ...others.map((name) => `api/${name}/index.ts`), ...ofShared];
const ofWorkers = (...others: readonly string[]) => [
  ...['workers/tools.ts', 'workers/stamp-inserts.ts'],
  ...others.map((name) => `workers/${name}/index.ts`),
  ...ofShared,
];
const library = ['refusal', 'asn1', 'x509', 'cms', 'tsp', 'ers'].map((part) => `shared/rfc3161/${part}`);

/**
 * Rules 1, 2 and 4: the folders of `src`, and what each may import besides itself: folders, and files where only these may be seen. `proof`, `rfc3161`
 * and `domain` are pure: they import no package but `node:crypto`, and `proof` none. Browsers run it unchanged.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'shared/proof': [],
  'shared/rfc3161/refusal': [],
  'shared/rfc3161/asn1': library.slice(0, 1),
  'shared/rfc3161/x509': [...library.slice(0, 2), 'node:crypto'],
  'shared/rfc3161/cms': [...library.slice(0, 3), 'node:crypto'],
  'shared/rfc3161/tsp': library.slice(0, 4),
  'shared/rfc3161/ers': [...library.slice(0, 5), 'shared/proof/hash-tree.js'],
  'shared/rfc3161/issue': [...library, 'node:crypto'],
  'shared/rfc3161': [],
  'shared/domain': ['shared/proof', 'shared/rfc3161/index.ts', 'node:crypto'],
  'shared/contract': ['shared/proof', 'shared/domain', 'package.json', 'packages'],
  'shared/archive': ['shared/proof', 'shared/rfc3161/index.ts', 'shared/domain', 'shared/contract', 'packages'],
  'shared/runtime': ['shared/domain', 'shared/contract', 'packages'],
  'shared/trust': ['shared/rfc3161/index.ts', 'shared/domain', 'shared/contract', 'shared/runtime', 'packages'],
  'shared/redis': ['shared/domain', 'shared/runtime', 'shared/trust', 'packages'],
  'shared/queue': ['shared/domain', 'shared/contract', 'shared/runtime', 'shared/trust', 'shared/redis', 'packages'],
  'shared/store': ['shared/proof', 'shared/domain', 'shared/contract', 'shared/runtime', 'shared/trust', 'packages'],
  'shared/views': ['shared/domain', 'shared/contract', 'shared/runtime', 'packages'],
  api: [...ofApi('stamps', 'verification', 'workflows', 'evidence', 'tsa-door', 'mcp', 'status', 'docs'), 'packages'],
  'api/http': ['api/tools.ts', 'shared/domain', 'shared/contract', 'shared/runtime', 'shared/views', 'packages'],
  'api/stamps': [...ofApi(), 'packages'],
  'api/verification': [...ofApi(), 'packages'],
  'api/workflows': [...ofApi('stamps', 'verification'), 'packages'],
  'api/evidence': [...ofApi('stamps', 'verification', 'workflows'), 'packages'],
  'api/tsa-door': [...ofApi('stamps', 'verification'), 'packages'],
  // A tool is a schema and a call, so this folder sees no store, queue or judge.
  'api/mcp': ['api/http', ...['stamps', 'verification', 'workflows'].map((name) => `api/${name}/index.ts`), ...contracts, 'packages'],
  'api/status': [...ofApi('stamps', 'verification'), 'packages'],
  'api/docs': [...ofApi(), 'packages'],
  workers: [...ofWorkers('providers', 'mail', 'webhooks', 'stamping', 'workflows', 'renewal', 'housekeeping', 'trusted-lists'), 'packages'],
  'workers/providers': [...ofWorkers(), 'packages'],
  'workers/mail': [...ofWorkers(), 'packages'],
  'workers/webhooks': [...ofWorkers(), 'packages'],
  'workers/stamping': [...ofWorkers('providers', 'webhooks'), 'packages'],
  'workers/workflows': [...ofWorkers('providers', 'stamping', 'webhooks', 'mail'), 'packages'],
  'workers/renewal': [...ofWorkers('providers'), 'packages'],
  'workers/housekeeping': [...ofWorkers('stamping'), 'packages'],
  'workers/trusted-lists': [...ofWorkers(), 'packages'],
  // Work that operators share with workers: they ask TSAs, renew evidence and refresh trusted lists.
  operator: [...ofShared, ...['providers', 'renewal', 'trusted-lists'].map((name) => `workers/${name}/index.ts`), 'packages'],
  // The command needs no server. It judges as the service does, and reads trusted lists in the thread that workers use.
  cli: [...contracts, 'shared/trust/judge.ts', 'shared/trust/lists/index.ts', 'clients/typescript/src/index.ts', 'packages'],
  tsa: [...ofShared, 'packages'],
};

/** Rule 3: packages that only one place may import. */
const homes: readonly { readonly matches: RegExp; readonly places: readonly string[] }[] = [
  { matches: /^(fastify|@fastify\/.*)$/, places: ['src/api'] },
  { matches: /^bullmq$/, places: ['src/shared/queue'] },
  { matches: /^ioredis$/, places: ['src/shared/redis', 'src/shared/queue', 'src/api/http/rate-limits.ts'] },
  { matches: /^(mongodb|bson)$/, places: ['src/shared/store'] },
  { matches: /^nodemailer$/, places: ['src/workers/mail'] },
  { matches: /^libxml2-wasm$/, places: ['src/shared/trust/lists'] },
  { matches: /^(@commander-js\/extra-typings|commander)$/, places: ['src/cli', 'src/operator'] },
  { matches: /^@modelcontextprotocol\//, places: ['src/cli/mcp-server.ts'] },
  // HTTP clients: the workers ask providers. The TSA and the metrics only serve.
  { matches: /^undici$/, places: ['src/workers'] },
  { matches: /^node:https$/, places: [] },
  // The command only says where the proxies are.
  { matches: /^node:http2?$/, places: ['src/workers', 'src/tsa', 'src/shared/runtime/metrics.ts', 'src/api', 'src/cli/client.ts'] },
];

const isIn = (path: string, ...places: readonly string[]) => places.some((place) => path === place || path.startsWith(`${place}/`));
const isOurs = (target: string) => /^(src|clients|test|scripts|bench|views)\//.test(target) || target === 'package.json';
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The most special folder of the table that has a file. */
const folderOf = (path: string): string | undefined =>
  Object.keys(mayImport)
    .filter((folder) => isIn(path, `src/${folder}`))
    .sort((a, b) => b.length - a.length)[0];

function faultOf(from: string, target: string): string | undefined {
  const folder = folderOf(from);
  if (folder === undefined) return 'rule 1, every source file is in a folder of the table';
  if (from === 'src/shared/rfc3161/index.ts' && isIn(target, 'src/shared/rfc3161')) return undefined;
  const allowed = mayImport[folder]!;
  if (!isOurs(target)) {
    const home = homes.find(({ matches }) => matches.test(packageOf(target)));
    if (home && !isIn(from, ...home.places)) return `rule 3, only in ${home.places.join(', ')}`;
    return allowed.includes('packages') || allowed.includes(target) ? undefined : 'rule 2, this folder is pure';
  }
  // A folder may have folders inside that the table does not name.
  if (folderOf(target) === folder && isIn(target, `src/${folder}`)) return undefined;
  return isIn(target.replace(/^src\//, ''), ...allowed) ? undefined : `rule 1, ${folder} may import only ${allowed.join(', ') || 'itself'}`;
}

/** Files of the API that import both request handling and what services use (rule 4). Only entry files combine them. */
function findMixed(graph: ImportGraph): string[] {
  const isOfServices = (target: string) => isIn(target, 'src/shared/store', 'src/shared/queue', 'src/shared/trust');
  return [...graph]
    .filter(([path, targets]) => /^src\/api\/.+\//.test(path) && !path.endsWith('/index.ts') && targets.includes('fastify'))
    .filter(([, targets]) => targets.some(isOfServices))
    .map(([path]) => `${path}: rule 4, what sees a request does no business, and a service sees none`);
}

/** Violations of the architecture rules visible in imports (rules 1 to 4), one line each. Biome finds cycles. */
export function checkImports(graph: ImportGraph): string[] {
  const broken = [...graph].flatMap(([from, targets]) =>
    targets.flatMap((target) => {
      const fault = faultOf(from, target);
      return fault === undefined ? [] : [`${from} imports ${target}: ${fault}`];
    }),
  );
  return [...broken, ...findMixed(graph)];
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
    isAllowedIn: (path) => isIn(path, 'src/workers', 'src/shared/trust/providers-file.ts'),
  },
];

/** Violations of rules 3, 7 and 8 in the text of a module, one line each. */
export function checkSource(path: string, source: string): string[] {
  const code = withoutComments(source);
  return lines.filter(({ matches, isAllowedIn }) => !isAllowedIn(path) && matches.test(code)).map(({ rule }) => `${path}: ${rule}`);
}
