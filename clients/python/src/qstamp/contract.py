"""Made by `npm run clients` of the contract of the service. Do not edit it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .answer import Answer

StampTier = Literal["basic", "plus", "sealed"]

WorkflowTier = Literal["standard", "verified", "qualified"]


@dataclass(frozen=True, kw_only=True)
class HTTPValidationError(Answer):
    detail: list[ValidationError]


@dataclass(frozen=True, kw_only=True)
class ValidationError:
    loc: list[str | int]
    msg: str
    type: str
    input: Any = None
    """the value that was sent; long texts are clipped"""
    ctx: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class StampToken(Answer):
    token_id: str
    issued_at: str
    """RFC 3339, UTC"""
    content_sha256: str
    """SHA-256, 64 lower-case hexadecimal characters"""
    token: str
    """opaque token; with real providers base64 of the RFC 3161 TimeStampToken, or of the EvidenceRecord (RFC 4998) of a batched stamp"""
    tier: StampTier
    tsp_provider: str
    is_qualified: bool
    verify_url: str
    sealed_storage_url: str | None
    imprint: Imprint | None = None
    """only with `details=true`"""
    qualified: Qualified | None = None
    """only with `details=true`"""


@dataclass(frozen=True, kw_only=True)
class Imprint:
    algorithm: Literal["sha256", "sha384", "sha512"]
    digest: str
    """lower-case hexadecimal"""


@dataclass(frozen=True, kw_only=True)
class Qualified:
    status: Literal["qualified", "not_qualified"]
    basis: Literal["list", "operator"] | None
    """`list`: a trusted list of the EU says it; `operator`: only the operator of this service claims it; null: nobody says anything"""
    reason: str | None
    """why it is not qualified: a code and a sentence; null if it is"""


@dataclass(frozen=True, kw_only=True)
class AcceptedStamp(Answer):
    token_id: str
    status: Literal["accepted"]
    verify_url: str
    """shows the outcome; `Prefer: wait=10` waits for it"""
    sealed_storage_url: str | None


@dataclass(frozen=True, kw_only=True)
class StampListResponse(Answer):
    items: list[StampListItem]
    total: int


@dataclass(frozen=True, kw_only=True)
class StampListItem:
    token_id: str
    issued_at: str
    """as recorded; verify the stamp to get a proof"""
    tier: StampTier
    content_sha256: str | None
    """null if the imprint is not a SHA-256 (only with `imprints=all`) or is damaged"""
    is_qualified: bool
    """as recorded; verify the stamp to get a proof"""
    imprint: Imprint | None = None
    """only with `details=true`"""


@dataclass(frozen=True, kw_only=True)
class VerificationResult(Answer):
    valid: bool
    token_id: str | None
    issued_at: str | None
    content_sha256: str | None
    """null if the imprint is not a SHA-256"""
    tsp_provider: str | None
    is_qualified: bool | None
    reason: str | None
    """a stable code, a colon, one sentence; null when valid"""
    verdict: Literal["valid", "not_valid", "not_proved"] | None = None
    """this and all members below are only with `details=true`. `not_proved`: no trust anchor of this installation covers it, or something needed for the check is missing; then `valid` is false"""
    imprint: Imprint | None = None
    """what the token proves; null if it proves nothing"""
    qualified: QualifiedVerdict | None = None
    """null if nothing is known about the signer"""
    holds_until: str | None = None
    """only for a valid evidence record: when the certificates of its last token expire. The service renews its own records before that"""
    signer: dict[str, Any] | None = None
    """this and all members up to `not_checked` are only for a valid token; a mock token has only `not_checked`"""
    trust_anchor: dict[str, Any] | None = None
    policy: str | None = None
    """the policy of the TSA, a dotted OID"""
    accuracy_seconds: float | None = None
    """null if the token does not state it"""
    revocation: list[dict[str, Any]] | None = None
    certificates_ended_at: str | None = None
    """when the first certificate of the chain expired, if it has; nobody reports a key that is stolen after that"""
    not_checked: list[str] | None = None
    """everything that was not checked, one phrase or sentence each"""
    advice: str | None = None
    """one sentence: what you can do about the reason; only if there is something"""

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True, kw_only=True)
class QualifiedVerdict:
    status: Literal["qualified", "not_qualified"]
    basis: Literal["list", "operator"] | None
    """`list`: a trusted list of the EU says it; `operator`: only the operator of this service claims it; null: nobody says anything"""
    reason: str | None
    """why it is not qualified: a code and a sentence; null if it is"""
    country: str | None
    """only with the basis `list`: the code of the country, as in its trusted list"""
    list_number: int | None
    """the sequence number of the list"""
    list_sha256: str | None
    """the list itself is at `/trusted-lists/{sha256}`"""
    service: str | None
    """the name of the service that signed, as in the list"""
    provider_name: str | None
    service_status: str | None
    """its status at the time of the time-stamp, such as `granted` or `withdrawn`"""
    granted_since: str | None
    """null if the time-stamp is not qualified"""
    status_since: str | None
    at_proof_of_existence: dict[str, Any] | None
    """only if it differs: the status of the service at the earliest time at which another proof shows that the token existed (the time of the next token over it, or now). DSS wants the service to be granted then too"""
    claimed_by_token: bool
    """whether the token itself says that it is qualified (EN 319 422); this is the claim of the provider"""


@dataclass(frozen=True, kw_only=True)
class EvidenceRenewal(Answer):
    token_id: str
    imprint: Imprint
    """the content’s hash of the new algorithm"""
    is_renewed: bool
    """whether the evidence record already covers that hash; if not, the next daily renewal adds it"""


@dataclass(frozen=True, kw_only=True)
class WorkflowStartResponse(Answer):
    workflow_id: str
    workflow_token: str = field(repr=False)
    """opaque bearer token, returned only once"""
    otp_sent_to: str
    expires_at: str
    """RFC 3339, UTC"""
    status: str
    """`pending` on creation"""
    page_url: str | None = None
    """the public page, which you can give to the client at once; only with `details=true`"""


@dataclass(frozen=True, kw_only=True)
class WorkflowStampResponse(Answer):
    output_id: str
    sequence_number: int
    stamp_token_id: str
    verify_url: str
    """the page of the workflow, with the fragment `#output-<sequence_number>`"""
    workflow_anchor_url: str
    """the workflow page"""
    issued_at: str | None = None
    """the time of its stamp; only with `details=true`"""
    chain_hash: str | None = None
    """covers this output and all before it: keep it, and nobody can change them without your noticing; only with `details=true`"""


@dataclass(frozen=True, kw_only=True)
class AcceptedOutput(Answer):
    token_id: str
    """`stamp_token_id` of the output"""
    status: Literal["accepted"]
    verify_url: str
    """shows the stamp; `Prefer: wait=10` waits for it"""
    status_url: str
    """shows the state of the workflow"""


@dataclass(frozen=True, kw_only=True)
class WorkflowState(Answer):
    workflow_id: str
    status: Literal["pending", "active", "completed", "expired"]
    tier: WorkflowTier
    created_at: str
    """RFC 3339, UTC"""
    expires_at: str
    """RFC 3339, UTC"""
    confirmed_at: str | None
    """when the link in the mail was opened, or the button behind it pressed"""
    completed_at: str | None
    output_count: int
    chain_hash: str
    """of the last output; the briefing hash before the first output"""
    merkle_root: str | None
    verify_url: str
    agent_id: str | None = None
    """this and all following members: only for the holder of the workflow token"""
    user_email: str | None = None
    """`[REDACTED]` after it was erased"""
    briefing_metadata: dict[str, Any] | None = None
    commitment_salts: dict[str, Any] | None = None
    """open the commitments of the closing record; null before completion, and after the address was erased"""
    mail: dict[str, Any] | None = None
    """state of the mail with the link"""


@dataclass(frozen=True, kw_only=True)
class WorkflowCompleteResponse(Answer):
    workflow_id: str
    status: str
    """`completed`"""
    output_count: int
    verify_url: str
    completed_at: str
    """RFC 3339, UTC"""


@dataclass(frozen=True, kw_only=True)
class WorkflowResendResponse(Answer):
    workflow_id: str
    otp_sent_to: str
    status: Literal["pending"]


@dataclass(frozen=True, kw_only=True)
class WorkflowRedactResponse(Answer):
    workflow_id: str
    status: Literal["pending", "active", "completed", "expired"]
    """of the workflow: redaction does not change it"""
    user_email: Literal["[REDACTED]"]


ErrorCode = Literal[
    "bad_request",
    "unauthorized",
    "forbidden",
    "recipient_blocked",
    "not_found",
    "method_not_allowed",
    "request_timeout",
    "conflict",
    "idempotency_key_reused",
    "gone",
    "payload_too_large",
    "unsupported_media_type",
    "rate_limited",
    "recipient_limited",
    "internal_error",
    "provider_failed",
    "tier_unavailable",
    "mail_unavailable",
    "tsa_unavailable",
    "queue_unavailable",
    "store_unavailable",
    "overloaded",
    "prefetch_refused",
    "stamp_pending",
    "completion_pending",
    "mail_pending",
]
"""Codes of errors (docs/agents/api.md)."""

ReasonCode = Literal[
    "unknown_token_id",
    "request_refused",
    "tier_unavailable",
    "stamp_failed",
    "not_base64",
    "unknown_format",
    "record_mismatch",
    "record_damaged",
    "not_granted",
    "token_missing",
    "token_not_granted",
    "granted_with_mods",
    "status_contradictory",
    "der_truncated",
    "der_trailing",
    "der_length",
    "der_not_canonical",
    "der_too_large",
    "der_too_deep",
    "nonce_too_large",
    "der_malformed",
    "not_signed_data",
    "not_tst_info",
    "content_missing",
    "tst_info_version",
    "tst_info_extension",
    "imprint_mismatch",
    "imprint_algorithm_mismatch",
    "imprint_length",
    "imprint_algorithm_unknown",
    "imprint_algorithm_weak",
    "nonce_mismatch",
    "nonce_missing",
    "nonce_unexpected",
    "policy_mismatch",
    "gen_time_malformed",
    "gen_time_outside_window",
    "gen_time_future",
    "accuracy_malformed",
    "accuracy_too_coarse",
    "serial_malformed",
    "signer_missing",
    "signer_not_single",
    "signed_attributes_missing",
    "content_type_attribute",
    "message_digest_attribute",
    "message_digest_mismatch",
    "signed_attribute_repeated",
    "unsigned_attribute",
    "algorithm_protection_mismatch",
    "signature_invalid",
    "signer_identifier_mismatch",
    "signer_certificate_not_found",
    "signer_certificate_ambiguous",
    "signer_certificate_missing",
    "signing_certificate_missing",
    "signing_certificate_hash_mismatch",
    "signing_certificate_issuer_mismatch",
    "signing_certificate_hash_unknown",
    "eku_missing",
    "eku_not_critical",
    "eku_other_purpose",
    "signer_is_ca",
    "signer_key_usage",
    "tsa_name_mismatch",
    "intermediate_eku",
    "untrusted_root",
    "trust_store_empty",
    "issuer_not_ca",
    "chain_too_long",
    "chain_signature_invalid",
    "certificate_not_valid_at_gen_time",
    "key_usage_period",
    "certificate_revoked",
    "certificate_extension",
    "certificate_policy",
    "certificate_name",
    "certificate_malformed",
    "key_too_weak",
    "signature_algorithm_weak",
    "key_unknown",
    "signature_algorithm_unknown",
    "signature_algorithm_mismatch",
    "evidence_version",
    "evidence_imprint_missing",
    "evidence_root_mismatch",
    "evidence_algorithm_mismatch",
    "evidence_list_empty",
    "evidence_hash_length",
    "evidence_too_deep",
    "evidence_order",
    "evidence_link_mismatch",
    "evidence_renewed_late",
    "evidence_expired",
    "evidence_hash_needed",
    "evidence_new_hash_needed",
    "verifier_failed",
    "mock_token_forged",
    "mock_not_rfc3161",
    "inclusion_proof_invalid",
]
"""Codes at the start of a `reason` (docs/reference/reasons.md)."""
