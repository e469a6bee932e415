import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import {
  addTimeStamp,
  buildHashTree,
  encodeEvidenceRecord,
  encodeRequest,
  hashTreeRenewalOf,
  issueResponse,
  type MessageImprint,
  pemOf,
} from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createPki } from '../support/certificates.ts';
import { type Files, folderWith, only } from '../support/cli.ts';
import { newListSigner } from '../support/list-server.ts';
import { makeTrustedList } from '../support/trusted-lists.ts';

/** `qstamp verify` of evidence records (RFC 4998, S14). */

const timeMs = Date.UTC(2025, 1, 27, 12);
const pki = createPki({ nowMs: timeMs });
const digestOf = (content: string, algorithm: 'sha256' | 'sha512' = 'sha256') => createHash(algorithm).update(content).digest();

function stamp(imprint: MessageImprint, identity = pki.signer): Buffer {
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

const files = { a: 'a', b: 'b', 'root.pem': pki.rootPem };
const judge = async (bytes: Buffer, line = 'a --ca root.pem', more: Files = {}) => {
  const { run } = folderWith({ ...files, [`${line[0]}.ers`]: bytes, ...more });
  return only(await run(['verify', '--json', ...line.split(' ')]));
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
  expect(await judge(several)).toMatchObject({ verdict: 'valid' });
  expect(await judge(several, 'x.ers --ca root.pem', { 'x.ers': several })).toMatchObject({
    verdict: 'not_proved',
    reason: expect.stringMatching(/^evidence_hash_needed: /),
  });
});

test.each([
  ['a.ers --ca root.pem', /^a \(by a\.ers\): valid, [\s\S]*an evidence record with 0 renewals, to be renewed before 2035-/],
  ['b --ca root.pem', /^b: NOT VALID, evidence_imprint_missing: [\s\S]*has changed since it was stamped, or is a different file/],
  ['a', /^a: NOT PROVED, trust_store_empty: [\s\S]*its chain ends at/],
])('in words: %s', async (line, says) => {
  const { run } = folderWith({ ...files, 'a.ers': record, 'b.ers': record });
  expect((await run(['verify', ...line.split(' ')])).stdout).toMatch(says);
});

test('a container includes a record unchanged, under one algorithm or two, and is judged by it', async () => {
  for (const bytes of [record, renewed]) {
    const { run, path } = folderWith({ ...files, 'a.ers': bytes, 'b.ers': bytes });
    expect([(await run(['pack', 'a'])).code, (await run(['pack', 'b'])).code]).toEqual([0, 1]);
    const container = readFileSync(path('a.asics'));
    expect([container.includes('META-INF/evidencerecord.ers'), container.includes(bytes)]).toEqual([true, true]);
    const said = only(await run(['verify', '--json', '--ca', 'root.pem', 'a.asics']));
    expect(said).toMatchObject({ verdict: 'valid', issued_at: '2025-02-27T12:00:00Z' });
  }
});

test('V12: each token of a record that only a trusted list covers must be granted itself', async () => {
  const sweden = newListSigner('Sweden');
  const other = createPki({ nowMs: timeMs });
  const services = [
    { pki, status: 'granted' },
    { pki: other, status: 'withdrawn' },
  ].map(({ pki: { intermediate }, status }) => ({
    ...{ type: 'TSA/QTST', name: 'X', status, since: '2018-01-01T00:00:00Z' },
    certificates: [intermediate.certificate],
  }));
  const list = makeTrustedList({ territory: 'SE', signed: sweden, providers: [{ name: 'Y', services }] });
  const byOther = addTimeStamp(record, { token: stamp(hashTreeRenewalOf(record, sha512).imprint, other.signer) }, 'sha512');
  const lists = { 'se.xml': list, 'se.pem': pemOf('CERTIFICATE', sweden.certificate), 'other.pem': other.rootPem };
  const by = (bytes: Buffer, more = '') => judge(bytes, `a --trusted-list se.xml --list-signers se.pem${more}`, lists);
  const qualified = { status: 'qualified', service: 'X' };
  for (const bytes of [record, renewed]) expect(await by(bytes)).toMatchObject({ verdict: 'valid', qualified });
  expect(await by(byOther)).toMatchObject({ verdict: 'not_proved', qualified: null });
  // The first token still holds alone, so the renewal does not change that the record is qualified.
  expect(await by(byOther, ' --ca other.pem')).toMatchObject({ verdict: 'valid', qualified });
});
