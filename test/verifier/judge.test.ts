import { createPublicKey, createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { integer, sequence, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import {
  addTimeStamp,
  buildHashTree,
  encodeEvidenceRecord,
  encodeRequest,
  issueResponse,
  timeStampRenewalOf,
} from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { createListIndex } from '../../src/shared/trust/lists/index.ts';
import { loadTrustSettings } from '../../src/shared/trust/trusted-providers.ts';
import * as x509 from '../support/certificates.ts';
import { createPki } from '../support/certificates.ts';

const dir = mkdtempSync(join(tmpdir(), 'qstamp-judge-'));
afterAll(() => rmSync(dir, { recursive: true }));

const nowMs = Date.now();
const dayMs = 24 * 3_600_000;
const pki = createPki({ nowMs });
const revoked = [{ serialNumber: pki.signer.serialNumber, revokedAtMs: nowMs - dayMs, reason: 1 }];
const list = { number: 1n, thisUpdateMs: nowMs - dayMs, nextUpdateMs: nowMs + dayMs };
writeFileSync(join(dir, 'root.pem'), pki.rootPem);
writeFileSync(
  join(dir, 'chain.pem'),
  [pki.signer, pki.intermediate].map(({ certificate }) => x509.pem('CERTIFICATE', certificate)).join(''),
);
writeFileSync(join(dir, 'revoking.crl'), x509.issueCrl({ ...list, revoked }, pki.intermediate));

const imprint = { algorithm: 'sha256', digest: randomBytes(32) } as const;
const answer = issueResponse({ identity: pki.signer, policies: ['1.2.3'] }, encodeRequest({ imprint, nonce: randomBytes(16) }), {
  timeMs: nowMs,
  serial: randomSerial(),
});
const token = parseDer(answer).children[1]!;

/** Changes to a token that need no key: another status around it, and no certificates inside. */
const disguises = {
  'as it was issued': derOf(token),
  'in an answer that is granted with modifications': sequence(sequence(integer(1)), derOf(token)),
  'without its certificates': withoutCertificates(),
};

function withoutCertificates(): Buffer {
  const [type, content] = token.children;
  const members = content!.children[0]!.children.filter(({ tag }) => tag !== 0xa0);
  return sequence(derOf(type!), tlv(content!.tag, sequence(...members.map(derOf))));
}

const noLists = createListIndex([]);
type Judge = ReturnType<typeof createTokenJudge>['judge'];
/** The verdicts without a provider, and with the name of one. A stored record has it, but may have been changed (V1). */
const bothBy = (judge: Judge, bytes: Buffer) => Promise.all([undefined, 'tsa-1'].map((name) => judge(bytes, { provider: name })));
const twice = (expected: object) => [expected, expected];
const qualifiedAs = (status: string) => ({ ok: true, qualification: { status } });

function judgeFor(...entries: object[]) {
  const file = join(dir, 'providers.json');
  const common = { url: 'https://tsa.example/', trust_anchors_file: 'root.pem' };
  writeFileSync(file, JSON.stringify(entries.map((entry, index) => ({ name: `tsa-${index + 1}`, ...common, ...entry }))));
  const trust = loadTrustSettings({ TSP: 'file', TSP_PROVIDERS_FILE: file, TRUST_ANCHORS_FILE: undefined, IGNORE_CA_PURPOSES: false });
  const key = createSecretKey(randomBytes(32));
  return createTokenJudge({ trust, lists: () => noLists, mockKey: async () => key, clock: () => nowMs });
}

describe('two providers that share a trust anchor', () => {
  const lenient = { qualified: true, accept_granted_with_mods: true, intermediates_file: 'chain.pem' };

  test.each(Object.entries(disguises))('V2: a certificate that one of them lists as revoked is revoked for both: %s', async (_, bytes) => {
    const { judge } = judgeFor(lenient, { crl_file: 'revoking.crl' });
    expect(await bothBy(judge, bytes)).toMatchObject(twice({ ok: false, code: 'certificate_revoked' }));
  });

  test.each(Object.entries(disguises))('V2: a token is not qualified if one of them is not: %s', async (_, bytes) => {
    expect(await bothBy(judgeFor(lenient, {}).judge, bytes)).toMatchObject(twice(qualifiedAs('not_qualified')));
  });

  test('V12: the qualified one is recognized if the policies differ', async () => {
    const { judge } = judgeFor({ qualified: true, policy_oid: '1.2.3' }, { policy_oid: '1.2.4' });
    expect(await bothBy(judge, derOf(token))).toMatchObject(twice(qualifiedAs('qualified')));
  });

  test('V12: if roots of both certified a CA, the name in a record makes no token qualified', async () => {
    writeCrossed();
    const { judge } = judgeFor({ qualified: true }, { trust_anchors_file: 'cross-root.pem', intermediates_file: 'cross.pem' });
    expect(await bothBy(judge, derOf(token))).toMatchObject(twice(qualifiedAs('not_qualified')));
  });
});

/** Writes another root, its certificate for the same CA, and its list that revokes this certificate. */
function writeCrossed(): void {
  const other = createPki({ nowMs });
  const { privateKey, scheme } = pki.intermediate;
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  const usage = x509.keyUsage(x509.KEY_USAGE.keyCertSign, x509.KEY_USAGE.cRLSign);
  const extensions = [x509.basicConstraints(true), usage, x509.subjectKeyIdentifier(key.publicKey)];
  const period = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
  const crossed = x509.issueCertificate({ commonName: 'Time-Stamping CA', serial: 77n, ...period, extensions }, key, other.root);
  writeFileSync(join(dir, 'cross-root.pem'), other.rootPem);
  writeFileSync(join(dir, 'cross.pem'), x509.pem('CERTIFICATE', crossed.certificate));
  const revoked = [{ serialNumber: crossed.serialNumber, revokedAtMs: nowMs - dayMs, reason: 4 }];
  writeFileSync(join(dir, 'cross.crl'), x509.issueCrl({ ...list, revoked }, other.root));
}

test('refusal 4: modifications are refused if no provider allows them', async () => {
  const { judge } = judgeFor({}, { qualified: true });
  const bytes = disguises['in an answer that is granted with modifications'];
  expect(await judge(bytes)).toMatchObject({ ok: false, code: 'granted_with_mods' });
});

test('a revocation list of another CA with the same name does not prevent the start', async () => {
  const other = createPki({ nowMs });
  writeFileSync(join(dir, 'other.pem'), other.rootPem);
  writeFileSync(join(dir, 'other.crl'), x509.issueCrl({ ...list, revoked: [] }, other.intermediate));
  const { judge } = judgeFor({}, { trust_anchors_file: 'other.pem', crl_file: 'other.crl' });
  expect(await judge(derOf(token))).toMatchObject({ ok: true, provider: 'tsa-1' });
});

describe('an evidence record (S14)', () => {
  const other = createPki({ nowMs });
  writeFileSync(join(dir, 'renewing.pem'), other.rootPem);
  const stampOf = (digest: Buffer, identity = pki.signer) => {
    const request = encodeRequest({ imprint: { algorithm: 'sha256', digest }, nonce: randomBytes(16) });
    return derOf(
      parseDer(issueResponse({ identity, policies: ['1.2.3'] }, request, { timeMs: nowMs, serial: randomSerial() })).children[1]!,
    );
  };
  const digests = [randomBytes(32), randomBytes(32)] as const;
  const tree = buildHashTree(
    'sha256',
    digests.map((digest) => [digest]),
    [randomBytes(32), randomBytes(32)],
  );
  const batchToken = stampOf(tree.root);
  const recordOf = (index: number) => encodeEvidenceRecord('sha256', { token: batchToken, reducedHashtree: tree.reducedHashtreeOf(index) });
  const imprintOf = (index: number) => ({ algorithm: 'sha256', digest: digests[index]!.toString('hex') }) as const;

  test('is accepted wherever a token is, and belongs to the provider of its first token', async () => {
    const { judge } = judgeFor({ qualified: true });
    const record = recordOf(0);
    const expected = { ok: true, imprint: imprintOf(0), provider: 'tsa-1', qualification: { status: 'qualified' }, tst: record };
    for (const provider of [undefined, 'tsa-1']) {
      expect(await judge(record, { provider })).toMatchObject(expected);
      expect(await judge(record, { provider, imprints: [imprintOf(0)] })).toMatchObject(expected);
    }
  });

  test('is refused for the hash of another stamp of its batch', async () => {
    const { judge } = judgeFor({});
    expect(await judge(recordOf(0), { imprints: [imprintOf(1)] })).toMatchObject({ code: 'evidence_imprint_missing' });
  });

  test('may be renewed by any TSA that is trusted', async () => {
    const record = recordOf(0);
    const renewed = addTimeStamp(record, { token: stampOf(timeStampRenewalOf(record).imprint.digest, other.signer) }, 'last_chain');
    const both = judgeFor({ qualified: true }, { trust_anchors_file: 'renewing.pem' });
    expect(await both.judge(renewed)).toMatchObject({
      ok: true,
      provider: 'tsa-1',
      qualification: { status: 'qualified' },
    });
    // Revoked is only another way to its CA, which this provider does not take.
    const again = addTimeStamp(record, { token: stampOf(timeStampRenewalOf(record).imprint.digest) }, 'last_chain');
    writeCrossed();
    const crossed = judgeFor({}, { trust_anchors_file: 'cross-root.pem', intermediates_file: 'cross.pem', crl_file: 'cross.crl' });
    expect(await crossed.judge(again, { provider: 'tsa-1' })).toMatchObject({ ok: true });
    expect(await crossed.judge(again, { provider: 'tsa-2' })).toMatchObject({ code: 'certificate_revoked' });
    const alone = judgeFor({ qualified: true });
    expect(await alone.judge(renewed)).toMatchObject({ ok: false, code: 'untrusted_root' });
  });
});
