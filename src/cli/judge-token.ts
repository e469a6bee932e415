import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import { isQualified, type Qualification } from '../shared/domain/qualification.ts';
import { type ReasonCode, type Verdict, verdictOf } from '../shared/domain/reasons.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { imprintOf } from '../shared/domain/told-token.ts';
import {
  isEvidenceRecord,
  type TokenClaims,
  type TrustStore,
  type Verified,
  type VerifyResult,
  verifyByItself,
  verifyEvidenceRecord,
  verifyToken,
} from '../shared/rfc3161/index.ts';
import type { ListIndex } from '../shared/trust/lists/index.ts';
import { qualificationOf, qualificationOfEvidence } from '../shared/trust/qualification.ts';

/** The judgement of a token on this machine. */
export interface Judgement {
  readonly verdict: Verdict;
  /** Undefined if the token is valid. */
  readonly reason: ReasonCode | undefined;
  /**
   * The contents of the token, if its signature and chain are correct. If the verdict is `not_proved`, the chain ends with the last known
   * certificate, which the user would have to trust.
   */
  readonly stated: Verified | undefined;
  /** The statement of a token that is not proved and could not be verified: it can only show that the token is for another file. */
  readonly claims?: TokenClaims | undefined;
  /** What the trusted lists say. Null: nothing. Undefined: no list was given. */
  readonly qualification?: Qualification | null;
  /** The token is valid because a trusted list grants its service, and not by the user's trust anchors. */
  readonly isTrustedByList?: boolean;
}

/**
 * Judges a token at its own genTime (V5), or an evidence record, with the anchors of `trust`, and with the services that a trusted list grants. It
 * returns a judgement for any bytes and never rejects.
 *
 * @param imprints imprints of the file in the algorithms that an evidence record needs. They are not compared with a token; the caller does that
 * @param lists undefined: no list was given. If there are several groups of lists, the first group that knows the service decides
 */
export async function judgeToken(
  token: Buffer,
  trust: TrustStore,
  nowMs: number,
  imprints: readonly Imprint[] = [],
  lists?: readonly ListIndex[],
): Promise<Judgement> {
  const nothingSaid = lists && { qualification: null };
  if (looksLikeMockToken(token)) return { verdict: 'not_proved', reason: 'mock_not_rfc3161', stated: undefined, ...nothingSaid };
  const digests = imprints.map(({ algorithm, digest }) => ({ algorithm, digest: Buffer.from(digest, 'hex') }));
  const verifyBy = (trust: TrustStore, renewalTrust: readonly TrustStore[] = []) =>
    isEvidenceRecord(token) ? verifyEvidenceRecord(token, { trust, nowMs, digests, renewalTrust }) : verifyToken(token, { trust, nowMs });

  const result = await verifyBy(trust);
  const isRevoked = !result.ok && result.code === 'certificate_revoked';
  // The first token of a record may rest on the user's trust anchors, and only its renewals on the lists.
  const mayBeMixed = !result.ok && isEvidenceRecord(token);
  const listed = isRevoked ? undefined : await judgeByLists(lists ?? [], { trust, nowMs, verifyBy, mayBeMixed });
  // Whatever the user's trust anchors say: a listed key in wrong hands proves nothing.
  if (listed && !listed.ok && (listed.code === 'certificate_revoked' || !result.ok))
    return { verdict: 'not_valid', reason: listed.code, stated: undefined, ...nothingSaid };
  if (result.ok) {
    const said = qualificationBy(lists ?? [], result, nowMs);
    // The user's trust anchors may lead to another chain than the one that the lists grant.
    const qualification = said && !isQualified(said) && listed?.ok ? qualificationBy(lists ?? [], listed, nowMs) : said;
    return { verdict: 'valid', reason: undefined, stated: result, ...(lists && { qualification }) };
  }
  if (listed?.ok) {
    const qualification = qualificationBy(lists ?? [], listed, nowMs);
    return { verdict: 'valid', reason: undefined, stated: listed, isTrustedByList: true, qualification };
  }
  if (verdictOf(result.code) === 'not_valid') return { verdict: 'not_valid', reason: result.code, stated: undefined, ...nothingSaid };
  const own = await verifyByItself(token, { nowMs, reader: trust }, verifyBy);
  if (own.ok) {
    const said = qualificationBy(lists ?? [], own, nowMs);
    // Nothing is called qualified that is not proved.
    const qualification = said && isQualified(said) ? null : said;
    return { verdict: 'not_proved', reason: result.code, stated: own, ...(lists && { qualification }) };
  }
  // If the token is not valid even when its own signer is trusted, no trust anchor can make it valid.
  const reason = verdictOf(own.code) === 'not_valid' ? own.code : result.code;
  const verdict = verdictOf(reason);
  return { verdict, reason, stated: undefined, claims: verdict === 'not_proved' ? result.claims : undefined, ...nothingSaid };
}

