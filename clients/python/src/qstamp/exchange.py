"""How requests are sent, and sent again."""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

import httpx

from .errors import QstampError, ServiceError, ServiceUnreachable, UnexpectedAnswer, error_of
from .reading import read
from .steps import Request, Steps, Wait

T = TypeVar("T")

# After these the same request may succeed; each carries a key or only reads, so that nothing is done twice.
_PASSING = (408, 429, 503, 504)
_FIRST_BACK_OFF = 0.25


@dataclass(frozen=True)
class Settings:
    url: str
    service_token: str | None = None
    max_retries: int = 4
    """Tries after the first."""
    max_wait: float = 60.0
    """Who is told to wait longer than this gives up at once, in seconds."""
    wait: int = 10
    """How long the service may be asked to wait before it answers, in seconds: one try is given up soon after."""

    def __post_init__(self) -> None:
        if not self.url.startswith(("https://", "http://")):
            raise QstampError(f"url must begin with https:// or http://: {self.url}")
        object.__setattr__(self, "url", self.url.rstrip("/"))


def longest_wait(timeout: httpx.Timeout) -> int:
    """`Settings.wait` of a client with this timeout."""
    return 10 if timeout.read is None else min(10, int(timeout.read / 2))


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: object = None


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one of many: made, or why it was not."""

    made: T | None = None
    error: QstampError | None = None

    def result(self) -> T:
        """What was made. Raises the error where nothing was."""
        if self.made is None:
            raise self.error or QstampError("nothing was made")
        return self.made


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """The key of a call; its retries share it."""
    return {"idempotency-key": idempotency_key or secrets.token_hex(16)}


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that a Retry-After asks for: a number, or a date (RFC 9110 §10.2.3)."""
    told = response.headers.get("retry-after")
    if told is None:
        return None
    if told.isdecimal():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return None


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _is_passing(response: httpx.Response) -> bool:
    # A proxy in front of the service says 502 without a code.
    return response.status_code in _PASSING or (response.status_code == 502 and not isinstance(_json(response), dict))


def _is_unfinished(response: httpx.Response) -> bool:
    body = _json(response)
    return isinstance(body, list) and any(isinstance(item, dict) and item.get("code") == "stamp_pending" for item in body)


def _pause(settings: Settings, attempts: int, retry_after: float | None) -> Steps[bool]:
    """Waits for the next try; False: there is none."""
    # A Retry-After is kept; without one clients that failed together shall not come back together.
    seconds = _FIRST_BACK_OFF * 2**attempts * random.uniform(0.5, 1) if retry_after is None else retry_after
    if attempts >= settings.max_retries or seconds > settings.max_wait:
        return False
    yield Wait(seconds)
    return True


def _ask(settings: Settings, call: Call, may_pass: Callable[[httpx.Response], bool]) -> Steps[httpx.Response]:
    """Asks until the answer is one to keep, or there is no next try."""
    content = None if call.body is None else json.dumps(call.body).encode()
    headers = {"accept": "application/json", **({} if content is None else {"content-type": "application/json"}), **call.headers}
    request = Request(call.method, f"{settings.url}{call.path}", headers, content)
    attempts = 0
    while True:
        response: httpx.Response | httpx.TransportError = yield request
        if isinstance(response, httpx.TransportError):
            if not (yield from _pause(settings, attempts, None)):
                raise ServiceUnreachable(f"{settings.url} cannot be reached: {response or type(response).__name__}") from response
        elif not may_pass(response) or not (yield from _pause(settings, attempts, _retry_after(response))):
            return response
        attempts += 1


def _refusal(response: httpx.Response) -> ServiceError:
    body = _json(response)
    return error_of(response.status_code, body if isinstance(body, dict) else {}, _retry_after(response))


@dataclass(frozen=True)
class Manner(Generic[T]):
    """How something is asked for: with which headers, and how what is answered is read."""

    read: Callable[[object], T]
    headers: Mapping[str, str] = field(default_factory=dict)


WITHOUT_WAITING = {"prefer": "respond-async"}
"""Prefers an answer before the stamp is made (RFC 7240)."""


def is_accepted(body: object) -> bool:
    """Whether an answer says that something is on its way."""
    return isinstance(body, dict) and body.get("status") == "accepted"


def ask(settings: Settings, call: Call, manner: Manner[T]) -> Steps[T]:
    """The answer of a call that succeeded. Raises ServiceError and its kinds, ServiceUnreachable, UnexpectedAnswer."""
    response = yield from _ask(settings, replace(call, headers={**call.headers, **manner.headers}), _is_passing)
    if not response.is_success:
        raise _refusal(response)
    return manner.read(_json(response))


def send(settings: Settings, call: Call, kind: type[T]) -> Steps[T]:
    """The same of a call that has one kind of answer."""
    return ask(settings, call, Manner(lambda body: read(kind, body)))


def ask_list(settings: Settings, call: Call, manner: Manner[T]) -> Steps[list[Outcome[T]]]:
    """The outcomes of a list, in its order; it is sent again while some are on their way. Raises as `ask`, where all were refused as one."""
    asked = replace(call, headers={**call.headers, **manner.headers})
    response = yield from _ask(settings, asked, lambda each: _is_passing(each) or _is_unfinished(each))
    # A list of which nothing is finished comes with 504: each item names its address.
    items = _json(response)
    if isinstance(items, list):
        return [_outcome(item, manner.read) for item in items]
    raise UnexpectedAnswer(f"what answers at {settings.url}{call.path} is not this service") if response.is_success else _refusal(response)


def _outcome(item: Any, read_one: Callable[[object], T]) -> Outcome[T]:
    if isinstance(item, dict) and "index" in item and "status" in item:
        return Outcome(error=error_of(item["status"], item, item.get("retry_after_seconds")))
    return Outcome(made=read_one(item))
