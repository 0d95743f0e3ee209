"""The NVML document (schema: host/base.py, keys: nvml_keys.py) from the texts of ``nvidia-smi -q`` and ``-q -x``.

What the report refuses ("N/A", "[Unknown Error]", "GPU is lost") becomes NVML's name for that error, what makes no
sense (a negative wattage, "ERR!") an error as well: a value that is there is one that was read."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .fabric_health import of_report
from .nvml_keys import KEYS
from .smi_merge import document
from .smi_tree import SmiTree, tree
from .smi_values import Read, RefusedError, ids, number, read, refusal, text, word

__all__ = ["cut_in", "parse_query", "told"]

_ACTIONS = {"none": 0, "reset": 1, "gpu reset": 1, "reboot": 2, "node reboot": 2, "drain p2p": 3, "drain and reset": 4,
            "recover imex domain": 5, "bus reset": 6, "system reboot": 7}
#: nvml.h, nvmlClocksEventReasons
_REASONS = {"gpu_idle": 1, "idle": 1, "applications_clocks_setting": 2, "sw_power_cap": 4, "hw_slowdown": 8,
            "sync_boost": 16, "sw_thermal_slowdown": 32, "hw_thermal_slowdown": 64, "hw_power_brake_slowdown": 128,
            "display_clock_setting": 256, "display_clocks_setting": 256}
_JUDGED = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


_MIB, _WATT, _CELSIUS, _MHZ, _PERCENT = (
    number(" MiB"), number(" W", 1000), number(" C"), number(" MHz"), number(" %"))
_MICROSECONDS = number(" us")
_COUNT, _YES, _ON = number(""), word({"yes": True, "no": False}), word({"enabled": True, "disabled": False})
_MODE = word({"enabled": "enabled", "disabled": "disabled"})
_ONE_OF = {name.replace("_", mark): name for name in ("default", "exclusive_process", "prohibited") for mark in "_ "}
_GEN, _XML_GEN = "pci/gpu_link_info/pcie_generation/", "pci/pci_gpu_link_info/pcie_gen/"
_WIDTH, _XML_WIDTH = "pci/gpu_link_info/link_width/", "pci/pci_gpu_link_info/link_widths/"


def _power(*names: str) -> Tuple[str, ...]:
    """Return the places of values of the section on power. Before driver 530 it was called "Power Readings"."""
    return tuple(folder + name for name in names for folder in ("gpu_power_readings/", "power_readings/"))


def _slowed(*names: str) -> Tuple[str, ...]:
    """Return the places of a counter of time with lower clocks; XML repeats the section's name in each."""
    section = "clocks_event_reasons_counters"
    return tuple("%s/%s%s" % (section, before, name) for name in names for before in ("", section + "_"))


