import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { viewsFolder } from '../../../src/shared/views/engine.ts';

interface BrowserScript {
  createSha256(): { update(bytes: Uint8Array): void; digest(): string };
}

const { createSha256 }: BrowserScript = await import(pathToFileURL(`${viewsFolder}/assets/qstamp.js`).href);

const ours = (...pieces: Uint8Array[]): string => {
  const sha256 = createSha256();
  for (const piece of pieces) sha256.update(piece);
  return sha256.digest();
};
const theirs = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('SHA-256 of the pages’ script', () => {
  it('answers the examples of FIPS 180-4', () => {
    expect(ours()).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(ours(Buffer.from('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(ours(Buffer.from('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq'))).toBe(
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    );
    expect(ours(Buffer.alloc(1_000_000, 'a'))).toBe('cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0');
  });

  it('agrees with node:crypto at every length around the padding', () => {
    for (let length = 0; length <= 200; length += 1) {
      const bytes = Buffer.alloc(length, 0xa5);
      expect(ours(bytes)).toBe(theirs(bytes));
    }
  });

  it('does not care how the bytes are cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), (pieces) => {
        expect(ours(...pieces)).toBe(theirs(Buffer.concat(pieces)));
      }),
    );
  });

  it('counts more than 2^32 bits', () => {
    const piece = Buffer.alloc(2 ** 24, 7);
    const sha256 = createSha256();
    const expected = createHash('sha256');
    for (let i = 0; i < 33; i += 1) {
      sha256.update(piece);
      expected.update(piece);
    }
    expect(sha256.digest()).toBe(expected.digest('hex'));
  }, 60_000);
});
