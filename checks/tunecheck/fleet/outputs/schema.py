"""JSON Schemas of an audit's document, of the lists and of the webhook's event, for report/schema.py."""

from __future__ import annotations

from typing import Any

from .words import STATUSES

__all__ = ["SCHEMAS"]

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_MAYBE_COUNT: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0}
_TIME: dict[str, Any] = {"type": "number", "description": "seconds since 1970 by the control node's clock"}
_MAYBE_TIME: dict[str, Any] = {**_TIME, "type": ["number", "null"]}
_FLAG: dict[str, Any] = {"type": "boolean"}
_VALUE: dict[str, Any] = {"description": "any JSON; null: does not exist there"}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": items}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


def _document(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **_object(**properties)}


_STATUS: dict[str, Any] = {"enum": list(STATUSES)}
_SINCE = _object(after=_MAYBE_COUNT, after_at=_MAYBE_TIME, seen=_COUNT, seen_at=_TIME)
_AUDIT = _object(id=_COUNT, started=_TIME, finished=_MAYBE_TIME, scope=_TEXT, asked=_COUNT,
                 trigger={"enum": ["pull", "push"]}, note=_TEXT, tunecheck=_TEXT, catalogue=_COUNT,
                 rebaselined=_FLAG)
_WAIVED = _object(id=_COUNT, until=_TIME, author=_TEXT, reason=_TEXT)
_CAUSE = _object(
    authority={"enum": ["desired", "previous", "majority", "role", "identity", "reference"]},
    severity={"enum": ["low", "medium", "high"]}, state={"enum": ["new", "known", "resolved"]}, counts=_FLAG,
    group=_TEXT, fact=_TEXT, subject=_TEXT, outcome={"enum": ["", "fail", "warn", "unknown"]},
    before=_VALUE, value=_VALUE, expected=_TEXT, text=_TEXT,
    hosts=_list(_TEXT), since=_maybe(_SINCE), fix=_TEXT, remedy=_TEXT, intended=_FLAG, rollout=_FLAG,
    flapping=_list(_TEXT), waived=_maybe(_WAIVED))
_PROBLEM = _object(check=_TEXT, subject=_TEXT, outcome={"enum": ["fail", "warn", "unknown"]}, text=_TEXT,
                   expected=_TEXT, remedy=_TEXT, tags=_list(_TEXT), needs_reboot=_FLAG)
_HOST = _object(
    host=_TEXT, group=_TEXT, hardware=_TEXT, status=_STATUS, reason=_TEXT, outcomes=_map(_TEXT), drifted=_COUNT,
    unknown=_map(_TEXT), problems=_list(_PROBLEM), last_ok=_MAYBE_COUNT, last_ok_at=_MAYBE_TIME, in_change=_FLAG)
_SUMMARY = _object(
    verdict=_TEXT, outcome={"enum": ["drift", "clean", "unknown"]}, asked=_COUNT, answered=_COUNT, drift=_COUNT,
    hosts=_object(**{status: _COUNT for status in STATUSES}),
    causes=_object(new=_COUNT, known=_COUNT, resolved=_COUNT, waived=_COUNT, intended=_COUNT))
_SPLIT = _object(group=_TEXT, fact=_TEXT, note=_TEXT, shares=_list(_object(value=_VALUE, hosts=_COUNT)))
_FLEET = _document(
    "tunecheck audit, drift and fleet --json", schema={"const": "tunecheck/fleet/1"}, tunecheck=_TEXT, audit=_AUDIT,
    previous=_maybe(_AUDIT), baseline=_TEXT, fact=_TEXT, summary=_SUMMARY, causes=_list(_CAUSE),
    splits=_list(_SPLIT), hosts=_list(_HOST),
    timeline=_list(_object(audit=_COUNT, at=_TIME, changes=_COUNT, answered=_COUNT)),
    judged=_list(_object(group=_TEXT, fact=_TEXT)), notes=_list(_TEXT))
_ROWS = {
    "FleetRow": _object(
        host=_TEXT, group=_TEXT, status=_STATUS, reason=_TEXT, hardware=_TEXT, drifted=_COUNT, problems=_COUNT,
        last_ok=_MAYBE_COUNT, last_ok_at=_MAYBE_TIME, tunecheck=_TEXT, spec=_MAYBE_TEXT),
    "DriftRow": _object(host=_TEXT, group=_TEXT, fact=_TEXT, before=_VALUE, value=_VALUE, since=_SINCE, intended=_FLAG),
    "HistoryRow": _object(fact=_TEXT, value=_VALUE, since=_SINCE, before=_VALUE, gone=_MAYBE_COUNT,
                          gone_at=_MAYBE_TIME),
    "BlameRow": _object(fact=_TEXT, value=_VALUE, since=_SINCE, before=_VALUE,
                        change=_maybe(_object(run=_TEXT, at={"type": "number"}, state=_TEXT))),
    "Waiver": _object(
        id=_COUNT, fact=_TEXT, host=_MAYBE_TEXT, group=_MAYBE_TEXT, value=_MAYBE_TEXT, until=_MAYBE_TIME, reason=_TEXT,
        author=_TEXT, created=_TIME, last_matched=_MAYBE_COUNT, kind={"enum": ["waive", "accept"]}),
    "Volatile": _object(fact=_TEXT, hosts=_COUNT, distinct_share={"type": "number"}, change_rate={"type": "number"},
                        suspicious=_FLAG, why=_TEXT, sure=_FLAG),
}
_LIST = {**_document(
    "tunecheck fleet, drift, history, blame and waive --json: lists", schema={"const": "tunecheck/fleet-list/1"},
    tunecheck=_TEXT, verb=_TEXT, about={"type": "object"},
    rows=_list({"anyOf": [{"$ref": f"#/$defs/{name}"} for name in _ROWS]})), "$defs": _ROWS}
_EVENT = _document(
    "What tunecheck audit posts to a webhook", schema={"const": "tunecheck/fleet-event/1"}, tunecheck=_TEXT,
    audit=_AUDIT, verdict=_TEXT, text={"type": "string", "description": "a digest of at most ten lines"},
    link=_MAYBE_TEXT, new=_list(_CAUSE), resolved=_list(_CAUSE), omitted=_COUNT)
#: File name -> schema.
SCHEMAS = {"fleet-1.json": _FLEET, "fleet-list-1.json": _LIST, "fleet-event-1.json": _EVENT}
