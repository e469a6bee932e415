"""What can be stamped, and its hash."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Union

from .errors import QstampError

FileSource = Union[str, "os.PathLike[str]", BinaryIO]
"""A file: its path, or one that is open for reading bytes."""

Bytes = Union[bytes, bytearray, memoryview]

HashToStamp = Union[str, tuple[str, Mapping[str, str]]]
"""One of many: its hash, or its hash and metadata."""

_PIECE = 1024 * 1024


def sha256_of(content: Bytes) -> str:
    """SHA-256 of bytes, 64 lower-case hexadecimal characters."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(file: FileSource) -> str:
    """SHA-256 of a file, read piece by piece; of one that is open, from where it stands."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return sha256_of_file(opened)
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def read_whole(file: FileSource) -> bytes:
    """The content of a file, in memory: only what is to be sent."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return opened.read()
    return file.read()


def checked_hash(sha256: str) -> str:
    """A SHA-256 as the service takes it. Raises QstampError for anything else: a wrong hash would be a stamp of nothing."""
    lower = sha256.lower()
    if not re.fullmatch("[0-9a-f]{64}", lower):
        raise QstampError("a SHA-256 takes 64 hexadecimal characters")
    return lower


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
