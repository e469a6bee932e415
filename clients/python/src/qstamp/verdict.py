"""What a verification comes to."""

from __future__ import annotations

from .contract import ReasonCode, VerificationResult
from .errors import NotValid


def reason_code_of(result: VerificationResult) -> ReasonCode | str | None:
    """The code in front of a `reason` (docs/reasons.md); None of a result that is valid."""
    return None if result.reason is None else result.reason.split(":", 1)[0]


def require_valid(result: VerificationResult) -> VerificationResult:
    """The result, where it is valid. Raises NotValid with the reason."""
    if result.valid:
        return result
    raise NotValid(result.reason or "the service gave no reason")
