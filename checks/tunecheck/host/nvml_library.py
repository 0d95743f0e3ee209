"""libnvidia-ml.so.1 by ctypes: the few calls that are made. Only ever loaded in a child (nvml_reader.py).

Not through nvidia-ml-py: importing it takes 36 ms of a child that has about 100 (H200, 2 GPUs), a structure passed by
value crashed the process there (nvmlDeviceGetGpuFabricInfoV), and NVML_P2P_CAPS_INDEX_READ of 13.615 is the tuple (0,).
Structures are those of nvml.h of driver 580; a test holds their layout against nvidia-ml-py's."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char, c_int, c_int64, c_uint, c_uint8, c_uint32, c_ulonglong, c_void_p
from typing import Any

__all__ = ["Bar1", "Fabric", "FieldValue", "Library", "Memory", "PciInfo", "Process", "Refused", "Utilization"]

#: nvmlReturn_t, without its prefix NVML_ERROR_.
ERRORS = {
    1: "UNINITIALIZED", 2: "INVALID_ARGUMENT", 3: "NOT_SUPPORTED", 4: "NO_PERMISSION", 5: "ALREADY_INITIALIZED",
    6: "NOT_FOUND", 7: "INSUFFICIENT_SIZE", 8: "INSUFFICIENT_POWER", 9: "DRIVER_NOT_LOADED", 10: "TIMEOUT",
    11: "IRQ_ISSUE", 12: "LIBRARY_NOT_FOUND", 13: "FUNCTION_NOT_FOUND", 14: "CORRUPTED_INFOROM", 15: "GPU_IS_LOST",
    16: "RESET_REQUIRED", 17: "OPERATING_SYSTEM", 18: "LIB_RM_VERSION_MISMATCH", 19: "IN_USE", 20: "MEMORY",
    21: "NO_DATA", 22: "VGPU_ECC_NOT_SUPPORTED", 23: "INSUFFICIENT_RESOURCES", 24: "FREQ_NOT_SUPPORTED",
    25: "ARGUMENT_VERSION_MISMATCH", 26: "DEPRECATED", 27: "NOT_READY", 28: "GPU_NOT_FOUND", 29: "INVALID_STATE",
    30: "RESET_TYPE_NOT_SUPPORTED", 999: "UNKNOWN",
}


class Refused(Exception):  # noqa: N818 - it is NVML's answer
    """A call that did not succeed; ``name`` is the error's."""

    def __init__(self, code: int) -> None:
        self.name = ERRORS.get(code, f"error {code}")
        super().__init__(self.name)


class PciInfo(ctypes.Structure):
    _fields_ = (("legacy", c_char * 16), ("domain", c_uint), ("bus", c_uint), ("device", c_uint), ("ids", c_uint),
                ("subsystem", c_uint), ("text", c_char * 32))


class Memory(ctypes.Structure):
    """Version 2: version 1 counts what the driver reserves as used, 615 MiB on an idle H200."""

    _fields_ = (("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong),
                ("used", c_ulonglong))


class Bar1(ctypes.Structure):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class Utilization(ctypes.Structure):
    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class Addressing(ctypes.Structure):
    _fields_ = (("version", c_uint), ("value", c_uint))


class Fabric(ctypes.Structure):
    _fields_ = (("version", c_uint), ("cluster", c_uint8 * 16), ("status", c_uint), ("clique", c_uint32),
                ("state", c_uint8), ("health", c_uint32))


class FieldValue(ctypes.Structure):
    _fields_ = (("field", c_uint32), ("scope", c_uint32), ("timestamp", c_int64), ("latency", c_int64),
                ("type", c_uint), ("code", c_uint), ("value", c_ulonglong))


class Process(ctypes.Structure):
    _fields_ = (("pid", c_uint), ("used", c_ulonglong), ("gpu_instance", c_uint), ("compute_instance", c_uint))


class Library:
    """The loaded library. Every method raises Refused where NVML gives an error."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            raise Refused(12) from None

    def call(self, function: str, *arguments: Any) -> None:
        try:
            entry = getattr(self._library, function)
        except AttributeError:      # an older library
            raise Refused(13) from None
        code = entry(*arguments)
        if code:
            raise Refused(code)

    def text(self, function: str, *arguments: Any) -> str:
        buffer = ctypes.create_string_buffer(256)
        self.call(function, *arguments, buffer, c_uint(256))
        return buffer.value.decode("utf-8", "replace")

    def number(self, function: str, *arguments: Any) -> int:
        return self.numbers(function, *arguments)[0]

    def numbers(self, function: str, *arguments: Any, count: int = 1) -> tuple[int, ...]:
        """Of 32 or 64 bits: little-endian zeros are above those that are not written."""
        results = [c_ulonglong() for _ in range(count)]
        self.call(function, *arguments, *map(byref, results))
        return tuple(int(result.value) for result in results)

    def filled(self, function: str, handle: Any, structure: Any, version: int = 0) -> Any:
        """The structure that the call fills, by reference; ``version`` for those that begin with one."""
        if version:
            structure.version = ctypes.sizeof(structure) | version << 24
        self.call(function, handle, byref(structure))
        return structure

    def handle(self, index: int) -> Any:
        handle = c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
        return handle

    def field(self, handle: Any, field: int) -> int:
        """A field that is a whole number of 32 bits."""
        value = FieldValue(field=field)
        self.call("nvmlDeviceGetFieldValues", handle, c_int(1), byref(value))
        if value.code:
            raise Refused(value.code)
        return int(value.value) & 0xFFFFFFFF

    def processes(self, function: str, handle: Any) -> list[Any]:
        room = 64
        for _ in range(4):      # there may be more each time
            count, array = c_uint(room), (Process * room)()
            try:
                self.call(function, handle, byref(count), array)
            except Refused as refused:
                if refused.name != "INSUFFICIENT_SIZE" or not room < count.value < 1 << 16:
                    raise
                room = 2 * count.value
                continue
            return list(array[:count.value])
        raise Refused(7)
