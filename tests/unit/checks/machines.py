"""The machine that a case file describes."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.unit.facts import trees
from tests.unit.facts.trees import PCI, Machine

from tunecheck.facts.runtime import service_env
from tunecheck.host import Completed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.imported.posts import Post
from tunecheck.host.nvml_absence import nvml_reason
from tunecheck.host.prefetch import DPKG, PS
from tunecheck.model.absence import Reason
from tunecheck.parsers.containers.environment import IN_UNIT
from tunecheck.spec.frozen import Accelerators, Frozen, Spec

UNITS = (*service_env._FILES, IN_UNIT, *service_env._PLACES)
HEALTHY_LOG = "[    0.000000] Linux version 6.12.1\n"
MACHINES = {"switch": trees.switch, "cascaded": trees.cascaded, "direct": trees.direct, "flat": trees.flat,
            "numa": lambda: trees.two_bridges((0, 1)), "clear": lambda: trees.switch(0),
            "pairs": lambda: trees.switches(2, 2, 2, 2, numa=(0, 0, 1, 1)), "quads": lambda: trees.switches(4, 4),
            "strays": lambda: trees.switches(4, 3, 1),
            "one": lambda: trees.below_one_switch(1), "four": lambda: trees.below_one_switch(4),
            "eight": lambda: trees.below_one_switch(8)}
#: NVML's code of the nearest common ancestor; 10 is one switch.
ANCESTORS = {"cascaded": 20, "direct": 30, "numa": 50, "flat": 30}


def healthy_gpu() -> dict[str, Any]:
    """An idle RTX PRO 6000 Workstation as NVML tells it (values as published by owners; keys: nvml_keys.py)."""
    return {
        "name": "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "uuid": "GPU-11111111-2222-3333-4444-555555555555",
        "vbios": "98.02.52.00.02", "ids": "10de:2bb1", "memory_total_mib": 97887, "memory_used_mib": 0,
        "bar1_total_mib": 131072, "bar1_used_mib": 1, "ecc_mode": "enabled", "ecc_pending": "enabled",
        "ecc_volatile_corrected": 0, "ecc_volatile_uncorrected": 0, "ecc_aggregate_corrected": 0,
        "ecc_aggregate_uncorrected": 0, "remapped_correctable": 0, "remapped_uncorrectable": 0, "remap_pending": False,
        "remap_failed": False, "sram_threshold_exceeded": False, "channel_repair_pending": False,
        "tpc_repair_pending": False, "unrepairable_memory": False, "power_limit_enforced_mw": 600000,
        "temperature_c": 35, "temperature_slowdown_c": 95, "temperature_shutdown_c": 100,
        "power_draw_mw": 15000, "power_limit_mw": 600000, "power_limit_default_mw": 600000,
        "power_limit_min_mw": 150000, "power_limit_max_mw": 600000, "clock_sm_mhz": 180, "clock_sm_max_mhz": 3090,
        "clock_memory_mhz": 405, "clock_memory_max_mhz": 14001, "clocks_event_reasons": 1, "pstate": 8,
        "utilization_gpu": 0, "utilization_memory": 0, "persistence": True, "mig_mode": "disabled",
        "mig_pending": "disabled", "compute_mode": "default", "addressing_mode": "none", "link_gen": 1,
        "link_gen_max": 5, "link_gen_board": 5, "link_width": 16, "link_width_max": 16, "replay_counter": 0,
        "recovery_action": 0, "nvlinks_active": 0, "processes": [],
    }


def build(data: dict[str, Any]) -> RecordedHost:
    """A healthy machine with the differences of a case file."""
    log = data.get("log", HEALTHY_LOG)
    machine = trees.full(MACHINES[data.get("machine", "switch")](), data.get("running", ""),
                         log=log if isinstance(log, str) else None)
    if "driver" in data:
        trees.driver(machine)
        for name, command in (("packages", DPKG), ("tasks", PS), ("units", UNITS)):
            if name in data["driver"]:
                machine.runs[command] = _result(command, data["driver"][name])
    if not data.get("nvidia", True):
        for bdf in machine.lists[PCI]:
            if machine.reads[f"{PCI}/{bdf}/class"].startswith(b"0x0302"):
                machine.file(f"{PCI}/{bdf}/vendor", "0x1234\n").file(f"{PCI}/{bdf}/device", "0x1111\n")
    for kind, part, answers in (("read", "files", machine.reads), ("list", "lists", machine.lists),
                                ("realpath", "realpaths", machine.realpaths)):
        for path, value in data.get(part, {}).items():
            if value is None or isinstance(value, dict):
                answers.pop(path, None)  # type: ignore[attr-defined]
                machine.gone(kind, path, reason=(value or {}).get("reason", "not present"))
            else:
                answers[path] = value.encode() if kind == "read" else value  # type: ignore[index]
    for bdf, registers in data.get("config", {}).items():
        machine.file(f"{PCI}/{bdf}/config", trees.config(**registers))
    for command, result in data.get("runs", {}).items():
        argv = tuple(command.split(" "))
        machine.runs[argv] = _result(argv, result)
    host = machine.host()
    document = _nvml(machine, data)
    box = RecordedHost(host._reads, host._lists, host._realpaths,
                       {**host._errors, **({"nvml": nvml_reason(document)} if isinstance(document, str) else {})},
                       host._runs, None if isinstance(document, str) else document)
    if "doubts" in data:
        box.doubts = data["doubts"]  # type: ignore[attr-defined]
    if "posts" in data:
        box.posts = {kind: [Post("post.txt", text)] for kind, text in data["posts"].items()}  # type: ignore[attr-defined]
    return box


def _result(argv: tuple[str, ...], result: Any) -> Completed | Reason:
    if isinstance(result, str):
        result = {"stdout": result}
    return reason_of_text(str(result["reason"])) if "reason" in result else Completed(
        argv, result.get("returncode", 0), result.get("stdout", ""), result.get("stderr", ""))


def _nvml(machine: Machine, data: dict[str, Any]) -> dict[str, Any] | str:
    changes = data.get("nvml", {})
    if "reason" in changes:
        return str(changes["reason"])
    bdfs = [bdf for bdf in sorted(machine.lists.get(PCI, []))
            if machine.reads.get(f"{PCI}/{bdf}/class", b"")[:6] == b"0x0302"]
    gpus = []
    for index, bdf in enumerate(bdfs):
        if index in changes and changes[index] is None:
            continue
        values = {**healthy_gpu(), "uuid": f"GPU-{index}1111111-2222-3333-4444-555555555555"}
        errors = {}
        for key, value in changes.get(index, {}).items():
            if isinstance(value, dict) and set(value) == {"error"}:
                values.pop(key, None)
                errors[key] = value["error"]
            else:
                values[key] = value
        if "power_limit_mw" in values and "power_limit_enforced_mw" not in changes.get(index, {}):
            values["power_limit_enforced_mw"] = values["power_limit_mw"]    # nothing else caps it
        gpus.append({"bdf": bdf, "index": index, "values": values, "errors": errors})
    ancestor = ANCESTORS.get(data.get("machine", "switch"), 10)
    pairs = [{"a": a, "b": b, "errors": {}, "values": {
        "ancestor": ancestor, "p2p_read": 0, "p2p_write": 0, "p2p_nvlink": 5, "p2p_atomics": 0, "p2p_pci": 0,
        **data.get("pairs", {}).get(f"{bdfs.index(a)}-{bdfs.index(b)}", {})}} for a in bdfs for b in bdfs if a != b]
    return {"driver": changes.get("driver", "595.71.05"), "library": changes.get("library", "13.595.71.05"),
            "errors": changes.get("errors", {}), "gpus": gpus, "pairs": pairs}


def spec_of(data: dict[str, Any]) -> Frozen | None:
    """The spec of a case: its parts over two GPUs, PIX, ACS redirect off."""
    given = data.get("spec", {})
    if given.get("none"):
        return None
    ids = ("10de:2bb1",) if data.get("nvidia", True) else ("1234:1111",)
    apart = dict.fromkeys(("direct", "numa", "flat", "pairs", "quads", "strays"))
    relation = {"cascaded": "PXB", **apart}.get(data.get("machine", "switch"), "PIX")
    base = trees.frozen(accelerators=Accelerators(pci_ids=ids, count=2, relation=relation)).spec
    changes: dict[str, Any] = {}
    for part, value in given.items():
        current = getattr(base, part)
        if dataclasses.is_dataclass(current) and isinstance(value, dict):
            changes[part] = dataclasses.replace(current, **{  # type: ignore[type-var]
                key: tuple(item) if isinstance(item, list) else
                dataclasses.replace(getattr(current, key), **item) if isinstance(item, dict) else item
                for key, item in value.items()})
        else:
            changes[part] = value
    spec: Spec = dataclasses.replace(base, **changes)
    return Frozen(host="box1", profile="lab", spec=spec, sources={})
