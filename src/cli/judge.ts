import { stat } from 'node:fs/promises';
import type { VerificationResult } from '../shared/contract/verify.ts';
import { type InclusionProofShown, inclusionProof } from '../shared/contract/workflow-proof.ts';
import { hashOfClosingText, verifyInclusion } from '../shared/domain/proofs.ts';
import type { Qualification } from '../shared/domain/qualification.ts';
import { type ReasonCode, reasonOf, type Verdict, verdictOf } from '../shared/domain/reasons.ts';
import { type Imprint, type ImprintAlgorithm, isSameImprint, sha256Imprint } from '../shared/domain/stamp.ts';
import { canonicalTextOf } from '../shared/proof/closing-record.js';
import { octetsOfSha256 } from '../shared/proof/octets.js';
import { recordAlgorithms, type TokenClaims, type TrustStore, type Verified } from '../shared/rfc3161/index.ts';
import { createTokenJudge, statedBy } from '../shared/trust/judge.ts';
import { createListIndex, type ListIndex } from '../shared/trust/lists/index.ts';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import { type DigestOptions, digestInput, parseJson, readText } from './local-files.ts';
import type { VerifySubject } from './operands.ts';

export interface TokenVerdict {
  readonly verdict: Verdict;
  readonly reason: ReasonCode | undefined;
  /**
   * The contents of the token, if its signature and chain are correct. If the verdict is `not_proved`, the chain ends with the last known
   * certificate, which the user would have to trust.
   */
  readonly stated: Verified | undefined;
  /** The imprint that the token states. Undefined if it cannot be read, or if the token is not valid. */
  readonly imprint?: Imprint | undefined;
  /** The statement of a token that is not proved and could not be verified. The times in a bundle must not contradict it. */
  readonly claims?: TokenClaims | undefined;
  /** What the trusted lists say. Null: nothing. Undefined: no list was given. */
  readonly qualification?: Qualification | null;
  /** The token is valid because a trusted list grants its service, and not by the user's trust anchors. */
  readonly isTrustedByList?: boolean;
  /** If the token is for another content: whether the token itself is valid. */
  readonly isTokenProved?: boolean;
}

