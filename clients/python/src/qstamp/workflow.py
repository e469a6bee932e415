"""A workflow under way, for code that waits in its thread."""

from __future__ import annotations

import threading

import httpx

from .contract import (
    AcceptedOutput,
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowState,
)
from .exchange import Settings
from .output_stamping import OutputStamping
from .workflow_operations import ACCEPTED_OUTPUT, NUMBERED, WorkflowOperations


class Workflow(OutputStamping[WorkflowStampResponse]):
    """A workflow under way. Outputs are numbered in the order of the calls, of several threads too."""

    def __init__(self, settings: Settings, http: httpx.Client, workflow_id: str, workflow_token: str) -> None:
        self.id = workflow_id
        self.token = workflow_token
        """A secret: it is told once, and is the only access to this workflow."""
        self.page_url = f"{settings.url}/workflow/{workflow_id}"
        operations, turn = WorkflowOperations(settings, workflow_id, workflow_token), threading.Lock()
        super().__init__(operations, http, turn, NUMBERED)
        self.later: OutputStamping[AcceptedOutput | WorkflowStampResponse] = OutputStamping(operations, http, turn, ACCEPTED_OUTPUT)
        """The same calls, answered as soon as the output is sure to be stamped and numbered: with the id of its stamp, or,
        where a key is used again, with the output. `complete` waits for all of them."""

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
