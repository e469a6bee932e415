"""What a call does one after the other, whoever waits for it: a thread, or a task.

A call is a generator that yields steps and is sent their results; `run` and `run_async` drive it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import httpx

T = TypeVar("T")


class Step(Protocol):
    def now(self, http: httpx.Client) -> Any: ...

    async def soon(self, http: httpx.AsyncClient) -> Any: ...


Steps = Generator[Step, Any, T]


@dataclass(frozen=True)
class Request:
    """Asks the service; answers the response, or the error of a connection that failed."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None

    def now(self, http: httpx.Client) -> httpx.Response | httpx.TransportError:
        try:
            return http.request(self.method, self.url, headers=self.headers, content=self.content)
        except httpx.TransportError as error:
            return error

    async def soon(self, http: httpx.AsyncClient) -> httpx.Response | httpx.TransportError:
        try:
            return await http.request(self.method, self.url, headers=self.headers, content=self.content)
        except httpx.TransportError as error:
            return error


@dataclass(frozen=True)
class Wait:
    seconds: float

    def now(self, http: httpx.Client) -> None:
        time.sleep(self.seconds)

    async def soon(self, http: httpx.AsyncClient) -> None:
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True)
class Work:
    """Something that takes its time, such as reading a file; beside the event loop where there is one."""

    do: Callable[[], Any]

    def now(self, http: httpx.Client) -> Any:
        return self.do()

    async def soon(self, http: httpx.AsyncClient) -> Any:
        return await asyncio.to_thread(self.do)


def run(steps: Steps[T], http: httpx.Client) -> T:
    """Drives a call in this thread."""
    try:
        step = next(steps)
        while True:
            step = steps.send(step.now(http))
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Steps[T], http: httpx.AsyncClient) -> T:
    """Drives a call in this task."""
    try:
        step = next(steps)
        while True:
            step = steps.send(await step.soon(http))
    except StopIteration as end:
        result: T = end.value
        return result
