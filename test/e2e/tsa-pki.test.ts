import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueCrl, KEY_ALGORITHMS, pem } from '../../src/tsa/certificate.ts';
import { createPki, issueIntermediate, issueSigner, type Pki } from '../../src/tsa/pki.ts';
import { openssl } from '../support/openssl-tsa.ts';

const DAY_MS = 24 * 3600 * 1000;
const nowMs = Date.UTC(2026, 10, 21, 12);

let dir: string;
const at = (name: string) => join(dir, name);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'qstamp-pki-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** `openssl verify` as strictly as it can (RFC 5280), with the chain of `pki` and any lists. */
async function verify(pki: Pki, options: { crls?: readonly Buffer[]; timeMs?: number } = {}) {
  await writeFile(at('root.pem'), pki.rootPem);
  await writeFile(at('signer.pem'), pem('CERTIFICATE', pki.signer.certificate));
  await writeFile(at('chain.pem'), pki.signer.chain.map((der) => pem('CERTIFICATE', der)).join(''));
  const args = ['-x509_strict', '-purpose', 'timestampsign', '-attime', String((options.timeMs ?? nowMs) / 1000)];
  if (options.crls !== undefined) {
    await writeFile(at('crls.pem'), options.crls.map((der) => pem('X509 CRL', der)).join(''));
    args.push('-crl_check_all', '-CRLfile', at('crls.pem'));
  }
  return openssl('verify', ...args, '-CAfile', at('root.pem'), '-untrusted', at('chain.pem'), at('signer.pem'));
}

describe('certificates of the development TSA, judged by OpenSSL', () => {
  test.each(KEY_ALGORITHMS)('a chain of %s passes the strict checks of RFC 5280', async (algorithm) => {
    expect((await verify(createPki({ algorithm, nowMs }))).output).toContain('signer.pem: OK');
  });

  test('validity is as told', async () => {
    const pki = createPki({ nowMs });
    const signer = issueSigner(pki.intermediate, { nowMs, notBeforeMs: nowMs - DAY_MS, notAfterMs: nowMs + DAY_MS });
    const short = { ...pki, signer };
    expect((await verify(short, { timeMs: nowMs + DAY_MS - 1000 })).ok).toBe(true);
    expect((await verify(short, { timeMs: nowMs + DAY_MS + 1000 })).output).toContain('certificate has expired');
    expect((await verify(short, { timeMs: nowMs - DAY_MS - 1000 })).output).toContain('certificate is not yet valid');
  });

  test('a date from 2050 on is written as RFC 5280 §4.1.2.5 wants it', async () => {
    const pki = createPki({ nowMs });
    const notAfterMs = Date.UTC(2050, 0, 1);
    const signer = issueSigner(pki.intermediate, { nowMs, notAfterMs });
    expect(signer.certificate.includes('20500101000000Z')).toBe(true);
    expect(issueSigner(pki.intermediate, { nowMs, notAfterMs: notAfterMs - 1000 }).certificate.includes('\x17\x0d491231235959Z')).toBe(
      true,
    );
    expect((await verify({ ...pki, signer })).ok).toBe(true);
  });

  test('a chain over a second intermediate CA', async () => {
    const pki = createPki({ nowMs });
    const second = issueIntermediate(pki.intermediate, { algorithm: 'ed25519', nowMs, commonName: 'Second' });
    const signer = issueSigner(second, { nowMs });
    expect(signer.chain).toEqual([second.certificate, pki.intermediate.certificate]);
    expect((await verify({ ...pki, signer })).ok).toBe(true);
  });
});

describe('revocation lists, judged by OpenSSL', () => {
  const template = { number: 7n, thisUpdateMs: nowMs - DAY_MS, nextUpdateMs: nowMs + DAY_MS };

  test.each(KEY_ALGORITHMS)('lists of %s that revoke nobody', async (algorithm) => {
    const pki = createPki({ algorithm, nowMs });
    const crls = [issueCrl({ ...template, revoked: [] }, pki.intermediate), issueCrl({ ...template, revoked: [] }, pki.root)];
    expect((await verify(pki, { crls })).output).toContain('signer.pem: OK');
  });

  test.each(['signer', 'intermediate'] as const)('the %s revoked, with a reason and without', async (who) => {
    const pki = createPki({ nowMs });
    for (const reason of [{ reason: 1 }, {}]) {
      const entry = { serialNumber: pki[who].serialNumber, revokedAtMs: nowMs - DAY_MS, ...reason };
      const crls = [
        issueCrl({ ...template, revoked: who === 'signer' ? [entry] : [] }, pki.intermediate),
        issueCrl({ ...template, revoked: who === 'intermediate' ? [entry] : [] }, pki.root),
      ];
      expect((await verify(pki, { crls })).output).toContain('certificate revoked');
      expect((await verify({ ...pki, signer: issueSigner(pki.intermediate, { nowMs }) }, { crls })).ok).toBe(who === 'signer');
    }
  });
});
