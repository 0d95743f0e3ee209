"""What the GPUs of this machine do while it serves: clocks, power, temperature, and why the clocks are not higher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..host.base import Unreadable
from ..host.live import LiveHost

__all__ = ["looks"]

#: nvmlClocksEventReasons (nvml.h of driver 580).
_REASONS = {0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown",
            0x10: "sync_boost", 0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown",
            0x80: "hw_power_brake_slowdown", 0x100: "display_clock_setting"}
_SECONDS = 5.0


def looks(door: LiveHost) -> Callable[[], Mapping[str, Any] | None]:
    """Return a function that looks at all GPUs each time it is called and returns their values, or ``missed`` and why.
    It returns None where this machine has no NVML at all: the first look tells, and then nobody need ask again."""
    answered = False

    def look() -> Mapping[str, Any] | None:
        nonlocal answered
        try:
            told = door.nvml(_SECONDS)
        except (Unreadable, OSError) as error:
            return {"gpus": [], "missed": str(error)[:200]} if answered else None
        boards = [board(each) for each in told.get("gpus", ()) if isinstance(each, dict)]
        answered = answered or bool(boards)
        return {"gpus": boards} if boards or answered else None

    return look


def board(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of one GPU of the NVML document: clock in MHz, power in W, temperature in degrees C, and the
    reasons why the clock is not higher."""
    values = gpu.get("values") or {}
    power, bits = values.get("power_draw_mw"), values.get("clocks_event_reasons")
    return {"bdf": str(gpu.get("bdf", "?")), "sm_mhz": values.get("clock_sm_mhz"),
            "power_w": power / 1000 if isinstance(power, int) else None, "temperature_c": values.get("temperature_c"),
            "reasons": [name for bit, name in _REASONS.items() if isinstance(bits, int) and bits & bit]}
