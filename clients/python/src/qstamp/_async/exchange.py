"""Sends requests, with retries."""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar, cast

import httpx

from ..calls import (
    Attempt,
    Call,
    Manner,
    Outcome,
    answered,
    is_passing,
    is_unfinished,
    json_of,
    outcome_of,
    refusal_of,
    request_id_of,
    retry_after,
)
from ..content import PIECE, FileSource, opened
from ..errors import QstampError, ServiceUnreachable, UnexpectedAnswer
from ..reading import read
from ..version import USER_AGENT
from ..waiting import async_sleep, async_work

T = TypeVar("T")
C = TypeVar("C", bound="AsyncCaller")

_FIRST_BACK_OFF = 0.25

_log = logging.getLogger("qstamp")


class AsyncExchange:
    """Sends requests to one service."""

    def __init__(
        self,
        url: str,
        service_token: str | None,
        http: httpx.AsyncClient,
        *,
        timeout: float | httpx.Timeout,
        max_retries: int,
        max_wait: float,
        default_headers: Mapping[str, str] | None,
        on_attempt: Callable[[Attempt], None] | None,
    ) -> None:
        if not url:
            raise QstampError("the address of the service is missing: give `url`, or set QSTAMP_URL")
        if not url.startswith(("https://", "http://")):
            raise QstampError(f"url must begin with https:// or http://: {url}")
        # Errors show the address.
        if httpx.URL(url).userinfo:
            raise QstampError("url must not have a user or a password; give a header in default_headers")
        if service_token and not (service_token.isascii() and service_token.isprintable()):
            raise QstampError("the service token (`service_token`, or QSTAMP_TOKEN) has a character that no service token has")
        self.url = url.rstrip("/")
        self.is_agent = service_token is None
        self.authorization = {} if service_token is None else {"x-service-token": service_token}
        self.http = http
        self._timeout = httpx.Timeout(timeout)
        self._max_retries = max_retries
        self._max_wait = max_wait
        self._default_headers = httpx.Headers(default_headers)
        self._on_attempt = on_attempt

    @property
    def longest_wait(self) -> int:
        """The longest wait to ask the service for in one request, in seconds. It is shorter than the time of a try."""
        return 10 if self._timeout.read is None else min(10, int(self._timeout.read / 2))

    def with_options(
        self, timeout: float | httpx.Timeout | None, max_retries: int | None, default_headers: Mapping[str, str] | None
    ) -> AsyncExchange:
        other = copy(self)
        if timeout is not None:
            other._timeout = httpx.Timeout(timeout)
        if max_retries is not None:
            other._max_retries = max_retries
        other._default_headers = self._default_headers.copy()
        other._default_headers.update(default_headers)
        return other

    async def ask(self, call: Call, manner: Manner[T]) -> T:
        """Returns the answer of a successful call. Raises ServiceError or a subclass, ServiceUnreachable,
        UnexpectedAnswer.
        """
        response = await self.fetch(replace(call, headers={**call.headers, **manner.headers}))
        return answered(manner.read(json_of(response)), response)

    async def fetch(self, call: Call) -> httpx.Response:
        """Returns the response of a successful call. Raises ServiceError or a subclass, ServiceUnreachable."""
        response = await self._answer(call, is_passing)
        if not response.is_success:
            raise refusal_of(response)
        return response

    async def download(self, call: Call, to: FileSource) -> None:
        """Writes the answer of a successful call to a path or an open file, in parts. A file at the path is replaced at the
        end, when the answer is whole. Raises like `fetch`.
        """
        response = await self._answer(call, is_passing, is_streamed=True)
        if not response.is_success:
            raise refusal_of(response)
        part = f"{os.fspath(to)}.part" if isinstance(to, (str, os.PathLike)) else to
        try:
            with opened(part, "wb") as file:
                async for piece in response.aiter_bytes(PIECE):
                    await async_work(file.write, piece)
            if isinstance(to, (str, os.PathLike)):
                os.replace(cast(str, part), to)
        except httpx.TransportError as error:
            raise ServiceUnreachable(f"the answer of {self.url} broke off: {str(error) or type(error).__name__}") from error
        finally:
            await response.aclose()

    async def send(self, call: Call, kind: type[T]) -> T:
        """Like `ask`, for a call with one kind of answer."""
        return await self.ask(call, Manner(lambda body: read(kind, body)))

    async def send_in_pieces(
        self, items: Sequence[Any], size: int, key: str | None, call_of: Callable[[str | None], Call], manner: Manner[T]
    ) -> list[Outcome[T]]:
        """Sends a list in parts, one after the other.

        If a whole part is refused, its items and all later items get this error. Earlier results are still returned.
        """
        outcomes: list[Outcome[T]] = []
        for index, start in enumerate(range(0, len(items), size)):
            call = replace(call_of(None if key is None else f"{key}:{index}"), body=items[start : start + size])
            try:
                outcomes += await self._ask_list(call, manner)
            except QstampError as error:
                if index == 0:
                    raise
                return outcomes + [Outcome(error=error)] * (len(items) - len(outcomes))
        return outcomes

    async def _ask_list(self, call: Call, manner: Manner[T]) -> list[Outcome[T]]:
        """Returns the outcomes of a list, in its order. Retries while some are in progress. Raises like `ask` if the
        whole list was refused.
        """
        asked = replace(call, headers={**call.headers, **manner.headers})
        response = await self._answer(asked, lambda each: is_passing(each) or is_unfinished(each))
        # If no item of a list is finished, the status is 504, but the body is still a list with an address for each
        # item.
        items = json_of(response)
        if isinstance(items, list):
            return [outcome_of(item, manner, response) for item in items]
        raise UnexpectedAnswer(f"the server at {self.url}{call.path.partition('?')[0]} is not this service") if response.is_success else refusal_of(response)

    async def _answer(self, call: Call, may_pass: Callable[[httpx.Response], bool], is_streamed: bool = False) -> httpx.Response:
        """Retries until the answer is final or no try is left. If it is streamed, a successful answer is not read."""
        attempt = 1
        began = time.monotonic()
        while True:
            tried_at = time.monotonic()
            try:
                response = await self.http.send(self._request_of(call), stream=True, follow_redirects=False)
                if not (is_streamed and response.is_success):
                    await response.aread()
            except httpx.LocalProtocolError:
                # The message has the header, and so perhaps a token.
                raise QstampError("a header has a value that cannot be sent") from None
            except httpx.TransportError as error:
                self._report(call, attempt, tried_at, error=type(error).__name__)
                # If no answer came for so long, a retry is unlikely to succeed.
                if time.monotonic() - began >= self._max_wait or not await self._pause(attempt, None):
                    raise ServiceUnreachable(f"{self.url} cannot be reached: {str(error) or type(error).__name__}") from error
            else:
                self._report(call, attempt, tried_at, response.status_code, request_id_of(response))
                if not may_pass(response) or not await self._pause(attempt, retry_after(response)):
                    return response
            attempt += 1

    def _request_of(self, call: Call) -> httpx.Request:
        headers = httpx.Headers({"accept": "application/json", "user-agent": USER_AGENT})
        content: bytes | AsyncIterator[bytes] | None = None
        if call.content is not None:
            headers["content-type"] = "application/octet-stream"
            content = call.content if isinstance(call.content, bytes) else _pieces_of(call.content)
        elif call.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(call.body).encode()
        headers.update(self._default_headers)
        headers.update(call.headers)
        return self.http.build_request(call.method, f"{self.url}{call.path}", headers=headers, content=content, timeout=self._timeout)

    def _report(
        self, call: Call, attempt: int, tried_at: float, status: int | None = None, request_id: str | None = None, error: str | None = None
    ) -> None:
        if self._on_attempt is not None:
            path, duration = call.path.partition("?")[0], time.monotonic() - tried_at
            try:
                self._on_attempt(Attempt(call.method, path, attempt, duration, status, request_id, error))
            except Exception:
                # The stamp may have been made: a fault in the caller's logs must not lose it.
                _log.exception("on_attempt failed")

    async def _pause(self, attempt: int, told: float | None) -> bool:
        """Waits until the next try. Returns False without waiting if no try is left or the wait would be too long."""
        # Retry-After decides. Without it, a random pause separates clients that failed together.
        seconds = _FIRST_BACK_OFF * 2 ** (attempt - 1) * random.uniform(0.5, 1) if told is None else told
        if attempt > self._max_retries or seconds > self._max_wait:
            return False
        await async_sleep(seconds)
        return True


async def _pieces_of(file: FileSource) -> AsyncIterator[bytes]:
    with opened(file) as there:
        while piece := await async_work(there.read, PIECE):
            yield piece


class AsyncCaller:
    """Makes calls to the service."""

    _exchange: AsyncExchange

    def with_options(
        self: C,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> C:
        """The same with other options, over the same connections. So options can be for one call alone:
        `qstamp.with_options(timeout=5, max_retries=0).stamp_text("…")`.
        """
        other = copy(self)
        other._exchange = self._exchange.with_options(timeout, max_retries, default_headers)
        return other