#: key -> (how to read it, where it may stand in text and in XML: the first that is there counts)
_PLACES: Dict[str, Tuple[Read, Tuple[str, ...]]] = {
    "name": (text, ("product_name",)),
    "uuid": (text, ("gpu_uuid", "uuid")),
    "serial": (text, ("serial_number", "serial")),
    "vbios": (text, ("vbios_version",)),
    "ids": (ids, ("pci/device_id", "pci/pci_device_id")),
    "memory_total_mib": (_MIB, ("fb_memory_usage/total",)),
    "memory_used_mib": (_MIB, ("fb_memory_usage/used",)),
    "bar1_total_mib": (_MIB, ("bar1_memory_usage/total",)),
    "bar1_used_mib": (_MIB, ("bar1_memory_usage/used",)),
    "ecc_mode": (_MODE, ("ecc_mode/current", "ecc_mode/current_ecc")),
    "ecc_pending": (_MODE, ("ecc_mode/pending", "ecc_mode/pending_ecc")),
    "remapped_correctable": (_COUNT, ("remapped_rows/correctable_error", "remapped_rows/remapped_row_corr")),
    "remapped_uncorrectable": (_COUNT, ("remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc")),
    "remap_pending": (_YES, ("remapped_rows/pending", "remapped_rows/remapped_row_pending")),
    "remap_failed": (_YES, ("remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure")),
    "retire_pending": (_YES, tuple("retired_pages/" + name for name in (
        "pending_page_blacklist", "pending_retirement", "pending_blacklist"))),
    "sram_threshold_exceeded": (_YES, ("ecc_errors/aggregate/sram_threshold_exceeded",)),
    "channel_repair_pending": (_YES, ("ecc_errors/channel_repair_pending",)),
    "tpc_repair_pending": (_YES, ("ecc_errors/tpc_repair_pending",)),
    "unrepairable_memory": (_YES, ("ecc_errors/unrepairable_memory",)),
    "temperature_c": (_CELSIUS, ("temperature/gpu_current_temp", "temperature/gpu_temp")),
    "temperature_slowdown_c": (_CELSIUS, ("temperature/gpu_slowdown_temp", "temperature/gpu_temp_slow_threshold")),
    "temperature_shutdown_c": (_CELSIUS, ("temperature/gpu_shutdown_temp", "temperature/gpu_temp_max_threshold")),
    "power_draw_mw": (_WATT, _power("power_draw", "average_power_draw", "instantaneous_power_draw",
                                    "instant_power_draw")),
    "power_limit_mw": (_WATT, _power("requested_power_limit", "power_limit")),
    "power_limit_enforced_mw": (_WATT, _power("current_power_limit", "enforced_power_limit")),
    "power_limit_default_mw": (_WATT, _power("default_power_limit")),
    "power_limit_min_mw": (_WATT, _power("min_power_limit")),
    "power_limit_max_mw": (_WATT, _power("max_power_limit")),
    "clock_sm_mhz": (_MHZ, ("clocks/sm", "clocks/sm_clock")),
    "clock_sm_max_mhz": (_MHZ, ("max_clocks/sm", "max_clocks/sm_clock")),
    "clock_memory_mhz": (_MHZ, ("clocks/memory", "clocks/mem_clock")),
    "clock_memory_max_mhz": (_MHZ, ("max_clocks/memory", "max_clocks/mem_clock")),
    "slowdown_sw_thermal_us": (_MICROSECONDS, _slowed("sw_thermal_slowdown", "sw_therm_slowdown")),
    "slowdown_hw_thermal_us": (_MICROSECONDS, _slowed("hw_thermal_slowdown", "hw_therm_slowdown")),
    "slowdown_power_brake_us": (_MICROSECONDS, _slowed("hw_power_braking", "hw_power_brake_slowdown",
                                                       "hw_power_brake")),
    "pstate": (word({"p%d" % number: number for number in range(16)}), ("performance_state",)),
    "utilization_gpu": (_PERCENT, ("utilization/gpu", "utilization/gpu_util")),
    "utilization_memory": (_PERCENT, ("utilization/memory", "utilization/memory_util")),
    "persistence": (_ON, ("persistence_mode",)),
    "mig_mode": (_MODE, ("mig_mode/current", "mig_mode/current_mig")),
    "mig_pending": (_MODE, ("mig_mode/pending", "mig_mode/pending_mig")),
    "compute_mode": (word(_ONE_OF), ("compute_mode",)),
    "addressing_mode": (word({"none": "none", "hmm": "HMM", "ats": "ATS"}), ("addressing_mode",)),
    "link_gen": (_COUNT, (_GEN + "current", _XML_GEN + "current_link_gen")),
    "link_gen_max": (_COUNT, (_GEN + "max", _XML_GEN + "max_link_gen")),
    "link_gen_board": (_COUNT, (_GEN + "device_max", _XML_GEN + "max_device_link_gen")),
    "link_width": (number("x"), (_WIDTH + "current", _XML_WIDTH + "current_link_width")),
    "link_width_max": (number("x"), (_WIDTH + "max", _XML_WIDTH + "max_link_width")),
    "replay_rollovers": (_COUNT, ("pci/replay_number_rollovers", "pci/replay_rollover_counter")),
    "fan_percent": (_PERCENT, ("fan_speed",)),
    "replay_counter": (_COUNT, ("pci/replays_since_reset", "pci/replay_counter")),
    "recovery_action": (word(_ACTIONS), ("gpu_recovery_action",)),
    "fabric_state": (word({"not supported": "not_supported", "not started": "not_started",
                            "in progress": "in_progress", "completed": "completed"}), ("fabric/state",)),
    "fabric_status": (lambda value: text(value).upper().replace(" ", "_"), ("fabric/status",)),
}
#: The driver before which no report shows these lines. 580.119.02 lacks the last one, and 580.159.04 has it.
_SINCE = {"sram_threshold_exceeded": (580,), "channel_repair_pending": (580,), "tpc_repair_pending": (580,),
          "unrepairable_memory": (580, 120)}
