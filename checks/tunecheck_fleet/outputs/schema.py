"""JSON Schemas of an audit's document, of the lists and of the webhook's event, for app/schemas.py."""

from __future__ import annotations

from typing import Any

from tunecheck.report.schema_words import (
    COMMANDS,
    COUNT,
    FLAG,
    MAYBE_COUNT,
    MAYBE_TEXT,
    TEXT,
    later,
    listed,
    mapped,
    maybe,
    object_,
)

from .text import KINDS, STATUSES, UNJUDGED

__all__ = ["SCHEMAS"]

_TIME: dict[str, Any] = {"type": "number", "description": "seconds since 1970 by the control node's clock"}
_MAYBE_TIME: dict[str, Any] = {**_TIME, "type": ["number", "null"]}
_VALUE: dict[str, Any] = {"description": "any JSON; null: does not exist there"}


def _document(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **object_(**properties)}


_STATUS: dict[str, Any] = {"enum": list(STATUSES)}
_SINCE = object_(after=MAYBE_COUNT, after_at=_MAYBE_TIME, seen=COUNT, seen_at=_TIME)
_AUDIT = object_(id=COUNT, started=_TIME, finished=_MAYBE_TIME, scope=TEXT, asked=COUNT,
                 trigger={"enum": ["pull", "push"]}, note=TEXT, tunecheck=TEXT, catalogue=COUNT,
                 rebaselined=FLAG)
_WAIVED = object_(id=COUNT, until=_TIME, author=TEXT, reason=TEXT)
_DECISION = object_(id=COUNT, audit=COUNT, author=TEXT, owner=TEXT, link=TEXT, note=TEXT, at=_TIME)
_WAVE = object_(state={"enum": ["new", "known", "resolved"]}, since=maybe(_SINCE), hosts=listed(TEXT))
_BEFORE = object_(value=_VALUE, whose={"enum": ["own", "others", "reference"]}, hosts=listed(TEXT))
_FIX = object_(hosts=listed(TEXT), steps=listed(object_(remedy=TEXT, commands=COMMANDS)))
_FIELDS: dict[str, dict[str, Any]] = dict(
    id=TEXT, kind={"enum": list(KINDS)},
    authority={"enum": ["desired", "previous", "majority", "role", "identity", "reference"]},
    severity={"enum": ["low", "medium", "high"]}, state={"enum": ["new", "grown", "known", "resolved"]}, counts=FLAG,
    group=TEXT, groups=later(listed(TEXT)), group_of=later(mapped(TEXT)), fact=TEXT, subject=TEXT,
    outcome={"enum": ["", "fail", "warn", "unknown"]}, code=later(TEXT),
    was=later({"enum": ["", "fail", "warn"]}), absence=later(TEXT), source=later(TEXT), before=_VALUE, value=_VALUE,
    expected=TEXT,
    text=TEXT, hosts=listed(TEXT), since=maybe(_SINCE), waves=listed(_WAVE), fix=TEXT, remedy=TEXT, commands=COMMANDS,
    fixes=later(listed(_FIX)), befores=later(listed(_BEFORE)),
    began=later({"enum": ["", "changed", "first", "others", "regrouped", "share"]}),
    intended=FLAG, standing=FLAG, rollout=FLAG, flapping=listed(TEXT), waived=maybe(_WAIVED),
    approved=maybe(_DECISION), acknowledged=maybe(_DECISION), covered=listed(TEXT), asked=later(listed(TEXT)),
    asked_by=later(listed(TEXT)),
    untold=later(listed(TEXT)), ended=later(listed(object_(host=TEXT, since=maybe(_SINCE)))),
    last_heard=later(listed(object_(audit=COUNT, at=_TIME, hosts=listed(TEXT)))))
_CAUSE = object_(**_FIELDS)
#: The cause that leads, and the names of what else the same thing moved.
_ENTRY_CAUSE: dict[str, dict[str, Any]] = {**_FIELDS, "what": TEXT, "more": listed(TEXT)}
_ENTRY = object_(id=TEXT, kind={"enum": list(KINDS)}, what=TEXT, group=TEXT, groups=later(listed(TEXT)), fact=TEXT,
                 severity={"enum": ["low", "medium", "high"]}, hosts=listed(TEXT), news=listed(TEXT),
                 since=maybe(_SINCE), more=listed(TEXT))
_BOX_TIME: dict[str, Any] = {**_MAYBE_TIME, "description": "seconds since 1970 by the box's clock"}
_INCIDENT = object_(id=TEXT, begun=_BOX_TIME, ended=_BOX_TIME, step=TEXT, why=TEXT, unit=TEXT, codes=listed(TEXT),
                    xids=listed(COUNT), rank=MAYBE_COUNT, gpu=TEXT)
_PROBLEM = object_(check=TEXT, subject=TEXT, outcome={"enum": ["fail", "warn", "unknown"]},
                   code=later(TEXT), absence=later(MAYBE_TEXT), source=later(MAYBE_TEXT), text=TEXT,
                   observed=later(TEXT), expected=TEXT, remedy=TEXT, commands=COMMANDS, tags=listed(TEXT),
                   needs_reboot=FLAG, puts=later(listed(TEXT)), takes=later(listed(TEXT)), place=later(MAYBE_TEXT))
_HOST = object_(
    host=TEXT, group=TEXT, hardware=TEXT, status=_STATUS, reason=TEXT, outcomes=mapped(TEXT), drifted=COUNT,
    unjudged=later(COUNT), unknown=mapped(TEXT), problems=listed(_PROBLEM), last_ok=MAYBE_COUNT,
    last_ok_at=_MAYBE_TIME, in_change=FLAG, waits=FLAG, specified=later(FLAG), skipped=later(mapped(TEXT)),
    dark=later(mapped(object_(text=TEXT, remedy=TEXT))), called_now=later(TEXT), left=later(FLAG))
