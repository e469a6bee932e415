import type { EvidenceTerm } from '../../shared/domain/stamp.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { UselessToken } from '../../shared/store/evidence-terms.ts';
import { keyOf, type TokenKind } from './gatherings.ts';
import { isOfUse } from './renewal-tree.ts';

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
    /** Whether a token of this kind was found to be of no use to evidence of the term `own`, not long ago. */
    has: (kind: TokenKind, own: EvidenceTerm, dueBy: Date): boolean => {
      const token = tokens.get(keyOf(kind));
      if (token === undefined || isOfUse(token, own, dueBy)) return false;
      const pauseMs = Math.max(soonestMs, Math.min(latestMs, share * (own.endsAt.getTime() - clock())));
      return clock() - token.boughtAt.getTime() < pauseMs;
    },
  };
}
