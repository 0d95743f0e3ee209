"""JSON Schemas of the frozen recipe and of a lock, made of their types, for app/schemas.py."""

from __future__ import annotations

from typing import Any

from ..facts.codec import shape, used
from . import frozen, lock

__all__ = ["SCHEMAS"]


def _document(title: str, kind: str, field: str, of: type, **more: Any) -> dict[str, Any]:
    properties = {"schema": {"const": kind}, field: shape(of).schema, **more}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object",
            "additionalProperties": False, "required": list(properties), "properties": properties, "$defs": used(of)}


#: File name -> schema.
SCHEMAS = {
    "recipe-1.json": _document("tunecheck recipe render", frozen.SCHEMA, "recipe", frozen.Recipe,
                               digest={"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}),
    "lock-1.json": _document("tunecheck recipe pin", lock.SCHEMA, "lock", lock.Lock),
}
