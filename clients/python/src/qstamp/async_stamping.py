"""Stamping, for tasks of asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import httpx

from . import operations
from .content import Bytes, FileSource
from .contract import StampTier
from .exchange import Manner, Outcome, Settings
from .operations import HashToStamp
from .steps import Steps, run_async

T = TypeVar("T")
M = TypeVar("M")


class AsyncStamping(Generic[M]):
    """Stamps files, bytes, texts and hashes. What is stamped is hashed here, and only the hash is sent unless `send_content` asks for more."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient, manner: Manner[M]) -> None:
        self._settings = settings
        self._http = http
        self._manner = manner

    async def _run(self, steps: Steps[T]) -> T:
        return await run_async(steps, self._http)

    async def stamp_file(
        self,
        file: FileSource,
        *,
        tier: StampTier | None = None,
        metadata: Mapping[str, str] | None = None,
        send_content: bool = False,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a file: its path, or one that is open for reading bytes."""
        steps = operations.stamp_file(self._settings, self._manner, file, tier, metadata, callback_url, send_content, idempotency_key)
        return await self._run(steps)

    async def stamp_bytes(
        self,
        content: Bytes,
        *,
        tier: StampTier | None = None,
        metadata: Mapping[str, str] | None = None,
        send_content: bool = False,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps bytes."""
        steps = operations.stamp_bytes(self._settings, self._manner, content, tier, metadata, callback_url, send_content, idempotency_key)
        return await self._run(steps)

    async def stamp_text(
        self,
        text: str,
        *,
        tier: StampTier | None = None,
        metadata: Mapping[str, str] | None = None,
        send_content: bool = False,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a text, as UTF-8."""
        content = text.encode()
        steps = operations.stamp_bytes(self._settings, self._manner, content, tier, metadata, callback_url, send_content, idempotency_key)
        return await self._run(steps)

    async def stamp_hash(
        self,
        sha256: str,
        *,
        tier: StampTier = "basic",
        metadata: Mapping[str, str] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a SHA-256."""
        return await self._run(operations.stamp_hash(self._settings, self._manner, sha256, tier, metadata, callback_url, idempotency_key))

    async def stamp_many(
        self,
        hashes: Iterable[HashToStamp],
        *,
        tier: StampTier = "basic",
        metadata: Mapping[str, str] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> list[Outcome[M]]:
        """Stamps many hashes, up to 1 000 in one request. The outcomes are in their order; each succeeds or fails for itself.

        Raises where nothing was made.
        """
        return await self._run(operations.stamp_many(self._settings, self._manner, hashes, tier, metadata, callback_url, idempotency_key))
