"""The client of qstamp: RFC 3161 time-stamps for files, texts and the outputs of agents."""

from ._async.client import AsyncQstamp
from ._async.workflow import AsyncWorkflow
from ._sync.client import Qstamp
from ._sync.workflow import Workflow
from .calls import Outcome
from .content import OutputToStamp, sha256_of, sha256_of_file
from .contract import (
    AcceptedOutput,
    AcceptedStamp,
    ErrorCode,
    Imprint,
    ReasonCode,
    StampTier,
    StampToken,
    ValidationError,
    VerificationResult,
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowState,
    WorkflowTier,
)
from .errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    NotValid,
    Pending,
    ProviderFailed,
    QstampError,
    RateLimited,
    ServiceError,
    ServiceUnreachable,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    WebhookRefused,
)
from .verdict import reason_code_of, require_valid
from .webhook import verify_webhook

__all__ = [
    "AcceptedOutput",
    "AcceptedStamp",
    "AsyncQstamp",
    "AsyncWorkflow",
    "Conflict",
    "ErrorCode",
    "Imprint",
    "InvalidRequest",
    "NotFound",
    "NotValid",
    "Outcome",
    "OutputToStamp",
    "Pending",
    "ProviderFailed",
    "Qstamp",
    "QstampError",
    "RateLimited",
    "ReasonCode",
    "ServiceError",
    "ServiceUnreachable",
    "StampTier",
    "StampToken",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "ValidationError",
    "VerificationResult",
    "WebhookRefused",
    "Workflow",
    "WorkflowCompleteResponse",
    "WorkflowRedactResponse",
    "WorkflowResendResponse",
    "WorkflowStampResponse",
    "WorkflowState",
    "WorkflowTier",
    "reason_code_of",
    "require_valid",
    "sha256_of",
    "sha256_of_file",
    "verify_webhook",
]
