/**
 * `npm run clients`: writes the generated parts of `clients` and docs/reference/reasons.md from the contract of the service, and the synchronous half
 * of the Python client if its asynchronous half has changed. A test checks that all generated files are up to date.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './clients/files.ts';
import { staleModules, writeSyncHalf } from './clients/python-halves.ts';
import { checkoutDir, createTemporaryContext } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';

await runScript(async (signal) => {
  for (const [path, content] of generatedFiles()) writeFileSync(join(checkoutDir, path), content);
  if (staleModules().length === 0) return 0;
  const { context, dispose } = createTemporaryContext(signal);
  try {
    await writeSyncHalf(context);
  } finally {
    dispose();
  }
  return 0;
});
