"""How values of one JSON form are written and read: plain ones, choices, lists, pairs and mappings. codec.py chooses
among them by a value's type."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Any

from ..parsers.text.bounds import MOST_ITEMS
from ..parsers.text.damage import Damage, DamagedError

__all__ = ["FLOAT", "Shape", "enumeration", "fixed", "inside", "lacks", "literal", "many", "mapping", "plain",
           "plain_or_none", "same", "unknown", "wrong"]

_Change = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Shape:
    """How values of one type are written as JSON and read again. If ``raw`` is a type, json gives the value itself, and
    only its type has to be checked; with ``optional`` the value may also be None. ``inner``, for a type of values or
    None, reads a value that is not None."""

    encode: _Change
    decode: _Change
    schema: dict[str, Any]
    raw: type | None = None
    optional: bool = False
    inner: _Change | None = None


def same(value: Any) -> Any:
    return value


def wrong(data: Any, expected: str) -> ValueError:
    found = "nothing" if data is None else repr(str(data)[:60])
    return DamagedError(Damage.WRONG_TYPE, f"expected {expected}, found {found}")


def lacks(name: str) -> ValueError:
    return DamagedError(Damage.LACKS, f"it lacks {name}")


def unknown() -> ValueError:
    return DamagedError(Damage.UNKNOWN_FIELD, "it has fields that this version does not know")


def _too_many(data: Any) -> ValueError:
    return DamagedError(Damage.TOO_MANY, f"{len(data)} items; tunecheck takes at most {MOST_ITEMS}")


def inside(at: str, error: ValueError) -> ValueError:
    """Return the error of a part as one of the whole: with the place in front of it."""
    return DamagedError(getattr(error, "damage", Damage.WRONG_TYPE), at + str(error)[:400])


def plain(kind: type, word: str) -> Shape:
    def checked(data: Any) -> Any:
        if type(data) is not kind:
            raise wrong(data, word)
        return data

    return Shape(same, checked, {"type": word}, kind)


def _float_in(data: Any) -> float:
    if type(data) is float or type(data) is int:
        return float(data)
    if data in ("nan", "inf", "-inf"):
        return float(data)
    raise wrong(data, "a number")


FLOAT = Shape(lambda value: value if math.isfinite(value) else str(value), _float_in, {"type": ["number", "string"]})


def plain_or_none(raw: type, schema: dict[str, Any]) -> Shape:
    def checked(data: Any) -> Any:
        if data is not None and type(data) is not raw:
            raise wrong(data, f"{raw.__name__} or null")
        return data

    return Shape(same, checked, schema, raw, optional=True)


def literal(arguments: tuple[Any, ...]) -> Shape:
    def checked(data: Any) -> Any:
        if any(data == word and type(data) is type(word) for word in arguments):
            return data
        raise wrong(data, f"one of {arguments}")

    return Shape(same, checked, {"enum": list(arguments)})


def enumeration(kind: type[enum.Enum]) -> Shape:
    def checked(data: Any) -> Any:
        try:
            return kind(data)
        except (ValueError, TypeError):
            raise wrong(data, kind.__name__) from None

    return Shape(lambda value: value.value, checked, {"enum": [item.value for item in kind]})


def many(item: Shape, make: Any, ordered: bool) -> Shape:
    into, out, raw = item.encode, item.decode, None if item.optional else item.raw

    def encoded(value: Any) -> list[Any]:
        return [into(part) for part in (sorted(value) if ordered else value)]

    def decoded(data: Any) -> Any:
        if type(data) is not list:
            raise wrong(data, "a list")
        if len(data) > MOST_ITEMS:
            raise _too_many(data)
        if raw is not None:
            if not data or set(map(type, data)) <= {raw}:
                return make(data)
            raise wrong(data, f"a list of {raw.__name__}")
        return make([out(part) for part in data])

    return Shape(encoded, decoded, {"type": "array", "items": item.schema})


def fixed(items: list[Shape]) -> Shape:
    raws = tuple(None if item.optional else item.raw for item in items)

    def decoded(data: Any) -> Any:
        if type(data) is not list or len(data) != len(items):
            raise wrong(data, f"a list of {len(items)}")
        if tuple(map(type, data)) == raws:
            return tuple(data)
        return tuple([item.decode(part) for item, part in zip(items, data, strict=True)])

    return Shape(lambda value: [item.encode(part) for item, part in zip(items, value, strict=True)], decoded,
                  {"type": "array", "prefixItems": [item.schema for item in items], "items": False,
                   "minItems": len(items)})


def mapping(key: Shape, item: Shape) -> Shape:
    into, out, raw = item.encode, item.decode, None if item.optional else item.raw
    if key.raw is not str or key.optional:
        pairs = fixed([key, item])
        read_key = key.decode

        def read(data: Any) -> dict[Any, Any]:
            result = {}
            for pair in _listed(data):
                if type(pair) is not list or len(pair) != 2:
                    raise wrong(pair, "a list of 2")
                result[read_key(pair[0])] = out(pair[1])
            return result

        return Shape(lambda value: [pairs.encode(pair) for pair in value.items()], read,
                      {"type": "array", "items": pairs.schema})

    def decoded(data: Any) -> Any:
        if type(data) is not dict:
            raise wrong(data, "an object")
        if len(data) > MOST_ITEMS:
            raise _too_many(data)
        if out is same:
            return data
        if raw is not None:
            if not data or set(map(type, data.values())) <= {raw}:
                return data
            raise wrong(data, f"an object of {raw.__name__}")
        return {name: out(part) for name, part in data.items()}

    return Shape(lambda value: {name: into(part) for name, part in value.items()}, decoded,
                  {"type": "object", "additionalProperties": item.schema})


def _listed(data: Any) -> list[Any]:
    if type(data) is not list:
        raise wrong(data, "a list of pairs")
    if len(data) > MOST_ITEMS:
        raise _too_many(data)
    return data
