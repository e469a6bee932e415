"""An open workflow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ..calls import ACCEPTED_OUTPUT, NUMBERED, Call, Manner, Outcome, keyed
from ..content import Bytes, FileSource, OutputToStamp, encoded, sha256_of, sha256_of_file
from ..contract import (
    AcceptedOutput,
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowStartResponse,
    WorkflowState,
)
from ..errors import QstampError
from ..waiting import AsyncLock, async_sleep, async_work, not_after
from .exchange import AsyncCaller, AsyncExchange

M = TypeVar("M")

# The pause between checks whether the e-mail address was confirmed, in seconds.
_LOOK = 2.0

# The maximum number of outputs in one request, because of the limit per minute.
_MOST_OF_A_WORKFLOW = 100


class AsyncOutputStamping(AsyncCaller, Generic[M]):
    """Stamps outputs. They are numbered in the order of the calls, also across tasks or threads. `output_type` is a
    label of your choice for the page of the workflow. The usual ones are image, text, audio, video, code and layout.
    """

    def __init__(self, exchange: AsyncExchange, workflow_id: str, workflow_token: str, turn: AsyncLock, manner: Manner[M]) -> None:
        self._exchange = exchange
        self._path = f"/api/v1/workflow/{quote(workflow_id, safe='')}"
        self._authorization = {"authorization": f"Workflow {workflow_token}"}
        self._turn = turn
        """The holder of this lock stamps the next output, because the workflow also proves the order of outputs."""
        self._manner = manner

    async def stamp_hash(
        self,
        sha256: str,
        *,
        output_type: str = "file",
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a hash as the next output."""
        return await self._stamp(lambda: sha256, output_type, output_metadata, callback_url, idempotency_key)

    async def stamp_file(
        self,
        file: FileSource,
        *,
        output_type: str = "file",
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a file as the next output; only its hash is sent."""
        return await self._stamp(lambda: sha256_of_file(file), output_type, output_metadata, callback_url, idempotency_key)

    async def stamp_bytes(
        self,
        content: Bytes,
        *,
        output_type: str = "file",
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps bytes as the next output; only their hash is sent."""
        return await self._stamp(lambda: sha256_of(content), output_type, output_metadata, callback_url, idempotency_key)

    async def stamp_text(
        self,
        text: str,
        *,
        output_type: str = "text",
        output_metadata: Mapping[str, Any] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Stamps a text in UTF-8 as the next output; only its hash is sent."""
        return await self._stamp(lambda: sha256_of(encoded(text)), output_type, output_metadata, callback_url, idempotency_key)

    async def stamp_many(self, outputs: Iterable[OutputToStamp], *, idempotency_key: str | None = None) -> list[Outcome[M]]:
        """Stamps many hashes as the next outputs, numbered in this order. Each hash succeeds or fails separately."""
        given = list(outputs)

        def call(key: str | None) -> Call:
            return self._post("stamps?details=true", key, given)

        items = [output.as_body() for output in given]
        async with self._turn:
            return await self._exchange.send_in_pieces(items, _MOST_OF_A_WORKFLOW, idempotency_key, call, self._manner)

    async def _stamp(
        self, sha256: Callable[[], str], output_type: str, output_metadata: Mapping[str, Any] | None, callback_url: str | None, key: str | None
    ) -> M:
        async with self._turn:
            output_hash = await async_work(sha256)
            output = OutputToStamp(output_hash=output_hash, output_type=output_type, output_metadata=output_metadata, callback_url=callback_url)
            return await self._exchange.ask(self._post("stamp?details=true", key, [output], output.as_body()), self._manner)

    def _post(self, operation: str, key: str | None, outputs: Sequence[OutputToStamp] = (), body: object = None) -> Call:
        # Only callers with a service token may use webhooks.
        known = self._exchange.authorization if any(output.callback_url for output in outputs) else {}
        return Call("POST", f"{self._path}/{operation}", {**self._authorization, **keyed(key), **known}, body)


class AsyncWorkflow(AsyncOutputStamping[WorkflowStampResponse]):
    """An open workflow. Outputs are numbered in the order of the calls, also across tasks or threads."""

    def __init__(
        self, exchange: AsyncExchange, workflow_id: str, workflow_token: str, started: WorkflowStartResponse | None = None
    ) -> None:
        self.id = workflow_id
        self.token = workflow_token
        """Keep it secret. It is shown only once, and only it gives access to this workflow."""
        self.page_url = f"{exchange.url}/workflow/{workflow_id}"
        self.started = started
        """The answer to the start: it says how long the workflow is open, and to which address the link was mailed. None
        for a reopened workflow.
        """
        super().__init__(exchange, workflow_id, workflow_token, AsyncLock(), NUMBERED)

    @property
    def later(self) -> AsyncOutputStamping[AcceptedOutput | WorkflowStampResponse]:
        """The same calls, but they return as soon as the service has accepted the output. The result is the id of its
        stamp, or the output if the idempotency key was used before. `complete` waits until all accepted outputs
        are stamped.
        """
        return AsyncOutputStamping(self._exchange, self.id, self.token, self._turn, ACCEPTED_OUTPUT)

    async def state(self) -> WorkflowState:
        """The state of the workflow."""
        return await self._exchange.send(Call("GET", self._path, self._authorization), WorkflowState)

    async def until_confirmed(self, *, timeout: float | None = None) -> WorkflowState:
        """Returns when the client has confirmed the e-mail address. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            state = await self.state()
            if state.confirmed_at is not None:
                return state
            if state.status != "pending":
                raise QstampError(f"the workflow is {state.status}, and the e-mail address was not confirmed")
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"the e-mail address was not confirmed within {timeout} s")
            await async_sleep(not_after(deadline, _LOOK))

    async def complete(self, *, idempotency_key: str | None = None) -> WorkflowCompleteResponse:
        """Closes the workflow under one Merkle root. Completing it again gives the same answer."""
        async with self._turn:
            return await self._exchange.send(self._post("complete", idempotency_key), WorkflowCompleteResponse)

    async def resend_link(self, *, idempotency_key: str | None = None) -> WorkflowResendResponse:
        """Mails a new link. The old link becomes invalid."""
        return await self._exchange.send(self._post("resend", idempotency_key), WorkflowResendResponse)

    async def redact(self, *, idempotency_key: str | None = None) -> WorkflowRedactResponse:
        """Permanently erases the client's e-mail address, the agent's id and all metadata."""
        return await self._exchange.send(self._post("redact-pii", idempotency_key), WorkflowRedactResponse)
