"""The frozen recipe as it lands on the box, read without pydantic or YAML."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..recipes import frozen
from ..recipes.frozen import Recipe

__all__ = ["DEFAULT", "read_recipe"]

DEFAULT = "/etc/tunecheck/recipe.json"


def read_recipe(path: str) -> tuple[Recipe, str | None]:
    """The recipe and its digest, None where the file has none. UsageError with the reason where it cannot be used."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); expected a frozen recipe; make one "
                         "with tunecheck recipe render, or name a server with --base") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON; expected a frozen recipe ({frozen.SCHEMA})") from None
    if not isinstance(data, dict) or data.get("schema") != frozen.SCHEMA:
        raise UsageError(f"{path}: not a frozen recipe; expected schema {frozen.SCHEMA}")
    held = data.get("recipe", {name: value for name, value in data.items() if name not in ("schema", "digest")})
    digest = data.get("digest")
    return _made(Recipe, held, path, "recipe"), digest if isinstance(digest, str) else None


def _made(kind: Any, data: object, path: str, where: str) -> Any:
    """A dataclass out of an object; unknown and missing keys are named."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{path}: {where} is no object")
    hints = typing.get_type_hints(kind)
    fields = {each.name: each for each in dataclasses.fields(kind)}
    for name in data:
        if name not in fields:
            raise UsageError(f"{path}: {where} has the unknown key {str(name)[:60]!r}; expected {', '.join(fields)}")
    lacks = [name for name, each in fields.items() if name not in data and each.default is dataclasses.MISSING
             and each.default_factory is dataclasses.MISSING]
    if lacks:
        raise UsageError(f"{path}: {where} lacks {', '.join(lacks)}")
    return kind(**{name: _value(hints[name], value, path, f"{where}.{name}") for name, value in data.items()})


def _value(kind: Any, value: Any, path: str, where: str) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        rest = [each for each in inner if each is not type(None)]
        return None if value is None else _value(rest[0], value, path, where)
    if dataclasses.is_dataclass(kind):
        return _made(kind, value, path, where)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(inner[0], each, path, where) for each in value)
    if origin is Mapping and isinstance(value, dict):
        return {_key(inner[0], name, path, where): _value(inner[1], each, path, where) for name, each in value.items()}
    number = kind is float and type(value) in (int, float)
    if number or (isinstance(kind, type) and type(value) is kind):
        return float(value) if number else value
    raise UsageError(f"{path}: {where} is {str(value)[:60]!r}; expected {getattr(kind, '__name__', kind)}")


def _key(kind: Any, name: str, path: str, where: str) -> Any:
    if kind is int and not name.isdecimal():
        raise UsageError(f"{path}: {where} has the key {name[:60]!r}; expected a number")
    return int(name) if kind is int else name
