import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadScript } from '../../support/browser-script.ts';
import { badContainers, file, type Member, mimetype, zipOf } from '../../support/containers.ts';

interface Content {
  readonly name: string;
  readonly size: number;
  stream(): Promise<ReadableStream<Uint8Array>>;
}
type Read = { readonly problem: string } | { readonly token: string; readonly container?: { content: Content; unread: string[] } };

const { readStampFile }: { readStampFile(file: File): Promise<Read> } = await loadScript('stamp-file.js');

const token: Member = { name: 'META-INF/timestamp.tst', content: 'a time-stamp token' };
const read = (container: Uint8Array, name = 'x.asics') => readStampFile(new File([new Uint8Array(container)], name));

/** The file inside, read to its end, as the page hashes it. */
async function unpack(found: Read): Promise<Buffer> {
  if ('problem' in found || !found.container) throw new Error(JSON.stringify(found));
  const pieces: Uint8Array[] = [];
  for await (const piece of await found.container.content.stream()) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('/verify reads ASiC-S containers (EN 319 162-1 §4.3) in the browser', () => {
  const ways = [{ compress: true }, { compress: false }, { compress: false, isStreamed: true }];
  test.each(ways)('token, file and what is not read, %o', async (how) => {
    const content = Buffer.from('0123456789'.repeat(100_000));
    const others = ['META-INF/manifest.xml', 'META-INF/ASiCArchiveManifest.xml', 'META-INF/timestamp002.tst'];
    const container = await zipOf([
      mimetype,
      ...others.map((name) => ({ name, content: '<x/>' })),
      { ...token, ...how },
      { name: 'Größe 1.txt', content, ...how },
    ]);
    for (const name of ['x.asics', 'X.SCS']) {
      const found = await read(container, name);
      expect(found).toMatchObject({
        token: Buffer.from(token.content).toString('base64'),
        container: { content: { name: 'Größe 1.txt', size: content.length }, unread: others.slice(1) },
      });
      expect(
        createHash('sha256')
          .update(await unpack(found))
          .digest(),
      ).toEqual(createHash('sha256').update(content).digest());
    }
  });

  test('an evidence record is taken where there is no token', async () => {
    const record = { name: 'META-INF/evidencerecord.ers', content: 'an evidence record' };
    expect(await read(await zipOf([mimetype, file, record]))).toMatchObject({ token: Buffer.from(record.content).toString('base64') });
    expect(await read(await zipOf([mimetype, file, record, token]))).toMatchObject({ container: { unread: [record.name] } });
  });

  test.each(['x.asice', 'x.sce'])('%s: says what it is, and who reads it', async (name) => {
    expect(await read(Buffer.from('x'), name)).toEqual({
      problem: expect.stringMatching(/^is an ASiC-E container.* DSS and digidoc4j do\.$/),
    });
  });

  test.each(badContainers(token))('refuses %s in one sentence, as the command does', async (_what, why, make) => {
    const refused = await read(await make());
    // What the headers say is known at once; what is inside, once it is unpacked to be hashed.
    const problem = 'problem' in refused ? refused.problem : await unpack(refused).then(String, String);
    expect(problem.replace(/^Error: /, 'is no ASiC-S container that can be judged: ')).toContain(why);
    expect(problem).not.toMatch(/\n|\.\.$/);
  });
});
