"""Content to stamp, and its hash."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Union, cast

from .errors import QstampError

FileSource = Union[str, "os.PathLike[str]", BinaryIO]
"""A file: a path, or a binary file open for reading."""

Bytes = Union[bytes, bytearray, memoryview]

HashToStamp = Union[str, tuple[str, Mapping[str, str]]]
"""An item of a list: a hash, or a hash with metadata."""

PIECE = 1024 * 1024
"""The number of bytes that are read from a file at a time."""


@contextmanager
def opened(file: FileSource, mode: str = "rb") -> Iterator[BinaryIO]:
    """The file at a path, which is closed at the end; an open file stays open."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, mode) as there:
            yield cast(BinaryIO, there)
    elif isinstance(file, io.TextIOBase):
        raise TypeError("the file is open as text: open it in binary mode, such as open(path, 'rb')")
    else:
        yield file


def sha256_of(content: Bytes) -> str:
    """SHA-256 of bytes, 64 lower-case hexadecimal characters."""
    if isinstance(content, str):
        raise TypeError("the content must be bytes; stamp_text takes a text, stamp_file a path")
    return hashlib.sha256(content).hexdigest()


def encoded(text: str) -> bytes:
    """A text in UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"the text must be a str, not {type(text).__name__}; stamp_bytes takes bytes")
    return text.encode()


def sha256_of_file(file: FileSource) -> str:
    """SHA-256 of a file, read in parts; an open file is read from its current position."""
    digest = hashlib.sha256()
    with opened(file) as there:
        while piece := there.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def read_whole(file: FileSource) -> bytes:
    """The content of a file in memory, only for content to send."""
    with opened(file) as there:
        return there.read()


def checked_hash(sha256: str) -> str:
    """A SHA-256 in the form of the service. Raises QstampError for anything else: a stamp of a wrong hash would be useless."""
    if not isinstance(sha256, str):
        raise TypeError(f"a SHA-256 is a str of 64 hexadecimal characters, not {type(sha256).__name__}")
    lower = sha256.lower()
    if not re.fullmatch("[0-9a-f]{64}", lower):
        raise QstampError("a SHA-256 has 64 hexadecimal characters")
    return lower


@dataclass(frozen=True, kw_only=True)
class OutputToStamp:
    """An item of a list of outputs: its hash and type."""

    output_hash: str
    output_type: str = "file"
    output_metadata: Mapping[str, Any] | None = None
    callback_url: str | None = None
    """Receives a signed webhook about the output; only with a service token."""

    def as_body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"output_hash": checked_hash(self.output_hash), "output_type": self.output_type}
        body |= {} if self.output_metadata is None else {"output_metadata": dict(self.output_metadata)}
        return body if self.callback_url is None else {**body, "callback_url": self.callback_url}
