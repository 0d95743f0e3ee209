"""The parameters of nvidia.ko (NVreg_*) and nvidia-uvm.ko, and the values they take.

Sources: kernel-open/nvidia/nv-reg.h and kernel-open/nvidia-uvm of open-gpu-kernel-modules, every tag from 515.43.04 to
595.45.04, read 2026-11-21. nv-linux.h makes each NVreg_ number ``module_param(x, int, 0)``: a text that is no C integer
of 32 bits ends the loading of the module, and sysfs shows none of them; an unknown name is logged and passed over."""

from __future__ import annotations

from typing import Dict, FrozenSet, NamedTuple, Optional, Tuple, Union

from ...util.at_first_use import regex

__all__ = ["GONE", "LAST", "PARAMETERS", "TABLE", "UNSHOWN", "UVM", "Parameter", "c_number"]

#: The newest branch that was read: of a younger one this list proves nothing.
LAST = 595

_NUMBER = regex(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)\Z")
_FLAG = (0, 1)
_ANY = (-1 << 31, (1 << 31) - 1)
_SIZE = (0, (1 << 31) - 1)


class Parameter(NamedTuple):
    """One parameter. ``values`` is a range of numbers (lowest, highest), or the words of a text; () for any text.
    ``since`` is the branch that brought it, 0 for those that every open driver has."""

    values: Union[Tuple[int, int], Tuple[str, ...]]
    since: int = 0


def c_number(text: str) -> Optional[int]:
    """Return the number as the kernel reads it (0x hexadecimal, a leading 0 octal). None where the text is none."""
    if not _NUMBER.match(text):
        return None
    digits = text.lstrip("+-")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    return int(digits, base) * (-1 if text.startswith("-") else 1)


def _of(names: str, values: Union[Tuple[int, int], Tuple[str, ...]], since: int = 0) -> Dict[str, Parameter]:
    return dict.fromkeys(names.split(), Parameter(values, since))


#: By name without "NVreg_".
PARAMETERS: Dict[str, Parameter] = {
    **_of("""DmaRemapPeerMmio EnableMSI EnablePCIERelaxedOrderingMode EnablePCIeGen3 EnableS0ixPowerManagement
          EnableStreamMemOPs EnableUserNUMAManagement InitializeSystemMemoryAllocations ModifyDeviceFiles NvLinkDisable
          RegisterPCIDriver RestrictProfilingToAdminUsers""", _FLAG),
    **_of("EnableResizableBar", _FLAG, 530), **_of("EnableNonblockingOpen", _FLAG, 550),
    **_of("CreateImexChannel0", _FLAG, 555), **_of("RegisterPlatformDeviceDriver", _FLAG, 580),
    **_of("ExcludeAllGpus GpuInitOnProbe UseKernelSuspendNotifiers", _FLAG, 595),
    **_of("PreserveVideoMemoryAllocations", (0, 2)), **_of("EnableGpuFirmwareLogs", (0, 2)),
    **_of("DynamicPowerManagement", (0, 3)), **_of("GrdmaPciTopoCheckOverride", (0, 2), 570),
    **_of("UsePageAttributeTable", (-1, 1)), **_of("EnableGpuFirmware", (0, 0x3F)),
    **_of("DeviceFileMode", (0, 0o777)), **_of("DeviceFileGID DeviceFileUID", _SIZE),
    **_of("DynamicPowerManagementVideoMemoryThreshold S0ixPowerManagementVideoMemoryThreshold", _SIZE),
    **_of("ImexChannelCount", _SIZE, 550), **_of("RmNvlinkBandwidthLinkCount", _SIZE, 565),
    **_of("EnableSystemMemoryPools", _ANY, 590), **_of("EnableDbgBreakpoint ResmanDebugLevel RmLogonRC", _ANY),
    **_of("CoherentGPUMemoryMode", ("driver", "numa"), 580),
    **_of("RmNvlinkBandwidth", ("OFF", "MIN", "HALF", "3QUARTER", "FULL"), 530),
    **_of("ExcludedGpus RegistryDwords RegistryDwordsPerDevice RmMsg TemporaryFilePath", ()),
}

