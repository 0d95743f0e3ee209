"""JSON Schemas of the documents. `python -m tunecheck.report.schema DIRECTORY` writes them (docs/schema)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..facts import pins
from ..facts.codec import used
from ..facts.snapshot import Snapshot
from ..fleet.outputs.schema import SCHEMAS as FLEET
from ..formats.topology import RELATIONS
from ..recipes.schema import SCHEMAS as RECIPES
from ..rules import RULES
from ..rules.finding import OUTCOMES
from ..serving.schema import SCHEMAS as SERVING

__all__ = ["MEASURED", "SCHEMAS", "write"]

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_MAYBE_INT: dict[str, Any] = {"type": ["integer", "null"]}
_MAYBE_BOOL: dict[str, Any] = {"type": ["boolean", "null"]}
_BDF: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$"}
_REGISTER: dict[str, Any] = {"type": ["string", "null"], "pattern": "^0x[0-9a-f]{4}$"}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


_LINK = _object(width=_MAYBE_INT, max_width=_MAYBE_INT, speed=_MAYBE_TEXT, max_speed=_MAYBE_TEXT)
_ACCELERATOR = _object(bdf=_BDF, index={"type": "integer", "minimum": 0}, name=_TEXT, ids=_TEXT,
                       **{"class": _TEXT}, driver=_MAYBE_TEXT, numa_node=_MAYBE_INT, path=_list(_BDF),
                       answers=_MAYBE_BOOL, link=_LINK)
_MAYBE_RATE: dict[str, Any] = {"type": ["number", "null"], "description": "GB/s of payload"}
_HOP = _object(bdf=_BDF, link=_or_null(_object(gen=_MAYBE_INT, width=_MAYBE_INT)), aspm=_MAYBE_TEXT, mps=_MAYBE_INT,
               mrrs=_MAYBE_INT)
_PATH = _object(hops=_list(_HOP), slowest=_or_null(_object(link=_TEXT, gen=_MAYBE_INT, width=_MAYBE_INT)),
                redirectors=_list(_BDF), mps=_MAYBE_INT, one_way_gb_s=_MAYBE_RATE, two_way_gb_s=_MAYBE_RATE,
                latency_class={"enum": ["switch", "cascade", "root-complex", "cross-socket", "nvlink", None]},
                reason=_MAYBE_TEXT)
_PAIR = _object(a=_BDF, b=_BDF, relation={"enum": [*RELATIONS, None]}, reason=_MAYBE_TEXT,
                common=_or_null(_BDF), bridges=_list(_BDF), path=_PATH)
_ACS = _object(state={"enum": ["present", "absent", "unknown"]}, reason=_MAYBE_TEXT, cap=_REGISTER, ctl=_REGISTER,
               bits=_MAYBE_TEXT, redirects=_MAYBE_BOOL)
_BRIDGE = _object(bdf=_BDF, ids=_TEXT, driver=_MAYBE_TEXT, path=_list(_BDF), link=_LINK, acs=_ACS, pairs=_list(_TEXT))
_REMEDY = _or_null(_object(text=_TEXT, ansible_tags=_list(_TEXT), needs_reboot={"type": "boolean"}))
_FINDING = _object(id={"enum": [rule.id for rule in RULES]}, subject=_TEXT, outcome={"enum": list(OUTCOMES)},
                   layer={"enum": ["declared", "configured", "generated", "effective", "behaviour"]}, message=_TEXT,
                   observed=_TEXT, expected=_TEXT, evidence=_list(_TEXT), remedy=_REMEDY)
_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_MEASUREMENT = _object(
    trial={"enum": ["control", "one way", "both ways", "latency", "flows", "allreduce", "soak"]}, what=_TEXT,
    value=_NUMBER, unit={"enum": ["GB/s", "ns", "us", "steps"]}, method={"type": "string", "minLength": 1},
    samples=_COUNT, median=_NUMBER, p99=_NUMBER, spread=_NUMBER, verified={"type": "boolean"}, a=_MAYBE_INT,
    b=_MAYBE_INT, size=_MAYBE_INT, ranks=_MAYBE_INT, more={"type": "object", "additionalProperties": _NUMBER})
_AFTERMATH = _object(verdict={"enum": ["recovered", "ghost latch", "wedged"]}, text=_TEXT, seconds=_NUMBER)
_HANG = _object(trial=_TEXT, phase=_TEXT, after=_NUMBER, culprits=_list(_TEXT), victims=_list(_TEXT),
                arm={"enum": ["p2p", "staged"]}, ranks=_MAYBE_INT,
                ran={"type": "boolean"}, bundle=_MAYBE_TEXT, remarks=_list(_TEXT), aftermath=_AFTERMATH)
#: What the trials measured: measured_document().
MEASURED = _object(figures=_list(_MEASUREMENT), wrong=_list({"type": "object", "required": ["trial", "way"]}),
                   hangs=_list(_HANG), failures={"type": "object", "additionalProperties": _TEXT},
                   notes={"type": "object"})
_SPEC = _or_null(_object(host=_TEXT, profile=_TEXT, digest=_TEXT))


def _document(kind: str, title: str, verbs: list[str], **more: dict[str, Any]) -> dict[str, Any]:
    head = {"schema": {"const": kind}, "tunecheck": _TEXT, "verb": {"enum": verbs}, "host": _MAYBE_TEXT,
            "boot_id": _MAYBE_TEXT, "spec": _SPEC, "outcome": {"enum": list(OUTCOMES)},
            "exit_code": {"enum": [0, 1, 3, 4]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title,
            **_object(**head, **more, findings=_list(_FINDING))}


_TREE = {"accelerators": _list(_ACCELERATOR), "pairs": _list(_PAIR), "bridges": _list(_BRIDGE)}


def _report() -> dict[str, Any]:
    optional = {**_TREE, "measured": MEASURED}
    verbs = ["host", "driver", "runtime", "preflight", "p2p", "allreduce", "trial"]
    title = f"tunecheck {', '.join(verbs[:-1])} and {verbs[-1]} --json"
    schema = _document("tunecheck/report/1", title, verbs, trial={"type": "boolean"}, **optional)
    # `tunecheck host`, `driver` and `runtime` leave the tree out, and only what measures has figures.
    schema["required"] = [name for name in schema["required"] if name not in optional]
    return schema


def _snapshot() -> dict[str, Any]:
    """Made of the facts' own types."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck snapshot",
            **_object(schema={"const": "tunecheck/snapshot/1"}, tunecheck=_TEXT, created=_TEXT,
                      spec={"type": ["object", "null"]}, snapshot={"$ref": "#/$defs/snapshot.Snapshot"}),
            "$defs": used(Snapshot)}


_PINS = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tunecheck pins", **_object(
    schema={"const": pins.SCHEMA}, pins={"type": "object", "additionalProperties": _MAYBE_TEXT},
    unknown={"type": "object", "additionalProperties": _TEXT})}
#: File name -> schema.
SCHEMAS = {
    "topo-1.json": _document("tunecheck/topo/1", "tunecheck topo --json", ["topo"], **_TREE),
    "report-1.json": _report(),
    "snapshot-1.json": _snapshot(),
    "pins-1.json": _PINS,
    **RECIPES,
    **SERVING,
    **FLEET,
}


def write(directory: Path) -> None:
    """Write every schema file into ``directory``."""
    for name, schema in SCHEMAS.items():
        (directory / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
