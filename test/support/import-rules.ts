import type { ImportGraph } from './import-graph.ts';

const rooms = ['api', 'workers', 'cli', 'tsa'];
const isIn = (path: string, ...places: readonly string[]) => places.some((place) => path === place || path.startsWith(`${place}/`));
const roomOf = (path: string) => rooms.find((room) => isIn(path, `src/${room}`)) ?? (isIn(path, 'src/shared') ? 'shared' : undefined);
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

const pureRooms = ['src/shared/domain', 'src/shared/rfc3161'];
/** What a pure room may import: no I/O, no clock, no environment. */
const pureImports = [...pureRooms, 'src/shared/domain/service-error.ts', 'node:crypto', 'node:buffer'];
/** What the command may import: the contract and pure rooms. */
const commandImports = ['src/cli', 'src/shared/contract', ...pureRooms];
const mains = ['src/api/main.ts', 'src/workers/main.ts'];

/** Rule 3: packages that have one home. */
const homes: readonly { readonly matches: (name: string) => boolean; readonly places: readonly string[] }[] = [
  { matches: (name) => name === 'fastify' || name.startsWith('@fastify/'), places: ['src/api'] },
  {
    matches: (name) => name === 'bullmq' || name === 'ioredis',
    places: ['src/shared/queue', 'src/api/http/rate-limits.ts', ...mains],
  },
  { matches: (name) => name === 'mongodb', places: ['src/shared/store'] },
  { matches: (name) => name === 'nodemailer', places: ['src/shared/mail'] },
];

function checkImport(path: string, target: string): string[] {
  const found: string[] = [];
  const report = (rule: string) => found.push(`${path} imports ${target}: ${rule}`);
  const from = roomOf(path);
  const to = roomOf(target);
  if (from === undefined) report('rule 1, every source file is in a room');
  if (to !== undefined && to !== from && to !== 'shared') report(`rule 1, ${from} may import only itself and shared`);
  if (/^(test|scripts|bench)\//.test(target)) report('rule 1, the service imports only what is in src');
  if (isIn(path, ...pureRooms) && !isIn(target, ...pureImports)) report('rule 2, this room is pure');
  if (from === 'cli' && to !== undefined && !isIn(target, ...commandImports))
    report('the command imports the contract and pure rooms only');
  if (isIn(path, 'src/api/services') && packageOf(target) === 'fastify') report('rule 4, a service sees no request or reply');
  if (to === undefined) {
    for (const { matches, places } of homes) {
      if (matches(packageOf(target)) && !isIn(path, ...places)) report(`rule 3, only in ${places.join(', ')}`);
    }
  }
  return found;
}

/** The cycles of the graph, each as the path around it. */
function findCycles(graph: ImportGraph): string[] {
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

/** What breaks the import rules of the architecture (rules 1 to 4), one line each. */
export function checkImports(graph: ImportGraph): string[] {
  const broken = [...graph].flatMap(([path, targets]) => targets.flatMap((target) => checkImport(path, target)));
  const missing = [...graph].flatMap(([path, targets]) =>
    targets.filter((target) => isIn(target, 'src') && !graph.has(target)).map((target) => `${path} imports ${target}: no such file`),
  );
  return [...broken, ...missing, ...findCycles(graph)];
}

/** Rule 3 for the environment: only entry points read it, and hand on what they read. */
export function readsEnvironment(path: string, source: string): boolean {
  const entry = /^src\/[a-z]+\/main\.ts$/.test(path);
  return !entry && /\bprocess\s*\.\s*env\b|\bprocess\s*\[|import\s*(type\s*)?\{[^}]*\benv\b[^}]*\}\s*from\s*'(node:)?process'/.test(source);
}

/** Names: kebab-case, and none that says nothing. */
export function checkName(path: string): string | undefined {
  const parts = path.split('/');
  const file = parts.at(-1) ?? '';
  const folders = parts.slice(0, -1);
  const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/;
  const stem = file.replace(/(\.test|\.d)?\.(ts|mts|js|mjs)$/, '');
  if (![...folders, stem].every((part) => kebab.test(part))) return `${path}: names are kebab-case`;
  if ([...folders, stem].some((part) => /\b(utils?|helpers?|common|managers?)\b/.test(part))) return `${path}: the name says nothing`;
  return undefined;
}
