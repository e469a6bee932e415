import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { REAL_TOKENS, type RealToken, readReal } from '../../support/real-tokens.ts';
import { postJson } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

/** Signed over SHA-1, which is open to collisions: refused, although OpenSSL and Bouncy Castle accept it (46). */
const brokenSignature = 't/862c4c8f041a99f9.tst';

/** The CA lists its purposes without time-stamping (41). */
const strangePurpose = 't/97986898a974e31b.tst';

const wantedOf = ({ token, want }: RealToken) => (token === brokenSignature ? 'refuse' : want);

const dir = mkdtempSync(join(tmpdir(), 'qstamp-real-'));
afterAll(() => rmSync(dir, { recursive: true }));

function fileWith(name: string, certificates: readonly string[]): string {
  writeFileSync(join(dir, name), [...new Set(certificates)].map((file) => readReal(file).toString('utf8')).join('\n'));
  return join(dir, name);
}

/** It trusts the anchors of all tokens. That each needs only its own is proved by the tests of the verifier. */
const settings = {
  TRUST_ANCHORS_FILE: fileWith(
    'anchors.pem',
    REAL_TOKENS.flatMap(({ anchors }) => anchors),
  ),
  INTERMEDIATES_FILE: fileWith(
    'intermediates.pem',
    REAL_TOKENS.flatMap(({ intermediates }) => intermediates),
  ),
};
const [service, lenient] = await Promise.all(
  [settings, { ...settings, IGNORE_CA_PURPOSES: '1' }].map((given) => sharedService({ workers: 0, settings: given })),
);

const verify = async (token: Buffer, hash?: string, at = service) =>
  postJson(at!, '/api/v1/verify/v1/raw?details=true', { token: token.toString('base64'), ...(hash !== undefined && { hash }) });

test.each(REAL_TOKENS)('V2, V6, V7, S15: $want $finding ($token)', async (one) => {
  const verdictFor = async (hash?: string) => {
    const { status, body } = await verify(readReal(one.token), hash, one.token === strangePurpose ? lenient : service);
    expect(status).toBe(200);
    return body;
  };
  const imprint = { algorithm: one.imprintAlg, digest: one.imprint };
  const content_sha256 = one.imprintAlg === 'sha256' ? one.imprint : null;
  for (const result of [await verdictFor(), await verdictFor(one.imprint)]) {
    expect(result).toMatchObject(wantedOf(one) === 'accept' ? { valid: true, imprint, content_sha256 } : { valid: false, imprint: null });
  }
  if (wantedOf(one) === 'refuse') return;
  const other = `${one.imprint.slice(0, -1)}${one.imprint.endsWith('0') ? '1' : '0'}`;
  expect((await verdictFor(other)).reason).toMatch(/^imprint_mismatch: /);
  expect((await verdictFor(one.imprintAlg === 'sha384' ? 'a'.repeat(64) : 'a'.repeat(96))).reason).toMatch(/^imprint_algorithm_mismatch: /);
});

test.each([
  [brokenSignature, 'signature_algorithm_weak'],
  [strangePurpose, 'intermediate_eku'],
])('the answer names the reason why %s is refused: %s (V3)', async (token, code) => {
  const { body } = await verify(readReal(token));
  expect(body).toMatchObject({ valid: false, reason: expect.stringMatching(new RegExp(`^${code}: `)) });
  if (token !== brokenSignature) return expect(body).not.toHaveProperty('advice');
  expect(body.advice).toMatch(/^Have the document stamped again /);
});

test('V4: a token of 1 MiB is judged, whatever its content; one above every limit is 413', async () => {
  const judged = await verify(Buffer.alloc(1024 * 1024, 0x30));
  expect([judged.status, judged.body.valid]).toEqual([200, false]);
  expect((await verify(Buffer.alloc(4 * 1024 * 1024, 0x30))).status).toBe(413);
});
