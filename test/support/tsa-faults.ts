import { REASONS, type ReasonCode } from '../../src/shared/domain/reasons.ts';
import { type FaultRow, fault } from './tsa-changes.ts';
import { ANSWER_FAULTS } from './tsa-faults-answer.ts';
import { CERTIFICATE_FORM_FAULTS } from './tsa-faults-certificate.ts';
import { CERTIFICATE_FAULTS } from './tsa-faults-chain.ts';
import { CMS_FAULTS } from './tsa-faults-cms.ts';
import { TSTINFO_FAULTS } from './tsa-faults-tstinfo.ts';
import type { FaultyCase } from './tsa-lab.ts';

/**
 * Faults that OpenSSL 3.0 lets through: encodings that are not DER, fields that it ignores, and revocation lists that
 * it was not given. That is why agreement with it is not enough.
 */
const codesLetThrough = new Set<ReasonCode>([
  ...(['granted_with_mods', 'status_contradictory', 'signer_certificate_ambiguous', 'certificate_revoked'] as const),
  ...(['der_length', 'der_too_large', 'der_too_deep', 'nonce_too_large', 'nonce_unexpected', 'intermediate_eku'] as const),
  ...(['tst_info_extension', 'gen_time_outside_window', 'gen_time_future', 'accuracy_malformed', 'serial_malformed'] as const),
  ...(['imprint_algorithm_unknown', 'content_type_attribute', 'signed_attribute_repeated', 'algorithm_protection_mismatch'] as const),
  ...(['unsigned_attribute', 'certificate_policy', 'gen_time_malformed'] as const),
  ...(['key_too_weak', 'signature_algorithm_weak', 'signature_algorithm_unknown', 'signature_algorithm_mismatch'] as const),
]);
/** A faulty token, the only code allowed for it, the number of the refusal, and whether OpenSSL 3.0 accepts it all the same. */
export interface JudgedFault extends FaultyCase {
  readonly refusal: number | undefined;
  readonly opensslAccepts: boolean;
}

export const judged = (rows: readonly FaultRow[]) =>
  rows.map(([code, name, options, opensslAccepts]): JudgedFault => {
    const expected = opensslAccepts ?? codesLetThrough.has(code);
    return { ...fault(code, name, options), refusal: REASONS[code].refusal, opensslAccepts: expected };
  });

/**
 * A token for each refusal of a verifier, 1–46 except 5, which is about HTTP (`createFault` of tsa-answers.ts). Each differs from
 * a valid answer only in what its name says; everything else, including signatures, is correct.
 */
export const FAULTY_CASES = judged([...ANSWER_FAULTS, ...TSTINFO_FAULTS, ...CMS_FAULTS, ...CERTIFICATE_FAULTS, ...CERTIFICATE_FORM_FAULTS]);
