import { describe, expect, it } from 'vitest';
import type { InclusionFault } from '../../../src/shared/domain/merkle.ts';
import { REASONS, type ReasonCode, reasonOf } from '../../../src/shared/domain/reasons.ts';
import { FAULTY_CASES } from '../../support/tsa-faults.ts';

const codes = Object.keys(REASONS) as ReasonCode[];

describe('reason codes (V3)', () => {
  it('every refusal of the list, 1–48, has a code', () => {
    const answered = new Set(codes.map((code) => REASONS[code].refusal));
    for (let refusal = 1; refusal <= 48; refusal++) expect(answered, String(refusal)).toContain(refusal);
  });

  it('every refusal of a token, 1–46 but 5, has a token made for it', () => {
    const made = new Set(FAULTY_CASES.map(({ code }) => REASONS[code].refusal));
    for (let refusal = 1; refusal <= 46; refusal++) if (refusal !== 5) expect(made, String(refusal)).toContain(refusal);
  });

  it.each(codes)('%s is one snake_case word and one sentence', (code) => {
    expect(reasonOf(code)).toMatch(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*: [A-Z](?!.*\. )[^:]*\.$/);
  });

  it('no two codes say the same', () => {
    expect(new Set(codes.map((code) => REASONS[code].sentence)).size).toBe(codes.length);
  });

  it('a fault of an inclusion proof is a reason (48)', () => {
    const faults: Record<InclusionFault, ReasonCode> = {
      tree_size_mismatch: 'tree_size_mismatch',
      leaf_index_out_of_range: 'leaf_index_out_of_range',
      hash_malformed: 'hash_malformed',
      path_too_short: 'path_too_short',
      path_too_long: 'path_too_long',
      root_mismatch: 'root_mismatch',
    };
    for (const [fault, code] of Object.entries(faults)) expect([fault, REASONS[code].refusal]).toEqual([code, 48]);
  });
});
