"""JSON Schema of tunecheck/watch/1, for app/schemas.py."""

from __future__ import annotations

from ..model.absence import Absence
from ..report.schema_words import (
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
from .model import Code, Kind, State, Witness
from .tell import SCHEMA

__all__ = ["SCHEMAS"]

#: File name -> schema.
SCHEMAS = {"watch-1.json": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck watch --json", **object_(
        schema={"const": SCHEMA}, tunecheck=TEXT, at=NUMBER, unit=MAYBE_TEXT, pid=MAYBE_COUNT,
        container=MAYBE_TEXT, url=TEXT,
        state={"enum": [each.value for each in State]}, for_seconds=NUMBER, frozen_seconds=NUMBER,
        exit_code={"enum": [0, 1, 3]},
        reasons=listed(object_(code=open_enum(each.value for each in Code), subject=TEXT, numbers=mapped(NUMBER),
                               message=TEXT)),
        culprit=maybe(object_(
            pid=MAYBE_COUNT, name=TEXT, process_state={"enum": ["T", "D", "Z", None]}, rank=MAYBE_COUNT, gpu=MAYBE_TEXT,
            uuid=MAYBE_TEXT, collective=MAYBE_TEXT, witnesses=listed(open_enum(each.value for each in Witness)),
            kinds=listed(open_enum(each.value for each in Kind)), message=TEXT)),
        claims=listed(object_(
            witness=open_enum(each.value for each in Witness), kind=open_enum(each.value for each in Kind),
            pid=MAYBE_COUNT, name=TEXT, engine_pid=MAYBE_COUNT, rank=MAYBE_COUNT, gpu=MAYBE_TEXT, uuid=MAYBE_TEXT,
            communicator=MAYBE_TEXT, collective=MAYBE_TEXT, launched=MAYBE_COUNT, others_launched=MAYBE_COUNT,
            error=MAYBE_TEXT)),
        nccl_ras=maybe(object_(version=MAYBE_TEXT, unequal=MAYBE_COUNT,
                               absence=open_enum((each.value for each in Absence), None))),
        busy_sms_percent=mapped(NUMBER),
        engine=object_(running=MAYBE_COUNT, waiting=MAYBE_COUNT, generated_tokens=MAYBE_NUMBER,
                       absence=open_enum((each.value for each in Absence), None)))}}
