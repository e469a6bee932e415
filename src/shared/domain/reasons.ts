import { closedSet, REFUSALS } from '../rfc3161/index.ts';

/**
 * The closed set of `reason` codes of a verification result (V3): those of the RFC 3161 verifier, and those of the steps before and after
 * it. Clients read code and sentence; a code never changes its meaning.
 */
export const REASONS = closedSet({
  // What is presented, before it is known to be a token at all.
  unknown_token_id: { sentence: 'No stamp has this id.' },
  request_refused: { sentence: 'Every time-stamping authority refused the request, so there is no stamp.' },
  stamp_failed: { sentence: 'The service could not make this stamp; its operator has to look at it.' },
  not_base64: { sentence: 'The token is not base64.' },
  unknown_format: { sentence: 'The token is neither an RFC 3161 token nor one of this service.' },
  record_mismatch: { sentence: 'The stored token says something else than the record it is stored in.' },
  record_damaged: { sentence: 'The record of this stamp is damaged and holds no token.' },

  ...REFUSALS,

  // Tokens of the mock provider, and what they are passed off as.
  mock_token_forged: { sentence: 'The token was not issued by this service, or has been changed.' },
  mock_not_rfc3161: { refusal: 47, sentence: 'A token of the mock provider is not an RFC 3161 token.' },

  // What leads from content to a token over many.
  inclusion_proof_invalid: { refusal: 48, sentence: 'The Merkle proof does not lead from this content to the root that was stamped.' },
});

export type ReasonCode = keyof typeof REASONS;

/** One sentence: what somebody with a refused token can do; undefined where there is nothing to say beyond the reason. */
export const adviceOf = (code: ReasonCode): string | undefined => REASONS[code].advice;

/** The public `reason`: the stable code, a colon, one sentence (V3). */
export const reasonOf = (code: ReasonCode): string => `${code}: ${REASONS[code].sentence}`;

/**
 * The one vocabulary of API, command and page (V11). `not_proved`: nobody whom the reader trusts vouches for it, or something is missing to
 * judge it by; the reason says which.
 */
export const verdicts = ['valid', 'not_valid', 'not_proved'] as const;
export type Verdict = (typeof verdicts)[number];

/** Refusals that say only that the reader's anchors, or hashes, do not reach the token: with others it may be valid. */
const outOfReach: ReadonlySet<ReasonCode> = new Set([
  'untrusted_root',
  'trust_store_empty',
  'signer_certificate_missing',
  'evidence_new_hash_needed',
  'evidence_hash_needed',
  'verifier_failed',
]);

/** The verdict on what was refused for this reason. */
export const verdictOf = (code: ReasonCode): Exclude<Verdict, 'valid'> => (outOfReach.has(code) ? 'not_proved' : 'not_valid');
