# Made by `npm run clients` of _async/stamping.py. Do not edit it. Check: 5e231b17ed944d5ce389774ee7c11029
"""Stamps files, bytes, texts and hashes."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from ..calls import Call, Manner, Outcome, keyed
from ..content import Bytes, FileSource, HashToStamp, checked_hash, encoded, read_whole, sha256_of, sha256_of_file
from ..contract import StampTier
from ..errors import QstampError
from ..waiting import work
from .exchange import Caller, Exchange

M = TypeVar("M")

# The maximum number of items in one request. It is smaller for an agent, because of its limit per minute.
_MOST_OF_A_PRODUCT, _MOST_OF_AN_AGENT = 1000, 500


def _said(metadata: Mapping[str, str] | None, callback_url: str | None) -> dict[str, Any]:
    return {**({} if metadata is None else {"metadata": dict(metadata)}), **({} if callback_url is None else {"callback_url": callback_url})}


class Stamping(Caller, Generic[M]):
    """Stamps files, bytes, texts and hashes. Content is hashed locally, and only the hash is sent unless `send_content` is set."""

    def __init__(self, exchange: Exchange, manner: Manner[M]) -> None:
        self._exchange = exchange
        self._manner = manner
        self._under = "/api/v1/agent/v1" if exchange.is_agent else "/api/v1/internal/v1"

    def stamp_file(
        self,
        file: FileSource,
        *,
        tier: StampTier | None = None,
        metadata: Mapping[str, str] | None = None,
        send_content: bool = False,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a file: a path, or a binary file open for reading."""
        if send_content:
            content = work(read_whole, file)
            return self.stamp_bytes(
                content, tier=tier, metadata=metadata, send_content=True, callback_url=callback_url, idempotency_key=idempotency_key
            )
        sha256 = work(sha256_of_file, file)
        return self._stamp({"hash": sha256}, tier or "basic", metadata, callback_url, idempotency_key)

    def stamp_bytes(
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
        sha256 = work(sha256_of, content)
        if not send_content:
            return self._stamp({"hash": sha256}, tier or "basic", metadata, callback_url, idempotency_key)
        if tier not in (None, "sealed"):
            raise QstampError("content is only sent in tier sealed")
        sent = {"hash": sha256, "content_b64": base64.b64encode(content).decode()}
        return self._stamp(sent, "sealed", metadata, callback_url, idempotency_key)

    def stamp_text(
        self,
        text: str,
        *,
        tier: StampTier | None = None,
        metadata: Mapping[str, str] | None = None,
        send_content: bool = False,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a text in UTF-8."""
        return self.stamp_bytes(
            encoded(text),
            tier=tier,
            metadata=metadata,
            send_content=send_content,
            callback_url=callback_url,
            idempotency_key=idempotency_key,
        )

    def stamp_hash(
        self,
        sha256: str,
        *,
        tier: StampTier = "basic",
        metadata: Mapping[str, str] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a SHA-256."""
        return self._stamp({"hash": checked_hash(sha256)}, tier, metadata, callback_url, idempotency_key)

    def stamp_many(
        self,
        hashes: Iterable[HashToStamp],
        *,
        tier: StampTier = "basic",
        metadata: Mapping[str, str] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> list[Outcome[M]]:
        """Stamps many hashes, up to 1 000 in one request. The outcomes are in the same order; each hash succeeds or
        fails separately.

        Raises QstampError if nothing was made.
        """

        def item(each: HashToStamp) -> dict[str, Any]:
            sha256, own = (each, metadata) if isinstance(each, str) else each
            return {"hash": checked_hash(sha256), "tier": tier, **_said(own, callback_url)}

        def call(key: str | None) -> Call:
            return Call("POST", f"{self._under}/stamps?details=true", {**self._exchange.authorization, **keyed(key)})

        size = _MOST_OF_AN_AGENT if self._exchange.is_agent else _MOST_OF_A_PRODUCT
        return self._exchange.send_in_pieces([item(each) for each in hashes], size, idempotency_key, call, self._manner)

    def _stamp(
        self, content: Mapping[str, str], tier: StampTier, metadata: Mapping[str, str] | None, callback_url: str | None, key: str | None
    ) -> M:
        path = f"{self._under}/stamp/{tier}" if self._exchange.is_agent else f"{self._under}/stamp"
        body = {**content, "tier": tier, **_said(metadata, callback_url)}
        return self._exchange.ask(Call("POST", f"{path}?details=true", {**self._exchange.authorization, **keyed(key)}, body), self._manner)
