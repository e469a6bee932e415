"""Requests and their answers, without waiting."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

import httpx

from .answer import LastResponse
from .contract import AcceptedOutput, AcceptedStamp, StampToken, WorkflowStampResponse
from .errors import QstampError, ServiceError, error_of
from .reading import read

T = TypeVar("T")

# After these the same request may succeed. Each request has a key or only reads, so that nothing is done twice.
_PASSING = (408, 429, 503, 504)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    """Sent as JSON."""
    content: bytes | str | os.PathLike[str] | None = None
    """Sent unchanged: bytes, or the file at a path."""


@dataclass(frozen=True)
class Attempt:
    """A try of a call, for logs. It has no token, content or e-mail address."""

    method: str
    path: str
    """Without the base URL, and without the query."""
    attempt: int
    """The number of the try, from 1."""
    duration: float
    """In seconds."""
    status: int | None = None
    """None if no answer came."""
    request_id: str | None = None
    """The id of the request in the logs of the service."""
    error: str | None = None
    """The name of the error if no answer came, such as `ConnectError`."""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of one item in a list: the result, or the error."""

    made: T | None = None
    error: QstampError | None = None

    def result(self) -> T:
        """The result. Raises the error if there is none."""
        if self.made is None:
            raise self.error or QstampError("nothing was made")
        return self.made


@dataclass(frozen=True)
class Manner(Generic[T]):
    """How to ask for something: the headers, and how to read the answer."""

    read: Callable[[object], T]
    headers: Mapping[str, str] = field(default_factory=dict)


def _is_accepted(body: object) -> bool:
    """Whether an answer means that something is in progress."""
    return isinstance(body, dict) and body.get("status") == "accepted"


# Asks for an answer before the stamp is made (RFC 7240).
_WITHOUT_WAITING = {"prefer": "respond-async"}

STAMPED: Manner[StampToken] = Manner(lambda body: read(StampToken, body))
ACCEPTED: Manner[AcceptedStamp | StampToken] = Manner(
    lambda body: read(AcceptedStamp, body) if _is_accepted(body) else read(StampToken, body), _WITHOUT_WAITING
)
NUMBERED: Manner[WorkflowStampResponse] = Manner(lambda body: read(WorkflowStampResponse, body))
ACCEPTED_OUTPUT: Manner[AcceptedOutput | WorkflowStampResponse] = Manner(
    lambda body: read(AcceptedOutput, body) if _is_accepted(body) else read(WorkflowStampResponse, body), _WITHOUT_WAITING
)


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """The key of a call; its retries share it."""
    return {"idempotency-key": idempotency_key or secrets.token_hex(16)}


def json_of(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def retry_after(response: httpx.Response) -> float | None:
    """Seconds from Retry-After: a number, or a date (RFC 9110 §10.2.3)."""
    told = response.headers.get("retry-after")
    if told is None:
        return None
    if told.isdecimal():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return None


def request_id_of(response: httpx.Response) -> str | None:
    request_id: str | None = response.headers.get("x-request-id")
    return request_id


def answered(answer: T, response: httpx.Response) -> T:
    """The answer, with its HTTP response."""
    last_response = LastResponse(response.status_code, response.headers, request_id_of(response))
    # The classes of the contract are frozen.
    object.__setattr__(answer, "last_response", last_response)
    return answer


def is_passing(response: httpx.Response) -> bool:
    # A proxy in front of the service may answer 502 without a code.
    return response.status_code in _PASSING or (response.status_code == 502 and not isinstance(json_of(response), dict))


def is_unfinished(response: httpx.Response) -> bool:
    """Whether some items of a list are in progress."""
    body = json_of(response)
    return isinstance(body, list) and any(isinstance(item, dict) and item.get("code") == "stamp_pending" for item in body)


def refusal_of(response: httpx.Response) -> ServiceError:
    body = json_of(response)
    return error_of(response.status_code, body if isinstance(body, dict) else {}, retry_after(response), request_id_of(response))


def outcome_of(item: Any, manner: Manner[T], response: httpx.Response) -> Outcome[T]:
    """An item in the answer to a list: the result, or an error with its `index` and `status`."""
    if isinstance(item, dict) and "index" in item and "status" in item:
        return Outcome(error=error_of(item["status"], item, item.get("retry_after_seconds"), request_id_of(response)))
    return Outcome(made=answered(manner.read(item), response))
