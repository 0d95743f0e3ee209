"""The schemas of what tunecheck writes are open, so that a later release can add fields. Here they are closed: what
this release writes is exactly what its schemas name."""

from __future__ import annotations

from typing import Any

from tunecheck.report.schema_words import ADDED


def closed(schema: Any) -> Any:
    """The same schema, where every object of named properties has no others, and those that came later too."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"anyOf"} and schema["anyOf"][0].keys() == {"enum"}:
        return schema["anyOf"][0]           # open_enum
    made = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and "required" in schema and "additionalProperties" not in schema:
        made["additionalProperties"] = False
        made["required"] = [*made["required"], *(name for name, each in schema["properties"].items()
                                                 if isinstance(each, dict) and each.get("$comment") == ADDED)]
    return made
