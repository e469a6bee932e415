import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from '../stack/context.ts';
import { readClientContract } from './contract.ts';
import { pythonContract } from './python.ts';
import { typescriptContract } from './typescript.ts';

/** What the clients have from the service's own sources: each file by its path from the root of the checkout. */
export function clientFiles(): ReadonlyMap<string, string> {
  const contract = readClientContract();
  const hashing = readFileSync(join(checkoutDir, 'views/assets/sha256.js'), 'utf8');
  return new Map([
    ['clients/typescript/src/contract.ts', typescriptContract(contract)],
    [
      'clients/typescript/src/sha256.js',
      hashing.replace('// @ts-check\n', '// @ts-nocheck\n// A copy that `npm run clients` makes of views/assets/sha256.js.\n'),
    ],
    ['clients/python/src/qstamp/contract.py', pythonContract(contract)],
  ]);
}
