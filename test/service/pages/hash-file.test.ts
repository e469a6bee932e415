import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadScript } from '../../support/browser-script.ts';

type HashFile = (
  file: { readonly size: number; read(): AsyncIterable<Uint8Array> },
  algorithm: string,
  onProgress: (percent: number) => void,
) => Promise<string>;
const { hashFile }: { hashFile: HashFile } = await loadScript('hash-file.js');

test.each(['sha256', 'sha384', 'sha512'])('pages hash a file like node:crypto, in pieces of any size: %s', async (algorithm) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 }), async (pieces) => {
      const content = Buffer.concat(pieces);
      const file = { size: content.length, read: () => ReadableStream.from(pieces) };
      expect(await hashFile(file, algorithm, () => undefined)).toBe(createHash(algorithm).update(content).digest('hex'));
    }),
  );
});
