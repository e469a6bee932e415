// Made by `npm run clients` of the contract of the service. Do not edit it.

export interface WorkflowStartRequest {
  /** e-mail of the client; receives a link that verifies the address */
  readonly user_email: string;
  /** free-form agent identifier */
  readonly agent_id: string;
  /** SHA-256 of the briefing, 64 hexadecimal characters; upper case is accepted and converted to lower case */
  readonly briefing_hash: string;
  readonly briefing_metadata?: Readonly<Record<string, unknown>> | null;
  readonly tier?: WorkflowTier;
  readonly callback_url?: string | null;
  /** language of the mails to the client; without it, English */
  readonly locale?: 'en' | 'de' | 'fr' | null;
}

export type WorkflowTier = 'standard' | 'verified' | 'qualified';

export interface WorkflowStampRequest {
  /** SHA-256 of the output, 64 hexadecimal characters; upper case is accepted and converted to lower case */
  readonly output_hash: string;
  /** a label of one line; documented are image, text, audio, video, code, layout */
  readonly output_type: string;
  readonly output_metadata?: Readonly<Record<string, unknown>> | null;
  readonly callback_url?: string | null;
}

export type StampTier = 'basic' | 'plus' | 'sealed';

export interface HTTPValidationError {
  readonly detail: readonly ValidationError[];
}

export interface ValidationError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
  /** the value that was sent; long texts are clipped */
  readonly input?: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

export interface StampToken {
  readonly token_id: string;
  /** RFC 3339, UTC */
  readonly issued_at: string;
  /** SHA-256, 64 lower-case hexadecimal characters */
  readonly content_sha256: string;
  /** opaque token; with real providers base64 of the RFC 3161 TimeStampToken, or of the EvidenceRecord (RFC 4998) of a batched stamp */
  readonly token: string;
  readonly tier: StampTier;
  readonly tsp_provider: string;
  readonly is_qualified: boolean;
  readonly verify_url: string;
  readonly sealed_storage_url: string | null;
  /** only with `details=true` */
  readonly imprint?: Imprint;
  /** only with `details=true` */
  readonly qualified?: Qualified;
}

export interface Imprint {
  readonly algorithm: 'sha256' | 'sha384' | 'sha512';
  /** lower-case hexadecimal */
  readonly digest: string;
}

export interface Qualified {
  readonly status: 'qualified' | 'not_qualified';
  /** `list`: a trusted list of the EU says it; `operator`: only the operator of this service claims it; null: nobody says anything */
  readonly basis: 'list' | 'operator' | null;
  /** why it is not qualified: a code and a sentence; null if it is */
  readonly reason: string | null;
}

export interface AcceptedStamp {
  readonly token_id: string;
  readonly status: 'accepted';
  /** shows the outcome; `Prefer: wait=10` waits for it */
  readonly verify_url: string;
  readonly sealed_storage_url: string | null;
}

export interface StampListResponse {
  readonly items: readonly StampListItem[];
  readonly total: number;
}

export interface StampListItem {
  readonly token_id: string;
  /** as recorded; verify the stamp to get a proof */
  readonly issued_at: string;
  readonly tier: StampTier;
  /** null if the imprint is not a SHA-256 (only with `imprints=all`) or is damaged */
  readonly content_sha256: string | null;
  /** as recorded; verify the stamp to get a proof */
  readonly is_qualified: boolean;
  /** only with `details=true` */
  readonly imprint?: Imprint;
}

export interface VerificationResult {
  readonly valid: boolean;
  readonly token_id: string | null;
  readonly issued_at: string | null;
  /** null if the imprint is not a SHA-256 */
  readonly content_sha256: string | null;
  readonly tsp_provider: string | null;
  readonly is_qualified: boolean | null;
  /** a stable code, a colon, one sentence; null when valid */
  readonly reason: string | null;
  /** this and all members below are only with `details=true`. `not_proved`: no trust anchor of this installation covers it, or something needed for the check is missing; then `valid` is false */
  readonly verdict?: 'valid' | 'not_valid' | 'not_proved';
  /** what the token proves; null if it proves nothing */
  readonly imprint?: Imprint | null;
  /** null if nothing is known about the signer */
  readonly qualified?: QualifiedVerdict | null;
  /** only for a valid evidence record: when the certificates of its last token expire. The service renews its own records before that */
  readonly holds_until?: string;
  /** this and all members up to `not_checked` are only for a valid token; a mock token has only `not_checked` */
  readonly signer?: { readonly subject: string; readonly issuer: string; readonly serial: string; readonly sha256: string; readonly not_before: string; readonly not_after: string; };
  readonly trust_anchor?: { readonly subject: string; readonly issuer: string; readonly serial: string; readonly sha256: string; readonly not_before: string; readonly not_after: string; };
  /** the policy of the TSA, a dotted OID */
  readonly policy?: string;
  /** null if the token does not state it */
  readonly accuracy_seconds?: number | null;
  readonly revocation?: readonly ({ readonly subject: string; readonly sha256: string; readonly status: 'good' | 'revoked' | 'unknown'; readonly list: { readonly issuer: string; readonly this_update: string; readonly next_update: string | null; } | null; readonly revoked_at: string | null; readonly invalid_since: string | null; readonly reason: string | null; })[];
  /** when the first certificate of the chain expired, if it has; nobody reports a key that is stolen after that */
  readonly certificates_ended_at?: string | null;
  /** everything that was not checked, one phrase or sentence each */
  readonly not_checked?: readonly string[];
  /** one sentence: what you can do about the reason; only if there is something */
  readonly advice?: string;
}

