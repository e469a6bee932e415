import { createHash } from 'node:crypto';
import { type Imprint, imprintAlgorithms } from '../../shared/domain/stamp.ts';

/** Hashes the added bytes in several algorithms at once, by default in all imprint algorithms. */
export function createImprintHash(algorithms: readonly Imprint['algorithm'][] = imprintAlgorithms) {
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  return {
    add: (bytes: Uint8Array): void => {
      for (const { hash } of hashes) hash.update(bytes);
    },
    imprints: (): readonly Imprint[] => hashes.map(({ algorithm, hash }) => ({ algorithm, digest: hash.digest('hex') })),
  };
}
