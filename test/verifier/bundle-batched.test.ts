import { afterAll, beforeAll, expect, test } from 'vitest';
import { forgedTree } from '../support/bundle-forgeries.ts';
import { type Bundle, type BundleLab, runScript, startBundleLab, withSums, zipped } from '../support/bundle-lab.ts';
import { followed, followedToken, numbered, octets, stamps, taken } from '../support/bundle-manipulations.ts';
import { folderWith, jsonLines } from '../support/cli.ts';
import { type AskPage, openVerifyPage } from '../support/page-verdict.ts';

/** Bundles of a service whose provider signs batches: seals and stamps are evidence records (S14). */

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let askPage: AskPage;
let files: Bundle;
let other: Bundle;
beforeAll(async () => {
  // Requests within a second share one token.
  lab = await startBundleLab((close) => void ends.push(close), { aggregate: { window_ms: 1_000 } });
  askPage = await openVerifyPage((close) => void ends.push(close));
  const isBatched = (bundle: Bundle) => bundle.has('root.ers') && bundle.has('closing-record.ers');
  for (let attempt = 0; attempt < 5 && !(files && isBatched(files)); attempt += 1) {
    const made = await Promise.all([lab.completed(['a', 'b', 'c']), lab.completed(['x', 'y', 'z'])]);
    [files, other] = made.map((each) => each.files) as [Bundle, Bundle];
  }
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function judge(bent: Bundle) {
  const zip = await zipped(bent);
  const { run } = folderWith({ 'bundle.zip': zip, 'root.pem': lab.tsa.pki.rootPem, b: 'b' });
  const outcome = await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip', 'b']);
  const page = await askPage(lab.service.url, zip);
  return { code: outcome.code, said: jsonLines(outcome), page: page.verdict };
}

test('W22: the bundle contains evidence records, each with its token beside it, and all verifiers accept it', async () => {
  expect([...files.keys()]).toEqual(expect.arrayContaining(['root.tst', 'root.ers', 'closing-record.tst', 'closing-record.ers']));
  expect(String(files.get('stamps/1.txt'))).toMatch(/^1 record \S+\n2 record \S+\n3 record \S+\n$/);
  const { code, output } = await runScript(new Map([...files, ['../b', Buffer.from('b')]]), ['b']);
  expect(output).toMatch(/\n'b' is output \d\n/);
  expect(output).toContain(
    '\nNOT CHECKED: renewals of evidence records, whether one was due, and members beside hash tree and token: qstamp verify checks them\n',
  );
  expect(code).toBe(3);
  expect(await judge(files)).toMatchObject({
    code: 0,
    page: 'valid',
    said: [{ verdict: 'valid', own_stamps: { valid: 3 } }, { verdict: 'valid' }],
  });
});

/** Another hash in the tree: the blind follows the imprint; each is an OCTET STRING of 32 octets in its own list. */
const otherHash = (content: Buffer) => {
  const record = Buffer.from(content);
  record[record.indexOf(Buffer.of(0x04, 0x20)) + 2 + 32 + 4]! ^= 1;
  return record;
};
const closingToken = () => files.get('closing-record.tst')!;

test.each([
  ['the record of the root is that of another workflow', taken('root.ers'), /time-stamp of root is for another hash/],
  ['the record of the closing record is that of another', taken('closing-record.ers'), /time-stamp of closing-record is for another hash/],
  ['two outputs have changed records', stamps((a, b, c) => numbered(b, a, c)), /own time-stamp of output 1 is for another hash/],
  ['a hash of the tree is another one', octets('root.ers', otherHash), /time-stamp of root is for another hash/],
  ['the token beside the record is another one', octets('root.tst', closingToken), /root.tst is not the token in root.ers/],
  ['octets follow that of the root', octets('root.ers', followed('0500')), /time-stamp of root .* has extra octets after it/],
  [
    'octets follow that of the closing record',
    octets('closing-record.ers', followed('0500')),
    /time-stamp of closing-record .* has extra octets after it/,
  ],
  [
    'octets follow that of an output',
    stamps((a, b, c) => [a, followedToken(b), c]),
    /own time-stamp of output 2 .* has extra octets after it/,
  ],
  ['the record is rubbish', octets('root.ers', () => Buffer.from('rubbish')), /time-stamp of root is not a time-stamp token/],
] as const)('W22: all verifiers reject it if %s', async (_what, bend, says) => {
  const bent = bend(files, other);
  const { code, output } = await runScript(bent);
  expect(output).toMatch(says);
  expect(code).toBe(1);
  expect(await judge(bent)).toMatchObject({ code: 1, page: 'not_valid', said: [{ verdict: 'not_valid' }, { verdict: 'not_valid' }] });
});

const digestOfRoot = () => (JSON.parse(String(files.get('closing-record.json'))) as { merkle_root: string }).merkle_root;

test('W22: text within a record is not read as its elements', async () => {
  const forged = withSums(new Map(files).set('root.ers', forgedTree(files.get('root.ers')!, digestOfRoot())));
  expect(await runScript(forged)).toMatchObject({ code: 1, output: expect.stringContaining('the time-stamp of root is for another hash') });
  expect(await judge(forged)).toMatchObject({ code: 1, page: 'not_valid', said: [{ verdict: 'not_valid' }, { verdict: 'not_valid' }] });
});