export interface QualifiedVerdict {
  readonly status: 'qualified' | 'not_qualified';
  /** `list`: a trusted list of the EU says it; `operator`: only the operator of this service claims it; null: nobody says anything */
  readonly basis: 'list' | 'operator' | null;
  /** why it is not qualified: a code and a sentence; null if it is */
  readonly reason: string | null;
  /** only with the basis `list`: the code of the country, as in its trusted list */
  readonly country: string | null;
  /** the sequence number of the list */
  readonly list_number: number | null;
  /** the list itself is at `/trusted-lists/{sha256}` */
  readonly list_sha256: string | null;
  /** the name of the service that signed, as in the list */
  readonly service: string | null;
  readonly provider_name: string | null;
  /** its status at the time of the time-stamp, such as `granted` or `withdrawn` */
  readonly service_status: string | null;
  /** null if the time-stamp is not qualified */
  readonly granted_since: string | null;
  readonly status_since: string | null;
  /** only if it differs: the status of the service at the earliest time at which another proof shows that the token existed (the time of the next token over it, or now). DSS wants the service to be granted then too */
  readonly at_proof_of_existence: { readonly time: string; readonly service_status: string; readonly status_since: string; } | null;
  /** whether the token itself says that it is qualified (EN 319 422); this is the claim of the provider */
  readonly claimed_by_token: boolean;
}

export interface EvidenceRenewal {
  readonly token_id: string;
  /** the content’s hash of the new algorithm */
  readonly imprint: Imprint;
  /** whether the evidence record already covers that hash; if not, the next daily renewal adds it */
  readonly is_renewed: boolean;
}

export interface WorkflowStartResponse {
  readonly workflow_id: string;
  /** opaque bearer token, returned only once */
  readonly workflow_token: string;
  readonly otp_sent_to: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
  /** `pending` on creation */
  readonly status: string;
  /** the public page, which you can give to the client at once; only with `details=true` */
  readonly page_url?: string;
}

export interface WorkflowStampResponse {
  readonly output_id: string;
  readonly sequence_number: number;
  readonly stamp_token_id: string;
  /** the page of the workflow, with the fragment `#output-<sequence_number>` */
  readonly verify_url: string;
  /** the workflow page */
  readonly workflow_anchor_url: string;
  /** the time of its stamp; only with `details=true` */
  readonly issued_at?: string;
  /** covers this output and all before it: keep it, and nobody can change them without your noticing; only with `details=true` */
  readonly chain_hash?: string;
}

export interface AcceptedOutput {
  /** `stamp_token_id` of the output */
  readonly token_id: string;
  readonly status: 'accepted';
  /** shows the stamp; `Prefer: wait=10` waits for it */
  readonly verify_url: string;
  /** shows the state of the workflow */
  readonly status_url: string;
}

export interface WorkflowState {
  readonly workflow_id: string;
  readonly status: 'pending' | 'active' | 'completed' | 'expired';
  readonly tier: WorkflowTier;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
  /** when the link in the mail was opened, or the button behind it pressed */
  readonly confirmed_at: string | null;
  readonly completed_at: string | null;
  readonly output_count: number;
  /** of the last output; the briefing hash before the first output */
  readonly chain_hash: string;
  readonly merkle_root: string | null;
  readonly verify_url: string;
  /** this and all following members: only for the holder of the workflow token */
  readonly agent_id?: string;
  /** `[REDACTED]` after it was erased */
  readonly user_email?: string;
  readonly briefing_metadata?: Readonly<Record<string, unknown>> | null;
  /** open the commitments of the closing record; null before completion, and after the address was erased */
  readonly commitment_salts?: { readonly user_email: string; readonly agent_id: string; } | null;
  /** state of the mail with the link */
  readonly mail?: { readonly status: 'waiting' | 'sent' | 'failed'; readonly attempts: number; readonly sent_at: string | null; };
}