#: Names that the open modules have or had, and why stating them does nothing.
GONE: Dict[str, str] = {
    "GpuBlacklist": "is deprecated and passed over where ExcludedGpus is set (nv-reg.h); write NVreg_ExcludedGpus",
    "OpenRmEnableUnsupportedGpus": "is ignored since 545, every GPU is supported (nv-reg.h); remove it",
    "RegisterForACPIEvents": "went after 515.43.04; remove it",
    "TCEBypassMode": "was for IBM POWER and went after 565; remove it",
    "TegraGpuPgMask": "is for Tegra's own GPU (nv-reg.h); remove it",
    **dict.fromkeys(("IgnoreMMIOCheck", "KMallocHeapMaxSize", "MemoryPoolSize", "VMallocHeapMaxSize"),
                    "is for VMware ESXi and does nothing on Linux (nv-reg.h); remove it"),
}

#: Declared with NVreg_, but not in the driver's table: neither /proc/driver/nvidia/params nor sysfs shows them.
UNSHOWN: FrozenSet[str] = frozenset(("EnableNonblockingOpen", "ExcludeAllGpus", "GpuInitOnProbe",
                                     "RegisterPlatformDeviceDriver", "RmNvlinkBandwidth"))

#: The driver's table, which also takes a word of RegistryDwords with exactly this name. One is there by another name.
TABLE: FrozenSet[str] = frozenset(
    name for name, each in {**PARAMETERS, **dict.fromkeys(GONE, Parameter(_ANY))}.items()
    if each.values and isinstance(each.values[0], int) and name not in UNSHOWN
    and name not in ("GpuBlacklist", "RestrictProfilingToAdminUsers")) | {"RmProfilingAdminOnly"}

_OF_UVM = """
    uvm_ats_mode uvm_block_cpu_to_cpu_copy_with_ce uvm_channel_gpfifo_loc uvm_channel_gpput_loc
    uvm_channel_num_gpfifo_entries uvm_channel_pushbuffer_loc uvm_conf_computing_channel_iv_rotation_limit
    uvm_cpu_chunk_allocation_sizes uvm_debug_enable_push_acquire_info uvm_debug_enable_push_desc uvm_debug_prints
    uvm_disable_hmm uvm_downgrade_force_membar_sys uvm_enable_builtin_tests uvm_enable_debug_procfs
    uvm_enable_va_space_mm uvm_exp_gpu_cache_peermem uvm_exp_gpu_cache_sysmem uvm_fault_force_sysmem
    uvm_global_oversubscription uvm_leak_checker uvm_page_table_location uvm_peer_copy
    uvm_perf_access_counter_batch_count uvm_perf_access_counter_migration_enable uvm_perf_access_counter_threshold
    uvm_perf_fault_batch_count uvm_perf_fault_coalesce uvm_perf_fault_max_batches_per_service
    uvm_perf_fault_max_throttle_per_service uvm_perf_fault_replay_policy uvm_perf_fault_replay_update_put_ratio
    uvm_perf_lapse_vote_threshold uvm_perf_map_remote_on_eviction uvm_perf_map_remote_on_native_atomics_fault
    uvm_perf_migrate_cpu_preunmap_block_order uvm_perf_migrate_cpu_preunmap_enable
    uvm_perf_pma_batch_nonpinned_order uvm_perf_prefetch_enable uvm_perf_prefetch_min_faults
    uvm_perf_prefetch_threshold uvm_perf_reenable_prefetch_faults_lapse_msec uvm_perf_thrashing_enable
    uvm_perf_thrashing_epoch uvm_perf_thrashing_lapse_usec uvm_perf_thrashing_max_resets uvm_perf_thrashing_nap
    uvm_perf_thrashing_pin uvm_perf_thrashing_pin_threshold uvm_perf_thrashing_threshold uvm_release_asserts
    uvm_release_asserts_dump_stack uvm_release_asserts_set_global_error uvm_force_prefetch_fault_support
    uvm_perf_access_counter_granularity uvm_perf_access_counter_mimc_migration_enable
    uvm_perf_access_counter_momc_migration_enable
"""

#: Of nvidia-uvm.ko, each with its whole name; the last four went before 595.
UVM: FrozenSet[str] = frozenset(_OF_UVM.split())
