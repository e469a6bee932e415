"""Webhooks of the service (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import WebhookRefused

# The allowed clock difference plus delivery time, in seconds.
_TOLERANCE = 300


def verify_webhook(
    body: str | bytes, headers: Mapping[str, str], *, secret: str | Iterable[str], now: float | None = None
) -> dict[str, Any]:
    """Verifies the signature of a webhook and returns its payload.

    Pass the body exactly as received. `secret` is the service's `whsec_…`; pass both during a key change. A message
    may come more than once: `webhook-id` identifies it. Raises WebhookRefused if it was not signed with the secret,
    or is older than five minutes.
    """
    given = {name.lower(): value for name, value in headers.items()}
    identifier, sent_at, signatures = (given.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if not identifier or not sent_at or not signatures:
        raise WebhookRefused("the headers of a webhook are missing")
    clock = time.time() if now is None else now
    if not (sent_at.isascii() and sent_at.isdecimal() and len(sent_at) <= 15) or abs(clock - int(sent_at)) > _TOLERANCE:
        raise WebhookRefused("the webhook was not sent within the last five minutes")
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{identifier}.{sent_at}.".encode() + content
    secrets = [secret] if isinstance(secret, str) else list(secret)
    candidates = [each[3:] for each in signatures.split(" ") if each.startswith("v1,")]
    if not any(_is_signed(signed, signature, each) for each in secrets for signature in candidates):
        raise WebhookRefused("the webhook has no valid signature")
    try:
        payload = json.loads(content)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise WebhookRefused("the body of the webhook is not a JSON object")
    return payload


def _is_signed(signed: bytes, signature: str, secret: str) -> bool:
    try:
        # Missing padding is harmless, and extra padding is ignored.
        key = base64.b64decode(secret.removeprefix("whsec_") + "==")
        expected = hmac.new(key, signed, hashlib.sha256).digest()
        return bool(key) and hmac.compare_digest(expected, base64.b64decode(signature))
    except (binascii.Error, ValueError):
        return False
