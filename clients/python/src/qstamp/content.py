"""What can be stamped, and its hash."""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO, Union

from .errors import QstampError

FileSource = Union[str, "os.PathLike[str]", BinaryIO]
"""A file: its path, or one that is open for reading bytes."""

Bytes = Union[bytes, bytearray, memoryview]

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
