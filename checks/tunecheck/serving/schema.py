"""JSON Schemas of the acceptance document and of a golden candidate, for report/schema.py."""

from __future__ import annotations

from typing import Any

from ..rules.finding import OUTCOMES
from . import document, golden
from .verdict import IDS

__all__ = ["SCHEMAS"]

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_NUMBER: dict[str, Any] = {"type": "number"}
_MAYBE_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_MAYBE_COUNT: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0}
_FLAG: dict[str, Any] = {"type": "boolean"}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": items}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]}


_USAGE = _object(prompt=_COUNT, completion=_COUNT, cached=_MAYBE_COUNT, fell=_FLAG)
_RUN = _object(
    kind={"enum": ["calibration", "warm-up", "canary", "logprobs", "timed", "ladder", "concurrent", "published"]},
    asked=_COUNT, usage=_maybe(_USAGE), text=_TEXT, characters=_COUNT, unseen=_COUNT, first_s=_MAYBE_NUMBER,
    last_s=_MAYBE_NUMBER, reads=_COUNT, first_tokens=_MAYBE_COUNT, tok_s=_MAYBE_NUMBER, decode_tok_s=_MAYBE_NUMBER,
    gaps_ms=_list(_NUMBER), gap_p99_ms=_MAYBE_NUMBER, gap_bins=_map(_COUNT), finish=_MAYBE_TEXT,
    logprobs=_maybe(_list(_MAYBE_NUMBER)), error=_TEXT,
    broken={"enum": ["", "deadline", "stream", "status", "engine"]}, target=_COUNT, expect=_TEXT, group=_COUNT,
    counted_by={"enum": ["usage", "characters", "gauge", "unknown"]})
_MEASURED = _object(counted=_COUNT, generated=_MAYBE_NUMBER, no_counter=_TEXT, other=_map(_NUMBER), template=_COUNT,
                    limit=_MAYBE_COUNT, notes=_map(_TEXT), groups=_map(_NUMBER), stopped=_TEXT, runs=_list(_RUN))
_FIGURES = _object(
    tok_s=_MAYBE_NUMBER, counted_by={"const": "usage_wallclock"}, runs=_list(_NUMBER), spread_pct=_MAYBE_NUMBER,
    decode_tok_s=_MAYBE_NUMBER, ttft_s=_MAYBE_NUMBER,
    gaps_ms=_maybe(_object(p50=_NUMBER, p99=_NUMBER, most=_NUMBER)),
    ladder=_list(_object(prompt=_COUNT, ttft_s=_NUMBER)),
    streams=_list(_object(streams=_COUNT, seconds=_NUMBER, tok_s=_NUMBER)))
_EXPECTED = _object(metric=_TEXT, value=_MAYBE_NUMBER, tol_pct=_NUMBER, spread_pct=_NUMBER, counted_by=_TEXT,
                    ttft_s=_map(_NUMBER))
_RECIPE = _object(id=_TEXT, status=_TEXT, digest=_MAYBE_TEXT)
_ENGINE = _object(name=_TEXT, version=_TEXT)
_GPU = {"type": "object", "required": ["bdf"], "properties": {"bdf": _TEXT}}
_PROVENANCE = _object(
    host=_MAYBE_TEXT, boot_id=_MAYBE_TEXT, kernel=_MAYBE_TEXT, cmdline=_MAYBE_TEXT, driver=_MAYBE_TEXT,
    driver_why_not=_MAYBE_TEXT, spec_digest=_MAYBE_TEXT, acs=_map(_MAYBE_TEXT), gpus=_list(_GPU),
    gpus_why_not=_MAYBE_TEXT, image_id=_MAYBE_TEXT, image_digest=_MAYBE_TEXT, model=_MAYBE_TEXT, revision=_MAYBE_TEXT,
    args=_maybe(_list(_TEXT)), env=_maybe(_map(_TEXT)))
_FINDING = _object(id={"enum": list(IDS)}, subject=_TEXT, outcome={"enum": list(OUTCOMES)}, message=_TEXT,
                   observed=_TEXT, expected=_TEXT, remedy=_MAYBE_TEXT)


def _document(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **_object(**properties)}


#: File name -> schema.
SCHEMAS = {
    "acceptance-1.json": _document(
        "tunecheck accept --json", schema={"const": document.SCHEMA}, tunecheck=_TEXT, verb={"const": "accept"},
        created=_TEXT, host=_MAYBE_TEXT, boot_id=_MAYBE_TEXT, source=_MAYBE_TEXT,
        profile={"enum": ["full", "boot", "published"]}, base=_TEXT, model=_TEXT, engine=_ENGINE,
        recipe=_maybe(_RECIPE), expected=_maybe(_EXPECTED), outcome={"enum": list(OUTCOMES)},
        exit_code={"enum": [0, 1, 3]}, figures=_FIGURES, provenance=_maybe(_PROVENANCE), measured=_MEASURED,
        findings=_list(_FINDING)),
    "golden-1.json": _document(
        "tunecheck accept --golden", schema={"const": golden.SCHEMA}, tunecheck=_TEXT, created=_TEXT,
        recipe=_maybe(_RECIPE), engine=_ENGINE, expected=_EXPECTED, runs=_list(_NUMBER), provenance=_PROVENANCE,
        note=_TEXT),
}
