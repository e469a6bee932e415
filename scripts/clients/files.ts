import { readClientContract } from './contract.ts';
import { pythonContract } from './python.ts';
import { reasonsPage } from './reasons.ts';
import { typescriptContract } from './typescript.ts';

/** The files that are generated from the contract, by path from the root of the checkout. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const contract = readClientContract();
  return new Map([
    ['clients/typescript/src/contract.ts', typescriptContract(contract)],
    ['clients/python/src/qstamp/contract.py', pythonContract(contract)],
    ['docs/reference/reasons.md', reasonsPage()],
  ]);
}
