"""The JSON document tunecheck/acceptance/1: verdict, figures, and every run with its text, so that --judge can judge it
again. Its JSON Schema is in schema.py beside this."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from typing import Any

from .. import __version__
from ..errors import Flaw, UsageError
from ..model.finding import Finding, exit_code, worst
from ..recipes.frozen import Recipe
from .figures import rates, spread
from .gaps import merged
from .measured import Measured, Run, Usage

__all__ = ["SCHEMA", "document", "measured_of"]

SCHEMA = "tunecheck/acceptance/1"
_MOST_TEXT = 16384


def document(seen: Measured, findings: list[Finding], recipe: Recipe | None, *, created: str, base: str,
             host: str | None, boot_id: str | None, digest: str | None = None, source: str | None = None,
             provenance: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the document of an acceptance as plain data. ``created``: when, in UTC; ``source``: the file that was
    judged, None for a live server; ``provenance``: see golden.py."""
    outcome = worst(findings)
    expected = None
    if recipe:
        expected = dataclasses.asdict(recipe.expected)
        expected["ttft_s"] = {str(size): seconds for size, seconds in recipe.expected.ttft_s.items()}
    named = {"id": recipe.id, "status": recipe.status, "digest": digest} if recipe else None
    return {
        "schema": SCHEMA, "tunecheck": __version__, "verb": "accept", "created": created, "host": host,
        "boot_id": boot_id, "source": source, "profile": seen.profile, "base": base, "model": seen.model,
        "engine": {"name": seen.engine, "version": seen.version}, "recipe": named, "expected": expected,
        "outcome": outcome, "exit_code": exit_code(outcome), "figures": _figures(seen),
        "provenance": dict(provenance) if provenance else None, "measured": _measured(seen),
        "findings": [_finding(each) for each in findings],
    }


def _figures(seen: Measured) -> dict[str, Any]:
    """Return the figures with how they were counted; None where there is none."""
    found = rates(seen)
    timed = [run for run in seen.of("timed") if not run.broken and run.usage]
    decode = [rate for run in timed if (rate := run.decode_rate) is not None]
    first = [run.first_s for run in timed if run.first_s is not None]
    return {
        "tok_s": _round(statistics.median(found)) if found else None, "counted_by": "usage_wallclock",
        "runs": [_round(each) for each in found], "spread_pct": _round(spread(found)) if len(found) > 1 else None,
        "decode_tok_s": _round(statistics.median(decode)) if decode else None,
        "ttft_s": _round(statistics.median(first)) if first else None,
        "gaps_ms": merged([run.gaps for run in timed if not run.burst]),
        "ladder": [{"prompt": run.usage.prompt, "ttft_s": _round(run.first_s)} for run in seen.of("ladder")
                   if run.usage and run.first_s is not None],
        "streams": [{"streams": streams, "seconds": _round(seconds),
                     "tok_s": _round(seen.together(streams) / seconds)}
                    for streams, seconds in seen.groups.items() if seconds],
    }


def _measured(seen: Measured) -> dict[str, Any]:
    return {"counted": seen.counted, "generated": seen.generated, "no_counter": seen.no_counter,
            "other": dict(seen.other), "template": seen.template, "limit": seen.limit, "notes": dict(seen.notes),
            "groups": {str(streams): seconds for streams, seconds in seen.groups.items()},
            "stopped": seen.stopped, "listed": list(seen.listed),
            "filler": list(seen.filler) if seen.filler else None, "load": [dict(each) for each in seen.load],
            "runs": [_run(run) for run in seen.runs]}


def _run(run: Run) -> dict[str, Any]:
    plain = dataclasses.asdict(run) | {"text": run.text[:_MOST_TEXT], "characters": run.characters,
                                       "tok_s": _round(run.rate), "decode_tok_s": _round(run.decode_rate),
                                       "gaps_ms": list(run.gaps_ms), "names": list(run.names),
                                       "gap_bins": {str(number): count for number, count in run.gap_bins.items()}}
    if run.logprobs is not None:
        plain["logprobs"] = list(run.logprobs)
    return plain


def _finding(each: Finding) -> dict[str, Any]:
    return {"id": each.id, "subject": each.subject, "outcome": each.outcome, "code": each.code, "message": each.message,
            "observed": each.observed, "expected": each.expected, "remedy": each.remedy.text if each.remedy else None}


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def measured_of(data: Mapping[str, Any], where: str) -> Measured:
    """Return what was measured, from a document that document() made. UsageError where it does not fit together."""
    try:
        held = data["measured"]
        runs = tuple(_run_of(each) for each in held["runs"])
        return Measured(runs, str(data["profile"]), int(held["counted"]), _maybe(held["generated"]),
                        str(held["no_counter"]), {str(name): float(value) for name, value in held["other"].items()},
                        int(held["template"]), held["limit"], str(data["engine"]["name"]),
                        str(data["engine"]["version"]), str(data["model"]),
                        {int(streams): float(seconds) for streams, seconds in held["groups"].items()},
                        {str(name): str(note) for name, note in held["notes"].items()}, str(held["stopped"]),
                        # Earlier documents have neither.
                        tuple(map(str, held.get("listed") or ())), _pair(held.get("filler")),
                        tuple(dict(each) for each in held.get("load") or ()))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: not a usable acceptance document ({type(error).__name__}: {error}); expected what "
                         "tunecheck accept --json wrote", Flaw.WRONG_TYPE) from None


def _maybe(value: Any) -> float | None:
    return None if value is None else float(value)


def _pair(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    first, second = value
    return int(first), int(second)


def _run_of(data: Mapping[str, Any]) -> Run:
    names = {each.name for each in dataclasses.fields(Run)}
    given = {name: value for name, value in data.items() if name in names}
    usage = given["usage"]
    given["usage"] = Usage(int(usage["prompt"]), int(usage["completion"]), usage["cached"], bool(usage["fell"])) if \
        usage else None
    given["gaps_ms"] = tuple(float(each) for each in given["gaps_ms"])
    # Earlier documents have no histogram.
    given["gap_p99_ms"] = _maybe(given.get("gap_p99_ms"))
    given["gap_bins"] = {int(number): int(count) for number, count in given.get("gap_bins", {}).items()}
    given["names"] = tuple(map(str, given.get("names", ())))
    given["logprobs"] = None if given["logprobs"] is None else tuple(map(_maybe, given["logprobs"]))
    for name in ("first_s", "last_s"):
        given[name] = _maybe(given[name])
    if not isinstance(given["text"], str) or type(given["asked"]) is not int:
        raise TypeError("a run's text or limit has the wrong type")
    # Cut for the file; its length still has to agree with the tokens.
    lost = int(data["characters"]) - len(given["text"])
    given["unseen"] = max(0, lost)
    return Run(**given)
