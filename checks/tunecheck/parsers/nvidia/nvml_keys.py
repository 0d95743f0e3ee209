"""The keys of a GPU in the NVML document, with their units. Values are whole numbers, texts, booleans or lists.

Sources: nvml.h of driver 580 and 595; the same names are filled from the texts of `nvidia-smi -q` and `-q -x`."""

from __future__ import annotations

__all__ = ["KEYS", "LATER", "OF_TEXTS"]

#: key -> (unit, what it is)
KEYS = {
    "name": ("text", "product name"),
    "uuid": ("text", "GPU-..."),
    "serial": ("text", "board serial number"),
    "vbios": ("text", "VBIOS version"),
    "ids": ("text", "vendor:device, lower-case hex"),
    "memory_total_mib": ("MiB", "framebuffer"),
    "memory_used_mib": ("MiB", "used, without what the driver reserves"),
    "bar1_total_mib": ("MiB", "BAR1 aperture"),
    "bar1_used_mib": ("MiB", "BAR1 in use"),
    "ecc_mode": ("text", "enabled or disabled, now"),
    "ecc_pending": ("text", "enabled or disabled, after the next reset"),
    "ecc_volatile_corrected": ("count", "since the driver was loaded"),
    "ecc_volatile_uncorrected": ("count", "since the driver was loaded"),
    "ecc_aggregate_corrected": ("count", "over the board's life"),
    "ecc_aggregate_uncorrected": ("count", "over the board's life"),
    "remapped_correctable": ("rows", "remapped after correctable errors"),
    "remapped_uncorrectable": ("rows", "remapped after uncorrectable errors"),
    "remap_pending": ("bool", "a row remap waits for a reset"),
    "remap_failed": ("bool", "a row could not be remapped"),
    "retire_pending": ("bool", "a page retirement waits for a reset (boards before Ampere)"),
    "sram_threshold_exceeded": ("bool", "more SRAM errors than the driver takes for sound"),
    "channel_repair_pending": ("bool", "a repair of a memory channel waits for a reset"),
    "tpc_repair_pending": ("bool", "a repair of a TPC waits for a reset"),
    "unrepairable_memory": ("bool", "memory that cannot be repaired"),
    "temperature_c": ("degrees C", "GPU core"),
    "fan_percent": ("percent", "fan speed; boards without a fan have none"),
    "temperature_slowdown_c": ("degrees C", "where hardware slows down"),
    "temperature_shutdown_c": ("degrees C", "where hardware shuts down"),
    "power_draw_mw": ("mW", "now"),
    "power_limit_mw": ("mW", "set"),
    "power_limit_enforced_mw": ("mW", "in force: the lowest of all that limit it"),
    "power_limit_default_mw": ("mW", "of the board"),
    "power_limit_min_mw": ("mW", "lowest that can be set"),
    "power_limit_max_mw": ("mW", "highest that can be set"),
    "clock_sm_mhz": ("MHz", "now"),
    "clock_sm_max_mhz": ("MHz", "highest"),
    "clock_memory_mhz": ("MHz", "now"),
    "clock_memory_max_mhz": ("MHz", "highest"),
    "clocks_event_reasons": ("bit mask", "nvmlClocksEventReasons: why the clocks are not higher"),
    "pstate": ("number", "P0 (fastest) to P15"),
    "utilization_gpu": ("percent", "of time with a kernel running"),
    "utilization_memory": ("percent", "of time with memory traffic"),
    "persistence": ("bool", "persistence mode"),
    "mig_mode": ("text", "enabled or disabled, now"),
    "mig_pending": ("text", "enabled or disabled, after the next reset"),
    "compute_mode": ("text", "default, exclusive_process or prohibited"),
    "addressing_mode": ("text", "HMM, ATS or none"),
    "link_gen": ("number", "PCIe generation now"),
    "link_gen_max": ("number", "highest of board and slot together"),
    "link_gen_board": ("number", "highest of the board"),
    "link_width": ("lanes", "now"),
    "link_width_max": ("lanes", "highest of board and slot together"),
    "replay_counter": ("count", "PCIe replays since the driver was loaded"),
    "replay_rollovers": ("count", "times that PCIe replayed the same packets over and over, since then"),
    "recovery_action": ("number", "0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset"),
    "fabric_state": ("text", "not_supported, not_started, in_progress or completed"),
    "fabric_status": ("text", "NVML's status of the registration: SUCCESS or an error"),
    "fabric_health": ("list", "texts of what NVML says is wrong with this GPU's place in the fabric; empty: nothing"),
    "nvlinks_active": ("count", "NVLinks that are up"),
    "processes": ("list", "[{pid, used_mib (or null)}] with a context on this GPU"),
}
#: Keys that only a text of nvidia-smi fills.
OF_TEXTS = {
    "name_begin": ("text", "the beginning of a product name that the plain table cut"),
    "slowdown_sw_thermal_us": ("microseconds", "slowed down by software for heat, since the driver was loaded"),
    "slowdown_hw_thermal_us": ("microseconds", "slowed down by hardware for heat, since then"),
    "slowdown_power_brake_us": ("microseconds", "slowed down by the power supply's brake, since then"),
    "whole_report": ("bool", "the report shows every GPU that it counts, and this one to its end"),
}
#: Keys that recordings of earlier versions do not have.
LATER = ("retire_pending", "sram_threshold_exceeded", "channel_repair_pending", "tpc_repair_pending",
         "unrepairable_memory", "power_limit_enforced_mw", "fabric_health", "replay_rollovers", "fan_percent")
