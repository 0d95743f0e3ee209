"""The JSON documents: tunecheck/topo/1 for `topo`, tunecheck/report/1 for the others.

Their JSON Schemas are in app/schemas.py; a test holds the two together.
"""

from __future__ import annotations

import datetime
from typing import Any

from .. import __version__
from ..facts.measured_pass import MeasuredPass
from ..facts.pci.devices import Device, Link
from ..facts.pci.topology import Pair, Topology
from ..facts.peer_paths import PairPath
from ..model.finding import HUNG, Finding, Remedy, exit_code, worst
from ..rules.context import Case
from ..rules.pcie.peer_ways import ways
from ..util.at_first_use import dataclass
from .measured_document import measured_document
from .plain import commands

__all__ = ["Run", "document"]


@dataclass(frozen=True)
class Run:
    """What one run found: the document of `--json`, the findings behind it, when they were judged (UTC), and
    ``source``, where they come from ("" for the machine itself). ``pasted``: they are from loose texts."""

    document: dict[str, Any]
    findings: list[Finding]
    when: datetime.datetime
    source: str = ""
    pasted: bool = False


def document(verb: str, case: Case, findings: list[Finding]) -> dict[str, Any]:
    """Return everything that a verb found, as plain data for JSON."""
    outcome = worst(findings)
    snapshot, frozen = case.snapshot, case.frozen
    result: dict[str, Any] = {
        "schema": "tunecheck/topo/1" if verb == "topo" else "tunecheck/report/1",
        "tunecheck": __version__,
        "verb": verb,
        "host": snapshot.hostname.value,
        "boot_id": snapshot.boot_id.value,
        "spec": {"host": frozen.host, "profile": frozen.profile, "digest": frozen.digest} if frozen else None,
        "outcome": outcome,
        # A trial that hung: a server would have hung there, whatever became of the GPUs.
        "exit_code": HUNG if case.measured and (case.measured.hangs or case.measured.notes.get("wedged"))
        else exit_code(outcome),
    }
    if verb != "topo":
        result["trial"] = case.trial
    if verb not in ("host", "driver", "runtime"):
        topology = snapshot.topology
        result["accelerators"] = [_accelerator(index, name, device) for index, (name, device)
                                  in enumerate(zip(topology.names, topology.devices, strict=True))]
        result["pairs"] = [_pair(topology, path.pair) | {"path": _path(path)} for path in ways(case)]
        result["bridges"] = [_bridge(topology, device) for device in topology.bridges.values()]
    if snapshot.host is not None and snapshot.host.measured_pass.value is not None:
        result["measured_pass"] = _measured_pass(snapshot.host.measured_pass.value, snapshot.boot_id.value)
    if case.measured is not None:
        result["measured"] = measured_document(case.measured)
    if snapshot.past.value is not None:
        from .history import history_document

        result["history"] = history_document(snapshot.past)
    result["findings"] = [_finding(finding) for finding in findings]
    return result


def _accelerator(index: int, name: str, device: Device) -> dict[str, Any]:
    return {"bdf": device.bdf, "index": index, "name": name, "ids": device.ids, "class": device.class_code,
            "driver": device.driver.value, "numa_node": device.numa_node.value, "path": list(device.path),
            "answers": device.answers.value, "link": _link(device.link)}


def _pair(topology: Topology, pair: Pair) -> dict[str, Any]:
    return {"a": topology.devices[pair.a].bdf, "b": topology.devices[pair.b].bdf, "relation": pair.relation.value,
            "reason": pair.relation.reason, "common": pair.common, "bridges": list(pair.bridges)}


def _path(path: PairPath) -> dict[str, Any]:
    """Return the path of a pair as plain data. Links are at their speed under load and present width; rates are GB/s of
    payload."""
    slowest = path.slowest
    return {"hops": [_hop(path, hop) for hop in path.hops],
            "slowest": {"link": slowest.name, "gen": slowest.load_gen, "width": slowest.width} if slowest else None,
            "redirectors": list(path.redirectors), "mps": path.mps, "one_way_gb_s": path.one_way,
            "two_way_gb_s": path.two_way, "latency_class": path.latency_class,
            "reason": "; ".join(filter(None, (path.only, path.unseen, path.reason))) or None}


def _hop(path: PairPath, hop: Device) -> dict[str, Any]:
    link, express = path.link_of(hop.bdf), hop.express.value
    state = express.link if express else None
    return {"bdf": hop.bdf, "link": {"gen": link.load_gen, "width": link.width} if link else None,
            "aspm": (state.aspm or "off") if state else None, "mps": express.payload if express else None,
            "mrrs": express.read_request if express else None}


def _bridge(topology: Topology, device: Device) -> dict[str, Any]:
    return {"bdf": device.bdf, "ids": device.ids, "driver": device.driver.value, "path": list(device.path),
            "link": _link(device.link), "acs": _acs(device),
            "pairs": [pair.label for pair in topology.crossing(device.bdf)]}


def _link(link: Link) -> dict[str, Any]:
    return {"width": link.width.value, "max_width": link.max_width.value, "speed": link.speed.value,
            "max_speed": link.max_speed.value}


def _acs(device: Device) -> dict[str, Any]:
    """Return the ACS state of a device as plain data. ``state``: "present", "absent" or "unknown" (then with a reason
    and no register)."""
    found = device.acs.value
    if found is None:
        return {"state": "absent" if device.acs.known else "unknown", "reason": device.acs.reason, "cap": None,
                "ctl": None, "bits": None, "redirects": False if device.acs.known else None}
    return {"state": "present", "reason": None, "cap": f"0x{found.cap:04x}", "ctl": f"0x{found.ctl:04x}",
            "bits": found.names(), "redirects": found.redirects}


def _measured_pass(last: MeasuredPass, boot_id: str | None) -> dict[str, Any]:
    """Return what was measured on the box before this run. The gate decides whether it still holds."""
    return {"exit_code": last.exit_code, "kind": last.kind, "place": last.place, "taken": last.taken,
            "this_boot": last.boot_id == boot_id, "seconds": last.seconds, "figures": dict(last.figures)}


def _remedy(remedy: Remedy) -> dict[str, Any]:
    """Return a remedy as plain data. ``text`` is the whole sentence, ``by_hand`` what a person does without a play,
    ``play`` the line that does it."""
    return {"text": remedy.text, "by_hand": remedy.by_hand, "play": remedy.play.shown if remedy.play else None,
            "commands": commands(remedy.commands), "ansible_tags": list(remedy.ansible_tags),
            "needs_reboot": remedy.needs_reboot, "needs_machine": remedy.physical, "where": remedy.place.value}


def _finding(finding: Finding) -> dict[str, Any]:
    remedy = finding.remedy
    return {
        "id": finding.id, "subject": finding.subject, "outcome": finding.outcome,
        "code": finding.code, "absence": finding.absence.value if finding.absence else None,
        "layer": finding.layer, "message": finding.message, "observed": finding.observed, "expected": finding.expected,
        "evidence": list(finding.evidence),
        "remedy": _remedy(remedy) if remedy else None,
    }
