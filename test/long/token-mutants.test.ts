import { describe, expect, it } from 'vitest';
import { patience } from '../support/pace.ts';
import { judgeReal, REAL_TOKENS, readReal, trustOf } from '../support/real-tokens.ts';
import { expectMutantsHarmless } from '../support/token-mutants.ts';

const RUNS = 2_000;

const verdicts = await Promise.all(REAL_TOKENS.map((one) => judgeReal(one, readReal(one.token), trustOf(one))));
const taken = REAL_TOKENS.filter((_, i) => verdicts[i]?.ok);

/** Each takes tens of seconds, the one with revocation data some minutes. */
describe('mutants of real tokens', { timeout: patience(1_800_000) }, () => {
  it.each(taken)(`${RUNS} of $finding: $token`, async (one) => {
    const { refused, taken, unread } = await expectMutantsHarmless(one, RUNS);
    console.log(`${one.token}: ${refused} refused, ${taken} taken as the same token, of which OpenSSL cannot read ${unread}`);
    expect(refused).toBeGreaterThan(RUNS / 10);
  });
});
