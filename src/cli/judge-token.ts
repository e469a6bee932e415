import type { Qualification } from '../shared/domain/qualification.ts';
import { type ReasonCode, type Verdict, verdictOf } from '../shared/domain/reasons.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { imprintOf } from '../shared/domain/told-token.ts';
import type { TokenClaims, TrustStore, Verified } from '../shared/rfc3161/index.ts';
import { createTokenJudge } from '../shared/trust/judge.ts';
import { createListIndex, type ListIndex } from '../shared/trust/lists/index.ts';

/** The verdict about a token on this machine. */
export interface TokenVerdict {
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

const noLists = createListIndex([]);

/**
 * Judges a token or an evidence record with the user's trust anchors and trusted lists, as the service does. It returns a verdict for any octets.
 *
 * @param imprints imprints of the file in the algorithms that an evidence record needs. They are not compared with a token; the caller does that
 * @param lists undefined: no list was given
 */
export async function judgeToken(
  token: Uint8Array,
  trust: TrustStore,
  nowMs: number,
  imprints: readonly Imprint[] = [],
  lists?: ListIndex,
): Promise<TokenVerdict> {
  const settings = { providers: [], extraTrust: trust };
  const { judge } = createTokenJudge({ trust: settings, lists: () => lists ?? noLists, clock: () => nowMs });
  const judged = await judge(token, { imprints });
  const qualification = lists && { qualification: judged.qualification ?? null };
  if (judged.ok) {
    const { verified, isTrustedByList } = judged;
    return { verdict: 'valid', reason: undefined, stated: verified, isTrustedByList, ...qualification };
  }
  const { code: reason, stated, claims } = judged;
  // Only its own service has the key of a mock token.
  const verdict = reason === 'mock_not_rfc3161' ? 'not_proved' : verdictOf(reason);
  return { verdict, reason, stated, claims: verdict === 'not_proved' ? claims : undefined, ...qualification };
}

/** Returns the imprint that a token states; undefined if it cannot be read, or if the token is not valid. */
export function imprintSaidBy({ stated, claims }: Pick<TokenVerdict, 'stated' | 'claims'>): Imprint | undefined {
  const said = stated ?? claims;
  return said && imprintOf(said);
}