/**
 * Verifies with the services of each group of lists as further trust anchors. Each token of a record that only they cover must be qualified itself.
 * Returns the refusal if a service, or a certificate below it, was revoked, or if no group makes it valid and a service that is no CA certified the
 * signer. Otherwise returns undefined if no group makes it valid.
 */
async function judgeByLists(
  lists: readonly ListIndex[],
  {
    trust,
    nowMs,
    verifyBy,
    mayBeMixed,
  }: {
    trust: TrustStore;
    nowMs: number;
    mayBeMixed: boolean;
    verifyBy: (trust: TrustStore, renewalTrust: readonly TrustStore[]) => ReturnType<typeof verifyToken>;
  },
): Promise<VerifyResult | undefined> {
  const isGranted = (token: Verified, next: Verified | undefined) => {
    const said = decide(lists, (index) => qualificationOf(token, [], index, next?.genTime ?? new Date(nowMs)));
    return said !== null && isQualified(said);
  };
  let valid: Verified | undefined;
  let refused: VerifyResult | undefined;
  for (const services of lists.map((index) => index.trustWith(trust))) {
    const pairs = [[services, trust] as const, ...(mayBeMixed ? [[trust, services] as const] : [])];
    for (const [ofFirst, ofRenewals] of pairs) {
      const result = await verifyBy(ofFirst, [ofRenewals]);
      if (!result.ok) {
        if (result.code === 'certificate_revoked') return result;
        if (result.code === 'issuer_not_ca') refused ??= result;
        continue;
      }
      const tokens: readonly (Verified & { readonly trustedBy: readonly TrustStore[] })[] = result.record?.tokens ?? [
        { ...result, trustedBy: [ofFirst] },
      ];
      if (tokens.every((token, i) => token.trustedBy.includes(trust) || isGranted(token, tokens[i + 1]))) valid ??= result;
    }
  }
  return valid ?? refused;
}

/** What the lists say about verified evidence (V12). Null: nothing. */
function qualificationBy(lists: readonly ListIndex[], verified: Verified, nowMs: number): Qualification | null {
  const now = new Date(nowMs);
  return decide(lists, (index) =>
    qualificationOfEvidence(verified, {
      lists: index,
      ofFirst: [],
      ofRenewal: () => [],
      holdsAlone: ({ holdsAloneBy }) => holdsAloneBy.length > 0,
      now,
    }),
  );
}

/** The first group that knows the service with this key decides; an expired list only if no other group knows it. */
function decide(lists: readonly ListIndex[], judge: (index: ListIndex) => Qualification): Qualification | null {
  const said = lists.map(judge);
  const ofList = said.filter(({ basis }) => basis === 'list');
  const known = ofList.filter(({ reason }) => reason !== 'service_other_key');
  return known.find(({ reason }) => reason !== 'list_expired') ?? known[0] ?? ofList[0] ?? said[0] ?? null;
}

/** Returns the imprint that a token states; undefined if it cannot be read, or if the token is not valid. */
export function imprintSaidBy({ stated, claims }: Pick<Judgement, 'stated' | 'claims'>): Imprint | undefined {
  const said = stated ?? claims;
  return said && imprintOf(said);
}
