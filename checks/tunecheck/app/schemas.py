"""JSON Schemas of the documents that a GPU host writes. tunecheck_fleet/schemas.py writes them into docs/schema."""

from __future__ import annotations

from typing import Any

from ..facts import pins
from ..facts.codec import used
from ..facts.snapshot import Snapshot
from ..model.absence import Absence
from ..model.finding import OUTCOMES, Place
from ..parsers.nvidia.driver_failures import KINDS
from ..parsers.pci.topology import RELATIONS
from ..recipes.schema import SCHEMAS as RECIPES
from ..report.schema_words import (
    COMMANDS,
    COUNT,
    FLAG,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    later,
    listed,
    mapped,
    maybe,
    object_,
    open_enum,
)
from ..rules.index import CHECKS
from ..serving.schema import SCHEMAS as SERVING
from ..watch.schema import SCHEMAS as WATCH

__all__ = ["MEASURED", "SCHEMAS"]

_MAYBE_INT: dict[str, Any] = {"type": ["integer", "null"]}
_MAYBE_BOOL: dict[str, Any] = {"type": ["boolean", "null"]}
_BDF: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$"}
_REGISTER: dict[str, Any] = {"type": ["string", "null"], "pattern": "^0x[0-9a-f]{4}$"}


_LINK = object_(width=_MAYBE_INT, max_width=_MAYBE_INT, speed=MAYBE_TEXT, max_speed=MAYBE_TEXT)
_ACCELERATOR = object_(bdf=_BDF, index={"type": "integer", "minimum": 0}, name=TEXT, ids=TEXT,
                       **{"class": TEXT}, driver=MAYBE_TEXT, numa_node=_MAYBE_INT, path=listed(_BDF),
                       answers=_MAYBE_BOOL, link=_LINK)
_MAYBE_RATE: dict[str, Any] = {"type": ["number", "null"], "description": "GB/s of payload"}
_HOP = object_(bdf=_BDF, link=maybe(object_(gen=_MAYBE_INT, width=_MAYBE_INT)), aspm=MAYBE_TEXT, mps=_MAYBE_INT,
               mrrs=_MAYBE_INT)
_PATH = object_(hops=listed(_HOP), slowest=maybe(object_(link=TEXT, gen=_MAYBE_INT, width=_MAYBE_INT)),
                redirectors=listed(_BDF), mps=_MAYBE_INT, one_way_gb_s=_MAYBE_RATE, two_way_gb_s=_MAYBE_RATE,
                latency_class={"enum": ["switch", "cascade", "root-complex", "cross-socket", "nvlink", None]},
                reason=MAYBE_TEXT)
_PAIR = object_(a=_BDF, b=_BDF, relation={"enum": [*RELATIONS, None]}, reason=MAYBE_TEXT,
                common=maybe(_BDF), bridges=listed(_BDF), path=_PATH)
_ACS = object_(state={"enum": ["present", "absent", "unknown"]}, reason=MAYBE_TEXT, cap=_REGISTER, ctl=_REGISTER,
               bits=MAYBE_TEXT, redirects=_MAYBE_BOOL)
_BRIDGE = object_(bdf=_BDF, ids=TEXT, driver=MAYBE_TEXT, path=listed(_BDF), link=_LINK, acs=_ACS, pairs=listed(TEXT))
_REMEDY = maybe(object_(text=TEXT, by_hand=later(TEXT), play=later(maybe(TEXT)), commands=COMMANDS,
                        ansible_tags=listed(TEXT), needs_reboot=FLAG, needs_machine=later(FLAG),
                        where=later(open_enum(place.value for place in Place))))
_FINDING = object_(id=open_enum(check.id for check in CHECKS), subject=TEXT, outcome={"enum": list(OUTCOMES)},
                   code=later(TEXT), absence=later(open_enum((each.value for each in Absence), None)),
                   layer={"enum": ["declared", "configured", "generated", "effective", "behaviour"]}, message=TEXT,
                   observed=TEXT, expected=TEXT, evidence=listed(TEXT), remedy=_REMEDY)
_MEASUREMENT = object_(
    trial={"enum": ["host copy", "own memory", "control", "one way", "both ways", "latency", "flows", "allreduce",
                    "soak"]}, what=TEXT,
    value=MAYBE_NUMBER, unit={"enum": ["GB/s", "ns", "us", "steps"]}, method={"type": "string", "minLength": 1},
    samples=COUNT, median=MAYBE_NUMBER, p99=MAYBE_NUMBER, spread=MAYBE_NUMBER, verified={"type": "boolean"},
    a=_MAYBE_INT, b=_MAYBE_INT, size=_MAYBE_INT, ranks=_MAYBE_INT, more=mapped(MAYBE_NUMBER))