#: Sums, in the wording of three ages; every part of one wording has to be there.
_ECC = {"corrected": (("sram_correctable", "dram_correctable"), ("single_bit/total",)),
        "uncorrected": (("sram_uncorrectable_parity", "sram_uncorrectable_sec_ded", "dram_uncorrectable"),
                        ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable"),
                        ("sram_uncorrectable", "dram_uncorrectable"), ("double_bit/total",))}


def parse_query(texts: Iterable[str]) -> Optional[Dict[str, Any]]:
    """Return the document of all texts: of two values of one GPU the worse one. None where no text names a GPU."""
    return document([told(text) for text in texts])


def told(text: str) -> Dict[str, Any]:
    """Return what one text tells, as smi_merge.py takes it."""
    found = tree(text)
    driver = _version(found)
    gpus = {bdf: _gpu(leaves, found.processes[bdf], driver) for bdf, leaves in found.gpus}
    for bdf, why in found.lost:
        if bdf not in gpus:
            gpus[bdf] = {"values": {}, "errors": dict.fromkeys(KEYS, refusal(why) or "UNKNOWN")}
    attached = _attached(found)
    for bdf, gpu in gpus.items() if len(gpus) == attached and not _cut(found) else ():
        if found.processes.get(bdf) is not None:        # the report goes on to its end
            gpu["values"]["whole_report"] = True
    return {"driver": driver, "attached": attached, "gpus": gpus}


def cut_in(text: str) -> Optional[Tuple[int, str]]:
    """Return number and address of the GPU in which a report ends. None of one that goes to its end, that was asked for
    some sections (-d), or that has no GPU."""
    found = tree(text)
    return (len(found.gpus) - 1, found.gpus[-1][0]) if _cut(found) else None


def _cut(found: SmiTree) -> bool:
    """Return whether the last GPU has the first line of a whole report and not the list of processes at its end."""
    if not found.gpus:
        return False
    bdf, leaves = found.gpus[-1]
    return "product_name" in leaves and found.processes[bdf] is None and not any(
        path == "processes" or path.startswith("processes/") for path in leaves)


def _version(found: SmiTree) -> str:
    value = found.head.get("driver_version") or found.head.get("nvsmi_log/driver_version") or ""
    return value if re.match(r"^\d{3}\.\d{1,3}(\.\d{1,3})?$", value) else ""


def _attached(found: SmiTree) -> int:
    value = found.head.get("attached_gpus", "")
    return int(value) if re.match(r"^\d{1,4}$", value) else 0


def _gpu(leaves: Dict[str, str], processes: Optional[List[Tuple[str, str]]], driver: str) -> Dict[str, Dict[str, Any]]:
    values: Dict[str, Any] = {}
    errors: Dict[str, str] = {}
    for key, (how, places) in _PLACES.items():
        _keep(values, errors, key, lambda: _first(leaves, how, places))  # noqa: B023
    for span in ("volatile", "aggregate"):
        for kind, wordings in _ECC.items():
            _keep(values, errors, "ecc_%s_%s" % (span, kind), lambda: _sum(leaves, span, wordings))  # noqa: B023
    if "recovery_action" not in values:
        _keep(values, errors, "recovery_action", lambda: _reset_status(leaves))
    for key, since in _SINCE.items():
        # A report of an earlier driver is whole without them.
        if key not in values and driver and tuple(map(int, driver.split("."))) < since:
            errors.setdefault(key, "NOT_SUPPORTED")
    _keep(values, errors, "clocks_event_reasons", lambda: _reasons(leaves))
    _keep(values, errors, "fabric_health", lambda: of_report(leaves, driver))
    for key, name in (("temperature_slowdown_c", "slow"), ("temperature_shutdown_c", "shutdown")):
        if key not in values:
            _keep(values, errors, key, lambda: _from_margin(leaves, name))  # noqa: B023
    if processes is not None:
        values["processes"] = [{"pid": int(pid), "used_mib": _used(used)} for pid, used in processes
                               if re.match(r"^\d{1,9}$", pid)]
    elif leaves.get("processes"):
        errors["processes"] = refusal(leaves["processes"]) or "not understood"
    return {"values": values, "errors": errors}


def _keep(values: Dict[str, Any], errors: Dict[str, str], key: str, get: Callable[[], Any]) -> None:
    try:
        value = get()
    except RefusedError as error:
        errors[key] = str(error)
    except ValueError as error:
        errors[key] = "not understood: %r" % str(error)[:40]
    else:
        if value is not None:
            values[key] = value
            errors.pop(key, None)


