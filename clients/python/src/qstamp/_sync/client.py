# Made by `npm run clients` of _async/client.py. Do not edit it. Check: 639967f93ff5ff7cf15adf0199ae03d5
"""The client of a qstamp service."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from ..calls import ACCEPTED, STAMPED, Call, keyed
from ..content import Bytes, FileSource, checked_hash, sha256_of, sha256_of_file
from ..contract import AcceptedOutput, AcceptedStamp, StampToken, VerificationResult, WorkflowStartResponse, WorkflowTier
from ..errors import QstampError
from ..verdict import reason_code_of
from ..version import USER_AGENT
from ..waiting import sleep, work
from .exchange import Exchange
from .stamping import Stamping
from .workflow import Workflow

# The shortest time between two checks for a stamp that the service does not know yet, in seconds.
_LOOK = 1.0


class Qstamp(Stamping[StampToken]):
    """A client of one qstamp service.

    With `service_token`, stamps are made for its product; without it, as an agent. `timeout` is the maximum time of
    one try, in seconds. After 429, 503, 504 or a failed connection there are up to `max_retries` more tries, after
    the wait that Retry-After asks for, unless it is longer than `max_wait` seconds. `http` is used instead of a new
    HTTP client.
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
        exchange = Exchange(url, service_token, http, max_retries, max_wait)
        super().__init__(exchange, STAMPED)
        self.later: Stamping[AcceptedStamp | StampToken] = Stamping(exchange, ACCEPTED)
        """The same calls, but they return as soon as the service has accepted the stamp. The result is its id and
        address, or the stamp if the idempotency key was used before. `until_stamped` waits for the stamp, also in
        another process.
        """

    def close(self) -> None:
        """Closes the connections of this client."""
        self._exchange.http.close()

    def __enter__(self) -> Qstamp:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def verify(self, stamp_id: str) -> VerificationResult:
        """The service's verdict on a stamp. To verify a stamp without the service, use the `qstamp` command or a
        bundle.
        """
        return self._verify(stamp_id, 0)

    def until_stamped(self, stamp: str | AcceptedStamp | AcceptedOutput | StampToken, *, timeout: float | None = None) -> VerificationResult:
        """Waits for a stamp in progress and returns the service's verdict. Raises TimeoutError after `timeout` seconds."""
        stamp_id = stamp if isinstance(stamp, str) else stamp.token_id
        longest_wait = self._exchange.longest_wait
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            asked_at = time.monotonic()
            wait = longest_wait if deadline is None else max(0, min(longest_wait, int(deadline - asked_at)))
            result = self._verify(stamp_id, wait)
            if reason_code_of(result) != "unknown_token_id":
                return result
            pause = max(0.0, asked_at + _LOOK - time.monotonic())
            if deadline is not None and time.monotonic() + pause > deadline:
                raise TimeoutError(f"the stamp was not made within {timeout} s")
            sleep(pause)

    def verify_token(self, token: str, *, sha256: str | None = None) -> VerificationResult:
        """The service's verdict on a time-stamp token. With a hash, it also checks whether the token is for this
        hash.
        """
        body = {"token": token, **({} if sha256 is None else {"hash": sha256.lower()})}
        return self._exchange.send(Call("POST", "/api/v1/verify/v1/raw?details=true", body=body), VerificationResult)

    def verify_file(self, file: FileSource, stamp: StampToken) -> VerificationResult:
        """The service's verdict on whether a stamp is valid and is for the current content of this file. The file is
        hashed locally.
        """
        return self.verify_token(stamp.token, sha256=work(sha256_of_file, file))

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
        """Starts a workflow: the client gets a mail with a link. Only the hash of the briefing is sent."""
        if (briefing is None) == (briefing_hash is None):
            raise QstampError("give one of briefing and briefing_hash")
        content = briefing.encode() if isinstance(briefing, str) else briefing
        hashed = checked_hash(briefing_hash or "") if content is None else sha256_of(content)
        fields = {"user_email": user_email, "agent_id": agent_id, "briefing_metadata": briefing_metadata, "tier": tier, "callback_url": callback_url}
        body = {**{name: value for name, value in fields.items() if value is not None}, "briefing_hash": hashed}
        # Only callers with a service token may use webhooks.
        known = {} if callback_url is None else self._exchange.authorization
        call = Call("POST", "/api/v1/workflow/start", {**known, **keyed(idempotency_key)}, body)
        started = self._exchange.send(call, WorkflowStartResponse)
        return self.open_workflow(started.workflow_id, started.workflow_token)

    def open_workflow(self, workflow_id: str, workflow_token: str) -> Workflow:
        """Opens a workflow that was started before, perhaps in another process."""
        return Workflow(self._exchange, workflow_id, workflow_token)

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
        """Starts a workflow and completes it at the end of the block. If the block raises, the workflow stays open.
        """
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
        """Makes a URL from an answer absolute."""
        return path if path.startswith(("https://", "http://")) else f"{self._exchange.url}{path}"

    def _verify(self, stamp_id: str, wait: int) -> VerificationResult:
        headers = {"prefer": f"wait={wait}"} if wait > 0 else {}
        return self._exchange.send(Call("GET", f"/api/v1/verify/v1/token/{quote(stamp_id, safe='')}?details=true", headers), VerificationResult)
