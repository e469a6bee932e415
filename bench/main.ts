/** `npm run bench`: measures the cost of a stamp compared with other ways. `npm run bench -- <name>` runs another measurement, for example `size`. */
const measurements: Readonly<Record<string, () => Promise<unknown>>> = {
  stamping: () => import('./stamping.ts'),
  replicas: () => import('./replicas.ts'),
  batch: () => import('./batch.ts'),
  size: () => import('./size.ts'),
  attacks: () => import('./attacks.ts'),
  door: () => import('./door.ts'),
  tokens: () => import('./tokens.ts'),
  tsa: () => import('./tsa.ts'),
  before: () => import('./before.ts'),
};

const name = process.argv[2] ?? 'stamping';
const measure = measurements[name];
if (measure) {
  await measure();
} else {
  console.error(`there is no measurement "${name}", only ${Object.keys(measurements).join(', ')}`);
  process.exitCode = 2;
}
