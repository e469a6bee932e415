import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { derOf, parseDer } from '../../../src/shared/rfc3161/asn1/der.ts';
import { integer, sequence, tlv } from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { encodeRequest, issueResponse } from '../../../src/shared/rfc3161/index.ts';
import { createTokenJudge } from '../../../src/shared/trust/judge.ts';
import { loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { issueCrl, pem } from '../../../src/tsa/certificate.ts';
import { createPki, randomSerial } from '../../../src/tsa/pki.ts';

const dir = mkdtempSync(join(tmpdir(), 'qstamp-judge-'));
afterAll(() => rmSync(dir, { recursive: true }));

const nowMs = Date.now();
const dayMs = 24 * 3_600_000;
const pki = createPki({ nowMs });
const revoked = [{ serialNumber: pki.signer.serialNumber, revokedAtMs: nowMs - dayMs, reason: 1 }];
const list = { number: 1n, thisUpdateMs: nowMs - dayMs, nextUpdateMs: nowMs + dayMs };
writeFileSync(join(dir, 'root.pem'), pki.rootPem);
writeFileSync(join(dir, 'chain.pem'), [pki.signer, pki.intermediate].map(({ certificate }) => pem('CERTIFICATE', certificate)).join(''));
writeFileSync(join(dir, 'revoking.crl'), issueCrl({ ...list, revoked }, pki.intermediate));

const imprint = { algorithm: 'sha256', digest: randomBytes(32) } as const;
const answer = issueResponse(
  { identity: pki.signer, policies: ['1.2.3'], includeTsaName: false },
  encodeRequest({ imprint, nonce: randomBytes(16) }),
  { timeMs: nowMs, serial: randomSerial() },
);
const token = parseDer(answer).children[1]!;

/** What anybody can make of a token without a key: another status around it, and no certificates inside. */
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

function judgeFor(...entries: object[]) {
  const file = join(dir, 'providers.json');
  const common = { url: 'https://tsa.example/', trust_anchors_file: 'root.pem' };
  writeFileSync(file, JSON.stringify(entries.map((entry, index) => ({ name: `tsa-${index + 1}`, ...common, ...entry }))));
  const trust = loadTrustSettings({ TSP: 'file', TSP_PROVIDERS_FILE: file, TRUST_ANCHORS_FILE: undefined, IGNORE_CA_PURPOSES: false });
  const key = createSecretKey(randomBytes(32));
  return createTokenJudge({ trust, mockKey: async () => key, clock: () => nowMs });
}

describe('two providers that share a trust anchor', () => {
  const lenient = { qualified: true, accept_granted_with_mods: true, intermediates_file: 'chain.pem' };

  test.each(Object.entries(disguises))('V2: a certificate that one of them knows as revoked is revoked for both: %s', async (_, bytes) => {
    const { judge } = judgeFor(lenient, { crl_file: 'revoking.crl' });
    expect(await judge(bytes.toString('base64'))).toMatchObject({ ok: false, code: 'certificate_revoked' });
    expect(await judge(bytes.toString('base64'), 'tsa-1')).toMatchObject({ ok: false, code: 'certificate_revoked' });
  });

  test.each(Object.entries(disguises))('V2: a token is not qualified where one of them is not: %s', async (_, bytes) => {
    const { judge } = judgeFor(lenient, {});
    expect(await judge(bytes.toString('base64'))).toMatchObject({ ok: true, isQualified: false });
  });
});

test('refusal 4: modifications are refused where no provider takes them', async () => {
  const { judge } = judgeFor({}, { qualified: true });
  const bytes = disguises['in an answer that is granted with modifications'];
  expect(await judge(bytes.toString('base64'))).toMatchObject({ ok: false, code: 'granted_with_mods' });
});

test('a revocation list of another CA with the same name is no reason not to start', async () => {
  const other = createPki({ nowMs });
  writeFileSync(join(dir, 'other.pem'), other.rootPem);
  writeFileSync(join(dir, 'other.crl'), issueCrl({ ...list, revoked: [] }, other.intermediate));
  const { judge } = judgeFor({}, { trust_anchors_file: 'other.pem', crl_file: 'other.crl' });
  expect(await judge(derOf(token).toString('base64'))).toMatchObject({ ok: true, provider: 'tsa-1' });
});
