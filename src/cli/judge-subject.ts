import type { VerificationResult } from '../shared/contract/verify.ts';
import { reasonOf } from '../shared/domain/reasons.ts';
import { type Imprint, type ImprintAlgorithm, isSameImprint, sha256Imprint } from '../shared/domain/stamp.ts';
import { recordAlgorithms, type TrustStore } from '../shared/rfc3161/index.ts';
import type { ListIndex } from '../shared/trust/lists/index.ts';
import type { Client } from './client.ts';
import { type DigestOptions, digestInput } from './digest-input.ts';
import { CommandFailure, misuse } from './failure.ts';
import { imprintSaidBy, judgeToken, type TokenVerdict } from './judge-token.ts';
import type { VerifySubject } from './subject.ts';

/** The answer of the service, or the failure to get one. */
export type OnlineAnswer = VerificationResult | CommandFailure;

/** The judgement on this machine about a name on the command line, and the answer of the service if it was asked. */
export interface SubjectJudgement extends Omit<TokenVerdict, 'reason'> {
  /** `no_token`: the service may know the stamp, but there is no token to verify here. */
  readonly reason: TokenVerdict['reason'] | 'no_token';
  /** If the file does not match the token: whether the token itself is valid. */
  readonly isTokenProved?: boolean;
  readonly online: OnlineAnswer | undefined;
}

export interface JudgeContext {
  readonly trust: TrustStore;
  /** Undefined: no trusted list was given. */
  readonly lists: ListIndex | undefined;
  /** Undefined: the service is not asked. */
  readonly client: Client | undefined;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly onBytes: NonNullable<DigestOptions['onBytes']>;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Judges a name on the command line by its token and the file's recomputed digest. The digest in a saved stamp record counts only if there is no
 * token: then a file with another digest is refused.
 *
 * @throws CommandFailure if there is nothing to judge, or the file cannot be read
 */
export async function judgeSubject(subject: VerifySubject, context: JudgeContext): Promise<SubjectJudgement> {
  const { trust, lists, client, stdin, onBytes, nowMs } = context;
  const { input, stampId, record } = subject;
  if (subject.token === undefined && client === undefined && record === undefined) {
    throw misuse('an id is not a token; --online fetches the token from the service');
  }
  const token = subject.token ?? (stampId === undefined ? undefined : await client?.fetchToken(stampId));
  // Standard input can be read only once, so the algorithms that an evidence record needs are read from it first.
  const [first, ...others] = token === undefined ? [] : recordAlgorithms(token);
  const imprints = input === undefined || first === undefined ? [] : await imprintsOfInput(input, [first, ...others]);
  const judged = token === undefined ? noToken : await judgeToken(token, trust, nowMs, imprints, lists);
  const wanted = imprintSaidBy(judged) ?? (record && sha256Imprint(record.sha256));
  const found = imprints[0] ?? (input === undefined ? undefined : (await imprintsOfInput(input, [wanted?.algorithm ?? 'sha256']))[0]);
  const differs = judged.verdict !== 'not_valid' && found !== undefined && wanted !== undefined && !isSameImprint(found, wanted);
  const online = client && (await askService(client, token, stampId, found));
  const mismatch = { verdict: 'not_valid', reason: 'imprint_mismatch', isTokenProved: judged.verdict === 'valid' } as const;
  return { ...judged, ...(differs && mismatch), online };

  async function imprintsOfInput(
    path: string,
    algorithms: readonly [ImprintAlgorithm, ...ImprintAlgorithm[]],
  ): Promise<readonly Imprint[]> {
    return (await digestInput(path, stdin, { algorithms, onBytes })).imprints;
  }
}

const noToken = { verdict: 'not_proved', reason: 'no_token', stated: undefined } as const;

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