_AFTERMATH = object_(verdict={"enum": ["recovered", "ghost latch", "wedged"]}, text=TEXT, seconds=MAYBE_NUMBER)
_HANG = object_(trial=TEXT, phase=TEXT, after=MAYBE_NUMBER, culprits=listed(TEXT), victims=listed(TEXT),
                arm={"enum": ["p2p", "staged"]}, ranks=_MAYBE_INT,
                ran={"type": "boolean"}, bundle=MAYBE_TEXT, remarks=listed(TEXT), aftermath=_AFTERMATH)
#: What the trials measured: measured_document().
MEASURED = object_(figures=listed(_MEASUREMENT), wrong=listed({"type": "object", "required": ["trial", "way"]}),
                   hangs=listed(_HANG), failures={"type": "object", "additionalProperties": TEXT},
                   notes={"type": "object"})
#: What was measured on the box before this run.
_MEASURED_PASS = object_(exit_code={"enum": [0, 1, 3, 4]}, kind={"enum": ["full", "quick"]},
                         place={"enum": ["host", "image"]}, taken=TEXT, this_boot={"type": "boolean"}, seconds=NUMBER,
                         figures={"type": "object", "additionalProperties": NUMBER})
#: What happened before this boot.
_HISTORY = object_(source=TEXT, cut={"type": "boolean"}, boots=listed(object_(
    name=TEXT, first=TEXT, last=TEXT, lines=COUNT, events=listed(object_(
        kind={"enum": ["xid", "sxid", "fallen", *KINDS]}, device=TEXT, code=_MAYBE_INT, count=COUNT, first=TEXT,
        last=TEXT, text=TEXT)))))
_SPEC = maybe(object_(host=TEXT, profile=TEXT, digest=TEXT))


def _document(kind: str, title: str, verbs: list[str], **more: dict[str, Any]) -> dict[str, Any]:
    head = {"schema": {"const": kind}, "tunecheck": TEXT, "verb": {"enum": verbs}, "host": MAYBE_TEXT,
            "boot_id": MAYBE_TEXT, "spec": _SPEC, "outcome": {"enum": list(OUTCOMES)},
            "exit_code": {"enum": [0, 1, 3, 4]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title,
            **object_(**head, **more, findings=listed(_FINDING))}


_TREE = {"accelerators": listed(_ACCELERATOR), "pairs": listed(_PAIR), "bridges": listed(_BRIDGE)}


def _report() -> dict[str, Any]:
    optional = {**_TREE, "measured": MEASURED, "measured_in_image": MEASURED, "measured_pass": _MEASURED_PASS,
                "history": _HISTORY}
    verbs = ["host", "driver", "runtime", "preflight", "p2p", "allreduce", "trial"]
    title = f"tunecheck {', '.join(verbs[:-1])} and {verbs[-1]} --json"
    schema = _document("tunecheck/report/1", title, verbs, trial={"type": "boolean"}, **optional)
    # `tunecheck host`, `driver` and `runtime` leave the tree out, and only what measures has figures.
    schema["required"] = [name for name in schema["required"] if name not in optional]
    return schema


def _snapshot() -> dict[str, Any]:
    """Return the schema of a snapshot, made of the facts' own types."""
    document = object_(schema={"const": "tunecheck/snapshot/1"}, tunecheck=TEXT, created=TEXT, nonce=TEXT,
                       spec={"type": ["object", "null"]}, snapshot={"$ref": "#/$defs/snapshot.Snapshot"})
    document["required"].remove("nonce")        # only of a box that pushes, where the receiver gave one
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck snapshot", **document,
            "$defs": used(Snapshot)}


_PINS = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck pins", **object_(
    schema={"const": pins.SCHEMA}, pins={"type": "object", "additionalProperties": MAYBE_TEXT},
    unknown={"type": "object", "additionalProperties": TEXT})}
#: File name -> schema.
SCHEMAS = {
    "topo-1.json": _document("tunecheck/topo/1", "tunecheck topo --json", ["topo"], **_TREE),
    "report-1.json": _report(),
    "snapshot-1.json": _snapshot(),
    "pins-1.json": _PINS,
    **RECIPES,
    **SERVING,
    **WATCH,
}

