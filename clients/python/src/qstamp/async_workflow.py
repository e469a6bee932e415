"""A workflow under way, for tasks of asyncio."""

from __future__ import annotations

import asyncio

import httpx

from .async_output_stamping import AsyncOutputStamping
from .contract import (
    AcceptedOutput,
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowState,
)
from .exchange import Settings
from .workflow_operations import ACCEPTED_OUTPUT, NUMBERED, WorkflowOperations


class AsyncWorkflow(AsyncOutputStamping[WorkflowStampResponse]):
    """A workflow under way. Outputs are numbered in the order of the calls, of several tasks too."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient, workflow_id: str, workflow_token: str) -> None:
        self.id = workflow_id
        self.token = workflow_token
        """A secret: it is told once, and is the only access to this workflow."""
        self.page_url = f"{settings.url}/workflow/{workflow_id}"
        operations, turn = WorkflowOperations(settings, workflow_id, workflow_token), asyncio.Lock()
        super().__init__(operations, http, turn, NUMBERED)
        self.later: AsyncOutputStamping[AcceptedOutput | WorkflowStampResponse] = AsyncOutputStamping(operations, http, turn, ACCEPTED_OUTPUT)
        """The same calls, answered as soon as the output is sure to be stamped and numbered: with the id of its stamp, or,
        where a key is used again, with the output. `complete` waits for all of them."""

    async def state(self) -> WorkflowState:
        """Where it stands."""
        return await self._run(self._operations.state())

    async def until_confirmed(self, *, timeout: float | None = None) -> WorkflowState:
        """Returns when the client has opened the link in the mail. Raises TimeoutError after `timeout` seconds."""
        return await self._run(self._operations.until_confirmed(timeout))

    async def complete(self, *, idempotency_key: str | None = None) -> WorkflowCompleteResponse:
        """Closes it under one Merkle root. Completing again gives the same answer."""
        return await self._next(self._operations.complete(idempotency_key))

    async def resend_link(self, *, idempotency_key: str | None = None) -> WorkflowResendResponse:
        """Mails a new link and ends the old one."""
        return await self._run(self._operations.resend_link(idempotency_key))

    async def redact(self, *, idempotency_key: str | None = None) -> WorkflowRedactResponse:
        """Erases the client's e-mail address, the agent's id and all metadata, for good."""
        return await self._run(self._operations.redact(idempotency_key))
