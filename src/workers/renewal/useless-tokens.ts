import type { Clock } from '../../shared/runtime/clock.ts';
import type { UselessToken } from '../../shared/store/evidence-terms.ts';
import { keyOf, type TokenKind } from './gatherings.ts';
import { type Candidate, isRenewedBy } from './renewal-tree.ts';

const hourMs = 3_600_000;
/** Runs come a day apart, some a little sooner. */
const soonestMs = 20 * hourMs;
const latestMs = 7 * 24 * hourMs;
/** Of the time that is left. */
const share = 0.1;

/**
 * Tokens that renewed nobody: while a TSA has no better certificates, another one is bought only after a week, or a tenth of the time that is left where that
 * is less, but at least a day.
 *
 * @param known the last one of each kind
 */
export function createUselessTokens(known: ReadonlyMap<string, UselessToken>, clock: Clock) {
  const tokens = new Map(known);
  return {
    add: (kind: TokenKind, token: Omit<UselessToken, 'boughtAt'>): UselessToken => {
      const useless = { ...token, boughtAt: new Date(clock()) };
      tokens.set(keyOf(kind), useless);
      return useless;
    },
    /** Whether a token of this kind that was bought not long ago would be of no use to this candidate either. */
    has: (kind: TokenKind, candidate: Pick<Candidate, 'newImprint' | 'term'>, dueBy: Date): boolean => {
      const token = tokens.get(keyOf(kind));
      if (token === undefined || isRenewedBy(token, candidate, dueBy)) return false;
      const pauseMs = Math.max(soonestMs, Math.min(latestMs, share * (candidate.term.endsAt.getTime() - clock())));
      return clock() - token.boughtAt.getTime() < pauseMs;
    },
  };
}
