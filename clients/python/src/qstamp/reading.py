"""Converts JSON answers to the dataclasses of the contract."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from .errors import UnexpectedAnswer

T = TypeVar("T")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, value: Any) -> Any:
    """An object becomes the dataclass of its field; everything else stays unchanged."""
    if isinstance(value, dict):
        for kind in (hint, *get_args(hint)):
            if is_dataclass(kind) and isinstance(kind, type):
                return read(kind, value)
    if isinstance(value, list):
        return [_value(kind, item) for item in value for kind in get_args(hint)[:1]]
    return value


def read(kind: type[T], body: object) -> T:
    """The answer as `kind`, without unknown members. Raises UnexpectedAnswer if one is missing."""
    known = fields(kind)  # type: ignore[arg-type]
    if not isinstance(body, dict) or any(field.default is MISSING and field.name not in body for field in known):
        raise UnexpectedAnswer(f"the answer is not from this service: it is not a {kind.__name__}")
    hints = _hints(kind)  # type: ignore[arg-type]
    return kind(**{field.name: _value(hints[field.name], body[field.name]) for field in known if field.name in body})
