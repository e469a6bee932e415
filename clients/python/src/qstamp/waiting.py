"""How a task waits, and how a thread does: `npm run clients` puts the one for the other when it makes `_sync` of `_async`."""

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
"""Does something that takes its time, such as reading a file, beside the event loop."""


def work(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Does it here."""
    return do(*args, **kwargs)
