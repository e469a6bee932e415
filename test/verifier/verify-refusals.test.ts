import { describe, expect, it } from 'vitest';
import { judge } from '../support/judge.ts';
import { FAULTY_CASES } from '../support/tsa-faults.ts';
import { createTsaLab } from '../support/tsa-lab.ts';
import { GOOD_VARIANTS, WIDER_VARIANTS } from '../support/tsa-variants.ts';

const lab = createTsaLab();

describe('tokens that a verifier must refuse', () => {
  it.each(FAULTY_CASES.map((one) => [`${one.refusal ?? '–'} ${one.code}: ${one.name}`, one] as const))('refuses %s', async (_name, one) => {
    const result = await judge(one.make(lab));
    expect(result).toMatchObject({ ok: false, code: one.code });
  });
});

describe('tokens that a verifier must accept', () => {
  it.each([...GOOD_VARIANTS, ...WIDER_VARIANTS].map((one) => [one.name, one] as const))('accepts %s', async (_name, one) => {
    expect(await judge(one.make(lab))).toMatchObject({ ok: true });
  });
});
