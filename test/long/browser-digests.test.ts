import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { viewsFolder } from '../../src/shared/views/engine.ts';

interface BrowserScript {
  createSha256(): { update(bytes: Uint8Array): void; digest(): string };
}

const { createSha256 }: BrowserScript = await import(pathToFileURL(`${viewsFolder}/assets/sha256.js`).href);

test('SHA-256 of the pages’ script counts more than 2^32 bits', () => {
  const piece = Buffer.alloc(2 ** 24, 7);
  const sha256 = createSha256();
  const expected = createHash('sha256');
  for (let i = 0; i < 33; i += 1) {
    sha256.update(piece);
    expected.update(piece);
  }
  expect(sha256.digest()).toBe(expected.digest('hex'));
});
