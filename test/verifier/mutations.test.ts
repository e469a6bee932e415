import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addTimeStamp, encodeEvidenceRecord, hashTreeRenewalOf, timeStampRenewalOf } from '../../src/shared/rfc3161/ers/encode.ts';
import type { Verified, VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import type { KeyAlgorithm } from '../support/certificates.ts';
import { isLong, tries } from '../support/depth.ts';
import { mutated, mutations, versionPlaces } from '../support/der-mutation.ts';
import { patience } from '../support/pace.ts';
import { createRecordLab, hash, imprintOf } from '../support/record-lab.ts';
import { createTsaLab, LAB_NOW_MS } from '../support/tsa-lab.ts';

/** One fuzzer for all that we read: answers, bare tokens, and evidence records. */

interface Subject {
  readonly what: string;
  readonly good: Buffer;
  readonly judge: (bytes: Uint8Array) => Promise<VerifyResult>;
  /** The token whose version numbers nobody signs, so that they may change. */
  readonly token: Buffer;
}

function mustVerify(result: VerifyResult): Verified {
  if (!result.ok) throw new Error(`${result.code}: ${result.detail}`);
  return result;
}

async function answerOf(algorithm: KeyAlgorithm): Promise<readonly Subject[]> {
  const { answer, asked, anchors } = createTsaLab(algorithm).specimen({
    profile: { includeTsaName: true, ordering: true, includeSigningTime: true },
  });
  const times = { nowMs: LAB_NOW_MS, sentAtMs: LAB_NOW_MS, receivedAtMs: LAB_NOW_MS };
  const trust = createTrustStore({ anchors });
  const fresh: Subject['judge'] = (bytes) => verifyResponse(bytes, { trust, request: asked.der, ...times });
  const raw: Subject['judge'] = (bytes) => verifyToken(bytes, { trust, nowMs: LAB_NOW_MS });
  const { token } = mustVerify(await fresh(answer));
  return [
    { what: `an answer signed with ${algorithm}`, good: answer, judge: fresh, token },
    { what: `a bare token signed with ${algorithm}`, good: token, judge: raw, token },
  ];
}

function records(): readonly Subject[] {
  const lab = createRecordLab();
  const document = Buffer.from('the document');
  const digests = (['sha256', 'sha512'] as const).map((algorithm) => imprintOf(hash(algorithm, document), algorithm));
  const [a, b, c] = ['a', 'b', 'c'].map((text) => hash('sha256', Buffer.from(text))) as [Buffer, Buffer, Buffer];
  const sorted = (...hashes: readonly Buffer[]) => hash('sha256', ...[...hashes].sort(Buffer.compare));
  const reducedHashtree = [
    [a, digests[0]!.digest],
    [b, c],
  ];
  const root = imprintOf(sorted(sorted(a, digests[0]!.digest), b, c));
  const batched = encodeEvidenceRecord('sha256', { token: lab.stamp(root), reducedHashtree });
  const again = addTimeStamp(batched, { token: lab.stamp(timeStampRenewalOf(batched).imprint) }, 'last_chain');
  const token = lab.stamp(hashTreeRenewalOf(again, digests[1]!).imprint);
  const direct = lab.stamp(digests[0]!);
  return [
    {
      what: 'a record of one token',
      good: encodeEvidenceRecord('sha256', { token: direct }),
      judge: (bytes) => lab.judge(Buffer.from(bytes), digests.slice(0, 1)),
      token: direct,
    },
    {
      what: 'a record in a tree, renewed twice and under two algorithms',
      good: addTimeStamp(again, { token }, 'sha512'),
      judge: (bytes) => lab.judge(Buffer.from(bytes), digests),
      token,
    },
  ];
}

/** The claims. Unsigned parts of the last token may differ: no later token covers them. */
const claimsOf = ({ record, ...verified }: Verified) => ({ ...tokenClaimsOf(verified), tokens: record?.tokens.map(tokenClaimsOf) });

const tokenClaimsOf = ({ genTimeText, serial, policy, imprint, nonce, ordering, signer, accuracyMicroseconds }: Verified) => ({
  ...{ genTimeText, serial, policy, imprint, nonce, ordering, signer, accuracyMicroseconds },
});

/** All places in the long run, otherwise every seventh from a random start. */
function* placesIn(bytes: Uint8Array): Generator<number> {
  const step = tries(1, 7);
  for (let at = randomInt(step); at < bytes.length; at += step) yield at;
}

const subjects = [...(await Promise.all((['p-256', 'rsa-2048', 'ed25519'] as const).map(answerOf))).flat(), ...records()];

/** Each of these verifies thousands of changes: a few seconds on an idle machine. */
describe.each(subjects)('$what', { timeout: patience(300_000) }, ({ good, judge, token }) => {
  /** The code of a refusal; undefined if what is accepted makes the same claims. */
  async function refusalOf(bytes: Uint8Array): Promise<string | undefined> {
    const result = await judge(bytes);
    if (!result.ok && result.code === 'verifier_failed') throw result.cause;
    if (!result.ok) return result.code;
    // A record without its last renewals is what it was before them.
    const [claims, original] = [claimsOf(result), claimsOf(mustVerify(await judge(good)))];
    expect(claims).toEqual({ ...original, tokens: original.tokens?.slice(0, claims.tokens?.length) });
    return undefined;
  }

  it('no octet can change, except the version numbers that nobody signs', async () => {
    const versions = versionPlaces(token).map((at) => at + good.indexOf(token));
    for (const at of [...placesIn(good), ...versions]) {
      for (const mask of isLong ? [0x01, 0x20, 0x80] : [at % 2 === 0 ? 0x01 : 0x20]) {
        const bent = Buffer.from(good);
        bent[at]! ^= mask;
        if ((await refusalOf(bent)) === undefined) expect([at, versions.includes(at)]).toEqual([at, true]);
      }
    }
  });

  it('a change of its structure is refused with a reason, or leaves the claims', async () => {
    const refusals = new Set<string | undefined>();
    const change = async (list: Parameters<typeof mutated>[1]) => void refusals.add(await refusalOf(mutated(good, list)));
    await fc.assert(fc.asyncProperty(mutations, change), { numRuns: tries(5_000, 200) });
    // The mutations pass the gate and reach every layer.
    expect(refusals).toContain('der_malformed');
    expect(refusals.size).toBeGreaterThan(5);
  });

  it('no part of it is accepted, and no noise', async () => {
    for (const length of placesIn(good)) expect(await refusalOf(good.subarray(0, length))).toBe('der_truncated');
    const noise = async (bytes: Uint8Array) => void expect(await refusalOf(bytes)).toBeDefined();
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 512 }), noise), { numRuns: tries(2_000, 100) });
    expect(await refusalOf(randomBytes(8 * 1024 * 1024))).toBe('der_too_large');
  });
});
