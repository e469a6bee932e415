"""A workflow under way, for code that waits in its thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import httpx

from .content import Bytes, FileSource, sha256_of, sha256_of_file
from .contract import (
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowState,
)
from .exchange import Outcome, Settings
from .steps import Steps, run
from .workflow_operations import OutputToStamp, WorkflowOperations

T = TypeVar("T")


class Workflow:
    """A workflow under way. Outputs are numbered in the order of the calls, of several threads too."""

    def __init__(self, settings: Settings, http: httpx.Client, workflow_id: str, workflow_token: str) -> None:
        self.id = workflow_id
        self.token = workflow_token
        """A secret: it is told once, and is the only access to this workflow."""
        self.page_url = f"{settings.url}/workflow/{workflow_id}"
        self._operations = WorkflowOperations(settings, workflow_id, workflow_token)
        self._http = http
        self._turn = threading.Lock()

    def _run(self, steps: Steps[T]) -> T:
        return run(steps, self._http)

    def _next(self, steps: Steps[T]) -> T:
        with self._turn:
            return self._run(steps)

    def stamp_hash(
        self, sha256: str, *, output_type: str, output_metadata: Mapping[str, Any] | None = None, idempotency_key: str | None = None
    ) -> WorkflowStampResponse:
        """Stamps a hash as the next output."""
        return self._next(self._operations.stamp(lambda: sha256, output_type, output_metadata, idempotency_key))

    def stamp_file(
        self, file: FileSource, *, output_type: str, output_metadata: Mapping[str, Any] | None = None, idempotency_key: str | None = None
    ) -> WorkflowStampResponse:
        """Stamps a file as the next output; only its hash is sent."""
        return self._next(self._operations.stamp(lambda: sha256_of_file(file), output_type, output_metadata, idempotency_key))

    def stamp_bytes(
        self, content: Bytes, *, output_type: str, output_metadata: Mapping[str, Any] | None = None, idempotency_key: str | None = None
    ) -> WorkflowStampResponse:
        """Stamps bytes as the next output; only their hash is sent."""
        return self._next(self._operations.stamp(lambda: sha256_of(content), output_type, output_metadata, idempotency_key))

    def stamp_text(
        self, text: str, *, output_type: str = "text", output_metadata: Mapping[str, Any] | None = None, idempotency_key: str | None = None
    ) -> WorkflowStampResponse:
        """Stamps a text, as UTF-8, as the next output; only its hash is sent."""
        return self._next(self._operations.stamp(lambda: sha256_of(text.encode()), output_type, output_metadata, idempotency_key))

    def stamp_many(self, outputs: Iterable[OutputToStamp], *, idempotency_key: str | None = None) -> list[Outcome[WorkflowStampResponse]]:
        """Stamps many hashes as the next outputs, numbered in this order; each succeeds or fails for itself."""
        return self._next(self._operations.stamp_many(outputs, idempotency_key))

    def state(self) -> WorkflowState:
        """Where it stands."""
        return self._run(self._operations.state())

    def until_confirmed(self, *, timeout: float | None = None) -> WorkflowState:
        """Returns when the client has opened the link in the mail. Raises TimeoutError after `timeout` seconds."""
        return self._run(self._operations.until_confirmed(timeout))

    def complete(self, *, idempotency_key: str | None = None) -> WorkflowCompleteResponse:
        """Closes it under one Merkle root. Completing again gives the same answer."""
        return self._next(self._operations.complete(idempotency_key))

    def resend_link(self, *, idempotency_key: str | None = None) -> WorkflowResendResponse:
        """Mails a new link and ends the old one."""
        return self._run(self._operations.resend_link(idempotency_key))

    def redact(self, *, idempotency_key: str | None = None) -> WorkflowRedactResponse:
        """Erases the client's e-mail address, the agent's id and all metadata, for good."""
        return self._run(self._operations.redact(idempotency_key))
