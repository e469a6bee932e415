"""Stamping outputs of a workflow, for code that waits in its thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import httpx

from .content import Bytes, FileSource, sha256_of, sha256_of_file
from .exchange import Manner, Outcome
from .steps import Steps, run
from .workflow_operations import OutputToStamp, WorkflowOperations

T = TypeVar("T")
M = TypeVar("M")


class OutputStamping(Generic[M]):
    """Stamps outputs; they are numbered in the order of the calls, of several threads too."""

    def __init__(self, operations: WorkflowOperations, http: httpx.Client, turn: threading.Lock, manner: Manner[M]) -> None:
        self._operations = operations
        self._http = http
        self._turn = turn
        self._manner = manner

    def _run(self, steps: Steps[T]) -> T:
        return run(steps, self._http)

    def _next(self, steps: Steps[T]) -> T:
        with self._turn:
            return self._run(steps)

    def _stamp(
        self, sha256: Callable[[], str], output_type: str, output_metadata: Mapping[str, Any] | None, callback_url: str | None, key: str | None
    ) -> M:
        return self._next(self._operations.stamp(self._manner, sha256, output_type, output_metadata, callback_url, key))

    def stamp_hash(
        self,
        sha256: str,
        *,
        output_type: str,
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a hash as the next output."""
        return self._stamp(lambda: sha256, output_type, output_metadata, callback_url, idempotency_key)

    def stamp_file(
        self,
        file: FileSource,
        *,
        output_type: str,
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a file as the next output; only its hash is sent."""
        return self._stamp(lambda: sha256_of_file(file), output_type, output_metadata, callback_url, idempotency_key)

    def stamp_bytes(
        self,
        content: Bytes,
        *,
        output_type: str,
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps bytes as the next output; only their hash is sent."""
        return self._stamp(lambda: sha256_of(content), output_type, output_metadata, callback_url, idempotency_key)

    def stamp_text(
        self,
        text: str,
        *,
        output_type: str = "text",
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a text, as UTF-8, as the next output; only its hash is sent."""
        return self._stamp(lambda: sha256_of(text.encode()), output_type, output_metadata, callback_url, idempotency_key)

    def stamp_many(self, outputs: Iterable[OutputToStamp], *, idempotency_key: str | None = None) -> list[Outcome[M]]:
        """Stamps many hashes as the next outputs, numbered in this order; each succeeds or fails for itself."""
        return self._next(self._operations.stamp_many(self._manner, outputs, idempotency_key))