export interface WorkflowCompleteResponse {
  readonly workflow_id: string;
  /** `completed` */
  readonly status: string;
  readonly output_count: number;
  readonly verify_url: string;
  /** RFC 3339, UTC */
  readonly completed_at: string;
}

export interface WorkflowResendResponse {
  readonly workflow_id: string;
  readonly otp_sent_to: string;
  readonly status: 'pending';
}

export interface WorkflowRedactResponse {
  readonly workflow_id: string;
  /** of the workflow: redaction does not change it */
  readonly status: 'pending' | 'active' | 'completed' | 'expired';
  readonly user_email: '[REDACTED]';
}

/** Codes of errors (docs/agents/api.md). */
export type ErrorCode =
  | 'bad_request'
  | 'unauthorized'
  | 'forbidden'
  | 'recipient_blocked'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'idempotency_key_reused'
  | 'gone'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'recipient_limited'
  | 'internal_error'
  | 'provider_failed'
  | 'tier_unavailable'
  | 'mail_unavailable'
  | 'tsa_unavailable'
  | 'queue_unavailable'
  | 'store_unavailable'
  | 'overloaded'
  | 'prefetch_refused'
  | 'stamp_pending'
  | 'completion_pending'
  | 'mail_pending';

/** Codes at the start of a `reason` (docs/reference/reasons.md). */
export type ReasonCode =
  | 'unknown_token_id'
  | 'request_refused'
  | 'tier_unavailable'
  | 'stamp_failed'
  | 'not_base64'
  | 'unknown_format'
  | 'record_mismatch'
  | 'record_damaged'
  | 'not_granted'
  | 'token_missing'
  | 'token_not_granted'
  | 'granted_with_mods'
  | 'status_contradictory'
  | 'der_truncated'
  | 'der_trailing'
  | 'der_length'
  | 'der_not_canonical'
  | 'der_too_large'
  | 'der_too_deep'
  | 'nonce_too_large'
  | 'der_malformed'
  | 'not_signed_data'
  | 'not_tst_info'
  | 'content_missing'
  | 'tst_info_version'
  | 'tst_info_extension'
  | 'imprint_mismatch'
  | 'imprint_algorithm_mismatch'
  | 'imprint_length'
  | 'imprint_algorithm_unknown'
  | 'imprint_algorithm_weak'
  | 'nonce_mismatch'
  | 'nonce_missing'
  | 'nonce_unexpected'
  | 'policy_mismatch'
  | 'gen_time_malformed'
  | 'gen_time_outside_window'
  | 'gen_time_future'
  | 'accuracy_malformed'
  | 'accuracy_too_coarse'
  | 'serial_malformed'
  | 'signer_missing'
  | 'signer_not_single'
  | 'signed_attributes_missing'
  | 'content_type_attribute'
  | 'message_digest_attribute'
  | 'message_digest_mismatch'
  | 'signed_attribute_repeated'
  | 'unsigned_attribute'
  | 'algorithm_protection_mismatch'
  | 'signature_invalid'
  | 'signer_identifier_mismatch'
  | 'signer_certificate_not_found'
  | 'signer_certificate_ambiguous'
  | 'signer_certificate_missing'
  | 'signing_certificate_missing'
  | 'signing_certificate_hash_mismatch'
  | 'signing_certificate_issuer_mismatch'
  | 'signing_certificate_hash_unknown'
  | 'eku_missing'
  | 'eku_not_critical'
  | 'eku_other_purpose'
  | 'signer_is_ca'
  | 'signer_key_usage'
  | 'tsa_name_mismatch'
  | 'intermediate_eku'
  | 'untrusted_root'
  | 'trust_store_empty'
  | 'issuer_not_ca'
  | 'chain_too_long'
  | 'chain_signature_invalid'
  | 'certificate_not_valid_at_gen_time'
  | 'key_usage_period'
  | 'certificate_revoked'
  | 'certificate_extension'
  | 'certificate_policy'
  | 'certificate_name'
  | 'certificate_malformed'
  | 'key_too_weak'
  | 'signature_algorithm_weak'
  | 'key_unknown'
  | 'signature_algorithm_unknown'
  | 'signature_algorithm_mismatch'
  | 'evidence_version'
  | 'evidence_imprint_missing'
  | 'evidence_root_mismatch'
  | 'evidence_algorithm_mismatch'
  | 'evidence_list_empty'
  | 'evidence_hash_length'
  | 'evidence_too_deep'
  | 'evidence_order'
  | 'evidence_link_mismatch'
  | 'evidence_renewed_late'
  | 'evidence_expired'
  | 'evidence_hash_needed'
  | 'evidence_new_hash_needed'
  | 'verifier_failed'
  | 'mock_token_forged'
  | 'mock_not_rfc3161'
  | 'inclusion_proof_invalid';
