"""The acceptance of a served model for the browser: verdict, figures with their plots, canaries, and what was served.

Texts, names and finish reasons are the server's: data, which the template escapes and this cuts short."""

from __future__ import annotations

import datetime
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...model.finding import Finding
from ...report.html.plot import Plot, Series, plot
from ...report.html.shell import render
from ...util.at_first_use import dataclass
from ..measured import Measured, Run
from ..verdict import answered
from .bars import Chart, histogram, runs
from .load_plots import load_page

__all__ = ["acceptance"]

_VERDICTS = {"fail": "Refused", "unknown": "Could not be judged", "warn": "Accepted with warnings",
             "pass": "Accepted", "skip": "Nothing was judged"}
#: More of either is for --json.
_BARS, _ROWS, _SAID = 24, 500, 240
_WHEN = ("before the runs", "after them")


@dataclass(frozen=True)
class _Canary:
    expect: str
    when: str
    prompt: str
    answer: str
    good: bool


def acceptance(data: Mapping[str, Any], seen: Measured, findings: Sequence[Finding], when: datetime.datetime) -> str:
    """Return the whole page as text. ``data``: the document of --json; ``when``: when it was judged, in UTC."""
    figures, timed = data["figures"], seen.of("timed")
    canaries = [_canary(run) for run in seen.of("canary")]
    return render(
        "accept.html.j2", ("page.css", "measured.css", "accept.css"), findings,
        data=data, verdict=_VERDICTS[data["outcome"]], when=when, notes=seen.notes, stopped=seen.stopped,
        figures=figures, rows=[_row(number, run) for number, run in enumerate(timed[:_ROWS], 1)],
        requests=[_request(run) for run in seen.runs[:_ROWS]], more=max(0, len(seen.runs) - _ROWS),
        runs=_runs(data), ladder=_ladder(data), gaps=_gaps(timed, figures["gaps_ms"]), streams=_streams(figures),
        each=_each(timed), load=load_page(seen.load), canaries=canaries, wrong=sum(not each.good for each in canaries),
        place=data["source"] or data["base"], facts=_facts(data["provenance"]),
        page={"nodes": {}, "predicted": False, "boards": [], "pairs": [], "heat": {}, "texts": [None]})


def _runs(data: Mapping[str, Any]) -> Chart | None:
    figures, expected = data["figures"], data["expected"]
    values = [each for each in figures["runs"] if _sane(each)][:_BARS]
    if not values:
        return None
    band = None
    if expected and expected["metric"] == "decode_tok_s_c1" and _sane(expected["value"]):
        share = expected["tol_pct"] / 100
        golden = data["recipe"]["status"] == "golden" and expected["counted_by"] == "usage_wallclock"
        band = (expected["value"], max(0.0, expected["value"] * (1 - share)), expected["value"] * (1 + share),
                "golden" if golden else "published")
    return runs(values, statistics.median(values), band)


def _ladder(data: Mapping[str, Any]) -> Plot | None:
    points = tuple(sorted({each["prompt"]: each["ttft_s"] for each in data["figures"]["ladder"]
                           if each["prompt"] > 0 and _sane(each["ttft_s"])}.items()))
    series = [Series("own", "measured", tuple((size, value, value) for size, value in points))]
    ceilings = sorted((int(size), value) for size, value in ((data["expected"] or {}).get("ttft_s") or {}).items()
                      if int(size) > 0 and _sane(value))
    if len(points) > 1:
        series.append(Series("nccl", "at most", tuple((size, value, value) for size, value in ceilings)))
    return plot("plot-ttft", "Time to the first token by size of the prompt", "s", series, logarithmic=True,
                axis="prompt tokens", words=_tokens, form=".3f")


def _gaps(timed: Sequence[Run], figures: Mapping[str, float] | None) -> Chart | None:
    if figures is None:
        return None
    bins: Counter[int] = Counter()
    for run in timed:
        if not (run.burst or run.broken):
            bins.update(run.gap_bins)
    return histogram(bins, [(figures["p50"], f"p50 {figures['p50']:.3g} ms"),
                            (figures["p99"], f"p99 {figures['p99']:.3g} ms")])