/** What the user trusts, and when. */
export interface Trusted {
  readonly trust: TrustStore;
  readonly lists: ListIndex | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

const noLists = createListIndex([]);

/**
 * Judges a token or an evidence record with the user's trust anchors and trusted lists, as the service does. It returns a verdict for any octets.
 *
 * @param imprints imprints of the file in the algorithms that an evidence record needs. They are not compared with a token; the caller does that
 */
export async function judgeToken(token: Uint8Array, { trust, lists, nowMs }: Trusted, imprints: readonly Imprint[]): Promise<TokenVerdict> {
  const settings = { providers: [], extraTrust: trust };
  const { judge } = createTokenJudge({ trust: settings, lists: () => lists ?? noLists, clock: () => nowMs });
  const judged = await judge(token, { imprints });
  const qualification = lists && { qualification: (!lists.isEmpty && judged.qualification) || null };
  const imprint = statedBy(judged)?.imprint;
  if (judged.ok) {
    const { verified, isTrustedByList } = judged;
    return { verdict: 'valid', reason: undefined, stated: verified, imprint, isTrustedByList, ...qualification };
  }
  const { code: reason, stated, claims } = judged;
  // Only its own service has the key of a mock token.
  const verdict = reason === 'mock_not_rfc3161' ? 'not_proved' : verdictOf(reason);
  return { verdict, reason, stated, imprint, claims: verdict === 'not_proved' ? claims : undefined, ...qualification };
}

const mismatchOf = ({ verdict, stated }: Pick<TokenVerdict, 'verdict' | 'stated'>) =>
  ({ verdict: 'not_valid', reason: 'imprint_mismatch', stated, isTokenProved: verdict === 'valid' }) as const;

/** Judges the stamp of a SHA-256 like `judgeToken`. A token for another hash is not valid. */
export async function judgeStamp(
  token: Uint8Array,
  trusted: Trusted,
  sha256: Imprint,
  imprints: readonly Imprint[] = [sha256],
): Promise<TokenVerdict> {
  const judged = await judgeToken(token, trusted, imprints);
  const { verdict, imprint } = judged;
  return verdict === 'not_valid' || !imprint || isSameImprint(imprint, sha256) ? judged : mismatchOf(judged);
}

export type OnlineAnswer = VerificationResult | CommandFailure;

/** The judgement on this machine about a name on the command line, and the answer of the service if it was asked. */
export interface SubjectJudgement extends Omit<TokenVerdict, 'reason'> {
  /** `no_token`: the service may know the stamp, but there is no token to verify here. */
  readonly reason: TokenVerdict['reason'] | 'no_token';
  readonly online?: OnlineAnswer | undefined;
}

export interface JudgeContext extends Trusted {
  readonly client: Client | undefined;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly onBytes: NonNullable<DigestOptions['onBytes']>;
}

/**
 * Judges a name on the command line by its token and the file's recomputed digest. The digest in a saved stamp record counts only if there is no
 * token: then a file with another digest is refused.
 *
 * @throws CommandFailure if there is nothing to judge, or the file cannot be read
 */
export async function judgeSubject(subject: VerifySubject, context: JudgeContext): Promise<SubjectJudgement> {
  const { client, stdin, onBytes } = context;
  const { input, stampId, record } = subject;
  if (subject.token === undefined && client === undefined && record === undefined) {
    throw misuse('an id is not a token; --online fetches the token from the service');
  }
  const token = subject.token ?? (stampId === undefined ? undefined : await client?.fetchToken(stampId));
  const imprintsOfInput = async (path: string, algorithms: readonly [ImprintAlgorithm, ...ImprintAlgorithm[]]) =>
    (await digestInput(path, stdin, { algorithms, onBytes })).imprints;
  // Standard input can be read only once, so the algorithms that an evidence record needs are read from it first.
  const [first, ...others] = token === undefined ? [] : recordAlgorithms(token);
  const imprints = input === undefined || first === undefined ? [] : await imprintsOfInput(input, [first, ...others]);
  const judged = token === undefined ? noToken : await judgeToken(token, context, imprints);
  const wanted = judged.imprint ?? (record && sha256Imprint(record.sha256));
  const found = imprints[0] ?? (input === undefined ? undefined : (await imprintsOfInput(input, [wanted?.algorithm ?? 'sha256']))[0]);
  const differs = judged.verdict !== 'not_valid' && found !== undefined && wanted !== undefined && !isSameImprint(found, wanted);
  const online = client && (await askService(client, token, stampId, found));
  return { ...judged, ...(differs && mismatchOf(judged)), online };
}

const noToken = { verdict: 'not_proved', reason: 'no_token', stated: undefined, imprint: undefined } as const;

async function askService(
  client: Client,
  token: Buffer | undefined,
  stampId: string | undefined,
  found: Imprint | undefined,
): Promise<OnlineAnswer | undefined> {
  try {
    if (token !== undefined) return await client.verifyToken(token.toString('base64'), found?.digest);
    if (stampId === undefined) return undefined;
    const result = await client.verifyById(stampId);
    if (!result.valid || found === undefined || result.content_sha256 === found.digest) return result;
    return { ...result, valid: false, verdict: 'not_valid', reason: reasonOf('imprint_mismatch') };
  } catch (error) {
    if (error instanceof CommandFailure) return error;
    throw error;
  }
}

export interface OutputJudgement {
  readonly judgement: SubjectJudgement;
  /** SHA-256 of the file, lower-case hex. */
  readonly sha256: string;
  readonly proof: InclusionProofShown;
}

const mostProofBytes = 4 * 1024 * 1024;

/** Reads an inclusion proof. @throws CommandFailure if the file contains no proof */
async function readProof(path: string): Promise<InclusionProofShown> {
  const { size = 0 } = (await stat(path).catch(() => undefined)) ?? {};
  if (size > mostProofBytes) throw new CommandFailure(exitCodes.file, `${path} is too large for a proof`);
  const text = await readText(path);
  if (text === undefined) throw new CommandFailure(exitCodes.file, `${path}: there is no such file`);
  const { data } = inclusionProof.safeParse(parseJson(text));
  if (data) return data;
  throw new CommandFailure(exitCodes.file, `${path} is not an inclusion proof of a workflow's output`);
}

/**
 * Judges whether a file is an output in a stamped closing record, and so existed when the record was stamped (refusal 48). The inclusion path must
 * lead from the file's digest to the root in the record, in a tree of the size in the record, and the token over the record must be valid. Other
 * roots in the proof are ignored. The token does not prove who made the record.
 *
 * @throws CommandFailure if the file or the proof cannot be read
 */
export async function judgeOutput(path: string, proofPath: string, context: JudgeContext): Promise<OutputJudgement> {
  const proof = await readProof(proofPath);
  const { digest: sha256 } = (await digestInput(path, context.stdin, { onBytes: context.onBytes })).imprint;
  const found = { sha256, proof };
  const { closing_record: seal } = proof;
  if (!seal) return { ...found, judgement: noToken };

  const { record } = seal;
  const stamped = sha256Imprint(hashOfClosingText(canonicalTextOf(record)));
  const judged = await judgeStamp(Buffer.from(seal.stamp.token, 'base64'), context, stamped);
  if (judged.verdict === 'not_valid') return { ...found, judgement: judged };
  const isOwn = record.workflow_id === proof.workflow_id && proof.sequence_number === proof.leaf_index + 1;
  const inclusion = {
    treeSize: proof.tree_size,
    leafIndex: proof.leaf_index,
    inclusionPath: proof.inclusion_path.map(octetsOfSha256),
  };
  const head = { treeSize: record.output_count, rootHash: octetsOfSha256(record.merkle_root) };
  const isProved = isOwn && verifyInclusion(octetsOfSha256(sha256), inclusion, head).ok;
  return { ...found, judgement: isProved ? judged : { verdict: 'not_valid', reason: 'inclusion_proof_invalid', stated: judged.stated } };
}
