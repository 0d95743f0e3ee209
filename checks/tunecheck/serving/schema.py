"""JSON Schemas of the acceptance document and of a golden candidate, for app/schemas.py."""

from __future__ import annotations

from typing import Any

from ..model.finding import OUTCOMES
from ..report.schema_words import (
    COUNT,
    FLAG,
    MAYBE_COUNT,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    later,
    listed,
    mapped,
    maybe,
    object_,
)
from . import document, golden
from .verdict import IDS

__all__ = ["SCHEMAS"]

_USAGE = object_(prompt=COUNT, completion=COUNT, cached=MAYBE_COUNT, fell=FLAG)
_RUN = object_(
    kind={"enum": ["calibration", "warm-up", "canary", "needle", "repeat", "logprobs", "timed", "ladder",
                   "concurrent", "published"]},
    asked=COUNT, usage=maybe(_USAGE), text=TEXT, characters=COUNT, unseen=COUNT, first_s=MAYBE_NUMBER,
    last_s=MAYBE_NUMBER, reads=COUNT, first_tokens=MAYBE_COUNT, tok_s=MAYBE_NUMBER, decode_tok_s=MAYBE_NUMBER,
    gaps_ms=listed(NUMBER), gap_p99_ms=MAYBE_NUMBER, gap_bins=mapped(COUNT), finish=MAYBE_TEXT,
    logprobs=maybe(listed(MAYBE_NUMBER)), error=TEXT,
    broken={"enum": ["", "deadline", "stream", "status", "engine"]}, target=COUNT, expect=TEXT, group=COUNT,
    counted_by={"enum": ["usage", "characters", "gauge", "unknown", "claimed", "disputed", "tokenizer", "asked",
                         "engine", "contradiction"]}, pieces=COUNT, names=listed(TEXT),
    covered=MAYBE_COUNT, blank_entries=COUNT, retokenised=MAYBE_COUNT, waited_s=NUMBER)
_SPREAD = maybe(object_(p50=NUMBER, p90=NUMBER, p95=NUMBER, p99=NUMBER, mean=NUMBER, most=NUMBER))
_DEVICE = object_(bdf=TEXT, sm_mhz=maybe(listed(NUMBER)), power_w=maybe(listed(NUMBER)),
                  temperature_c=maybe(listed(NUMBER)), throttled=mapped(NUMBER), looks=COUNT,
                  line=listed(listed(MAYBE_NUMBER)))
_PART = maybe(object_(p50=NUMBER, most=NUMBER))
_WINDOW = object_(at=NUMBER, requests=COUNT, tok_s=NUMBER, ttft_s=_PART, itl_s=_PART)
_LOAD = object_(
    mode={"enum": ["closed", "open"]}, level=NUMBER, seconds=NUMBER, requests=COUNT, failed=COUNT, errors=listed(TEXT),
    behind=FLAG, tok_s=NUMBER, requests_s=NUMBER, ttft_s=_SPREAD, itl_s=_SPREAD, e2e_s=_SPREAD, late_s=NUMBER,
    goodput=maybe(object_(slo=mapped(NUMBER), share=NUMBER, requests_s=NUMBER)), devices=maybe(listed(_DEVICE)),
    windows=listed(_WINDOW), missed=COUNT)
_MEASURED = object_(counted=COUNT, generated=MAYBE_NUMBER, no_counter=TEXT, other=mapped(NUMBER), template=COUNT,
                    limit=MAYBE_COUNT, notes=mapped(TEXT), groups=mapped(NUMBER), stopped=TEXT, listed=listed(TEXT),
                    filler=maybe(listed(COUNT)), load=listed(_LOAD), runs=listed(_RUN))
_FIGURES = object_(
    tok_s=MAYBE_NUMBER, counted_by={"const": "usage_wallclock"}, runs=listed(NUMBER), spread_pct=MAYBE_NUMBER,
    decode_tok_s=MAYBE_NUMBER, ttft_s=MAYBE_NUMBER,
    gaps_ms=maybe(object_(p50=NUMBER, p99=NUMBER, most=NUMBER)),
    ladder=listed(object_(prompt=COUNT, ttft_s=NUMBER)),
    streams=listed(object_(streams=COUNT, seconds=NUMBER, tok_s=NUMBER)))
_EXPECTED = object_(metric=TEXT, value=MAYBE_NUMBER, tol_pct=NUMBER, spread_pct=NUMBER, counted_by=TEXT,
                    ttft_s=mapped(NUMBER))
_RECIPE = object_(id=TEXT, status=TEXT, digest=MAYBE_TEXT)
_ENGINE = object_(name=TEXT, version=TEXT)
_GPU = {"type": "object", "required": ["bdf"], "properties": {"bdf": TEXT}}
_PROVENANCE = object_(
    host=MAYBE_TEXT, boot_id=MAYBE_TEXT, kernel=MAYBE_TEXT, cmdline=MAYBE_TEXT, driver=MAYBE_TEXT,
    driver_why_not=MAYBE_TEXT, spec_digest=MAYBE_TEXT, acs=mapped(MAYBE_TEXT), gpus=listed(_GPU),
    gpus_why_not=MAYBE_TEXT, image_id=MAYBE_TEXT, image_digest=MAYBE_TEXT, model=MAYBE_TEXT, revision=MAYBE_TEXT,
    args=maybe(listed(TEXT)), env=maybe(mapped(TEXT)))
_FINDING = object_(id={"enum": list(IDS)}, subject=TEXT, outcome={"enum": list(OUTCOMES)}, code=later(TEXT),
                   message=TEXT, observed=TEXT, expected=TEXT, remedy=MAYBE_TEXT)


def _document(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **object_(**properties)}


#: File name -> schema.
SCHEMAS = {
    "acceptance-1.json": _document(
        "tunecheck accept --json", schema={"const": document.SCHEMA}, tunecheck=TEXT, verb={"const": "accept"},
        created=TEXT, host=MAYBE_TEXT, boot_id=MAYBE_TEXT, source=MAYBE_TEXT,
        profile={"enum": ["full", "boot", "published"]}, base=TEXT, model=TEXT, engine=_ENGINE,
        recipe=maybe(_RECIPE), expected=maybe(_EXPECTED), outcome={"enum": list(OUTCOMES)},
        exit_code={"enum": [0, 1, 3]}, figures=_FIGURES, provenance=maybe(_PROVENANCE), measured=_MEASURED,
        findings=listed(_FINDING)),
    "golden-1.json": _document(
        "tunecheck accept --golden", schema={"const": golden.SCHEMA}, tunecheck=TEXT, created=TEXT,
        recipe=maybe(_RECIPE), engine=_ENGINE, expected=_EXPECTED, runs=listed(NUMBER), provenance=_PROVENANCE,
        note=TEXT),
}
