import { setTimeout as delay } from 'node:timers/promises';
import { anyUuid } from '../../shared/contract/parameters.ts';
import { contentSha256Of } from '../../shared/contract/stamp.ts';
import { qualifiedVerdictOf, type VerificationResult } from '../../shared/contract/verify.ts';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { adviceOf, reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { digestCharacters, imprintOfDigest, timeOfId } from '../../shared/domain/stamp.ts';
import { tokenShown } from '../../shared/domain/token.ts';
import { statedBy, type TrustedToken } from '../../shared/trust/judge.ts';
import type { StampJudgement, VerificationTools } from './stamp-judge.ts';
import type { StampPage } from './stamp-pages.ts';

/**
 * Verifies a stamp by its id (V2): loads the stored token and checks it cryptographically, again for each request. For an unknown id, and for a stamp
 * that was refused or failed, the result is `valid: false`.
 */
export async function verifyById(tools: VerificationTools, tokenId: string): Promise<VerificationResult> {
  const { judgement } = await judgeById(tools, tokenId);
  return counted(tools, resultOf(judgement, isUnknown(judgement) ? null : tokenId, false));
}

/** Reads the page at `verify_url` (V8). `baseUrl`: the base URL of the service, without a final slash. @throws ServiceError `store_unavailable` */
export async function readStampPage(tools: VerificationTools, tokenId: string, baseUrl: string): Promise<StampPage> {
  const { stamp, judgement } = await judgeById(tools, tokenId);
  const shownAt = new Date(tools.clock()).toISOString();
  return { tokenId, address: `${baseUrl}${verifyPath(tokenId)}`, judgement, proofKind: stamp?.proofs[0].kind, shownAt };
}

async function judgeById({ store: { stamps, refusals }, stampJudge }: VerificationTools, tokenId: string) {
  const stamp = await stamps.find(tokenId);
  const judgement: StampJudgement = stamp
    ? await stampJudge.judgeStamp(stamp)
    : { ok: false, code: (await refusals.find(tokenId)) ?? 'unknown_token_id' };
  return { stamp, judgement };
}

/** Whether no stamp has the requested id. */
export const isUnknown = (judgement: StampJudgement): boolean => !judgement.ok && judgement.code === 'unknown_token_id';

/**
 * Checks whether a text is a valid token, and whether it belongs to the file with the given hashes (V2). It returns a result for any text.
 *
 * @param hashes hashes of the same file in other algorithms: a record that was renewed with a new algorithm needs the hash in this algorithm
 * @param crls revocation lists, DER, that count beside those of the service
 * @throws TrustMaterialError if one of `crls` cannot be read, or was not signed by its issuer
 */
export async function verifyRaw(
  tools: VerificationTools,
  token: string,
  hash?: string | null,
  hashes?: readonly string[] | null,
  crls: readonly Uint8Array[] = [],
): Promise<VerificationResult> {
  const given = [hash ?? [], hashes ?? []].flat();
  const judgement = await tools.stampJudge.judgeToken(token, { imprints: given.flatMap((one) => imprintOfDigest(one) ?? []), crls });
  // A different file is the first reason to refuse, even if the token does not verify either.
  const judged = otherFileOf(judgement, hash ?? undefined, given) ?? judgement;
  const result = resultOf(judged, judged.ok ? await findTokenId(tools, judged) : null, given.length > 0);
  const areUnused =
    judged.ok && judged.verified?.record === undefined && given.some(({ length }) => length !== digestCharacters[judged.imprint.algorithm]);
  if (!judged.ok && anyUuid.safeParse(token.trim()).success) return counted(tools, { ...result, reason: `${result.reason} ${givenAnId}` });
  return counted(tools, areUnused ? { ...result, not_checked: [...(result.not_checked ?? []), otherHashes] } : result);
}

/**
 * The verdict on a pasted token. `verifyFormViewOf` compares its imprint with `hash`. Only an evidence record that covers several hashes is verified for
 * `hash` here, because it can only be verified for one of them.
 */
export async function judgePasted({ stampJudge }: VerificationTools, token: string, hash: string): Promise<StampJudgement> {
  const judgement = await stampJudge.judgeToken(token);
  const expected = !judgement.ok && judgement.code === 'evidence_hash_needed' ? imprintOfDigest(hash) : undefined;
  const judged = expected === undefined ? judgement : await stampJudge.judgeToken(token, { imprints: [expected] });
  // If a token is valid, the page shows that its hash is different. If a token is not valid, its stated hash is compared here.
  return (judged.ok || hash === '' ? undefined : otherFileOf(judged, hash, [hash])) ?? judged;
}

const findTokenId = async ({ store: { stamps } }: VerificationTools, { tokenId, tst }: TrustedToken): Promise<string | null> =>
  tst ? stamps.findIdByToken(tst.toString('base64')) : tokenId;

function counted({ store: { counters }, clock }: VerificationTools, result: VerificationResult): VerificationResult {
  counters.add({ verifications: 1 }, clock());
  return result;
}

/** Advice for a token with a different imprint. It does not prove that the file changed, because the token may belong to a batch. */
const otherFile = 'The file has changed, or this is the token of a batch: use the evidence record (.ers) of the stamp.';

/** A typical mistake (E16). */
const givenAnId = `This looks like the id of a stamp: verify it at ${verifyPath('{id}')}.`;

const otherHashes = 'the hashes in other algorithms: the token holds one hash only';

/**
 * Returns why a token does not belong to the hashes of a file; undefined if it does, or if no imprint or hash is known. For a token that is not
 * proved, the imprint that it states is compared.
 */
function otherFileOf(judgement: StampJudgement, hash: string | undefined, given: readonly string[]): StampJudgement | undefined {
  const stated = statedBy(judgement);
  if (stated === undefined || given.length === 0) return undefined;
  const { imprint, mayBeOfBatch } = stated;
  const ofAlgorithm = given.filter(({ length }) => length === digestCharacters[imprint.algorithm]);
  if (ofAlgorithm.length === 0 || (hash !== undefined && !ofAlgorithm.includes(hash)))
    return { ok: false, code: 'imprint_algorithm_mismatch' };
  if (ofAlgorithm.every((digest) => digest === imprint.digest)) return undefined;
  return { ok: false, code: 'imprint_mismatch', ...(mayBeOfBatch && { advice: otherFile }) };
}

/** The item of `not_checked` if the request has no hash: the caller must compare the file. */
const fileUnchecked = 'whether you have the right file: compare its hash with the imprint';
const onlyHere = 'the time: this service made the mock token itself, and nobody else can check it';

const detailsShown = ({ verified, qualification }: TrustedToken, isFileCompared: boolean) => {
  const file = isFileCompared ? [] : [fileUnchecked];
  if (verified === undefined) return { not_checked: [...file, onlyHere] };
  const shown = tokenShown(verified);
  return { ...shown, not_checked: [...file, ...shown.not_checked, ...(qualification.notChecked ?? [])] };
};

/** The verdict as the API answers it. */
export function resultOf(judgement: StampJudgement, tokenId: string | null, isFileCompared: boolean): VerificationResult {
  if (!judgement.ok) {
    const { code, qualification, advice = adviceOf(code) } = judgement;
    return {
      ...{ valid: false, verdict: verdictOf(code), token_id: tokenId, issued_at: null, content_sha256: null, imprint: null },
      ...{ tsp_provider: null, is_qualified: null, qualified: qualification ? qualifiedVerdictOf(qualification) : null },
      reason: reasonOf(code),
      ...(advice !== undefined && { advice }),
    };
  }
  const { issuedAt, imprint, provider = null, qualification, verified } = judgement;
  return {
    ...{ valid: true, verdict: 'valid', token_id: tokenId, issued_at: issuedAt, content_sha256: contentSha256Of(imprint), imprint },
    ...{ tsp_provider: provider, is_qualified: isQualified(qualification), qualified: qualifiedVerdictOf(qualification) },
    ...(verified?.record && { holds_until: verified.record.holdsUntil.toISOString() }),
    ...detailsShown(judgement, isFileCompared),
    reason: null,
  };
}

/** Whether a result means that no stamp has the requested id. */
export const isUnknownId = ({ reason }: VerificationResult): boolean => reason === reasonOf('unknown_token_id');

const longestSeconds = 30;
/** The maximum number of waits in a process at once. Further requests are answered immediately. */
const mostWaiting = 512;
/** A wait makes sense only for an id that is younger than this: an older stamp is not expected any more. */
const youngMs = 24 * 3_600_000;

const firstLookMs = 50;
const longestLookMs = 500;

/**
 * Creates a function that waits until a stamp is stored or the time is up, then verifies it by its id (N1). `hasLeft`: whether the client has closed
 * the connection.
 */
export function createOutcomeWait(tools: VerificationTools) {
  const { store, clock } = tools;
  let waiting = 0;

  async function untilThere(tokenId: string, until: number, hasLeft: () => boolean): Promise<void> {
    for (let lookMs = firstLookMs; performance.now() < until && !hasLeft(); lookMs = Math.min(lookMs * 1.5, longestLookMs)) {
      await delay(Math.min(lookMs, Math.max(1, until - performance.now())));
      if ((await store.stamps.find(tokenId)) !== null) return;
    }
  }

  return async (tokenId: string, waitSeconds: number, hasLeft: () => boolean): Promise<VerificationResult> => {
    const result = await verifyById(tools, tokenId);
    const age = clock() - timeOfId(tokenId);
    const isExpected = isUnknownId(result) && age < youngMs && age > -youngMs;
    if (waitSeconds === 0 || !isExpected || waiting >= mostWaiting) return result;
    waiting += 1;
    try {
      await untilThere(tokenId, performance.now() + Math.min(waitSeconds, longestSeconds) * 1_000, hasLeft);
    } finally {
      waiting -= 1;
    }
    return verifyById(tools, tokenId);
  };
}
