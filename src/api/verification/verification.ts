import { setTimeout as delay } from 'node:timers/promises';
import { contentSha256Of } from '../../shared/contract/stamp.ts';
import { qualifiedVerdictOf, type VerificationResult } from '../../shared/contract/verify.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { adviceOf, type ReasonCode, reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { digestCharacters, imprintOfDigest, timeOfId } from '../../shared/domain/stamp.ts';
import { imprintOf, toldToken } from '../../shared/domain/token.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { StampJudgement, VerificationTools } from './stamp-judge.ts';

/**
 * Verifies a stamp by its id (V2): loads the stored token and checks it cryptographically, again for each request. For an unknown id, and for a stamp
 * that was refused or failed, the result is `valid: false`.
 */
export async function verifyById(tools: VerificationTools, tokenId: string): Promise<VerificationResult> {
  const { stamps, refusals } = tools.store;
  const stamp = await stamps.find(tokenId);
  if (stamp) return counted(tools, resultOf(await tools.stampJudge.judgeStamp(stamp), tokenId, false));
  const refusal = await refusals.find(tokenId);
  return counted(tools, refusal ? invalid(refusal, tokenId) : invalid('unknown_token_id'));
}

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
  crls?: readonly Uint8Array[],
): Promise<VerificationResult> {
  const given = [hash ?? [], hashes ?? []].flat();
  const imprints = given.flatMap((one) => imprintOfDigest(one) ?? []);
  const judgement = await tools.stampJudge.judgeToken(token, { imprints, ...(crls && { crls }) });
  // A different file is the first reason to refuse, even if the token does not verify either.
  const fault = otherFileOf(judgement, hash ?? undefined, given);
  if (fault !== undefined) return counted(tools, invalid(fault.code, null, fault.advice));
  if (!judgement.ok) return counted(tools, resultOf(judgement, null, given.length > 0));
  const result = resultOf(judgement, await findTokenId(tools, judgement), given.length > 0);
  const areUnused =
    judgement.verified?.record === undefined && given.some(({ length }) => length !== digestCharacters[judgement.imprint.algorithm]);
  return counted(tools, areUnused ? { ...result, not_checked: [...(result.not_checked ?? []), otherHashes] } : result);
}

async function findTokenId({ store: { stamps } }: VerificationTools, { tokenId, tst }: Vouched): Promise<string | null> {
  return tst ? stamps.findIdByToken(tst.toString('base64')) : (tokenId ?? null);
}

function counted({ store: { counters }, clock }: VerificationTools, result: VerificationResult): VerificationResult {
  counters.add({ verifications: 1 }, clock());
  return result;
}

const invalid = (code: ReasonCode, tokenId: string | null = null, advice = adviceOf(code)): VerificationResult => ({
  valid: false,
  verdict: verdictOf(code),
  token_id: tokenId,
  issued_at: null,
  content_sha256: null,
  imprint: null,
  tsp_provider: null,
  is_qualified: null,
  qualified: null,
  reason: reasonOf(code),
  ...(advice !== undefined && { advice }),
});

/** Advice for a token with a different imprint. It does not prove that the file changed, because the token may belong to a batch. */
const otherFile = 'The file has changed, or this is the token of a batch: use the evidence record (.ers) of the stamp.';

const otherHashes = 'the hashes in other algorithms: the token holds one hash only';

interface OtherFile {
  readonly code: ReasonCode;
  readonly advice?: string;
}

/**
 * Returns why a token does not belong to the hashes of a file; undefined if it does, or if no imprint or hash is known. For a token that is not
 * proved, the imprint that it states is compared.
 */
export function otherFileOf(judgement: StampJudgement, hash: string | undefined, given: readonly string[]): OtherFile | undefined {
  const verified = judgement.ok ? judgement.verified : judgement.stated;
  const claims = judgement.ok || verdictOf(judgement.code) === 'not_valid' ? undefined : judgement.claims;
  const stated = verified ?? claims;
  const imprint = judgement.ok ? judgement.imprint : stated && imprintOf(stated);
  if (imprint === undefined || given.length === 0) return undefined;
  const ofAlgorithm = given.filter(({ length }) => length === digestCharacters[imprint.algorithm]);
  if (ofAlgorithm.length === 0 || (hash !== undefined && !ofAlgorithm.includes(hash))) return { code: 'imprint_algorithm_mismatch' };
  if (ofAlgorithm.every((digest) => digest === imprint.digest)) return undefined;
  const mayBeOfBatch = verified !== undefined && verified.record === undefined;
  return { code: 'imprint_mismatch', ...(mayBeOfBatch && { advice: otherFile }) };
}

/** The item of `not_checked` if the request has no hash: the caller must compare the file. */
const fileUnchecked = 'whether you have the right file: compare its hash with the imprint';
const onlyHere = 'the time: this service made the mock token itself, and nobody else can check it';

const toldOf = ({ verified, qualification }: Vouched, isFileCompared: boolean) => {
  const file = isFileCompared ? [] : [fileUnchecked];
  if (verified === undefined) return { not_checked: [...file, onlyHere] };
  const told = toldToken(verified);
  return { ...told, not_checked: [...file, ...told.not_checked, ...(qualification.notChecked ?? [])] };
};

/** The verdict as the API answers it. */
export function resultOf(judgement: StampJudgement, tokenId: string | null, isFileCompared: boolean): VerificationResult {
  if (!judgement.ok) {
    const { code, qualification } = judgement;
    return { ...invalid(code, tokenId), qualified: qualification ? qualifiedVerdictOf(qualification) : null };
  }
  const { issuedAt, imprint, provider, qualification, verified } = judgement;
  return {
    valid: true,
    verdict: 'valid',
    token_id: tokenId,
    issued_at: issuedAt,
    content_sha256: contentSha256Of(imprint),
    imprint,
    tsp_provider: provider ?? null,
    is_qualified: isQualified(qualification),
    qualified: qualifiedVerdictOf(qualification),
    ...(verified?.record && { holds_until: verified.record.holdsUntil.toISOString() }),
    ...toldOf(judgement, isFileCompared),
    reason: null,
  };
}

/** Whether a result means that no stamp has the requested id. */
export const isUnknownId = ({ reason }: VerificationResult): boolean => reason === reasonOf('unknown_token_id');

/**
 * Waits until a stamp is stored or the time is up, then verifies it by its id (N1). `hasLeft`: whether the client has closed the connection.
 *
 * @throws ServiceError `store_unavailable`
 */
type UntilKnown = (tokenId: string, waitSeconds: number, hasLeft: () => boolean) => Promise<VerificationResult>;

/** The longest wait, in seconds. */
const longestSeconds = 30;
/** The maximum number of waits in a process at once. Further requests are answered immediately. */
const mostWaiting = 512;
/** A wait makes sense only for an id that is younger than this: an older stamp is not expected any more. */
const youngMs = 24 * 3_600_000;

const firstLookMs = 50;
const longestLookMs = 500;

export function createOutcomeWait(tools: VerificationTools): UntilKnown {
  const { store, clock } = tools;
  let waiting = 0;

  async function untilThere(tokenId: string, until: number, hasLeft: () => boolean): Promise<void> {
    for (let lookMs = firstLookMs; performance.now() < until && !hasLeft(); lookMs = Math.min(lookMs * 1.5, longestLookMs)) {
      await delay(Math.min(lookMs, Math.max(1, until - performance.now())));
      if ((await store.stamps.find(tokenId)) !== null) return;
    }
  }

  return async (tokenId, waitSeconds, hasLeft) => {
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
