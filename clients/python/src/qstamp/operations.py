"""What the service does, as steps: the same for a thread and for a task."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Union
from urllib.parse import quote

from .content import Bytes, FileSource, checked_hash, read_whole, sha256_of, sha256_of_file
from .contract import AcceptedStamp, StampTier, StampToken, VerificationResult, WorkflowStartResponse
from .errors import QstampError
from .exchange import WITHOUT_WAITING, Call, Manner, Outcome, Settings, ask, ask_list, is_accepted, keyed, send
from .reading import read
from .steps import Steps, Wait, Work
from .verdict import reason_code_of

T = TypeVar("T")

HashToStamp = Union[str, tuple[str, Mapping[str, str]]]
"""One of many: its hash, or its hash and metadata."""

STAMPED: Manner[StampToken] = Manner(lambda body: read(StampToken, body))
ACCEPTED: Manner[AcceptedStamp | StampToken] = Manner(
    lambda body: read(AcceptedStamp, body) if is_accepted(body) else read(StampToken, body), WITHOUT_WAITING
)

# Between looks for a stamp that the service does not expect, in seconds.
_LOOK = 1.0

# The most items of one request; as an agent and in a workflow fewer, so that they fit into the limits of a minute.
MOST_OF_A_PRODUCT, MOST_OF_AN_AGENT, MOST_OF_A_WORKFLOW = 1000, 500, 100


def _stamps_under(settings: Settings) -> str:
    return "/api/v1/agent/v1" if settings.service_token is None else "/api/v1/internal/v1"


def authorization(settings: Settings) -> dict[str, str]:
    return {} if settings.service_token is None else {"x-service-token": settings.service_token}


def send_in_pieces(
    settings: Settings, items: Sequence[Any], size: int, key: str | None, call_of: Callable[[str | None], Call], manner: Manner[T]
) -> Steps[list[Outcome[T]]]:
    """Sends a list in pieces, one after the other.

    When a piece is refused as one, it and all that come after it have that error: what was made before is told all the same.
    """
    outcomes: list[Outcome[T]] = []
    for index, start in enumerate(range(0, len(items), size)):
        call = replace(call_of(None if key is None else f"{key}:{index}"), body=items[start : start + size])
        try:
            outcomes += yield from ask_list(settings, call, manner)
        except QstampError as error:
            if index == 0:
                raise
            return outcomes + [Outcome(error=error)] * (len(items) - len(outcomes))
    return outcomes


def _said(metadata: Mapping[str, str] | None, callback_url: str | None) -> dict[str, Any]:
    return {**({} if metadata is None else {"metadata": dict(metadata)}), **({} if callback_url is None else {"callback_url": callback_url})}


def stamp(
    settings: Settings,
    manner: Manner[T],
    content: Mapping[str, str],
    tier: StampTier,
    metadata: Mapping[str, str] | None,
    callback_url: str | None,
    key: str | None,
) -> Steps[T]:
    under = _stamps_under(settings)
    path = f"{under}/stamp/{tier}" if settings.service_token is None else f"{under}/stamp"
    body = {**content, "tier": tier, **_said(metadata, callback_url)}
    return ask(settings, Call("POST", path, {**authorization(settings), **keyed(key)}, body), manner)


def stamp_hash(
    settings: Settings,
    manner: Manner[T],
    sha256: str,
    tier: StampTier,
    metadata: Mapping[str, str] | None,
    callback_url: str | None,
    key: str | None,
) -> Steps[T]:
    return stamp(settings, manner, {"hash": checked_hash(sha256)}, tier, metadata, callback_url, key)


def stamp_file(
    settings: Settings,
    manner: Manner[T],
    file: FileSource,
    tier: StampTier | None,
    metadata: Mapping[str, str] | None,
    callback_url: str | None,
    send_content: bool,
    key: str | None,
) -> Steps[T]:
    if send_content:
        content = yield Work(lambda: read_whole(file))
        return (yield from stamp_bytes(settings, manner, content, tier, metadata, callback_url, True, key))
    sha256 = yield Work(lambda: sha256_of_file(file))
    return (yield from stamp_hash(settings, manner, sha256, tier or "basic", metadata, callback_url, key))


def stamp_bytes(
    settings: Settings,
    manner: Manner[T],
    content: Bytes,
    tier: StampTier | None,
    metadata: Mapping[str, str] | None,
    callback_url: str | None,
    send_content: bool,
    key: str | None,
) -> Steps[T]:
    if isinstance(content, str):
        raise QstampError("the content must be bytes; stamp_text takes a text, stamp_file a path")
    sha256 = yield Work(lambda: sha256_of(content))
    if not send_content:
        return (yield from stamp_hash(settings, manner, sha256, tier or "basic", metadata, callback_url, key))
    if tier not in (None, "sealed"):
        raise QstampError("content is sent in tier sealed only")
    sent = {"hash": sha256, "content_b64": base64.b64encode(content).decode()}
    return (yield from stamp(settings, manner, sent, "sealed", metadata, callback_url, key))


def stamp_many(
    settings: Settings,
    manner: Manner[T],
    hashes: Iterable[HashToStamp],
    tier: StampTier,
    metadata: Mapping[str, str] | None,
    callback_url: str | None,
    key: str | None,
) -> Steps[list[Outcome[T]]]:
    def item(each: HashToStamp) -> dict[str, Any]:
        sha256, own = (each, metadata) if isinstance(each, str) else each
        return {"hash": checked_hash(sha256), "tier": tier, **_said(own, callback_url)}

    def call(key_of_piece: str | None) -> Call:
        return Call("POST", f"{_stamps_under(settings)}/stamps", {**authorization(settings), **keyed(key_of_piece)})

    size = MOST_OF_AN_AGENT if settings.service_token is None else MOST_OF_A_PRODUCT
    return send_in_pieces(settings, [item(each) for each in hashes], size, key, call, manner)


def verify(settings: Settings, stamp_id: str, wait: int = 0) -> Steps[VerificationResult]:
    headers = {"prefer": f"wait={wait}"} if wait > 0 else {}
    return send(settings, Call("GET", f"/api/v1/verify/v1/token/{quote(stamp_id, safe='')}", headers), VerificationResult)


def until_stamped(settings: Settings, stamp_id: str, timeout: float | None) -> Steps[VerificationResult]:
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        asked_at = time.monotonic()
        left = settings.wait if deadline is None else max(0, min(settings.wait, int(deadline - asked_at)))
        result = yield from verify(settings, stamp_id, left)
        if reason_code_of(result) != "unknown_token_id":
            return result
        pause = max(0.0, asked_at + _LOOK - time.monotonic())
        if deadline is not None and time.monotonic() + pause > deadline:
            raise TimeoutError(f"the stamp is not there after {timeout} s")
        yield Wait(pause)


def verify_token(settings: Settings, token: str, sha256: str | None) -> Steps[VerificationResult]:
    body = {"token": token, **({} if sha256 is None else {"hash": sha256.lower()})}
    return send(settings, Call("POST", "/api/v1/verify/v1/raw", {}, body), VerificationResult)


def verify_file(settings: Settings, file: FileSource, token: str) -> Steps[VerificationResult]:
    sha256 = yield Work(lambda: sha256_of_file(file))
    return (yield from verify_token(settings, token, sha256))


def start_workflow(
    settings: Settings, briefing: str | Bytes | None, briefing_hash: str | None, fields: Mapping[str, Any], key: str | None
) -> Steps[WorkflowStartResponse]:
    if (briefing is None) == (briefing_hash is None):
        raise QstampError("give one of briefing and briefing_hash")
    content = briefing.encode() if isinstance(briefing, str) else briefing
    hashed = checked_hash(briefing_hash or "") if content is None else sha256_of(content)
    body = {**{name: value for name, value in fields.items() if value is not None}, "briefing_hash": hashed}
    # Who is to be told by a webhook must be known.
    known = authorization(settings) if "callback_url" in body else {}
    return send(settings, Call("POST", "/api/v1/workflow/start", {**known, **keyed(key)}, body), WorkflowStartResponse)
