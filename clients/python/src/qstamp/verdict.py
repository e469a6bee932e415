"""The result of a verification."""

from __future__ import annotations

from .contract import ReasonCode, VerificationResult
from .errors import NotValid


def reason_code_of(result: VerificationResult) -> ReasonCode | str | None:
    """The code at the start of a `reason` (docs/reference/reasons.md); None for a valid result."""
    return None if result.reason is None else result.reason.split(":", 1)[0]


def require_valid(result: VerificationResult) -> VerificationResult:
    """The result if it is valid. Otherwise raises NotValid with the reason."""
    if result.valid:
        return result
    raise NotValid(result.reason or "the service gave no reason")
