import { LRUCache } from 'lru-cache';
import { evidenceRecordOf, newImprintsOf, renewalsOf } from '../../shared/domain/evidence.ts';
import { isQualified, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import type { ReasonCode } from '../../shared/domain/reasons.ts';
import { isSameImprint } from '../../shared/domain/stamp.ts';
import { repliedQualificationOf, type StampedReply, stampedReplyOf } from '../../shared/queue/jobs.ts';
import { tokenIn, type Verified, withoutCertificates } from '../../shared/rfc3161/index.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { type AboutToken, createTokenJudge, type Judgement, type TokenJudge, type TrustedToken } from '../../shared/trust/judge.ts';
import { createListIndex, type ListIndex } from '../../shared/trust/lists/index.ts';
import type { Words } from '../../shared/views/format.ts';
import type { ApiTools } from '../tools.ts';

/** The judgement of a token, or why there is no stamp, or why its file is another one. `advice` counts instead of that of the code. */
export type StampJudgement = Judgement & { readonly advice?: string };

/**
 * With these codes the renewals in an evidence record are not usable now, for example because a certificate is not valid: then the token alone decides.
 * All other codes make the stamp not valid, because they mean that the record was changed. A new refusal of a renewal's signer belongs here.
 */
const renewalsWithoutUse: ReadonlySet<ReasonCode> = new Set([
  'evidence_expired',
  'evidence_renewed_late',
  'certificate_revoked',
  'untrusted_root',
  'trust_store_empty',
]);

const agrees = (token: TrustedToken, { tokenId, imprint, proofs: [{ issuedAt }] }: StoredStamp): boolean =>
  isSameImprint(token.imprint, imprint) && token.issuedAt === issuedAt && (token.tokenId === undefined || token.tokenId === tokenId);

export interface StampJudge {
  /** Verifies a token, see `TokenJudge`. Finds the certificates of a stored token that a client got without them. @throws TrustMaterialError */
  judgeToken(token: string, about?: AboutToken): Promise<Judgement>;
  /** Verifies a stored stamp with its renewals. If they are not usable now, its token alone decides. */
  judgeStamp(stamp: StoredStamp): Promise<StampJudgement>;
  /**
   * The reply for a stored stamp. Verification decides whether it is qualified, not the stored value (V9). Returns undefined if the stamp does not
   * verify.
   */
  storedReplyOf(stamp: StoredStamp): Promise<StampedReply | undefined>;
}

/** The tools of verification: those of the API, and the judge of stamps. */
export interface VerificationTools extends ApiTools {
  readonly stampJudge: StampJudge;
}

/**
 * Opens the judge of a process. It verifies tokens and stored stamps, again for each request. A stored stamp is refused if its record does not agree with
 * its token (V1).
 */
export function openStampJudge({ trust, lists, store, clock, log }: ApiTools): StampJudge {
  const { stamps } = store;
  const judgeBy = (index: () => ListIndex) =>
    createTokenJudge({ trust, lists: index, mockKey: () => store.keys.secret('mock-provider'), clock });
  const tokenJudge = judgeBy(lists.current);
  /** The lists of a few TSAs: preparing a list takes up to 50 ms. */
  const indexes = new LRUCache<string, ListIndex>({ max: 4 });

  async function indexOf(listSha256: string): Promise<ListIndex | undefined> {
    const said = indexes.has(listSha256) ? undefined : await store.trustedLists.findSaid(listSha256);
    if (said) indexes.set(listSha256, createListIndex([said]));
    return indexes.get(listSha256);
  }

  /** Returns a judge that uses the list under which such a token was made, if the service has kept one. */
  async function judgeOfTime({ signer, genTime }: Verified): Promise<TokenJudge | undefined> {
    const listing = await store.listings.findAt(signer.fingerprint, genTime);
    const index = listing && (await indexOf(listing.listed.listSha256));
    return index && judgeBy(() => index);
  }

  /**
   * Finds the stored form of a token that a client got without certificates. The stored form has them, and nobody can verify a token without
   * them.
   */
  async function storedFormOf(token: string): Promise<string | undefined> {
    const given = tokenIn(Buffer.from(token, 'base64'));
    const tokenId = given && (await stamps.findIdByToken(given.toString('base64')));
    const stamp = tokenId ? await stamps.find(tokenId) : null;
    const stored = stamp?.proofs.find(({ kind }) => kind === 'token')?.token;
    return given && stored && withoutCertificates(Buffer.from(stored, 'base64')).equals(given) ? stored : undefined;
  }

  async function judgeGiven(token: string, about: AboutToken): Promise<Judgement> {
    const judgement = await tokenJudge.judge(token, about);
    if (judgement.ok || judgement.code !== 'signer_certificate_missing' || about.provider !== undefined) return judgement;
    const stored = await storedFormOf(token);
    return stored === undefined ? judgement : tokenJudge.judge(stored, about);
  }

  async function judgeToken(token: string, about: AboutToken = {}): Promise<Judgement> {
    const judgement = await judgeGiven(token, about);
    if (!judgement.ok && judgement.code === 'verifier_failed') log.error({ err: judgement.cause }, 'the verifier failed on a token');
    return judgement;
  }

  async function judgeStamp(stamp: StoredStamp): Promise<StampJudgement> {
    const [{ token, provider }] = stamp.proofs;
    if (token === '') return { ok: false, code: 'record_damaged' };
    const renewed = renewalsOf(stamp.proofs[0]).length === 0 ? undefined : await judgeRenewed(stamp);
    const judgement = renewed ?? (await judgeToken(token, { provider, imprints: [stamp.imprint] }));
    if (!judgement.ok) return judgement;
    if (!agrees(judgement, stamp)) return { ok: false, code: 'record_mismatch' };
    return { ...judgement, qualification: await qualificationOfStamp(judgement, stamp.proofs[0].isQualified) };
  }

  /** If no list in force has the service with this key any more, the list under which the stamp was made decides, if it was qualified then. */
  async function qualificationOfStamp(
    { qualification, tst, verified, provider }: TrustedToken,
    wasQualified: boolean,
  ): Promise<Qualification> {
    const isDecided = qualification.basis === 'list' && qualification.reason !== 'service_other_key';
    if (!wasQualified || isDecided || isQualified(qualification) || verified === undefined) return qualification;
    const judge = await judgeOfTime(verified);
    const then = await judge?.judge(tst, { provider });
    return then?.ok && then.qualification.basis === 'list' && isQualified(then.qualification) ? then.qualification : qualification;
  }

  /**
   * Verifies a stamp by its evidence record with all renewals (RFC 4998 §5.3). Returns undefined if the renewals are not usable now: then the token
   * alone decides.
   */
  async function judgeRenewed(stamp: StoredStamp): Promise<Judgement | undefined> {
    const record = evidenceRecordOf(stamp);
    if (record === undefined) return { ok: false, code: 'record_damaged' };
    const [proof] = stamp.proofs;
    const imprints = [stamp.imprint, ...newImprintsOf(proof)];
    const judgement = await judgeToken(record.toString('base64'), { provider: proof.provider, imprints });
    if (judgement.ok || !renewalsWithoutUse.has(judgement.code)) return judgement;
    log.warn({ tokenId: stamp.tokenId, code: judgement.code }, 'the renewals of a stamp do not verify; using its token alone');
    return undefined;
  }

  async function storedReplyOf(stamp: StoredStamp): Promise<StampedReply | undefined> {
    const judgement = await judgeStamp(stamp);
    if (judgement.ok)
      return { ...stampedReplyOf(stamp), isQualified: isQualified(judgement.qualification), ...repliedQualificationOf(judgement) };
    log.error({ tokenId: stamp.tokenId, code: judgement.code }, 'withheld a stored stamp that does not verify');
    return undefined;
  }

  return { judgeToken, judgeStamp, storedReplyOf };
}

/** The result of verifying the stored token for this answer. */
export type StampVerdict =
  /** The token is valid and agrees with the stored record: provider, time and imprint are as in the token. */
  | { readonly kind: 'proved' }
  /** `reason` is a code, a colon and one sentence. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The chain of its signer does not lead to a trust anchor of this installation, or data for verification is missing. */
  | { readonly kind: 'not_proved' };

/** A stamp and its verdict. If the verdict is not `proved`, the other members are only recorded, and the page must not state them as facts. */
export interface StampMark {
  readonly tokenId: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
  /** Who says that it is qualified or not, and why; null if the verdict is not `proved`. */
  readonly qualification: Qualification | null;
  readonly verifyUrl: string;
  readonly verdict: StampVerdict;
}

const marksOf = ({ t }: Words) => ({
  qualified: { icon: 'check', text: t('Qualified') },
  claimed: { icon: 'check', text: t('Qualified, claimed by the operator') },
  not_qualified: { icon: 'warning', text: t('Not qualified') },
  test: { icon: 'warning', text: t('Test stamp') },
  not_asked: { icon: 'pending', text: t('Not asked yet') },
  refused: { icon: 'cross', text: t('Does not verify') },
  not_proved: { icon: 'warning', text: t('Not proved') },
});

export type MarkShown = ReturnType<typeof markOf>;
type MarkName = Exclude<keyof ReturnType<typeof marksOf>, 'claimed'>;

/** The mark beside the name of a provider, on every page. `isClaimed`: only the operator calls it qualified, and no trusted list. */
export function markOf(name: MarkName, basis: Qualification['basis'] | undefined, words: Words) {
  const isClaimed = name === 'qualified' && basis === 'operator';
  return { name, ...marksOf(words)[isClaimed ? 'claimed' : name], isClaimed };
}

export function markOfStamp({ verdict, qualification, isQualified }: StampMark, words: Words): MarkShown {
  if (verdict.kind !== 'proved') return markOf(verdict.kind, null, words);
  if (trialOf(qualification)) return markOf('test', null, words);
  return markOf(isQualified ? 'qualified' : 'not_qualified', qualification?.basis, words);
}
