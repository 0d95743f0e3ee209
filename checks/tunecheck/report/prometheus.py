"""Findings and links as a textfile for node_exporter's collector. docs/metrics.md says what each metric means.

What is not known has no sample: an absent series is an honest one. A file outlives the boot it tells of, so every run
carries its time, to be compared with node_boot_time_seconds, and a hash of the boot id, which itself stays private.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..rules.finding import OUTCOMES
from .fold import worst_first

if TYPE_CHECKING:
    from .outputs import Run

__all__ = ["METRICS", "prometheus"]

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
}

#: More series than this help nobody; the worst findings come first.
_MOST_FINDINGS, _MOST_DEVICES = 1000, 2000
_LONGEST_LABEL = 120
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s")


def prometheus(run: Run) -> str:
    """The text exposition format: HELP and TYPE once per metric, samples together."""
    lines = []
    for name, samples in {**_of_run(run), **_of_findings(run), **_of_tree(run.document)}.items():
        text = list(dict.fromkeys(f"{name}{_labels(labels)} {value:.15g}" for labels, value in samples))
        if text:
            lines += [f"# HELP {name} {METRICS[name]}", f"# TYPE {name} gauge", *text]
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
    same = Counter((finding.id, _short(finding.subject), finding.outcome) for finding in worst_first(run.findings))
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
    return "{" + ",".join(f'{name}="{_escaped(_short(value))}"' for name, value in labels.items()) + "}"


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_LABEL else value[:_LONGEST_LABEL - 3] + "..."


def _escaped(value: str) -> str:
    clean = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in value)
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
