"""What is asked of NVML, call by call. Only ever run in a child (nvml_reader.py): any of these calls may hang or crash.

Calls that take longer than about 5 ms on a healthy board are not made (measured on H200, driver 580: PcieThroughput
21 ms, InforomConfigurationChecksum 67 ms). What is left takes, on 2 H200: nvmlInit 9 ms, the handles 13, all values of
both boards 25 to 40, the first common ancestor 14, each P2P status 0.9 to 1.7. Threads make it no faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .nvml_library import ERRORS, Addressing, Bar1, Fabric, Library, Memory, PciInfo, Refused, Utilization

__all__ = ["ask"]

_SWITCH = ("disabled", "enabled")
_COMPUTE = ("default", "exclusive_thread", "prohibited", "exclusive_process")
_ADDRESSING = ("none", "HMM", "ATS")
_FABRIC = ("not_supported", "not_started", "in_progress", "completed")
#: nvmlDeviceGetP2PStatus' index. Eight boards are 56 ordered pairs, so no status is asked for that nobody judges:
#: atomics (3) and PCIe beside NVLink (4), and NVLink (2) of boards whose links are not up.
_P2P = (("p2p_read", 0), ("p2p_write", 1))
_P2P_NVLINK = ("p2p_nvlink", 2)
_RECOVERY_ACTION = 230      # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
_MOST_LINKS = 36            # NVML_NVLINK_MAX_LINKS; the first that is none ends the count
_NOT_AVAILABLE = (1 << 64) - 1

_Call = Callable[[Library, Any], tuple[Any, ...]]


def ask(say: Callable[[dict[str, Any]], None]) -> None:
    """Ask everything; ``say`` sends each group of answers at once."""
    try:
        library = Library()
        library.call("nvmlInitWithFlags", 0)
        count = library.number("nvmlDeviceGetCount_v2")
    except Refused as refused:
        say({"refused": refused.name})
        return
    say({"count": count, **_group(("driver",), lambda: (library.text("nvmlSystemGetDriverVersion"),))})
    say(_group(("library",), lambda: (library.text("nvmlSystemGetNVMLVersion"),)))
    handles, linked = {}, set()
    for index in range(count):
        try:
            handle = library.handle(index)
            place = library.filled("nvmlDeviceGetPciInfo_v3", handle, PciInfo())
        except Refused as refused:
            say({"lost": index, "error": refused.name})
            continue
        handles[index] = handle
        # As the kernel writes it; NVML's own text has eight digits of domain.
        say({"gpu": index, "bdf": f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0", "values": {
            "ids": f"{place.ids & 0xffff:04x}:{place.ids >> 16:04x}"}, "errors": {}})
        for keys, call in _GROUPS:
            answer = _group(keys, partial(call, library, handle))
            if answer["values"].get("nvlinks_active"):
                linked.add(index)
            say({"gpu": index, **answer})
    for a, first in handles.items():
        for b, second in handles.items():
            if a != b:
                say({"from": a, "to": b, **_pair(library, first, second, {a, b} <= linked)})
    say({"end": True})


def _group(keys: tuple[str, ...], call: Callable[[], tuple[Any, ...]]) -> dict[str, Any]:
    try:
        return {"values": dict(zip(keys, call(), strict=True)), "errors": {}}
    except Refused as refused:
        reason = refused.name
    except (ValueError, IndexError) as error:      # a number that nvml.h gives no meaning
        reason = f"not understood: {error}"
    return {"values": {}, "errors": dict.fromkeys(keys, reason)}


def _pair(library: Library, first: Any, second: Any, linked: bool) -> dict[str, Any]:
    calls: list[tuple[str, str, tuple[int, ...]]] = [("ancestor", "nvmlDeviceGetTopologyCommonAncestor", ())]
    calls += [(key, "nvmlDeviceGetP2PStatus", (index,)) for key, index in (*_P2P, *([_P2P_NVLINK] if linked else []))]
    found: dict[str, dict[str, Any]] = {"values": {}, "errors": {}}
    for key, function, more in calls:
        try:
            found["values"][key] = library.number(function, first, second, *more)
        except Refused as refused:
            found["errors"][key] = refused.name
    return found


def _mib(size: int) -> int:
    if size == _NOT_AVAILABLE:
        raise ValueError("not available")
    return size >> 20


def _memory(library: Library, handle: Any) -> tuple[Any, ...]:
    memory = library.filled("nvmlDeviceGetMemoryInfo_v2", handle, Memory(), version=2)
    return _mib(memory.total), _mib(memory.used)


def _bar1(library: Library, handle: Any) -> tuple[Any, ...]:
    bar1 = library.filled("nvmlDeviceGetBAR1MemoryInfo", handle, Bar1())
    return _mib(bar1.total), _mib(bar1.used)


def _remapped(library: Library, handle: Any) -> tuple[Any, ...]:
    correctable, uncorrectable, pending, failed = library.numbers("nvmlDeviceGetRemappedRows", handle, count=4)
    return correctable, uncorrectable, bool(pending), bool(failed)


def _utilization(library: Library, handle: Any) -> tuple[Any, ...]:
    rates = library.filled("nvmlDeviceGetUtilizationRates", handle, Utilization())
    return rates.gpu, rates.memory


def _addressing(library: Library, handle: Any) -> tuple[Any, ...]:
    mode = library.filled("nvmlDeviceGetAddressingMode", handle, Addressing(), version=1)
    return (_ADDRESSING[mode.value],)


def _fabric(library: Library, handle: Any) -> tuple[Any, ...]:
    info = library.filled("nvmlDeviceGetGpuFabricInfoV", handle, Fabric(), version=2)
    return _FABRIC[info.state], "SUCCESS" if info.status == 0 else ERRORS.get(info.status, f"error {info.status}")


def _nvlinks(library: Library, handle: Any) -> tuple[Any, ...]:
    active = 0
    for link in range(_MOST_LINKS):
        try:
            active += library.number("nvmlDeviceGetNvLinkState", handle, link) == 1
        except Refused as refused:
            # A board without NVLink says NOT_SUPPORTED, one with fewer links INVALID_ARGUMENT.
            if refused.name not in ("NOT_SUPPORTED", "INVALID_ARGUMENT"):
                raise
            break
    return (active,)


def _processes(library: Library, handle: Any) -> tuple[Any, ...]:
    found: dict[int, int | None] = {}
    for kind in ("Compute", "Graphics"):
        for process in library.processes(f"nvmlDeviceGet{kind}RunningProcesses_v3", handle):
            found[process.pid] = None if process.used == _NOT_AVAILABLE else _mib(process.used)
    return ([{"pid": pid, "used_mib": used} for pid, used in sorted(found.items())],)


def _text(function: str) -> _Call:
    return lambda library, handle: (library.text(function, handle),)


def _plain(function: str, *arguments: int, count: int = 1) -> _Call:
    return lambda library, handle: library.numbers(function, handle, *arguments, count=count)


def _words(function: str, words: tuple[str, ...], count: int = 1) -> _Call:
    """Numbers that stand for words: the present one, where there are two also the one after the next reset."""
    return lambda library, handle: tuple(words[one] for one in library.numbers(function, handle, count=count))


#: Keys of formats/nvml_keys.py, and the call that answers them together.
_GROUPS: tuple[tuple[tuple[str, ...], _Call], ...] = (
    (("name",), _text("nvmlDeviceGetName")),
    (("uuid",), _text("nvmlDeviceGetUUID")),
    (("serial",), _text("nvmlDeviceGetSerial")),
    (("vbios",), _text("nvmlDeviceGetVbiosVersion")),
    (("memory_total_mib", "memory_used_mib"), _memory),
    (("bar1_total_mib", "bar1_used_mib"), _bar1),
    (("ecc_mode", "ecc_pending"), _words("nvmlDeviceGetEccMode", _SWITCH, count=2)),
    (("ecc_volatile_corrected",), _plain("nvmlDeviceGetTotalEccErrors", 0, 0)),
    (("ecc_volatile_uncorrected",), _plain("nvmlDeviceGetTotalEccErrors", 1, 0)),
    (("ecc_aggregate_corrected",), _plain("nvmlDeviceGetTotalEccErrors", 0, 1)),
    (("ecc_aggregate_uncorrected",), _plain("nvmlDeviceGetTotalEccErrors", 1, 1)),
    (("remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failed"), _remapped),
    (("temperature_c",), _plain("nvmlDeviceGetTemperature", 0)),
    (("temperature_slowdown_c",), _plain("nvmlDeviceGetTemperatureThreshold", 1)),
    (("temperature_shutdown_c",), _plain("nvmlDeviceGetTemperatureThreshold", 0)),
    (("power_draw_mw",), _plain("nvmlDeviceGetPowerUsage")),
    (("power_limit_mw",), _plain("nvmlDeviceGetPowerManagementLimit")),
    (("power_limit_default_mw",), _plain("nvmlDeviceGetPowerManagementDefaultLimit")),
    (("power_limit_min_mw", "power_limit_max_mw"), _plain("nvmlDeviceGetPowerManagementLimitConstraints", count=2)),
    (("clock_sm_mhz",), _plain("nvmlDeviceGetClockInfo", 1)),
    (("clock_sm_max_mhz",), _plain("nvmlDeviceGetMaxClockInfo", 1)),
    (("clock_memory_mhz",), _plain("nvmlDeviceGetClockInfo", 2)),
    (("clock_memory_max_mhz",), _plain("nvmlDeviceGetMaxClockInfo", 2)),
    (("clocks_event_reasons",), _plain("nvmlDeviceGetCurrentClocksEventReasons")),
    (("pstate",), _plain("nvmlDeviceGetPerformanceState")),
    (("utilization_gpu", "utilization_memory"), _utilization),
    (("persistence",), lambda library, handle: (library.number("nvmlDeviceGetPersistenceMode", handle) == 1,)),
    (("mig_mode", "mig_pending"), _words("nvmlDeviceGetMigMode", _SWITCH, count=2)),
    (("compute_mode",), _words("nvmlDeviceGetComputeMode", _COMPUTE)),
    (("addressing_mode",), _addressing),
    (("link_gen",), _plain("nvmlDeviceGetCurrPcieLinkGeneration")),
    (("link_gen_max",), _plain("nvmlDeviceGetMaxPcieLinkGeneration")),
    (("link_gen_board",), _plain("nvmlDeviceGetGpuMaxPcieLinkGeneration")),
    (("link_width",), _plain("nvmlDeviceGetCurrPcieLinkWidth")),
    (("link_width_max",), _plain("nvmlDeviceGetMaxPcieLinkWidth")),
    (("replay_counter",), _plain("nvmlDeviceGetPcieReplayCounter")),
    (("recovery_action",), lambda library, handle: (library.field(handle, _RECOVERY_ACTION),)),
    (("fabric_state", "fabric_status"), _fabric),
    (("nvlinks_active",), _nvlinks),
    (("processes",), _processes),
)
