import { readClientContract } from './contract.ts';
import { pythonContract } from './python.ts';
import { typescriptContract } from './typescript.ts';

/** The generated files of the clients, by path from the root of the checkout. */
export function clientFiles(): ReadonlyMap<string, string> {
  const contract = readClientContract();
  return new Map([
    ['clients/typescript/src/contract.ts', typescriptContract(contract)],
    ['clients/python/src/qstamp/contract.py', pythonContract(contract)],
  ]);
}
