import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Verified, VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import type { KeyAlgorithm } from '../../src/tsa/certificate.ts';
import { isLong, tries } from '../support/depth.ts';
import { mutated, mutations, versionPlaces } from '../support/der-mutation.ts';
import { createTsaLab, LAB_NOW_MS } from '../support/tsa-lab.ts';

async function bench(algorithm: KeyAlgorithm = 'p-256') {
  const lab = createTsaLab(algorithm);
  const { answer, asked, anchors } = lab.specimen({ profile: { includeTsaName: true, ordering: true, includeSigningTime: true } });
  const trust = createTrustStore({ anchors });
  const fresh = (bytes: Uint8Array, acceptGrantedWithMods = false) =>
    verifyResponse(bytes, {
      trust,
      nowMs: LAB_NOW_MS,
      request: asked.der,
      sentAtMs: LAB_NOW_MS,
      receivedAtMs: LAB_NOW_MS,
      acceptGrantedWithMods,
    });
  const raw = (bytes: Uint8Array) => verifyToken(bytes, { trust, nowMs: LAB_NOW_MS, acceptGrantedWithMods: true });
  return { answer, fresh, raw, token: mustVerify(await fresh(answer)).token };
}

function mustVerify(result: VerifyResult): Verified {
  if (!result.ok) throw new Error(`${result.code}: ${result.detail}`);
  return result;
}

/** The claims of a token. */
const statementOf = ({ genTimeText, serial, policy, imprint, nonce, ordering, signer, accuracyMicroseconds }: Verified) => ({
  genTimeText,
  serial,
  policy,
  imprint,
  nonce,
  ordering,
  signer,
  accuracyMicroseconds,
});

/** Positions in these bytes: all in the long run, otherwise every third from a random start, and the required ones. */
function placesIn(bytes: Uint8Array, ...wanted: number[]): Set<number> {
  const step = tries(1, 3);
  const places = new Set(wanted);
  for (let at = randomInt(step); at < bytes.length; at += step) places.add(at);
  return places;
}

/** Each of these verifies tens of thousands of answers: a few seconds on an idle machine. */
const patient = { timeout: 180_000 };

describe('one octet changed', patient, () => {
  it.each(['p-256', 'rsa-2048', 'ed25519'] as const)(
    'accepts no change in a whole %s answer except PKIStatus 0→1 if mods are allowed, and version numbers that nobody signs',
    async (algorithm) => {
      const { answer, fresh, token } = await bench(algorithm);
      const versions = versionPlaces(token).map((at) => at + answer.indexOf(token));
      // PKIStatusInfo follows the header of TimeStampResp: 30 03 02 01 <status>.
      const statusAt = answer.indexOf(Buffer.from([0x30, 0x03, 0x02, 0x01, 0x00])) + 4;
      const accepted: string[] = [];
      for (const at of placesIn(answer, statusAt, ...versions)) {
        for (const mask of isLong ? [0x01, 0x80] : [0x01]) {
          const bent = Buffer.from(answer);
          bent[at]! ^= mask;
          const result = await fresh(bent, true);
          if (result.ok) accepted.push(`${at} ^ ${mask}: ${(await fresh(bent)).ok ? 'always' : 'with mods'}`);
          else if (result.code === 'verifier_failed') throw result.cause;
        }
      }
      const always = versions.flatMap((at) => (isLong ? [1, 128] : [1]).map((mask) => `${at} ^ ${mask}: always`));
      expect(new Set(accepted)).toEqual(new Set([`${statusAt} ^ 1: with mods`, ...always]));
    },
  );

  it('accepts no change in a bare token except its version numbers, even without a request', async () => {
    const { token, raw } = await bench();
    const accepted: number[] = [];
    for (const at of placesIn(token)) {
      for (const mask of isLong ? [0x02, 0x20] : [0x20]) {
        const bent = Buffer.from(token);
        bent[at]! ^= mask;
        if ((await raw(bent)).ok) accepted.push(at);
      }
    }
    expect(accepted.filter((at) => !versionPlaces(token).includes(at))).toEqual([]);
  });

  it('accepts no truncated answer', async () => {
    const { answer, fresh, raw } = await bench();
    for (const length of placesIn(answer)) {
      expect(await fresh(answer.subarray(0, length))).toMatchObject({ ok: false, code: 'der_truncated' });
      expect(await raw(answer.subarray(0, length))).toMatchObject({ ok: false, code: 'der_truncated' });
    }
  });
});

describe('structure changed', patient, () => {
  it('survives mutations: accepted ones make the same claims, and every refusal has its reason', async () => {
    const { answer, fresh, raw } = await bench();
    const statement = statementOf(mustVerify(await fresh(answer)));
    const refusals = new Set<string>();
    await fc.assert(
      fc.asyncProperty(mutations, async (list) => {
        const bent = mutated(answer, list);
        for (const result of [await fresh(bent), await raw(bent)]) {
          if (result.ok) expect(statementOf(result)).toEqual(statement);
          else if (result.code === 'verifier_failed') throw result.cause;
          else refusals.add(result.code);
        }
      }),
      { numRuns: tries(10_000, 600) },
    );
    // The mutations pass the gate and reach every layer.
    expect([...refusals]).toEqual(
      expect.arrayContaining(['der_malformed', 'signature_invalid', 'message_digest_mismatch', ...(isLong ? ['not_signed_data'] : [])]),
    );
  });

  it('refuses noise with a reason', async () => {
    const { fresh, raw } = await bench();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 512 }), async (bytes) => {
        for (const result of [await fresh(bytes), await raw(bytes)]) {
          expect(result).toMatchObject({ ok: false, code: expect.not.stringMatching('verifier_failed') });
        }
      }),
      { numRuns: tries(2_000, 400) },
    );
    expect(await raw(randomBytes(2 * 1024 * 1024))).toMatchObject({ ok: false, code: 'der_too_large' });
  });
});
