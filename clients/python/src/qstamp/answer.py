"""The HTTP response that an answer came in."""

from __future__ import annotations

from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class LastResponse:
    status: int
    headers: httpx.Headers
    request_id: str | None
    """The id of the request in the logs of the service."""


class Answer:
    """An answer of the service. It was made from `last_response`, which is no field: `dataclasses.asdict` does not contain it."""

    last_response: LastResponse
