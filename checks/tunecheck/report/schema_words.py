"""The words that JSON Schemas of what tunecheck writes are made of. Every object is object_.

Within a version of a document fields and values are only added (docs/documents.md). So an object may have fields that
its schema does not know, a field that came later is not required, and a list of names that may grow is open_enum()."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = [
    "ADDED",
    "COMMANDS",
    "COUNT",
    "FLAG",
    "MAYBE_COUNT",
    "MAYBE_NUMBER",
    "MAYBE_TEXT",
    "NUMBER",
    "TEXT",
    "later",
    "listed",
    "mapped",
    "maybe",
    "object_",
    "open_enum",
]

Schema = dict[str, Any]
ADDED = "added within this version"

TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
FLAG: Schema = {"type": "boolean"}


def object_(**properties: Schema) -> Schema:
    """Return the schema of an object that requires these properties, all but the ones that came later."""
    required = [name for name, schema in properties.items() if schema.get("$comment") != ADDED]
    return {"type": "object", "required": required, "properties": properties}


def later(schema: Schema) -> Schema:
    """Return the schema of a field that documents of this version did not have at first."""
    return {**schema, "$comment": ADDED}


def open_enum(names: Iterable[str], *more: None) -> Schema:
    """Return the schema of one of these names, or one that a later release added."""
    return {"anyOf": [{"enum": [*names, *more]}, TEXT]}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapped(items: Schema) -> Schema:
    return {"type": "object", "additionalProperties": items}


def maybe(schema: Schema) -> Schema:
    """Return the schema that also allows null."""
    return {**schema, "type": [schema["type"], "null"]}


#: Of a remedy. The text beside them holds each as ``shown``: ``argv`` for a shell.
COMMANDS: Schema = listed(object_(argv=listed(TEXT), shown=TEXT, where={"enum": ["box", "control"]},
                                 as_root=later(FLAG), fill_in=later(listed(TEXT))))
