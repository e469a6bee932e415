import { createHash } from 'node:crypto';
import { type Imprint, imprintAlgorithms } from '../../shared/domain/stamp.ts';
import type { ByteSink } from './byte-collector.ts';

const nothing = Buffer.alloc(0);

/** Hashes what is added by every algorithm of imprints, and keeps nothing of it. */
export function createDigestSink(): ByteSink<readonly Imprint[]> {
  const hashes = imprintAlgorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  return {
    add: (bytes) => {
      for (const { hash } of hashes) hash.update(bytes);
      return { missingBytes: 0, rest: nothing };
    },
    grow: () => undefined,
    finish: () => hashes.map(({ algorithm, hash }) => ({ algorithm, digest: hash.digest('hex') })),
    clear: () => undefined,
  };
}
