import { describe, expect, it } from 'vitest';
import { REASONS, type ReasonCode, reasonOf } from '../../../src/shared/domain/reasons.ts';
import { FAULTY_CASES } from '../../support/tsa-faults.ts';

const codes = Object.keys(REASONS) as ReasonCode[];

describe('reason codes (V3)', () => {
  it('every refusal of a token, 1–47 except 5, has a code', () => {
    const answered = new Set(codes.map((code) => REASONS[code].refusal));
    for (let refusal = 1; refusal <= 47; refusal++) if (refusal !== 5) expect(answered, String(refusal)).toContain(refusal);
  });

  it('every refusal of a token, 1–46 except 5, has a token made for it', () => {
    const made = new Set(FAULTY_CASES.map(({ code }) => REASONS[code].refusal));
    for (let refusal = 1; refusal <= 46; refusal++) if (refusal !== 5) expect(made, String(refusal)).toContain(refusal);
  });

  it.each(codes)('%s is one snake_case word and one sentence', (code) => {
    expect(reasonOf(code)).toMatch(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*: [A-Z](?!.*\. )[^:]*\.$/);
  });

  it('no two codes have the same sentence', () => {
    expect(new Set(codes.map((code) => REASONS[code].sentence)).size).toBe(codes.length);
  });
});
