import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import { isQualified, type Qualification } from '../shared/domain/qualification.ts';
import { type ReasonCode, type Verdict, verdictOf } from '../shared/domain/reasons.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { imprintOf } from '../shared/domain/told-token.ts';
import {
  createTrustStore,
  isEvidenceRecord,
  type TokenClaims,
  type TrustStore,
  type Verified,
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

/** Trusted lists for judging tokens: their services, and these as trust anchors. */
export interface ListTrust {
  readonly index: ListIndex;
  /** The trust store with these services, and with the user's certificates and revocation lists. */
  storeWith(user: TrustStore): TrustStore;
}

/** The lists have no revocation lists. A certificate that the user's ones revoke must not be trusted because of a list. */
export function listTrustOf(index: ListIndex): ListTrust {
  const made = new WeakMap<TrustStore, TrustStore>();
  const derOf = ({ der }: { readonly der: Buffer }) => der;
  return {
    index,
    storeWith: (user) => {
      const store = made.get(user) ?? {
        ...createTrustStore({ anchors: [], namedKeys: index.trust.certificates, intermediates: user.certificates.map(derOf) }),
        crls: user.crls,
      };
      made.set(user, store);
      return store;
    },
  };
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
  lists?: readonly ListTrust[],
): Promise<Judgement> {
  const nothingSaid = lists && { qualification: null };
  if (looksLikeMockToken(token)) return { verdict: 'not_proved', reason: 'mock_not_rfc3161', stated: undefined, ...nothingSaid };
  const digests = imprints.map(({ algorithm, digest }) => ({ algorithm, digest: Buffer.from(digest, 'hex') }));
  const verifyBy = (trust: TrustStore, renewalTrust: readonly TrustStore[] = []) =>
    isEvidenceRecord(token) ? verifyEvidenceRecord(token, { trust, nowMs, digests, renewalTrust }) : verifyToken(token, { trust, nowMs });
  const said = (stated: Verified) => lists && { qualification: qualificationBy(lists, stated, nowMs) };

  const result = await verifyBy(trust);
  if (result.ok) return { verdict: 'valid', reason: undefined, stated: result, ...said(result) };
  for (const one of lists ?? []) {
    const listed = await judgeByLists(one, lists ?? [], { trust, nowMs, verifyBy });
    if (listed) return { verdict: 'valid', reason: undefined, stated: listed, isTrustedByList: true, ...said(listed) };
  }
  if (verdictOf(result.code) === 'not_valid') return { verdict: 'not_valid', reason: result.code, stated: undefined, ...nothingSaid };
  const own = await verifyByItself(token, { nowMs, crls: trust.crls }, verifyBy);
  if (own.ok) {
    const says = said(own);
    // Nothing is called qualified that is not proved.
    const isCalledQualified = says?.qualification && isQualified(says.qualification);
    return { verdict: 'not_proved', reason: result.code, stated: own, ...(isCalledQualified ? nothingSaid : says) };
  }
  // If the token is not valid even when its own signer is trusted, no trust anchor can make it valid.
  const reason = verdictOf(own.code) === 'not_valid' ? own.code : result.code;
  const verdict = verdictOf(reason);
  return { verdict, reason, stated: undefined, claims: verdict === 'not_proved' ? result.claims : undefined, ...nothingSaid };
}

/**
 * Verifies with the services of one group of lists as further trust anchors. Each token of a record that only they cover must be qualified itself.
 * Returns undefined if it is not valid.
 */
async function judgeByLists(
  { storeWith }: ListTrust,
  lists: readonly ListTrust[],
  {
    trust,
    nowMs,
    verifyBy,
  }: {
    trust: TrustStore;
    nowMs: number;
    verifyBy: (trust: TrustStore, renewalTrust: readonly TrustStore[]) => ReturnType<typeof verifyToken>;
  },
): Promise<Verified | undefined> {
  const services = storeWith(trust);
  for (const [ofFirst, ofRenewals] of [
    [services, trust],
    [trust, services],
  ] as const) {
    const result = await verifyBy(ofFirst, [ofRenewals]);
    if (!result.ok) continue;
    const tokens: readonly (Verified & { readonly trustedBy: readonly TrustStore[] })[] = result.record?.tokens ?? [
      { ...result, trustedBy: [ofFirst] },
    ];
    const isGranted = (token: Verified, next: Verified | undefined) => {
      const said = decide(lists, (index) => qualificationOf(token, [], index, next?.genTime ?? new Date(nowMs)));
      return said !== null && isQualified(said);
    };
    if (tokens.every((token, i) => token.trustedBy.includes(trust) || isGranted(token, tokens[i + 1]))) return result;
  }
  return undefined;
}

/** What the lists say about verified evidence (V12). */
function qualificationBy(lists: readonly ListTrust[], verified: Verified, nowMs: number): Qualification | null {
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
function decide(lists: readonly ListTrust[], judge: (index: ListIndex) => Qualification): Qualification | null {
  const said = lists.map(({ index }) => judge(index));
  const ofList = said.filter(({ basis }) => basis === 'list');
  const known = ofList.filter(({ reason }) => reason !== 'service_other_key');
  return known.find(({ reason }) => reason !== 'list_expired') ?? known[0] ?? ofList[0] ?? said[0] ?? null;
}

/** Returns the imprint that a token states; undefined if it cannot be read, or if the token is not valid. */
export function imprintSaidBy({ stated, claims }: Pick<Judgement, 'stated' | 'claims'>): Imprint | undefined {
  const said = stated ?? claims;
  return said && imprintOf(said);
}
