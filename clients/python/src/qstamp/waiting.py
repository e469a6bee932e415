"""Waiting for tasks and for threads: when `npm run clients` makes `_sync` from `_async`, it replaces one with the
other.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AsyncLock = asyncio.Lock
Lock = threading.Lock

async_sleep = asyncio.sleep
sleep = time.sleep

async_work = asyncio.to_thread
"""Runs a slow function, such as reading a file, outside the event loop."""


def work(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs it here."""
    return do(*args, **kwargs)


def not_after(deadline: float | None, seconds: float) -> float:
    """A pause of so many seconds, but not after a deadline of the monotonic clock."""
    return seconds if deadline is None else max(0.0, min(seconds, deadline - time.monotonic()))
