import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildMemoryApp } from '../../support/memory-app.ts';
import { REAL_TOKENS, type RealToken, readReal } from '../../support/real-tokens.ts';

/** Signed over SHA-1, which is open to collisions: refused, although OpenSSL and Bouncy Castle accept it (46). */
const brokenSignature = 't/862c4c8f041a99f9.tst';

/** The CA lists its purposes without time-stamping (41). */
const strangePurpose = 't/97986898a974e31b.tst';

const wantedOf = ({ token, want }: RealToken) => (token === brokenSignature ? 'refuse' : want);

const dir = mkdtempSync(join(tmpdir(), 'qstamp-real-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** An app that trusts only the anchors for this token. */
async function appFor({ token, anchors, intermediates }: RealToken) {
  const settings: Record<string, string> = token === strangePurpose ? { IGNORE_CA_PURPOSES: '1' } : {};
  for (const [name, files] of Object.entries({ TRUST_ANCHORS_FILE: anchors, INTERMEDIATES_FILE: intermediates })) {
    if (files.length === 0) continue;
    settings[name] = join(dir, name);
    writeFileSync(settings[name], files.map((file) => readReal(file).toString('utf8')).join('\n'));
  }
  return buildMemoryApp({ settings });
}

test.each(REAL_TOKENS)('V2, V6, V7, S15: $want $finding ($token)', async (one) => {
  const app = await appFor(one);
  const verify = async (hash?: string) => {
    const payload = { token: readReal(one.token).toString('base64'), ...(hash !== undefined && { hash }) };
    const answer = await app.inject({ method: 'POST', url: '/api/v1/verify/v1/raw', payload });
    expect(answer.statusCode).toBe(200);
    return answer.json();
  };
  const imprint = { algorithm: one.imprintAlg, digest: one.imprint };
  const content_sha256 = one.imprintAlg === 'sha256' ? one.imprint : null;
  for (const result of [await verify(), await verify(one.imprint)]) {
    expect(result).toMatchObject(wantedOf(one) === 'accept' ? { valid: true, imprint, content_sha256 } : { valid: false, imprint: null });
  }
  if (wantedOf(one) === 'refuse') return;
  const other = `${one.imprint.slice(0, -1)}${one.imprint.endsWith('0') ? '1' : '0'}`;
  expect((await verify(other)).reason).toMatch(/^imprint_mismatch: /);
  expect((await verify(one.imprintAlg === 'sha384' ? 'a'.repeat(64) : 'a'.repeat(96))).reason).toMatch(/^imprint_algorithm_mismatch: /);
});

test.each([
  [brokenSignature, 'signature_algorithm_weak'],
  [strangePurpose, 'intermediate_eku'],
])('the answer names the reason why %s is refused: %s (V3)', async (token, code) => {
  const { intermediates, anchors } = REAL_TOKENS.find((one) => one.token === token)!;
  const app = await appFor({ ...REAL_TOKENS[0]!, token: '', intermediates, anchors });
  const answer = await app.inject({ method: 'POST', url: '/api/v1/verify/v1/raw', payload: { token: readReal(token).toString('base64') } });
  expect(answer.json()).toMatchObject({ valid: false, reason: expect.stringMatching(new RegExp(`^${code}: `)) });
  if (token !== brokenSignature) return expect(answer.json()).not.toHaveProperty('advice');
  expect(answer.json().advice).toMatch(/^Have the document stamped again /);
});

test('V4: a token of 1 MiB is judged, whatever its content; one above every limit is 413', async () => {
  const app = await buildMemoryApp();
  const verify = (bytes: number) => {
    const payload = { token: Buffer.alloc(bytes, 0x30).toString('base64') };
    return app.inject({ method: 'POST', url: '/api/v1/verify/v1/raw', payload });
  };
  const judged = await verify(1024 * 1024);
  expect([judged.statusCode, judged.json().valid]).toEqual([200, false]);
  expect((await verify(4 * 1024 * 1024)).statusCode).toBe(413);
});