_SUMMARY = object_(
    verdict=TEXT, outcome={"enum": ["drift", "clean", "unknown"]}, asked=COUNT, answered=COUNT, drift=COUNT,
    unjudged=later(COUNT), hosts=object_(**{status: COUNT for status in STATUSES}),
    causes=object_(**{kind: later(COUNT) if kind == UNJUDGED else COUNT for kind in KINDS}))
_SPLIT = object_(group=TEXT, fact=TEXT, note=TEXT,
                 shares=listed(object_(value=_VALUE, hosts=COUNT, names=listed(TEXT))))
_FLEET = _document(
    "tunecheck audit, drift and fleet --json", schema={"const": "tunecheck/fleet/1"}, tunecheck=TEXT, audit=_AUDIT,
    previous=maybe(_AUDIT), baseline=TEXT, fact=TEXT, over_audits=later(FLAG), summary=_SUMMARY,
    causes=listed(_CAUSE), entries=listed(_ENTRY), splits=listed(_SPLIT), hosts=listed(_HOST),
    timeline=listed(object_(audit=COUNT, at=_TIME, changes=COUNT, answered=COUNT)),
    judged=listed(object_(group=TEXT, fact=TEXT)), notes=listed(TEXT))
_VALUE_OR_INCIDENT = {
    "description": "any JSON; null: does not exist there. Of the fact host.incident an incident; a time is null where "
                   "the box's clock told none",
    "anyOf": [_INCIDENT, {}]}
_ROWS = {
    "FleetRow": object_(
        host=TEXT, group=TEXT, status=_STATUS, reason=TEXT, hardware=TEXT, drifted=COUNT, problems=COUNT,
        last_ok=MAYBE_COUNT, last_ok_at=_MAYBE_TIME, tunecheck=TEXT, spec=MAYBE_TEXT,
        failing=COUNT, warnings=COUNT, unknown=COUNT, high=later(COUNT), medium=later(COUNT), low=later(COUNT),
        unjudged=later(COUNT), last_known=later(COUNT)),
    "DriftRow": object_(host=TEXT, group=TEXT, fact=TEXT, before=_VALUE, value=_VALUE, since=_SINCE, intended=FLAG),
    "HistoryRow": object_(fact=TEXT, value=_VALUE_OR_INCIDENT, since=_SINCE, before=_VALUE, gone=MAYBE_COUNT,
                          gone_at=_MAYBE_TIME, known=later(MAYBE_COUNT), dark=later(MAYBE_COUNT)),
    "FoundRow": object_(fact=TEXT, subject=TEXT, outcome={"enum": ["fail", "warn", "unknown"]}, since=_SINCE,
                        gone=MAYBE_COUNT, gone_at=_MAYBE_TIME,
                        now=later({"enum": ["", "fail", "warn", "unknown"]}),
                        known=later(MAYBE_COUNT), dark=later(MAYBE_COUNT), code=later(TEXT)),
    "DifferRow": object_(fact=TEXT, value=_VALUE, since=_SINCE,
                         began={"enum": ["", "changed", "first", "others", "regrouped", "share"]},
                         gone=MAYBE_COUNT, gone_at=_MAYBE_TIME, known=MAYBE_COUNT, dark=MAYBE_COUNT),
    "BlameRow": object_(fact=TEXT, value=_VALUE, since=_SINCE, before=_VALUE,
                        change=maybe(object_(run=TEXT, at={"type": "number"}, state=TEXT))),
    "Waiver": object_(
        id=COUNT, fact=TEXT, host=MAYBE_TEXT, group=MAYBE_TEXT, value=MAYBE_TEXT, until=_MAYBE_TIME, reason=TEXT,
        author=TEXT, created=_TIME, last_matched=MAYBE_COUNT, kind={"enum": ["waive", "accept"]},
        covered_in=later(MAYBE_COUNT), covers=later(listed(TEXT)), covers_also=later(listed(TEXT)),
        left_out=later(TEXT)),
    "Decision": object_(
        id=COUNT, kind={"enum": ["approve", "acknowledge"]}, audit=COUNT, finding=TEXT, title=TEXT, author=TEXT,
        owner=TEXT, link=TEXT, note=TEXT, created=_TIME, ended=_MAYBE_TIME, covers_also=later(listed(TEXT)),
        left_out=later(TEXT), in_place_of=later(listed(COUNT)), over=later(FLAG), over_since=later(MAYBE_COUNT)),
    "Volatile": object_(fact=TEXT, hosts=COUNT, distinct_share={"type": "number"}, change_rate={"type": "number"},
                        suspicious=FLAG, why=TEXT, sure=FLAG, heard=COUNT),
}
_LIST = {**_document(
    "tunecheck fleet, drift, history, blame and waive --json: lists", schema={"const": "tunecheck/fleet-list/1"},
    tunecheck=TEXT, verb=TEXT, about={"type": "object"},
    rows=listed({"anyOf": [{"$ref": f"#/$defs/{name}"} for name in _ROWS]})), "$defs": _ROWS}
_EVENT = _document(
    "What tunecheck audit posts to a webhook", schema={"const": "tunecheck/fleet-event/1"}, tunecheck=TEXT,
    audit=_AUDIT, verdict=TEXT, text={"type": "string", "description": "a digest of at most ten lines"},
    link=MAYBE_TEXT, new=listed(object_(**_ENTRY_CAUSE, news=listed(TEXT))),
    resolved=listed(object_(**_ENTRY_CAUSE)), omitted=COUNT)
#: File name -> schema.
SCHEMAS = {"fleet-1.json": _FLEET, "fleet-list-1.json": _LIST, "fleet-event-1.json": _EVENT}
