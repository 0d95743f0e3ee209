"""Findings, links and figures as a textfile for node_exporter's collector. docs/metrics.md says what each metric means.

What is not known has no sample: an absent series is an honest one. A file outlives the boot it tells of, so every run
carries its time, to be compared with node_boot_time_seconds, and a hash of the boot id, which itself stays private.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..model.finding import OUTCOMES
from ..model.measurement import Measured
from ..rules.measured.reduce_figures import tail
from ..util.at_first_use import regex
from .grouping import worst_first
from .measured_document import measured_of

if TYPE_CHECKING:
    from .document import Run

__all__ = ["METRICS", "exposition", "prometheus"]

_Sample = tuple[dict[str, str], float]

#: Name -> help; all of them gauges.
METRICS = {
    "tunecheck_run_info": "The last run: what judged which boot against what; always 1.",
    "tunecheck_run_timestamp_seconds": "When the last run judged, in seconds since 1970.",
    "tunecheck_run_outcome": "The verdict of the last run: 1 for the one that holds, 0 for the others.",
    "tunecheck_findings": "Findings of the last run by outcome.",
    "tunecheck_finding": "One finding of the last run; the value is how often it was made.",
    "tunecheck_findings_omitted": "Findings without a series of their own, because there were too many.",
    "tunecheck_accelerator_info": "An accelerator that was found; always 1.",
    "tunecheck_accelerator_answers": "Whether the accelerator answers on the bus.",
    "tunecheck_pairs": "Pairs of accelerators by how they reach each other.",
    "tunecheck_link_width_lanes": "Lanes that the PCIe link above a device runs with now; 0: no link.",
    "tunecheck_link_width_max_lanes": "Lanes that the device is capable of.",
    "tunecheck_link_speed_transfers_per_second": "Speed of the PCIe link above a device now; idle links slow down.",
    "tunecheck_link_speed_max_transfers_per_second": "Speed that the device is capable of.",
    "tunecheck_acs_redirects": "Whether a bridge above an accelerator redirects peer traffic to the root complex.",
    "tunecheck_p2p_bandwidth_bytes_per_second": "Measured copies between two accelerators by the copy engine.",
    "tunecheck_p2p_latency_seconds": "Measured time of a dependent load from another accelerator's memory.",
    "tunecheck_allreduce_seconds": "Measured time of an all-reduce.",
    "tunecheck_allreduce_soak_steps": "Bursts of all-reduces that the soak made.",
    "tunecheck_measured_pass": "Whether what was measured last on this box passed; no sample where nothing was.",
    "tunecheck_measured_figure": "Weakest figure of its sort that was measured last, in the unit that its name says.",
    "tunecheck_trial_hung": "Whether a trial hung; no sample where none ran.",
}

#: More series than this help nobody; the worst findings come first.
_MOST_FINDINGS, _MOST_DEVICES, _MOST_FIGURES = 1000, 2000, 1000
#: Messages of a decode step: of a small and of a large batch.
_REDUCED = (8192, 65536)
_LONGEST_LABEL = 120
_SPEED = regex(r"(\d{1,3}(?:\.\d)?) GT/s")


def prometheus(run: Run) -> str:
    """Return the metrics in the text exposition format: HELP and TYPE once per metric, samples together."""
    return exposition({**_of_run(run), **_of_findings(run), **_of_tree(run.document), **_of_trials(run.document),
                       **_of_measured_pass(run.document)}, METRICS)


def exposition(metrics: Mapping[str, Iterable[_Sample]], helps: Mapping[str, str]) -> str:
    """Return gauges as text, each with the help of ``helps``. Of samples with equal labels only the first is kept, as
    the format does not allow two; a metric without samples is left out."""
    lines = []
    for name, samples in metrics.items():
        series: dict[str, float] = {}
        for labels, value in samples:
            series.setdefault(f"{name}{_labels(labels)}", value)
        if series:
            lines += [f"# HELP {name} {helps[name]}", f"# TYPE {name} gauge",
                      *(f"{labelled} {value:.15g}" for labelled, value in series.items())]
    return "\n".join(lines) + "\n"


def _of_run(run: Run) -> dict[str, list[_Sample]]:
    data = run.document
    spec = data["spec"] or {}
    boot = hashlib.sha256(data["boot_id"].encode("utf-8", "replace")).hexdigest()[:12] if data["boot_id"] else ""
    labels = {"host": data["host"] or "", "verb": data["verb"], "version": data["tunecheck"],
              "profile": spec.get("profile", ""), "spec_digest": spec.get("digest", ""), "boot": boot,
              "source": "replay" if run.source else "live"}
    return {"tunecheck_run_info": [(labels, 1)],
            "tunecheck_run_timestamp_seconds": [({}, round(run.when.timestamp(), 3))],
            "tunecheck_run_outcome": [({"outcome": outcome}, outcome == data["outcome"]) for outcome in OUTCOMES]}


def _of_findings(run: Run) -> dict[str, list[_Sample]]:
    outcomes = Counter(finding.outcome for finding in run.findings)
    same = Counter((finding.id, _label(finding.subject), finding.outcome) for finding in worst_first(run.findings))
    shown = list(same.items())[:_MOST_FINDINGS]
    return {"tunecheck_findings": [({"outcome": outcome}, outcomes[outcome]) for outcome in OUTCOMES],
            "tunecheck_finding": [({"check": check, "subject": subject, "outcome": outcome}, count)
                                  for (check, subject, outcome), count in shown],
            "tunecheck_findings_omitted": [({}, len(run.findings) - sum(count for _, count in shown))]}


def _of_tree(data: dict[str, Any]) -> dict[str, list[_Sample]]:
    if "accelerators" not in data:
        return {}
    boards, bridges = data["accelerators"][:_MOST_DEVICES], data["bridges"][:_MOST_DEVICES]
    devices = [*boards, *bridges]
    pairs = Counter(pair["relation"] or "unknown" for pair in data["pairs"])
    return {
        "tunecheck_accelerator_info": [({"device": board["bdf"], "gpu": str(board["index"]), "ids": board["ids"],
                                         "name": board["name"], "driver": board["driver"] or ""}, 1)
                                       for board in boards],
        "tunecheck_accelerator_answers": list(_known(boards, lambda board: board["answers"])),
        "tunecheck_pairs": [({"relation": relation}, count) for relation, count in sorted(pairs.items())],
        "tunecheck_link_width_lanes": list(_known(devices, lambda device: device["link"]["width"])),
        "tunecheck_link_width_max_lanes": list(_known(devices, lambda device: device["link"]["max_width"])),
        "tunecheck_link_speed_transfers_per_second": list(_known(devices, lambda device: _speed(device, "speed"))),
        "tunecheck_link_speed_max_transfers_per_second": list(
            _known(devices, lambda device: _speed(device, "max_speed"))),
        "tunecheck_acs_redirects": list(_known(bridges, lambda bridge: bridge["acs"]["redirects"])),
    }


def _of_measured_pass(data: dict[str, Any]) -> dict[str, list[_Sample]]:
    last = data.get("measured_pass")
    if last is None:
        return {}
    labels = {"kind": last["kind"], "place": last["place"], "this_boot": "yes" if last["this_boot"] else "no"}
    return {"tunecheck_measured_pass": [(labels, last["exit_code"] == 0)],
            "tunecheck_measured_figure": [({"figure": name}, value) for name, value in sorted(last["figures"].items())]}


def _of_trials(data: dict[str, Any]) -> dict[str, list[_Sample]]:
    if "measured" not in data:
        return {}
    found = measured_of(data["measured"])
    boards = {board["index"]: board["bdf"] for board in data.get("accelerators", ())}
    one_way = _between(found, boards, "one way", "engine write", 1e9, {"way": "one"})
    both_ways = _between(found, boards, "both ways", "engine write", 1e9, {"way": "both"})
    latency = _between(found, boards, "latency", "pointer chase", 1e-9, {})
    return {
        "tunecheck_p2p_bandwidth_bytes_per_second": one_way[:_MOST_FIGURES] + both_ways[:_MOST_FIGURES],
        "tunecheck_p2p_latency_seconds": latency[::-1][:_MOST_FIGURES],
        "tunecheck_allreduce_seconds": [
            ({"ranks": str(each.ranks), "size": str(each.size), "by": each.what, "percentile": name}, value / 1e6)
            for each in found.find("allreduce") if each.size in _REDUCED and each.unit == "us"
            for name, value in zip(("50", "99"), tail(each), strict=True)],
        "tunecheck_allreduce_soak_steps": [({"ranks": str(each.ranks)}, each.value)
                                           for each in found.find("soak", "steps")],
        # Fewer than two accelerators, or no figure and nothing that hung: no trial ran.
        "tunecheck_trial_hung": [({}, bool(found.hangs))] if found.figures or found.hangs else [],
    }


def _between(found: Measured, boards: dict[int, str], trial: str, what: str, factor: float,
             more: dict[str, str]) -> list[_Sample]:
    """Return the figures between two accelerators as samples, the least first."""
    return [({"source": boards[each.a], "destination": boards[each.b], **more}, float(f"{each.value * factor:.6g}"))
            for each in sorted(found.find(trial, what), key=lambda each: each.value)
            if each.a in boards and each.b in boards and each.a is not None and each.b is not None]


def _known(devices: Iterable[dict[str, Any]], value: Any) -> Iterator[_Sample]:
    for device in devices:
        if (number := value(device)) is not None:
            yield {"device": device["bdf"]}, number


def _speed(device: dict[str, Any], name: str) -> float | None:
    found = _SPEED.match(device["link"][name] or "")
    return float(found.group(1)) * 1e9 if found else None


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _label(value: str) -> str:
    """Return the value as a label shows it: what cannot be printed is one sign, and no label is long. So two values can
    have one label."""
    clean = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in value)
    return clean if len(clean) <= _LONGEST_LABEL else clean[:_LONGEST_LABEL - 3] + "..."


def _escaped(value: str) -> str:
    return _label(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
