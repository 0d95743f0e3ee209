"""What NVML says of the GPUs, all of them counted together. Ids, lanes and speeds of their links are read without it:
registry/pcie.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...host.nvml_absence import NOT_READ, nvml_reason
from ...model.fact import Absence, Fact, absent, not_understood
from ...util.at_first_use import regex
from .definition import Entry, Fix, Kind, Severity
from .selectors import asked, of_host, tallied

if TYPE_CHECKING:
    from ..nvidia.nvml import Gpu, Nvml
    from ..snapshot_file import Stored

__all__ = ["ENTRIES"]

#: NVML's words for what a board does not have. FUNCTION_NOT_FOUND is the library's: nobody knows then.
_HAS_NOT = ("NOT_SUPPORTED", "INVALID_ARGUMENT")
_PLAIN = (str, int, bool, float)
#: What stands for a number that was taken out of a recording.
_STANDS_FOR = regex(r"(?:GPU-)?0{8}-0{4}-0{4}-0{4}-[0-9a-f]{12}|serial-\d+")

#: Why texts do not tell the library's version.
_OF_TEXTS = (Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST)


def _answered(stored: Stored) -> Fact[Nvml]:
    """Return NVML's document. It is unknown as a whole where a board gave no answer at all, since every count would be
    wrong."""
    nvml = asked(stored, stored.snapshot.nvml)
    for who, why in nvml.value.errors.items() if nvml.value else ():
        if who.startswith("gpu "):
            return absent(f"NVML {who}", nvml_reason(why))
    return nvml


def _values(stored: Stored, key: str) -> Fact[Any]:
    """Return the value of every board, None for a board that has no such thing."""
    nvml = _answered(stored)
    if nvml.value is None:
        return nvml
    found = []
    for gpu in nvml.value.gpus:
        value = gpu.values.get(key)
        if value is None:
            why = gpu.errors.get(key, NOT_READ)
            if why not in _HAS_NOT:
                # A report without the line: what an import does not show failed nowhere.
                reason = nvml_reason(why)
                pasted = reason.absence is Absence.NOT_READ and nvml.value.library.absence in _OF_TEXTS
                return absent(f"NVML {gpu.bdf} {key}", Absence.NOT_IN_IMPORT if pasted else reason)
        elif not _plain(value):
            return not_understood(f"NVML {gpu.bdf} {key}", "no plain value")
        found.append(value)
    # Also where there is no board, or none that has it.
    return absent(f"NVML {key}", Absence.NOT_PRESENT) if found.count(None) == len(found) else Fact(found, f"NVML {key}")


def _plain(value: object) -> bool:
    return type(value) in _PLAIN and (type(value) is not float or math.isfinite(value))


def _tally(key: str) -> Callable[[Stored], Fact[Any]]:
    def fact_of(stored: Stored) -> Fact[Any]:
        values = _values(stored, key)
        return values if values.value is None else Fact(tallied(values.value), values.source)

    return fact_of


def _each(key: str) -> Callable[[Stored], Fact[Any]]:
    return lambda stored: _values(stored, key)


def _names(key: str) -> Callable[[Stored], Fact[Any]]:
    """Make a selector of numbers that no two boards of the world share, sorted."""

    def fact_of(stored: Stored) -> Fact[Any]:
        values = _values(stored, key)
        if values.value is None:
            return values
        texts = sorted(str(value) for value in values.value if value is not None)
        if any(_STANDS_FOR.fullmatch(text) for text in texts):
            return absent(values.source, Absence.LEFT_OUT)
        return Fact(texts, values.source)

    return fact_of


def _count(stored: Stored) -> Fact[Any]:
    nvml = _answered(stored)
    return nvml if nvml.value is None else Fact(len(nvml.value.gpus), nvml.source)


def _users(stored: Stored) -> Fact[Any]:
    nvml = _answered(stored)
    return nvml if nvml.value is None else Fact([_contexts(gpu) for gpu in nvml.value.gpus], nvml.source)


def _contexts(gpu: Gpu) -> int | None:
    listed = gpu.values.get("processes")
    return len(listed) if isinstance(listed, list) else None


_GPU_LOCKS = of_host(lambda host: host.gpu_locks)


def _locks(stored: Stored) -> Fact[Any]:
    """Return the clocks that our role locked in this boot, counted. A note of an earlier boot locks nothing."""
    locks = _GPU_LOCKS(stored)
    if locks.value is None:
        return locks
    if locks.value.boot_id != stored.snapshot.boot_id.value:
        return absent(locks.source, Absence.NOT_PRESENT)
    return Fact(tallied("-".join(map(str, pair)) for pair in locks.value.clocks_mhz.values()), locks.source)


def _board(name: str, key: str, severity: Severity, fix: Fix, summary: str, unit: str = "") -> Entry:
    return Entry(f"gpu.{name}", "config", severity, fix, summary, _tally(key), unit)


def _moving(kind: Kind, key: str, summary: str, unit: str = "", severity: Severity = "low") -> Entry:
    return Entry(f"gpu.{key}", kind, severity, "none", f"{summary}, by GPU", _each(key), unit)


ENTRIES = (
    Entry("gpu.count", "config", "high", "hands-on", "GPUs that the driver has", _count, unit="GPUs"),
    _board("name", "name", "high", "hands-on", "product"),
    _board("vbios", "vbios", "high", "firmware", "VBIOS version"),
    _board("memory", "memory_total_mib", "high", "hands-on", "framebuffer", "MiB"),
    _board("bar1", "bar1_total_mib", "high", "firmware", "BAR1 aperture (Resizable BAR)", "MiB"),
    _board("ecc", "ecc_mode", "high", "reboot", "ECC now"),
    _board("ecc_pending", "ecc_pending", "medium", "reboot", "ECC after the next reset"),
    _board("mig", "mig_mode", "high", "reboot", "MIG now"),
    _board("mig_pending", "mig_pending", "medium", "reboot", "MIG after the next reset"),
    _board("power_limit", "power_limit_mw", "high", "reload", "power limit set", "mW"),
    _board("power_default", "power_limit_default_mw", "medium", "firmware", "power limit of the board", "mW"),
    _board("power_min", "power_limit_min_mw", "low", "firmware", "lowest power limit", "mW"),
    _board("power_max", "power_limit_max_mw", "medium", "firmware", "highest power limit", "mW"),
    _board("clock_sm_max", "clock_sm_max_mhz", "medium", "firmware", "highest SM clock", "MHz"),
    _board("clock_memory_max", "clock_memory_max_mhz", "medium", "firmware", "highest memory clock", "MHz"),
    Entry("gpu.clock_locks", "config", "high", "reload", "SM clocks that our role locked in this boot",
          _locks, unit="MHz"),
    _board("persistence", "persistence", "medium", "reload", "persistence mode"),
    _board("compute_mode", "compute_mode", "high", "reload", "who may use a GPU"),
    _board("addressing", "addressing_mode", "medium", "reload", "HMM, ATS or none"),
    _board("link_gen_board", "link_gen_board", "medium", "hands-on", "highest PCIe generation of the board"),
    _board("temperature_slowdown", "temperature_slowdown_c", "low", "firmware", "where hardware slows down",
           "degrees C"),
    _board("temperature_shutdown", "temperature_shutdown_c", "low", "firmware", "where hardware shuts down",
           "degrees C"),
    _board("fabric_state", "fabric_state", "high", "reload", "registration with NVSwitch"),
    _board("fabric_status", "fabric_status", "high", "reload", "how that registration ended"),
    _board("fabric_health", "fabric_health", "high", "reload", "what is wrong with a GPU's place in that fabric"),
    _board("nvlinks", "nvlinks_active", "high", "hands-on", "NVLinks that are up", "links"),
    _board("remap_pending", "remap_pending", "high", "reload", "a row remap waits for a reset"),
    _board("remap_failed", "remap_failed", "high", "hands-on", "a row could not be remapped"),
    Entry("gpu.recovery_action", "config", "high", "reboot",
          "what the driver asks for: 0 nothing, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset",
          _tally("recovery_action"), of_boot=True),
    Entry("gpu.uuids", "identity", "high", "hands-on", "UUIDs of the GPUs", _names("uuid")),
    Entry("gpu.serials", "identity", "high", "hands-on", "serial numbers of the boards", _names("serial")),
    Entry("gpu.contexts", "gauge", "low", "none", "processes with a context, by GPU", _users),
    _moving("gauge", "memory_used_mib", "framebuffer in use", "MiB"),
    _moving("gauge", "bar1_used_mib", "BAR1 in use", "MiB"),
    _moving("gauge", "temperature_c", "core temperature", "degrees C"),
    _moving("gauge", "power_draw_mw", "power draw", "mW"),
    _moving("gauge", "clock_sm_mhz", "SM clock", "MHz"),
    _moving("gauge", "clock_memory_mhz", "memory clock", "MHz"),
    _moving("gauge", "clocks_event_reasons", "why the clocks are not higher", "bit mask"),
    _moving("gauge", "pstate", "P0 (fastest) to P15"),
    _moving("gauge", "utilization_gpu", "time with a kernel running", "percent"),
    _moving("gauge", "utilization_memory", "time with memory traffic", "percent"),
    _moving("counter", "ecc_volatile_corrected", "corrected memory errors since the driver was loaded"),
    _moving("counter", "ecc_volatile_uncorrected", "uncorrected memory errors since then", severity="high"),
    _moving("counter", "ecc_aggregate_corrected", "corrected memory errors over the board's life"),
    _moving("counter", "ecc_aggregate_uncorrected", "uncorrected memory errors over its life", severity="high"),
    _moving("counter", "remapped_correctable", "rows remapped after correctable errors", "rows", "medium"),
    _moving("counter", "remapped_uncorrectable", "rows remapped after uncorrectable errors", "rows", "high"),
    _moving("counter", "replay_counter", "PCIe replays since the driver was loaded", severity="medium"),
)
