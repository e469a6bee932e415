"""The client of a qstamp service."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

import httpx

from ..calls import ACCEPTED, STAMPED, Attempt, Call, keyed
from ..content import Bytes, FileSource, checked_hash, read_whole, sha256_of, sha256_of_file
from ..contract import (
    AcceptedOutput,
    AcceptedStamp,
    EvidenceRenewal,
    StampListItem,
    StampListResponse,
    StampToken,
    VerificationResult,
    WorkflowStartResponse,
    WorkflowTier,
)
from ..errors import QstampError
from ..verdict import reason_code_of
from ..waiting import async_sleep, async_work, not_after
from .exchange import AsyncExchange
from .stamping import AsyncStamping
from .workflow import AsyncWorkflow

# The shortest time between two checks for a stamp that the service does not know yet, in seconds.
_LOOK = 1.0

# How long `until_stamped` waits by default, in seconds.
_STAMPED_WITHIN = 600.0

# The largest page of a list that the service sends.
_PAGE = 500


class AsyncQstamp(AsyncStamping[StampToken]):
    """A client of one qstamp service.

    `url` and `service_token` are by default the environment variables QSTAMP_URL and QSTAMP_TOKEN. With a service
    token, stamps are made for its product; without one, or with an empty text, as an agent. `timeout` is the maximum
    time of one try, in seconds. After 408, 429, 503, 504 or a failed connection there are up to `max_retries` more
    tries, after the wait that Retry-After asks for, unless it is longer than `max_wait` seconds. Every request has
    `default_headers`. `on_attempt` is called after each try, for logs. `http` is used instead of a new HTTP client.

    Raises QstampError if there is no URL.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        service_token: str | None = None,
        timeout: float | httpx.Timeout = 60.0,
        max_retries: int = 4,
        max_wait: float = 60.0,
        default_headers: Mapping[str, str] | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        url = os.environ.get("QSTAMP_URL", "") if url is None else url
        token = os.environ.get("QSTAMP_TOKEN", "") if service_token is None else service_token
        exchange = AsyncExchange(
            url.strip(),
            token.strip() or None,
            http or httpx.AsyncClient(),
            timeout=timeout,
            max_retries=max_retries,
            max_wait=max_wait,
            default_headers=default_headers,
            on_attempt=on_attempt,
        )
        super().__init__(exchange, STAMPED)

    @property
    def later(self) -> AsyncStamping[AcceptedStamp | StampToken]:
        """The same calls, but they return as soon as the service has accepted the stamp. The result is its id and
        address, or the stamp if the idempotency key was used before. `until_stamped` waits for the stamp, also in
        another process.
        """
        return AsyncStamping(self._exchange, ACCEPTED)

    async def close(self) -> None:
        """Closes the connections of this client."""
        await self._exchange.http.aclose()

    async def __aenter__(self) -> AsyncQstamp:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def verify(self, stamp_id: str) -> VerificationResult:
        """The service's verdict on a stamp. To verify a stamp without the service, use the `qstamp` command or a
        bundle.
        """
        return await self._verify(stamp_id, 0)

    async def until_stamped(self, stamp: str | AcceptedStamp | AcceptedOutput | StampToken, *, timeout: float | None = _STAMPED_WITHIN) -> VerificationResult:
        """Waits for a stamp in progress and returns the service's verdict. Raises TimeoutError after `timeout` seconds, by
        default ten minutes: the service does not know whether an id was ever requested.
        """
        stamp_id = stamp if isinstance(stamp, str) else stamp.token_id
        longest_wait = self._exchange.longest_wait
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            asked_at = time.monotonic()
            wait = longest_wait if deadline is None else max(0, min(longest_wait, int(deadline - asked_at)))
            result = await self._verify(stamp_id, wait)
            if reason_code_of(result) != "unknown_token_id":
                return result
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"the stamp was not made within {timeout} s")
            await async_sleep(not_after(deadline, max(0.0, asked_at + _LOOK - time.monotonic())))

    async def verify_token(self, token: str | Bytes, *, sha256: str | None = None) -> VerificationResult:
        """The service's verdict on a time-stamp token: `token` of a stamp, or the bytes that `fetch_token` returns. With a
        hash, it also checks whether the token is for this hash.
        """
        sent = token if isinstance(token, str) else base64.b64encode(token).decode()
        body = {"token": sent, **({} if sha256 is None else {"hash": sha256.lower()})}
        return await self._exchange.send(Call("POST", "/api/v1/verify/v1/raw?details=true", body=body), VerificationResult)

    async def verify_file(self, file: FileSource, stamp: StampToken) -> VerificationResult:
        """The service's verdict on whether a stamp is valid and is for the current content of this file. The file is
        hashed locally.
        """
        return await self.verify_token(stamp.token, sha256=await async_work(sha256_of_file, file))

    async def list_stamps(self, *, imprints: Literal["sha256", "all"] = "sha256") -> AsyncIterator[StampListItem]:
        """All stamps of the product of the service token, the newest first. They are fetched page by page. `all`: also
        stamps of SHA-384 and SHA-512, which time-stamp clients requested.
        """
        last, offset = None, 0
        while True:
            path = f"/api/v1/internal/v1/stamps?details=true&imprints={imprints}&limit={_PAGE}&offset={offset}"
            page = await self._exchange.send(Call("GET", path, self._exchange.authorization), StampListResponse)
            for item in page.items:
                # New stamps move older ones to a later page. The ids are in the order of time.
                if last is None or item.token_id < last:
                    last = item.token_id
                    yield item
            if len(page.items) < _PAGE:
                return
            offset += _PAGE

    async def fetch_token(self, stamp_id: str) -> bytes:
        """Downloads the proof of a stamp in DER: the time-stamp token, or the evidence record if many stamps share one
        token. Raises NotFound if there is no proof, for example for a test stamp.
        """
        response = await self._exchange.fetch(Call("GET", f"{_path_of(stamp_id)}/token", {"accept": "*/*"}))
        # With this header the token is for the root of a batch. The evidence record has the path from this stamp's hash
        # to the root.
        return await self.fetch_evidence_record(stamp_id) if "qstamp-batch" in response.headers else response.content

    async def fetch_evidence_record(self, stamp_id: str) -> bytes:
        """Downloads the evidence record of a stamp (RFC 4998) with its renewals, in DER. Raises NotFound if there is none."""
        return (await self._exchange.fetch(Call("GET", f"{_path_of(stamp_id)}/evidence", {"accept": "*/*"}))).content

    async def renew_evidence(self, stamp_id: str, content: FileSource | Bytes) -> EvidenceRenewal:
        """Asks the service to add the content's hash in a stronger algorithm to the evidence of a stamp. The content is
        sent; the service hashes it and does not keep it. A file at a path is sent in parts.
        """
        if isinstance(content, (str, os.PathLike)):
            sent: bytes | str | os.PathLike[str] = content
        else:
            sent = bytes(content) if isinstance(content, (bytes, bytearray, memoryview)) else await async_work(read_whole, content)
        call = Call("POST", f"{_path_of(stamp_id)}/evidence", self._exchange.authorization, content=sent)
        return await self._exchange.send(call, EvidenceRenewal)

    async def fetch_bundle(self, workflow_id: str, to: FileSource) -> None:
        """Downloads the public evidence of a completed workflow, a zip file of any size, in parts: to a path, or to a
        binary file open for writing. An existing file is replaced.
        """
        await self._exchange.download(Call("GET", f"/workflow/{quote(workflow_id, safe='')}/evidence.zip", {"accept": "*/*"}), to)

    async def start_workflow(
        self,
        *,
        user_email: str,
        agent_id: str,
        briefing: str | Bytes | None = None,
        briefing_hash: str | None = None,
        briefing_metadata: Mapping[str, Any] | None = None,
        tier: WorkflowTier = "standard",
        callback_url: str | None = None,
        locale: Literal["en", "de", "fr"] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncWorkflow:
        """Starts a workflow: the client gets a mail with a link, in the language `locale`. Only the hash of the briefing is sent."""
        if (briefing is None) == (briefing_hash is None):
            raise QstampError("give one of briefing and briefing_hash")
        content = briefing.encode() if isinstance(briefing, str) else briefing
        hashed = checked_hash(briefing_hash or "") if content is None else sha256_of(content)
        fields = {"user_email": user_email, "agent_id": agent_id, "briefing_metadata": briefing_metadata, "tier": tier, "callback_url": callback_url, "locale": locale}
        body = {**{name: value for name, value in fields.items() if value is not None}, "briefing_hash": hashed}
        # Only callers with a service token may use webhooks.
        known = {} if callback_url is None else self._exchange.authorization
        call = Call("POST", "/api/v1/workflow/start?details=true", {**known, **keyed(idempotency_key)}, body)
        started = await self._exchange.send(call, WorkflowStartResponse)
        return AsyncWorkflow(self._exchange, started.workflow_id, started.workflow_token, started)

    def open_workflow(self, workflow_id: str, workflow_token: str) -> AsyncWorkflow:
        """Opens a workflow that was started before, perhaps in another process."""
        return AsyncWorkflow(self._exchange, workflow_id, workflow_token)

    @asynccontextmanager
    async def workflow(
        self,
        *,
        user_email: str,
        agent_id: str,
        briefing: str | Bytes | None = None,
        briefing_hash: str | None = None,
        briefing_metadata: Mapping[str, Any] | None = None,
        tier: WorkflowTier = "standard",
        callback_url: str | None = None,
        locale: Literal["en", "de", "fr"] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[AsyncWorkflow]:
        """Starts a workflow and completes it at the end of the block. If the block raises, the workflow stays open.
        """
        workflow = await self.start_workflow(
            user_email=user_email,
            agent_id=agent_id,
            briefing=briefing,
            briefing_hash=briefing_hash,
            briefing_metadata=briefing_metadata,
            tier=tier,
            callback_url=callback_url,
            locale=locale,
            idempotency_key=idempotency_key,
        )
        yield workflow
        await workflow.complete()

    def address_of(self, path: str) -> str:
        """Makes a URL from an answer absolute."""
        return path if path.startswith(("https://", "http://")) else f"{self._exchange.url}{path}"

    async def _verify(self, stamp_id: str, wait: int) -> VerificationResult:
        headers = {"prefer": f"wait={wait}"} if wait > 0 else {}
        return await self._exchange.send(Call("GET", f"{_path_of(stamp_id)}?details=true", headers), VerificationResult)


def _path_of(stamp_id: str) -> str:
    return f"/api/v1/verify/v1/token/{quote(stamp_id, safe='')}"
