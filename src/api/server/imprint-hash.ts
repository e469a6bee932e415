import { createHash } from 'node:crypto';
import { type Imprint, imprintAlgorithms } from '../../shared/domain/stamp.ts';

/** Hashes what is added by several algorithms at once; by all of them unless others are named. */
export function createImprintHash(algorithms: readonly Imprint['algorithm'][] = imprintAlgorithms) {
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  return {
    add: (bytes: Uint8Array): void => {
      for (const { hash } of hashes) hash.update(bytes);
    },
    imprints: (): readonly Imprint[] => hashes.map(({ algorithm, hash }) => ({ algorithm, digest: hash.digest('hex') })),
  };
}
