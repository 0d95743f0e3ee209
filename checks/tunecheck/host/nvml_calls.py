"""The calls that ask NVML. They are only ever run in a child (nvml_reader.py): any of them may hang or crash.

Calls that take longer than about 5 ms on a healthy board are not made (measured on H200, driver 580: PcieThroughput 21
ms, InforomConfigurationChecksum 67 ms). Structures are passed by reference with their version set: by value,
nvmlDeviceGetGpuFabricInfoV ended the process. On 2 H200: import of pynvml 36 ms, nvmlInit 9, the handles 13, all values
of both boards 25 to 40, the first common ancestor 14, each P2P status 0.9 to 1.7. Threads make it no faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["ask"]

_MIB = 1 << 20
_SWITCH = ("disabled", "enabled")
_COMPUTE = ("default", "exclusive_thread", "prohibited", "exclusive_process")
_ADDRESSING = ("none", "HMM", "ATS")
_FABRIC = ("not_supported", "not_started", "in_progress", "completed")
#: nvmlDeviceGetP2PStatus' index, as literals: NVML_P2P_CAPS_INDEX_READ of nvidia-ml-py 13.615 is the tuple (0,). Eight
#: boards are 56 ordered pairs, so no status is asked for that nobody judges: atomics (3), PCIe beside NVLink (4), and
#: NVLink (2) of boards whose links are not up.
_P2P = (("p2p_read", 0), ("p2p_write", 1))
_P2P_NVLINK = ("p2p_nvlink", 2)
_RECOVERY_ACTION = 230      # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
_REPLAY_ROLLOVERS = 95      # NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER
_MOST_LINKS = 36            # NVML_NVLINK_MAX_LINKS; the first that is none ends the count

Say = Callable[[dict[str, Any]], None]
_Call = Callable[[Any, Any], tuple[Any, ...]]


def ask(nvml: Any, send: Say) -> None:
    """Ask everything of the module ``nvml`` (pynvml); ``send`` sends each group of answers at once."""
    names = _error_names(nvml)
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        send({"refused": _name(names, error.value)})
        return
    send({"count": count, **_group(nvml, names, ("driver",), lambda: (nvml.nvmlSystemGetDriverVersion(),))})
    send(_group(nvml, names, ("library",), lambda: (nvml.nvmlSystemGetNVMLVersion(),)))
    handles, linked = {}, set()
    for index in range(count):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            place = nvml.nvmlDeviceGetPciInfo(handle)
        except nvml.NVMLError as error:
            send({"lost": index, "error": _name(names, error.value)})
            continue
        handles[index] = handle
        # As the kernel writes it; NVML's own text has eight digits of domain.
        send({"gpu": index, "bdf": f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0", "values": {
            "ids": f"{place.pciDeviceId & 0xffff:04x}:{place.pciDeviceId >> 16:04x}"}, "errors": {}})
        for keys, call in _GROUPS:
            answer = _group(nvml, names, keys, partial(call, nvml, handle))
            if answer["values"].get("nvlinks_active"):
                linked.add(index)
            send({"gpu": index, **answer})
    for a, first in handles.items():
        for b, second in handles.items():
            if a != b:
                send({"from": a, "to": b, **_pair(nvml, names, first, second, {a, b} <= linked)})
    send({"end": True})


def _group(nvml: Any, names: dict[int, str], keys: tuple[str, ...], call: Callable[[], tuple[Any, ...]]
           ) -> dict[str, Any]:
    try:
        return {"values": dict(zip(keys, call(), strict=True)), "errors": {}}
    except nvml.NVMLError as error:
        reason = _name(names, error.value)
    except Exception as error:      # a text that is no UTF-8, a number without a meaning, a function too new
        reason = f"NOT_UNDERSTOOD: not understood: {type(error).__name__}"
    return {"values": {}, "errors": dict.fromkeys(keys, reason)}


def _pair(nvml: Any, names: dict[int, str], first: Any, second: Any, linked: bool) -> dict[str, Any]:
    found = _group(nvml, names, ("ancestor",), lambda: (nvml.nvmlDeviceGetTopologyCommonAncestor(first, second),))
    for key, index in (*_P2P, *([_P2P_NVLINK] if linked else [])):
        status = _group(nvml, names, (key,), partial(_status, nvml, first, second, index))
        found["values"].update(status["values"])
        found["errors"].update(status["errors"])
    return found


def _status(nvml: Any, first: Any, second: Any, index: int) -> tuple[Any, ...]:
    return (nvml.nvmlDeviceGetP2PStatus(first, second, index),)


def _error_names(nvml: Any) -> dict[int, str]:
    return {value: name.removeprefix("NVML_ERROR_") for name, value in vars(nvml).items()
            if name.startswith("NVML_ERROR_") and isinstance(value, int)}


def _name(names: dict[int, str], code: int) -> str:
    return names.get(code, f"error {code}")


def _mib(size: int) -> int:
    if not 0 <= size < 1 << 63:
        raise ValueError("NVML_VALUE_NOT_AVAILABLE")
    return size // _MIB


def _memory(nvml: Any, handle: Any) -> tuple[Any, ...]:
    # Version 1 counts what the driver reserves as used: 615 MiB on an idle H200.
    memory = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
    return _mib(memory.total), _mib(memory.used)


def _bar1(nvml: Any, handle: Any) -> tuple[Any, ...]:
    bar1 = nvml.nvmlDeviceGetBAR1MemoryInfo(handle)
    return _mib(bar1.bar1Total), _mib(bar1.bar1Used)


def _remapped(nvml: Any, handle: Any) -> tuple[Any, ...]:
    correctable, uncorrectable, pending, failed = nvml.nvmlDeviceGetRemappedRows(handle)
    return correctable, uncorrectable, bool(pending), bool(failed)


def _later(function: str, call: _Call) -> _Call:
    """Make a call that a library, pynvml or driver may be too old for: that is FUNCTION_NOT_FOUND, and no damage."""

    def ask_if_there(nvml: Any, handle: Any) -> tuple[Any, ...]:
        if not hasattr(nvml, function):
            raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        try:
            return call(nvml, handle)
        except nvml.NVMLError as error:
            if error.value == getattr(nvml, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", None):
                raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND) from None
            raise

    return ask_if_there


def _flags(function: str) -> _Call:
    """Make a call whose answer is one flag, or several."""

    def call(nvml: Any, handle: Any) -> tuple[Any, ...]:
        answer = getattr(nvml, function)(handle)
        return tuple(bool(flag) for flag in (answer if isinstance(answer, (list, tuple)) else [answer]))

    return _later(function, call)


def _sram(nvml: Any, handle: Any) -> tuple[Any, ...]:
    from ctypes import byref

    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    nvml.nvmlDeviceGetSramEccErrorStatus(handle, byref(status))
    return (bool(status.bThresholdExceeded),)


def _utilization(nvml: Any, handle: Any) -> tuple[Any, ...]:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    return rates.gpu, rates.memory


def _field(number: int) -> _Call:
    def call(nvml: Any, handle: Any) -> tuple[Any, ...]:
        field = nvml.nvmlDeviceGetFieldValues(handle, [number])[0]
        if field.nvmlReturn:
            raise nvml.NVMLError(field.nvmlReturn)
        return (int(field.value.uiVal),)

    return call


def _fabric(nvml: Any, handle: Any) -> tuple[Any, ...]:
    from ctypes import byref

    info = nvml.c_nvmlGpuFabricInfo_v2_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(info))
    return _FABRIC[info.state], "SUCCESS" if info.status == 0 else _name(_error_names(nvml), info.status)


def _fabric_health(nvml: Any, handle: Any) -> tuple[Any, ...]:
    from ctypes import byref

    from ..parsers.nvidia.fabric_health import of_mask  # start-up time: this runs in a child

    for name in ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t"):
        if not hasattr(nvml, name):
            continue
        info = getattr(nvml, name)()
        try:
            nvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(info))
        except nvml.NVMLError as error:
            if error.value == getattr(nvml, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", None):
                continue        # a driver that knows the older structure
            raise
        wrong = of_mask(info.healthMask, getattr(info, "healthSummary", 0))
        if wrong is None:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        return (wrong,)
    raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def _nvlinks(nvml: Any, handle: Any) -> tuple[Any, ...]:
    active = 0
    for link in range(_MOST_LINKS):
        try:
            active += nvml.nvmlDeviceGetNvLinkState(handle, link) == 1
        except nvml.NVMLError as error:
            # A board without NVLink says NOT_SUPPORTED, one with fewer links INVALID_ARGUMENT.
            if error.value not in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT):
                raise
            break
    return (active,)


def _processes(nvml: Any, handle: Any) -> tuple[Any, ...]:
    found: dict[int, int | None] = {}
    for process in (*nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle),
                    *nvml.nvmlDeviceGetGraphicsRunningProcesses_v3(handle)):
        found[process.pid] = None if process.usedGpuMemory is None else _mib(process.usedGpuMemory)
    return ([{"pid": pid, "used_mib": used} for pid, used in sorted(found.items())],)


def _words(function: str, words: tuple[str, ...]) -> _Call:
    """Make a call whose answer is the number of a word, or several (now and pending), and that returns the words."""

    def call(nvml: Any, handle: Any) -> tuple[Any, ...]:
        answer = getattr(nvml, function)(handle)
        return tuple(words[one] for one in (answer if isinstance(answer, (list, tuple)) else [answer]))

    return call


def _plain(function: str, *arguments: int) -> _Call:
    def call(nvml: Any, handle: Any) -> tuple[Any, ...]:
        answer = getattr(nvml, function)(handle, *arguments)
        return tuple(answer) if isinstance(answer, (list, tuple)) else (answer,)

    return call


#: Keys of parsers/nvidia/nvml_keys.py, and the call that answers them together.
_GROUPS: tuple[tuple[tuple[str, ...], _Call], ...] = (
    (("name",), _plain("nvmlDeviceGetName")),
    (("uuid",), _plain("nvmlDeviceGetUUID")),
    (("serial",), _plain("nvmlDeviceGetSerial")),
    (("vbios",), _plain("nvmlDeviceGetVbiosVersion")),
    (("memory_total_mib", "memory_used_mib"), _memory),
    (("bar1_total_mib", "bar1_used_mib"), _bar1),
    (("ecc_mode", "ecc_pending"), _words("nvmlDeviceGetEccMode", _SWITCH)),
    (("ecc_volatile_corrected",), _plain("nvmlDeviceGetTotalEccErrors", 0, 0)),
    (("ecc_volatile_uncorrected",), _plain("nvmlDeviceGetTotalEccErrors", 1, 0)),
    (("ecc_aggregate_corrected",), _plain("nvmlDeviceGetTotalEccErrors", 0, 1)),
    (("ecc_aggregate_uncorrected",), _plain("nvmlDeviceGetTotalEccErrors", 1, 1)),
    (("remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failed"), _remapped),
    (("retire_pending",), _flags("nvmlDeviceGetRetiredPagesPendingStatus")),
    (("sram_threshold_exceeded",), _later("nvmlDeviceGetSramEccErrorStatus", _sram)),
    (("channel_repair_pending", "tpc_repair_pending"), _flags("nvmlDeviceGetRepairStatus")),
    (("unrepairable_memory",), _flags("nvmlDeviceGetUnrepairableMemoryFlag_v1")),
    (("temperature_c",), _plain("nvmlDeviceGetTemperature", 0)),
    (("fan_percent",), _plain("nvmlDeviceGetFanSpeed")),
    (("temperature_slowdown_c",), _plain("nvmlDeviceGetTemperatureThreshold", 1)),
    (("temperature_shutdown_c",), _plain("nvmlDeviceGetTemperatureThreshold", 0)),
    (("power_draw_mw",), _plain("nvmlDeviceGetPowerUsage")),
    (("power_limit_mw",), _plain("nvmlDeviceGetPowerManagementLimit")),
    (("power_limit_enforced_mw",), _plain("nvmlDeviceGetEnforcedPowerLimit")),
    (("power_limit_default_mw",), _plain("nvmlDeviceGetPowerManagementDefaultLimit")),
    (("power_limit_min_mw", "power_limit_max_mw"), _plain("nvmlDeviceGetPowerManagementLimitConstraints")),
    (("clock_sm_mhz",), _plain("nvmlDeviceGetClockInfo", 1)),
    (("clock_sm_max_mhz",), _plain("nvmlDeviceGetMaxClockInfo", 1)),
    (("clock_memory_mhz",), _plain("nvmlDeviceGetClockInfo", 2)),
    (("clock_memory_max_mhz",), _plain("nvmlDeviceGetMaxClockInfo", 2)),
    (("clocks_event_reasons",), _plain("nvmlDeviceGetCurrentClocksEventReasons")),
    (("pstate",), _plain("nvmlDeviceGetPerformanceState")),
    (("utilization_gpu", "utilization_memory"), _utilization),
    (("persistence",), lambda nvml, handle: (nvml.nvmlDeviceGetPersistenceMode(handle) == 1,)),
    (("mig_mode", "mig_pending"), _words("nvmlDeviceGetMigMode", _SWITCH)),
    (("compute_mode",), _words("nvmlDeviceGetComputeMode", _COMPUTE)),
    (("addressing_mode",), _words("nvmlDeviceGetAddressingMode", _ADDRESSING)),
    (("link_gen",), _plain("nvmlDeviceGetCurrPcieLinkGeneration")),
    (("link_gen_max",), _plain("nvmlDeviceGetMaxPcieLinkGeneration")),
    (("link_gen_board",), _plain("nvmlDeviceGetGpuMaxPcieLinkGeneration")),
    (("link_width",), _plain("nvmlDeviceGetCurrPcieLinkWidth")),
    (("link_width_max",), _plain("nvmlDeviceGetMaxPcieLinkWidth")),
    (("replay_counter",), _plain("nvmlDeviceGetPcieReplayCounter")),
    (("replay_rollovers",), _field(_REPLAY_ROLLOVERS)),
    (("recovery_action",), _field(_RECOVERY_ACTION)),
    (("fabric_state", "fabric_status"), _fabric),
    (("fabric_health",), _fabric_health),
    (("nvlinks_active",), _nvlinks),
    (("processes",), _processes),
)
