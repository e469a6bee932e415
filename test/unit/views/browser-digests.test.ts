import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { viewsFolder } from '../../../src/shared/views/engine.ts';

interface Hasher {
  update(bytes: Uint8Array): void;
  digest(): string;
}

// The scripts are typed for a browser, so they are not part of this program.
const load = (file: string) => import(pathToFileURL(`${viewsFolder}/assets/${file}`).href);
const { createSha256 }: { createSha256(): Hasher } = await load('sha256.js');
const { createSha512 }: { createSha512(bits: 384 | 512): Hasher } = await load('sha512.js');

const hashers = {
  sha256: createSha256,
  sha384: () => createSha512(384),
  sha512: () => createSha512(512),
};
type Algorithm = keyof typeof hashers;
const algorithms = Object.keys(hashers) as Algorithm[];

const ours = (algorithm: Algorithm, ...pieces: Uint8Array[]): string => {
  const hasher = hashers[algorithm]();
  for (const piece of pieces) hasher.update(piece);
  return hasher.digest();
};
const theirs = (algorithm: Algorithm, bytes: Uint8Array): string => createHash(algorithm).update(bytes).digest('hex');

/** Examples of FIPS 180-4: the digests of `abc`. */
const examples: Record<Algorithm, string> = {
  sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  sha384: 'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
  sha512:
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
};

describe.each(algorithms)('%s of the pages’ scripts', (algorithm) => {
  it('answers the example of FIPS 180-4', () => expect(ours(algorithm, Buffer.from('abc'))).toBe(examples[algorithm]));

  it('agrees with node:crypto at every length around the padding', () => {
    for (let length = 0; length <= 270; length += 1) {
      const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 37 + length) % 256));
      expect(ours(algorithm, bytes)).toBe(theirs(algorithm, bytes));
    }
  });

  it('does not care how the bytes are cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), (pieces) => {
        expect(ours(algorithm, ...pieces)).toBe(theirs(algorithm, Buffer.concat(pieces)));
      }),
    );
  });
});