def _streams(figures: Mapping[str, Any]) -> Plot | None:
    points = tuple((each["streams"], each["tok_s"], each["tok_s"]) for each in figures["streams"]
                   if each["streams"] > 0 and _sane(each["tok_s"]))
    return plot("plot-streams", "Tokens per second of all streams together", "tok/s", [Series("own", "all", points)],
                logarithmic=False, axis="streams at once", words=str)


def _each(timed: Sequence[Run]) -> str:
    """Return the tokens of one arrival as text, on average over all runs; "" where nothing arrived."""
    reads = sum(run.reads for run in timed if run.usage)
    return f"{sum(run.tokens for run in timed) / reads:.1f}" if reads else ""


def _row(number: int, run: Run) -> tuple[str, ...]:
    """Return the cells of a timed run: run, prompt tokens, tokens, wall seconds, tok/s, tok/s after the first token,
    seconds to it, gaps p50, p99 and longest in ms, characters a token, how it ended."""
    half = run.gaps_ms[len(run.gaps_ms) // 2] if run.gaps_ms else None
    return (str(number), str(run.usage.prompt) if run.usage else "-", str(run.tokens) if run.usage else "-",
            _fmt(run.last_s, ".3f"), _fmt(run.rate, ".1f"), _fmt(run.decode_rate, ".1f"), _fmt(run.first_s, ".3f"),
            _fmt(half, ".2f"), _fmt(run.gap_p99_ms, ".2f"), _fmt(run.gaps_ms[-1] if run.gaps_ms else None, ".2f"),
            _fmt(run.characters / run.tokens if run.tokens else None, ".2f"), _short(run.error or str(run.finish)))


def _request(run: Run) -> tuple[str, ...]:
    """Return the cells of a request: kind, prompt tokens, of them cached, tokens, asked, seconds to the first and to
    the last text, how it ended."""
    usage = run.usage
    return (run.kind, str(usage.prompt) if usage else "-",
            str(usage.cached) if usage and usage.cached is not None else "-", str(run.tokens) if usage else "-",
            str(run.asked), _fmt(run.first_s, ".3f"), _fmt(run.last_s, ".3f"), _short(run.error or str(run.finish)))


def _canary(run: Run) -> _Canary:
    return _Canary(_short(run.expect), _WHEN[bool(run.group)], str(run.usage.prompt) if run.usage else "-",
                   _short(run.text) or "nothing", not run.broken and answered(run))


def _facts(provenance: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return name and words of what could change a figure; what is not known says why."""
    if provenance is None:
        return []
    known = {"Host": provenance["host"], "Kernel": provenance["kernel"], "Command line": provenance["cmdline"],
             "Driver": provenance["driver"] or f"not known: {provenance['driver_why_not'] or 'no driver'}",
             "Spec digest": provenance["spec_digest"], "Image id": provenance["image_id"],
             "Image digest": provenance["image_digest"], "Model": provenance["model"],
             "Revision": provenance["revision"], "Engine's words": " ".join(provenance["args"] or ()) or None,
             "Environment": " ".join(f"{name}={value}" for name, value in (provenance["env"] or {}).items()) or None}
    found = [(name, str(value)) for name, value in known.items() if value]
    found += [(f"GPU {gpu['bdf']}", _gpu(gpu)) for gpu in provenance["gpus"]]
    if provenance["gpus_why_not"]:
        found.append(("GPUs", f"not known: {provenance['gpus_why_not']}"))
    found += [(f"ACS {port}", f"ACSCtl {value or 'not known'}") for port, value in provenance["acs"].items()]
    return found


def _gpu(gpu: Mapping[str, Any]) -> str:
    power = gpu.get("power_limit_mw")
    parts = [gpu.get("name"), f"VBIOS {gpu['vbios']}" if gpu.get("vbios") else None,
            f"{power / 1000:g} W" if isinstance(power, int) else None, gpu.get("uuid")]
    return ", ".join(str(each) for each in parts if each) or "nothing is known of it"


def _sane(value: float | None) -> bool:
    """Whether a plot can show the value: a logarithm needs more than 0, and a picture an end. A stored document may
    hold anything."""
    return value is not None and math.isfinite(value) and 1e-6 < value < 1e9


def _fmt(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SAID else line[:_SAID - 1] + "\u2026"


def _tokens(size: int) -> str:
    return f"{size / 1024:.3g}K" if size >= 1024 else str(size)