def _found(leaves: Dict[str, str], place: str) -> Optional[str]:
    """Return the text at ``place``; where the section is refused as a whole ("Remapped Rows : N/A"), that word. None
    where neither is there."""
    if place in leaves:
        return leaves[place]
    section = leaves.get(place.split("/")[0]) if "/" in place else None
    return section if section is not None and refusal(section) else None


def _first(leaves: Dict[str, str], how: Read, places: Tuple[str, ...]) -> Any:
    """Read the first of ``places`` that holds a value. Where all are refused, the first refusal is raised
    (RefusedError). None where no place is in the report."""
    there = [value for value in (_found(leaves, place) for place in places) if value is not None]
    if not there:
        return None
    return read(next((value for value in there if not refusal(value)), there[0]), how)


def _sum(leaves: Dict[str, str], span: str, wordings: Tuple[Tuple[str, ...], ...]) -> Optional[int]:
    for names in wordings:
        there = [_found(leaves, "ecc_errors/%s/%s" % (span, name)) for name in names]
        if all(value is not None for value in there):
            # A board without ECC in its SRAM has N/A there and counts for its DRAM.
            counted = [str(value) for value in there if refusal(str(value)) != "NOT_SUPPORTED"]
            if not counted:
                raise RefusedError("NOT_SUPPORTED")
            return sum(int(read(value, _COUNT)) for value in counted)
    return None


def _reset_status(leaves: Dict[str, str]) -> Optional[int]:
    """Return what drivers without "GPU Recovery Action" say in its place. None where they do not show both answers."""
    drain, reset = (_first(leaves, _YES, ("gpu_reset_status/" + name,))
                    for name in ("drain_and_reset_recommended", "reset_required"))
    if reset:
        return _ACTIONS["reset"]
    if drain:
        return _ACTIONS["drain and reset"]
    return None if reset is None or drain is None else _ACTIONS["none"]


def _reasons(leaves: Dict[str, str]) -> Optional[int]:
    """Return the bits of the reasons that are active. None where the report does not show them all. Before driver 535
    they were called "throttle reasons"."""
    states: Dict[str, str] = {}
    for path, value in leaves.items():
        section, _, rest = path.partition("/")
        if section in ("clocks_event_reasons", "clocks_throttle_reasons"):
            states[re.sub(r"^clocks_(?:event|throttle)_reason_", "", rest.rpartition("/")[2]) or "idle"] = value
    if not all(name in states for name in _JUDGED):
        # Only of the section as a whole: one reason that is refused says nothing about those that are not shown.
        whole = leaves.get("clocks_event_reasons") or leaves.get("clocks_throttle_reasons")
        refused = refusal(whole) if whole else None
        if refused:
            raise RefusedError(refused)
        return None
    how = word({"active": True, "not active": False})
    # The older reasons are refused on newer boards one by one.
    active = {name: read(value, how) for name, value in states.items() if name in _JUDGED or not refusal(value)}
    return sum({_REASONS[name] for name, on in active.items() if on and name in _REASONS})


def _from_margin(leaves: Dict[str, str], which: str) -> Optional[int]:
    """Return a temperature limit in degrees C. Since Hopper the limits are told as distances: now + margin = the
    highest operating temperature, and the limit lies so many degrees beyond it. (30 C, margin 57, slowdown -2: slows
    down at 89 C.)"""
    margin = number(" C", least=-300)
    places = {"now": ("temperature/gpu_current_temp", "temperature/gpu_temp"),
              "left": ("temperature/gpu_t_limit_temp", "temperature/gpu_temp_tlimit"),
              "slow": ("temperature/gpu_slowdown_t_limit_temp", "temperature/gpu_temp_slow_tlimit_threshold"),
              "shutdown": ("temperature/gpu_shutdown_t_limit_temp", "temperature/gpu_temp_max_tlimit_threshold")}
    if not all(any(place in leaves for place in places[name]) for name in ("now", "left", which)):
        return None
    now, left, beyond = (_first(leaves, margin, places[name]) for name in ("now", "left", which))
    result: int = now + left - beyond
    return result


def _used(value: str) -> Optional[int]:
    """Return the memory that one process uses, in MiB. None where the driver cannot say it."""
    try:
        result: int = read(value, _MIB)
    except (RefusedError, ValueError):
        return None
    return result
