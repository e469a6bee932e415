"""Sends requests, with retries."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import httpx

from ..calls import Call, Manner, Outcome, is_passing, is_unfinished, json_of, outcome_of, refusal_of, retry_after
from ..errors import QstampError, ServiceUnreachable, UnexpectedAnswer
from ..reading import read
from ..waiting import async_sleep

T = TypeVar("T")

_FIRST_BACK_OFF = 0.25


class AsyncExchange:
    """Sends requests to one service. `longest_wait`: the longest wait to ask the service for in one request, in
    seconds. It is shorter than the time of a try.
    """

    def __init__(self, url: str, service_token: str | None, http: httpx.AsyncClient, max_retries: int, max_wait: float) -> None:
        if not url.startswith(("https://", "http://")):
            raise QstampError(f"url must begin with https:// or http://: {url}")
        self.url = url.rstrip("/")
        self.is_agent = service_token is None
        self.authorization = {} if service_token is None else {"x-service-token": service_token}
        self.http = http
        self.longest_wait = 10 if http.timeout.read is None else min(10, int(http.timeout.read / 2))
        self._max_retries = max_retries
        self._max_wait = max_wait

    async def ask(self, call: Call, manner: Manner[T]) -> T:
        """Returns the answer of a successful call. Raises ServiceError or a subclass, ServiceUnreachable,
        UnexpectedAnswer.
        """
        response = await self._answer(replace(call, headers={**call.headers, **manner.headers}), is_passing)
        if not response.is_success:
            raise refusal_of(response)
        return manner.read(json_of(response))

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
            return [outcome_of(item, manner) for item in items]
        raise UnexpectedAnswer(f"the server at {self.url}{call.path.partition('?')[0]} is not this service") if response.is_success else refusal_of(response)

    async def _answer(self, call: Call, may_pass: Callable[[httpx.Response], bool]) -> httpx.Response:
        """Retries until the answer is final or no try is left."""
        content = None if call.body is None else json.dumps(call.body).encode()
        headers = {"accept": "application/json", **({} if content is None else {"content-type": "application/json"}), **call.headers}
        attempts = 0
        began = time.monotonic()
        while True:
            try:
                response = await self.http.request(call.method, f"{self.url}{call.path}", headers=headers, content=content)
            except httpx.TransportError as error:
                # If no answer came for so long, a retry is unlikely to succeed.
                if time.monotonic() - began >= self._max_wait or not await self._pause(attempts, None):
                    raise ServiceUnreachable(f"{self.url} cannot be reached: {str(error) or type(error).__name__}") from error
            else:
                if not may_pass(response) or not await self._pause(attempts, retry_after(response)):
                    return response
            attempts += 1

    async def _pause(self, attempts: int, told: float | None) -> bool:
        """Waits until the next try. Returns False without waiting if no try is left or the wait would be too long."""
        # Retry-After decides. Without it, a random pause separates clients that failed together.
        seconds = _FIRST_BACK_OFF * 2**attempts * random.uniform(0.5, 1) if told is None else told
        if attempts >= self._max_retries or seconds > self._max_wait:
            return False
        await async_sleep(seconds)
        return True
