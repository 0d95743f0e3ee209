"""The words that JSON Schemas are made of. Every object is object_, and has all of its properties."""

from __future__ import annotations

from typing import Any

__all__ = [
    "COMMANDS",
    "COUNT",
    "FLAG",
    "MAYBE_COUNT",
    "MAYBE_NUMBER",
    "MAYBE_TEXT",
    "NUMBER",
    "TEXT",
    "listed",
    "mapped",
    "maybe",
    "object_",
]

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
FLAG: Schema = {"type": "boolean"}


def object_(**properties: Schema) -> Schema:
    """An object of these properties and no others."""
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapped(items: Schema) -> Schema:
    return {"type": "object", "additionalProperties": items}


def maybe(schema: Schema) -> Schema:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]}


#: Of a remedy. The text beside them holds each as ``shown``: ``argv`` for a shell.
COMMANDS: Schema = listed(object_(argv=listed(TEXT), shown=TEXT, where={"enum": ["box", "control"]},
                                 as_root={"type": "boolean"}))
