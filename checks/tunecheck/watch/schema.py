"""JSON Schema of tunecheck/watch/1, for app/schemas.py."""

from __future__ import annotations

from ..model.absence import Absence
from ..report.schema_words import (
    COUNT,
    MAYBE_COUNT,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    listed,
    mapped,
    maybe,
    object_,
    open_enum,
)
from .model import Code, State
from .tell import SCHEMA

__all__ = ["SCHEMAS"]

#: File name -> schema.
SCHEMAS = {"watch-1.json": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck watch --json", **object_(
        schema={"const": SCHEMA}, tunecheck=TEXT, at=NUMBER, unit=MAYBE_TEXT, url=TEXT,
        state={"enum": [each.value for each in State]}, for_seconds=NUMBER, frozen_seconds=NUMBER,
        exit_code={"enum": [0, 1, 3]},
        reasons=listed(object_(code=open_enum(each.value for each in Code), subject=TEXT, numbers=mapped(NUMBER),
                               message=TEXT)),
        culprit=maybe(object_(pid=COUNT, name=TEXT, process_state={"enum": ["T", "D"]}, message=TEXT)),
        engine=object_(running=MAYBE_COUNT, waiting=MAYBE_COUNT, generated_tokens=MAYBE_NUMBER,
                       absence=open_enum((each.value for each in Absence), None)))}}
