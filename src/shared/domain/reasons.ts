import { closedSet, REFUSALS } from '../rfc3161/index.ts';

/**
 * All `reason` codes of a verification result (V3): the codes of the RFC 3161 verifier, and of the steps before and after it. Clients rely on the
 * codes, so a code never changes its meaning.
 */
export const REASONS = closedSet({
  // Before the RFC 3161 verifier: the stamp, its record, or the form of the token.
  unknown_token_id: { sentence: 'No stamp has this id.' },
  request_refused: { sentence: 'Every time-stamping authority refused the request, so there is no stamp.' },
  tier_unavailable: { sentence: 'The stamp must be qualified, but no provider of this service is, so there is no stamp.' },
  stamp_failed: { sentence: 'The service could not make this stamp; its operator has to check why.' },
  not_base64: { sentence: 'The token is not base64.' },
  unknown_format: { sentence: 'The token is neither an RFC 3161 token nor one of this service.' },
  record_mismatch: { sentence: 'The stored token does not match its record.' },
  record_damaged: { sentence: 'The record of this stamp is damaged and holds no token.' },

  ...REFUSALS,

  // Tokens of the mock provider, and tokens that claim to be from it.
  mock_token_forged: { sentence: 'The token was not issued by this service, or has been changed.' },
  mock_not_rfc3161: { refusal: 47, sentence: 'A token of the mock provider is not an RFC 3161 token.' },

  // The path from content to a stamped root.
  inclusion_proof_invalid: { refusal: 48, sentence: 'The Merkle proof does not lead from this content to the root that was stamped.' },
});

export type ReasonCode = keyof typeof REASONS;

/** Returns one sentence that says what the holder of a refused token can do, or undefined if there is no advice. */
export const adviceOf = (code: ReasonCode): string | undefined => REASONS[code].advice;

/** The public `reason`: the stable code, a colon, one sentence. */
export const reasonOf = (code: ReasonCode): string => `${code}: ${REASONS[code].sentence}`;

/**
 * The verdicts of API, command and page (V11). `not_proved`: no trust anchor covers the token, something needed for the check is missing, or the
 * verifier does not know an algorithm. The reason says which of them.
 */
export const verdicts = ['valid', 'not_valid', 'not_proved'] as const;
export type Verdict = (typeof verdicts)[number];

/** Refusals that say only that this verifier could not check: it does not know an algorithm, or it failed. */
const unjudged: ReadonlySet<string> = new Set<ReasonCode>([
  'imprint_algorithm_unknown',
  'key_unknown',
  'signature_algorithm_unknown',
  'signing_certificate_hash_unknown',
  'verifier_failed',
]);

/** Returns true if a reason says that the verifier could not check, and nothing about the token. */
export const isUnjudged = (code: string | undefined): boolean => code !== undefined && unjudged.has(code);

/** Refusals because something for the check is missing, such as a trust anchor. */
const outOfReach: ReadonlySet<ReasonCode> = new Set([
  'untrusted_root',
  'trust_store_empty',
  'signer_certificate_missing',
  'evidence_new_hash_needed',
  'evidence_hash_needed',
]);

export const verdictOf = (code: ReasonCode): Exclude<Verdict, 'valid'> =>
  outOfReach.has(code) || isUnjudged(code) ? 'not_proved' : 'not_valid';
