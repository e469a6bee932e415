import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pack } from '../../src/cli/commands/pack.ts';
import { verify } from '../../src/cli/commands/verify.ts';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import {
  addTimeStamp,
  buildHashTree,
  encodeEvidenceRecord,
  encodeRequest,
  hashTreeRenewalOf,
  type Imprint,
  issueResponse,
  pemOf,
} from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { folderWith } from '../support/cli.ts';
import { newListSigner } from '../support/list-server.ts';
import { makeTrustedList } from '../support/trusted-lists.ts';

/** `qstamp verify` of evidence records (RFC 4998, S14). */

const timeMs = Date.UTC(2025, 1, 27, 12);
const pki = createPki({ nowMs: timeMs });
const digestOf = (content: string, algorithm: 'sha256' | 'sha512' = 'sha256') => createHash(algorithm).update(content).digest();

function stamp(imprint: Imprint, identity = pki.signer): Buffer {
  const answer = issueResponse({ identity, policies: ['2.999.1'] }, encodeRequest({ imprint, nonce: randomBytes(16) }), {
    timeMs,
    serial: randomSerial(),
  });
  return derOf(parseDer(answer).children[1]!);
}

const groups = [[digestOf('a')], [digestOf('b')]];
const tree = buildHashTree('sha256', groups, [randomBytes(32), randomBytes(32)]);
const record = encodeEvidenceRecord('sha256', {
  token: stamp({ algorithm: 'sha256', digest: tree.root }),
  reducedHashtree: tree.reducedHashtreeOf(0),
});
const sha512 = { algorithm: 'sha512', digest: digestOf('a', 'sha512') } as const;
const renewed = addTimeStamp(record, { token: stamp(hashTreeRenewalOf(record, sha512).imprint) }, 'sha512');
const shared = [digestOf('a'), digestOf('b')];
const ofBoth = createHash('sha256').update(Buffer.concat([...shared].sort(Buffer.compare)));
const several = encodeEvidenceRecord('sha256', {
  token: stamp({ algorithm: 'sha256', digest: ofBoth.digest() }),
  reducedHashtree: [shared],
});

const folder = (bytes: Buffer, content = 'a') => folderWith([verify], { a: content, 'a.ers': bytes, 'root.pem': pki.rootPem });
const judge = async (bytes: Buffer) => {
  const { stdout } = await folder(bytes).run(['verify', '--json', '--ca', 'root.pem', 'a']);
  return JSON.parse(stdout);
};

test('a file with its record beside it is judged by its hash, in both algorithms, with the end of the validity shown', async () => {
  expect(await judge(record)).toMatchObject({
    verdict: 'valid',
    issued_at: '2025-02-27T12:00:00Z',
    content_sha256: digestOf('a').toString('hex'),
    evidence_record: { tokens: 1, holds_until: expect.stringMatching(/^2035-/) },
  });
  const both = await judge(renewed);
  expect(both).toMatchObject({ verdict: 'valid', evidence_record: { tokens: 2 } });
  expect(both.not_checked.join()).not.toContain('Later chains');
  const { code, stdout } = await folder(record).run(['verify', '--ca', 'root.pem', 'a.ers']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/an evidence record with 0 renewals, to be renewed before 2035-/);
});

test('the file of another stamp of the batch is refused; without an anchor the output names the last certificate', async () => {
  const { code, stdout } = await folder(record, 'b').run(['verify', '--ca', 'root.pem', 'a']);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^a: NOT VALID, evidence_imprint_missing: /)]);
  expect(stdout).toContain('the file has changed since it was stamped, or is a different file');
  const unproved = await folder(record).run(['verify', 'a']);
  expect(unproved.stdout).toMatch(/^a: NOT PROVED, trust_store_empty: [\s\S]*its chain ends at/);
});

test('a record over several hashes is judged by the file, and cannot be judged without it', async () => {
  expect(await judge(several)).toMatchObject({ verdict: 'valid' });
  const { run } = folderWith([verify], { 'x.ers': several, 'root.pem': pki.rootPem });
  const { stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'x.ers']);
  expect(JSON.parse(stdout)).toMatchObject({ verdict: 'not_proved', reason: expect.stringMatching(/^evidence_hash_needed: /) });
});

test('a container includes a record unchanged, under one algorithm or two, and is judged by it', async () => {
  for (const bytes of [record, renewed]) {
    const { run, path } = folderWith([pack, verify], { a: 'a', 'a.ers': bytes, 'root.pem': pki.rootPem });
    expect((await run(['pack', 'a'])).code).toBe(0);
    const container = readFileSync(path('a.asics'));
    expect(container.includes('META-INF/evidencerecord.ers')).toBe(true);
    expect(container.includes(bytes)).toBe(true);
    const { stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'a.asics']);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'valid', issued_at: '2025-02-27T12:00:00Z' });
  }
  const { run } = folderWith([pack], { a: 'b', 'a.ers': record, 'root.pem': pki.rootPem });
  expect((await run(['pack', 'a'])).code).toBe(1);
});

test('V12: each token of a record that only a trusted list covers must be granted itself', async () => {
  const sweden = newListSigner('Sweden');
  const other = createPki({ nowMs: timeMs });
  const serviceOf = ({ intermediate }: typeof pki, status: string) => ({
    type: 'TSA/QTST',
    name: 'X',
    status,
    since: '2018-01-01T00:00:00Z',
    certificates: [intermediate.certificate],
  });
  const services = [serviceOf(pki, 'granted'), serviceOf(other, 'withdrawn')];
  const list = makeTrustedList({ territory: 'SE', signed: sweden, providers: [{ name: 'Y', services }] });
  const byOther = addTimeStamp(record, { token: stamp(hashTreeRenewalOf(record, sha512).imprint, other.signer) }, 'sha512');
  const files = { a: 'a', 'se.xml': list, 'se.pem': pemOf('CERTIFICATE', sweden.certificate), 'other.pem': other.rootPem };
  const by = async (bytes: Buffer, ...more: string[]) => {
    const { run } = folderWith([verify], { ...files, 'a.ers': bytes });
    return JSON.parse((await run(['verify', '--json', '--trusted-list', 'se.xml', '--list-signers', 'se.pem', ...more, 'a'])).stdout);
  };
  const qualified = { status: 'qualified', service: 'X' };
  expect(await by(record)).toMatchObject({ verdict: 'valid', qualified });
  expect(await by(renewed)).toMatchObject({ verdict: 'valid', qualified });
  expect(await by(byOther)).toMatchObject({ verdict: 'not_proved', qualified: null });
  // The first token still holds alone, so the renewal does not change that the record is qualified.
  expect(await by(byOther, '--ca', 'other.pem')).toMatchObject({ verdict: 'valid', qualified });
});
