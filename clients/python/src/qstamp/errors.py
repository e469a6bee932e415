"""The errors of this package."""

from __future__ import annotations

from typing import Any

from .contract import ErrorCode, ReasonCode, ValidationError


class QstampError(Exception):
    """The base of all errors of this package."""


class ServiceUnreachable(QstampError):
    """No answer came: refused, cut off, or too late. Repeat the call with the same `idempotency_key`; nothing is made twice."""


class UnexpectedAnswer(QstampError):
    """The answer is not from this service, for example a proxy's page."""


class ServiceError(QstampError):
    """The service refused the request or failed.

    `code` never changes its meaning; `request_id` identifies the request in the logs of the service; `body` is the
    whole answer.
    """

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None = None, request_id: str | None = None) -> None:
        super().__init__(f"{status}: {_sentence_of(body.get('detail'))}")
        self.status = status
        self.body = body
        self.retry_after = retry_after
        """Seconds to wait, if the service says so."""
        self.request_id = _text(body.get("request_id")) or request_id
        """From the body, or else from the header X-Request-Id: the body of a 422 has none."""

    @property
    def code(self) -> ErrorCode | str | None:
        return _text(self.body.get("code"))


class InvalidRequest(ServiceError):
    """422: `issues` has each fault with its position."""

    @property
    def issues(self) -> list[ValidationError]:
        known = ("loc", "msg", "type", "input", "ctx")
        detail = self.body.get("detail")
        return [ValidationError(**{name: item[name] for name in known if name in item}) for item in detail] if isinstance(detail, list) else []


class Unauthorized(ServiceError):
    """401: the service token, or the workflow token, is missing or wrong."""


class Forbidden(ServiceError):
    """403: the caller may not do this, or the recipient wants no mail from the service."""


class NotFound(ServiceError):
    """404."""


class Conflict(ServiceError):
    """409: the request conflicts with the current state."""


class Gone(ServiceError):
    """410: the object no longer exists, or can no longer be used."""


class RateLimited(ServiceError):
    """429, after all retries."""


class ProviderFailed(ServiceError):
    """502: no provider made the stamp; nothing was stamped."""


class Unavailable(ServiceError):
    """503, after all retries: nothing was accepted."""


class Pending(ServiceError):
    """504, after all retries: accepted and in progress. `address` will show the outcome."""

    @property
    def stamp_id(self) -> str | None:
        return _text(self.body.get("token_id"))

    @property
    def address(self) -> str | None:
        return _text(self.body.get("verify_url")) or _text(self.body.get("status_url"))


class NotValid(QstampError):
    """The verification is not valid; `code` is in docs/reference/reasons.md."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.code: ReasonCode | str = reason.split(":", 1)[0]


class WebhookRefused(QstampError):
    """A webhook without a valid or recent signature of the service."""


_KINDS: dict[int, type[ServiceError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: InvalidRequest,
    429: RateLimited,
    502: ProviderFailed,
    503: Unavailable,
    504: Pending,
}


def error_of(status: int, body: dict[str, Any], retry_after: float | None, request_id: str | None) -> ServiceError:
    """The error for a refusal, with the service's sentence."""
    return _KINDS.get(status, ServiceError)(status, body, retry_after, request_id)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sentence_of(detail: object) -> str:
    if not isinstance(detail, list):
        return _text(detail) or "the service gave no reason"
    return "; ".join(f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}".removeprefix(": ") for item in detail)
