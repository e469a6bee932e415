"""What can be done to a workflow, as steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import quote

from .content import checked_hash
from .contract import (
    AcceptedOutput,
    WorkflowCompleteResponse,
    WorkflowRedactResponse,
    WorkflowResendResponse,
    WorkflowStampResponse,
    WorkflowState,
)
from .errors import QstampError
from .exchange import WITHOUT_WAITING, Call, Manner, Outcome, Settings, ask, is_accepted, keyed, send
from .operations import MOST_OF_A_WORKFLOW, authorization, send_in_pieces
from .reading import read
from .steps import Steps, Wait, Work

T = TypeVar("T")

_LOOK = 2.0


@dataclass(frozen=True, kw_only=True)
class OutputToStamp:
    """One of many outputs: its hash and type."""

    output_hash: str
    output_type: str
    output_metadata: Mapping[str, Any] | None = None
    callback_url: str | None = None
    """Where a signed webhook tells of the output; with a service token only."""

    def as_body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"output_hash": checked_hash(self.output_hash), "output_type": self.output_type}
        body |= {} if self.output_metadata is None else {"output_metadata": dict(self.output_metadata)}
        return body if self.callback_url is None else {**body, "callback_url": self.callback_url}


NUMBERED: Manner[WorkflowStampResponse] = Manner(lambda body: read(WorkflowStampResponse, body))
ACCEPTED_OUTPUT: Manner[AcceptedOutput | WorkflowStampResponse] = Manner(
    lambda body: read(AcceptedOutput, body) if is_accepted(body) else read(WorkflowStampResponse, body), WITHOUT_WAITING
)


@dataclass(frozen=True)
class WorkflowOperations:
    """Of one workflow, by its token."""

    settings: Settings
    id: str
    token: str

    @property
    def _path(self) -> str:
        return f"/api/v1/workflow/{quote(self.id, safe='')}"

    @property
    def _authorization(self) -> dict[str, str]:
        return {"authorization": f"Workflow {self.token}"}

    def _post(self, operation: str, key: str | None, body: object = None) -> Call:
        return Call("POST", f"{self._path}/{operation}", {**self._authorization, **keyed(key)}, body)

    def _stamping(self, operation: str, outputs: Sequence[OutputToStamp], key: str | None) -> Call:
        call = self._post(operation, key)
        # Who is to be told by a webhook must be known.
        known = authorization(self.settings) if any(output.callback_url for output in outputs) else {}
        return replace(call, headers={**call.headers, **known})

    def stamp(
        self,
        manner: Manner[T],
        sha256: Callable[[], str],
        output_type: str,
        output_metadata: Mapping[str, Any] | None,
        callback_url: str | None,
        key: str | None,
    ) -> Steps[T]:
        output_hash = yield Work(sha256)
        output = OutputToStamp(output_hash=output_hash, output_type=output_type, output_metadata=output_metadata, callback_url=callback_url)
        call = replace(self._stamping("stamp", [output], key), body=output.as_body())
        return (yield from ask(self.settings, call, manner))

    def stamp_many(self, manner: Manner[T], outputs: Iterable[OutputToStamp], key: str | None) -> Steps[list[Outcome[T]]]:
        given = list(outputs)

        def call(key_of_piece: str | None) -> Call:
            return self._stamping("stamps", given, key_of_piece)

        items = [output.as_body() for output in given]
        return send_in_pieces(self.settings, items, MOST_OF_A_WORKFLOW, key, call, manner)

    def state(self) -> Steps[WorkflowState]:
        return send(self.settings, Call("GET", self._path, self._authorization), WorkflowState)

    def until_confirmed(self, timeout: float | None) -> Steps[WorkflowState]:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            state = yield from self.state()
            if state.confirmed_at is not None:
                return state
            if state.status != "pending":
                raise QstampError(f"the workflow is {state.status}, and nobody opened the link")
            if deadline is not None and time.monotonic() + _LOOK > deadline:
                raise TimeoutError(f"nobody opened the link within {timeout} s")
            yield Wait(_LOOK)

    def complete(self, key: str | None) -> Steps[WorkflowCompleteResponse]:
        return send(self.settings, self._post("complete", key), WorkflowCompleteResponse)

    def resend_link(self, key: str | None) -> Steps[WorkflowResendResponse]:
        return send(self.settings, self._post("resend", key), WorkflowResendResponse)

    def redact(self, key: str | None) -> Steps[WorkflowRedactResponse]:
        return send(self.settings, self._post("redact-pii", key), WorkflowRedactResponse)
