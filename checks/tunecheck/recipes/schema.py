"""JSON Schemas of the frozen recipe and of a lock, made of their types, for report/schema.py."""

from __future__ import annotations

from typing import Any

from ..facts.codec import definitions, shape
from . import frozen, lock

__all__ = ["SCHEMAS"]


def _document(title: str, kind: str, field: str, of: type, **more: Any) -> dict[str, Any]:
    shape(of)
    name = f"{of.__module__.rpartition('.')[2]}.{of.__name__}"
    properties = {"schema": {"const": kind}, field: {"$ref": f"#/$defs/{name}"}, **more}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object",
            "additionalProperties": False, "required": list(properties), "properties": properties,
            "$defs": _used(name, {})}


def _used(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """That definition and those it refers to; there are others of the facts."""
    found[name] = definitions[name]
    for other in _references(definitions[name]):
        if other not in found:
            _used(other, found)
    return dict(sorted(found.items()))


def _references(schema: object) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in _references(value)]
    return [name for value in schema for name in _references(value)] if isinstance(schema, list) else []


#: File name -> schema.
SCHEMAS = {
    "recipe-1.json": _document("tunecheck recipe render", frozen.SCHEMA, "recipe", frozen.Recipe,
                               digest={"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}),
    "lock-1.json": _document("tunecheck recipe pin", lock.SCHEMA, "lock", lock.Lock),
}
