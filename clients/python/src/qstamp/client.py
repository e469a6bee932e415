"""The client for code that waits in its thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import httpx

from . import operations
from .content import Bytes, FileSource
from .contract import AcceptedOutput, AcceptedStamp, StampToken, VerificationResult, WorkflowTier
from .exchange import Settings, longest_wait
from .stamping import Stamping
from .version import USER_AGENT
from .workflow import Workflow


class Qstamp(Stamping[StampToken]):
    """A qstamp service.

    With `service_token` stamps are made for its product, without it as an agent. `timeout` is for one try, in seconds;
    after 429, 503, 504 or a connection that failed there are `max_retries` more, as late as Retry-After says, unless
    that is longer than `max_wait` seconds. `http` is a client to use instead of one of its own.
    """

    def __init__(
        self,
        url: str,
        *,
        service_token: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 4,
        max_wait: float = 60.0,
        http: httpx.Client | None = None,
    ) -> None:
        http = http or httpx.Client(timeout=timeout, headers={"user-agent": USER_AGENT})
        settings = Settings(url, service_token, max_retries, max_wait, longest_wait(http.timeout))
        super().__init__(settings, http, operations.STAMPED)
        self.later: Stamping[AcceptedStamp | StampToken] = Stamping(settings, http, operations.ACCEPTED)
        """The same calls, answered as soon as the stamp is sure to be made: with its id and address, or, where a key is
        used again, with the stamp. `until_stamped` waits for it, here or elsewhere."""

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Qstamp:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def verify(self, stamp_id: str) -> VerificationResult:
        """What the service says of a stamp. To judge it without the service, use the `qstamp` command or a bundle."""
        return self._run(operations.verify(self._settings, stamp_id))

    def until_stamped(self, stamp: str | AcceptedStamp | AcceptedOutput | StampToken, *, timeout: float | None = None) -> VerificationResult:
        """What the service says of a stamp that is on its way, once it is there. Raises TimeoutError after `timeout` seconds."""
        stamp_id = stamp if isinstance(stamp, str) else stamp.token_id
        return self._run(operations.until_stamped(self._settings, stamp_id, timeout))

    def verify_token(self, token: str, *, sha256: str | None = None) -> VerificationResult:
        """What the service says of a time-stamp token; with a hash, whether the token is for that."""
        return self._run(operations.verify_token(self._settings, token, sha256))

    def verify_file(self, file: FileSource, stamp: StampToken) -> VerificationResult:
        """Whether the service's stamp is for this file, as it is now; the file is hashed here."""
        return self._run(operations.verify_file(self._settings, file, stamp.token))

    def start_workflow(
        self,
        *,
        user_email: str,
        agent_id: str,
        briefing: str | Bytes | None = None,
        briefing_hash: str | None = None,
        briefing_metadata: Mapping[str, Any] | None = None,
        tier: WorkflowTier = "standard",
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow:
        """Starts a workflow: the client gets a mail with a link. Of the briefing only the hash is sent."""
        fields = {"user_email": user_email, "agent_id": agent_id, "briefing_metadata": briefing_metadata, "tier": tier, "callback_url": callback_url}
        started = self._run(operations.start_workflow(self._settings, briefing, briefing_hash, fields, idempotency_key))
        return self.open_workflow(started.workflow_id, started.workflow_token)

    def open_workflow(self, workflow_id: str, workflow_token: str) -> Workflow:
        """A workflow that was started before, perhaps elsewhere."""
        return Workflow(self._settings, self._http, workflow_id, workflow_token)

    @contextmanager
    def workflow(
        self,
        *,
        user_email: str,
        agent_id: str,
        briefing: str | Bytes | None = None,
        briefing_hash: str | None = None,
        briefing_metadata: Mapping[str, Any] | None = None,
        tier: WorkflowTier = "standard",
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> Iterator[Workflow]:
        """Starts a workflow and completes it at the end of the block. When the block raises, it stays open."""
        workflow = self.start_workflow(
            user_email=user_email,
            agent_id=agent_id,
            briefing=briefing,
            briefing_hash=briefing_hash,
            briefing_metadata=briefing_metadata,
            tier=tier,
            callback_url=callback_url,
            idempotency_key=idempotency_key,
        )
        yield workflow
        workflow.complete()

    def address_of(self, path: str) -> str:
        """An address of an answer, as an absolute one."""
        return path if path.startswith(("https://", "http://")) else f"{self._settings.url}{path}"
