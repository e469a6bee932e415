/**
 * `npm run packages`: builds everything that a release publishes into `dist/packages`: archives for npm and PyPI, and `server.json` for the MCP
 * registry. CONTRIBUTING.md says how they are published.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packClient, packCommand } from './packages/npm.ts';
import { packPython } from './packages/python.ts';
import { serverJson } from './packages/release.ts';
import { checkoutDir, createTemporaryContext } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';

await runScript(async (signal) => {
  const folder = join(checkoutDir, 'dist/packages');
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['npm', 'pypi']) mkdirSync(join(folder, name), { recursive: true });
  const { context, dispose } = createTemporaryContext(signal);
  try {
    await Promise.all([packCommand(join(folder, 'npm')), packClient(join(folder, 'npm')), packPython(join(folder, 'pypi'), context)]);
  } finally {
    dispose();
  }
  writeFileSync(join(folder, 'server.json'), `${JSON.stringify(serverJson(), null, 2)}\n`);
  for (const name of readdirSync(folder, { recursive: true }).sort()) console.log(join('dist/packages', String(name)));
  return 0;
});
