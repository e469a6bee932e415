import { describe, expect, it } from 'vitest';
import { tries } from '../support/depth.ts';
import { judgeReal, REAL_TOKENS, type RealToken, readReal, trustOf } from '../support/real-tokens.ts';
import { expectMutantsHarmless } from '../support/token-mutants.ts';

/** Others accept these; we refuse them on purpose: the algorithm is broken, or the CA is not for time-stamping (41). */
const REFUSED: Readonly<Record<string, string>> = {
  't/862c4c8f041a99f9.tst': 'signature_algorithm_weak',
  't/97986898a974e31b.tst': 'intermediate_eku',
  't/233c18cade23289f.tst': 'eku_not_critical',
};

const taken = REAL_TOKENS.filter(({ token }) => REFUSED[token] === undefined);
const judge = (one: RealToken) => judgeReal(one, readReal(one.token), trustOf(one));

describe('real tokens', () => {
  it.each(taken)('accepts $finding: $token', async (one) => {
    expect(one.want).toBe('accept');
    const result = await judge(one);
    expect(result).toMatchObject({ ok: true, imprint: { algorithm: one.imprintAlg, digest: Buffer.from(one.imprint, 'hex') } });
    if (result.ok) expect(result.genTime).toEqual(new Date(one.genTime));
  });

  it.each(REAL_TOKENS.filter(({ token }) => REFUSED[token] !== undefined))('refuses $finding: $token', async (one) => {
    expect(await judge(one)).toMatchObject({ ok: false, code: REFUSED[one.token] });
  });

  it.each(taken)('is bound to its imprint: $token', async (one) => {
    const imprint = `${one.imprint.slice(0, -1)}${one.imprint.endsWith('0') ? '1' : '0'}`;
    expect(await judge({ ...one, imprint })).toMatchObject({ ok: false, code: 'imprint_mismatch' });
  });

  it('a CA that is not for time-stamping (41) is accepted if configured, and the verdict says so', async () => {
    const one = REAL_TOKENS.find(({ token }) => REFUSED[token] === 'intermediate_eku')!;
    const result = await judgeReal(one, readReal(one.token), trustOf(one, true));
    expect(result).toMatchObject({ ok: true, unchecked: expect.arrayContaining(['ca_purposes']) });
  });

  it('after random changes, each is refused or makes the same claims (the long run is in test/long)', async () => {
    const samples = taken.filter(({ token }) => readReal(token).length < 10_000);
    for (const one of samples.slice(0, tries(8, 4))) {
      const { refused } = await expectMutantsHarmless(one, 40);
      expect([one.token, refused > 10]).toEqual([one.token, true]);
    }
  });
});
