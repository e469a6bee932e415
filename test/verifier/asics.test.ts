import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { inflate as nodeInflate } from '../../src/cli/container.ts';
import { openContainer } from '../../src/shared/proof/asics.js';
import type { Inflate } from '../../src/shared/proof/zip.js';
import { blobSource, ZipFault } from '../../src/shared/proof/zip-source.js';
import { loadScript } from '../support/browser-script.ts';
import { badContainers, file, type Member, mimetype, zipOf } from '../support/containers.ts';

const { inflate: browserInflate }: { inflate: Inflate } = await loadScript('inflate.js');
const token: Member = { name: 'META-INF/timestamp.tst', content: 'a time-stamp token' };
const open = (container: Uint8Array, inflate: Inflate) => openContainer(blobSource(new Blob([new Uint8Array(container)])), inflate);

/** The decompressors of command and page. */
describe.each([
  ['node:zlib', nodeInflate],
  ['DecompressionStream', browserInflate],
])('ASiC-S containers (EN 319 162-1 §4.3), unpacked by %s', (_name, inflate) => {
  const ways = [{ compress: true }, { compress: false }, { compress: false, isStreamed: true }, { compress: true, isStreamed: true }];
  test.each(ways)('reads token and file, and lists entries that it does not read, %o', async (how) => {
    const content = Buffer.from('0123456789'.repeat(100_000));
    const others = ['META-INF/manifest.xml', 'META-INF/ASiCArchiveManifest.xml', 'META-INF/timestamp002.tst'];
    const container = await open(
      await zipOf([
        mimetype,
        ...others.map((name) => ({ name, content: '<x/>' })),
        { ...token, ...how },
        { name: 'Größe 1.txt', content, ...how },
      ]),
      inflate,
    );
    expect(container).toMatchObject({ name: 'Größe 1.txt', size: content.length, proofName: token.name, unread: others.slice(1) });
    expect(Buffer.from(container.proof).toString()).toBe(token.content);
    const hash = createHash('sha256');
    for await (const piece of container.readFile()) hash.update(piece);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
  });

  test('accepts an evidence record if there is no token', async () => {
    const record = { name: 'META-INF/evidencerecord.ers', content: 'an evidence record' };
    expect(await open(await zipOf([mimetype, file, record]), inflate)).toMatchObject({ proofName: record.name, unread: [] });
    expect(await open(await zipOf([mimetype, file, record, token]), inflate)).toMatchObject({ unread: [record.name] });
  });

  test('opens the file inside only when it is read, because an unhandled fault would end the process', async () => {
    const [, , make] = badContainers(token).find(([what]) => what === 'a file larger than it says')!;
    let inflated = 0;
    const counting: typeof inflate = (...parts) => {
      inflated += 1;
      return inflate(...parts);
    };
    const content = (await open(await make(), counting)).readFile();
    expect(inflated).toBe(0);
    await expect(Array.fromAsync(content)).rejects.toThrow(ZipFault);
  });

  test.each(badContainers(token))('refuses %s in one sentence', async (_what, why, make) => {
    const unpacked = (async () => Array.fromAsync((await open(await make(), inflate)).readFile()))();
    await expect(unpacked).rejects.toThrow(ZipFault);
    await expect(unpacked).rejects.toMatchObject({ code: 'zip_malformed', message: expect.stringContaining(why) });
  });
});
