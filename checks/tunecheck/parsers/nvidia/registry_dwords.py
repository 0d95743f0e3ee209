"""The words of NVreg_RegistryDwords, ``Key=value;Key=value``: keys of the driver's resource manager.

Sources: src/nvidia/interface/nvrm_registry.h (every key that the open modules name), osapi.c (rm_parse_option_string),
registry.c and os-registry.c of open-gpu-kernel-modules 595.45.04 @df1c9a3, read 2026-11-21. A word with the exact name
of an entry of the driver's parameter table sets that parameter: /proc/driver/nvidia/params of boxes with
``EnableResizableBar=1`` among their words shows ``EnableResizableBar: 1`` (local-inference-lab/rtx6kpro, 2026-04-25).
Any other word is a key, compared without case, and an unknown one is taken without a word."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...util.suggestions import nearest as similar
from .nvidia_params import GONE, PARAMETERS, TABLE, c_number

__all__ = ["Problem", "nearest", "problems", "problems_per_device", "words"]

_MOST = 256


class Problem(NamedTuple):
    """What is wrong with one word. ``sure``: the word does not do what it says. Otherwise it does, at a price, or it
    may be a key of the closed firmware."""

    word: str
    text: str
    remedy: str
    sure: bool = True


def words(text: str) -> List[Tuple[str, str]]:
    """Return the words in order as (name, value). As the driver does it, spaces are dropped and a word without a value
    is passed over."""
    return [(name, value) for name, mark, value in _split(text) if name and mark and value]


def problems(text: str) -> Iterator[Problem]:
    """Yield one problem for each word that does not do what it seems to."""
    for name, mark, value in _split(text):
        wrong = _shape(name, mark, value) or _problem(name, value)
        if wrong is not None:
            yield Problem(f"{name}{mark}{value}", *wrong)
        elif (more := _remark(name, value)) is not None:
            yield Problem(f"{name}{mark}{value}", *more, sure=False)


def problems_per_device(text: str) -> Iterator[Problem]:
    """Yield the problems of NVreg_RegistryDwordsPerDevice, where words before the first board are skipped."""
    found = _split(text)
    if found and found[0][0] != "pci":
        first = "".join(found[0])
        yield Problem(first, "comes before the board it is for, so the driver skips it", f"pci=0000:01:00.0;{first}")
    yield from problems(text)


def _split(text: str) -> List[Tuple[str, str, str]]:
    parts = [word.partition("=") for word in text[:65536].strip().strip('"').replace(" ", "").split(";") if word]
    return [(name[:80], mark, value[:80]) for name, mark, value in parts[:_MOST]]


def _shape(name: str, mark: str, value: str) -> Optional[Tuple[str, str]]:
    """Return what is wrong with how the word is written, and the remedy. None where nothing is: rm_parse_option_string
    takes ``name=value`` between semicolons."""
    other = re.search(r"[,|:&+]", f"{name}{value}") if name != "pci" else None
    if "=" in value:
        return ("holds a second '=', so the driver passes all of it over",
                "end each word with a semicolon: Key=value;Key=value")
    if not (name and mark and value):
        return ("has no value, so the driver passes it over",
                "write Key=value" + (", with a semicolon between words" if other else ""))
    if other:
        return f"holds {other.group()!r}; only a semicolon ends a word", "write Key=value;Key=value"
    return None


def _problem(name: str, value: str) -> Optional[Tuple[str, str]]:
    if name == "pci":      # names the board in RegistryDwordsPerDevice
        return None
    own = _NAMES.get(name.removeprefix("NVreg_").lower(), "")
    if own and not (own == name and (name in TABLE or name in _KEYS)):
        text = GONE.get(own)
        return ("does nothing there: " + (f"the parameter {text.split(';')[0]}" if text else
                                          "no word has this name, it is a parameter of the module"),
                text.rpartition("; ")[2] if text else f"options nvidia NVreg_{own}={value}")
    near = nearest(name) if not own and name.lower() not in _LOWER else None
    if near:
        return _UNKNOWN, f"did you mean {near}?"
    number = c_number(value)
    if number is None or number < 0:
        # simple_strtoul stops at the first sign that is no digit.
        return ("has a value that is not a number: the driver takes the digits in front, or 0", f"give {name} a number")
    most = _HIGHEST.get(_LOWER.get(name.lower(), name), 0xFFFFFFFF)
    if number > most:
        return f"has a value the driver does not know (0 to {most})", f"give {name} one of these"
    if name.lower() == "forcep2p" and (number & ~0x333 or 3 in (number & 3, number >> 4 & 3, number >> 8 & 3)):
        return ("has bits without a meaning: reads are 1:0, writes 5:4, atomics 9:8; of each 0 forbids, 1 allows, 2 "
                "leaves it to the driver", "ForceP2P=0x211 allows reads and writes")
    return None


def _remark(name: str, value: str) -> Optional[Tuple[str, str]]:
    number = c_number(value) or 0
    # Two bits each: reads 1:0, writes 5:4, atomics 9:8; 0 forbids, 1 allows, 2 leaves it to the driver.
    if name.lower() == "forcep2p" and number & 0x11 and not number & 0x300:
        return ("forbids peer atomics; their two bits (9:8) are 0", f"ForceP2P={number | 0x200:#x} leaves atomics to "
                "the driver")
    if name != "pci" and name.lower() not in _LOWER and name.lower() not in _NAMES:
        return _UNKNOWN, "check its spelling"
    return None


def nearest(name: str, cutoff: float = 0.8) -> Optional[str]:
    """Return the key or table entry that ``name`` may have been meant to be. None where nothing is near."""
    known = {each.lower(): each for each in (*_KEYS, *TABLE)}
    found = similar(name.lower(), known, alike=cutoff)
    return known[found[0]] if found else None


_OF_RM = """
    AslmCfg EnableRmTestOnlyCode EncSessionStatsReportingState ForceP2P GlobalSurfaceOverrides
    MB_DisableBr03FlowControl N1xGpuPpsOverride OverrideFbSize P2PMailboxClientAllocated PCIEPowerControl
    PCIEPowerControl_ PciLatencyTimerControl PeerMappingOverride QuadroSyncFirmwareRevisionCheckDisable
    RM64KBBAR1Mappings RM654663 RMAllowSysmemLargePages RMBar1ApertureSizeMB RMBar1RestoreSize RMBar2ApertureSizeMB
    RMBug3007008EmulateVfMmuTlbInvalidate RMBug4686457War RMClientListDeferredFree RMClientListDeferredFreeLimit
    RMCtxswLog RMCtxswLogMaxRecordsPerIntr RMD3Feature RMDebugOverridePerRunlistChannelRam RMDebugRusdPolling
    RMDevinitBySecureBoot RMDisableAsyncSysmemScrub RMDisableFastScrubber RMDisableNoncontigAlloc
    RMDisablePerIntrDPCQueueing RMDisableScrubOnFree RMDumpNvLog RMEnableEventTracer RMEnableForceSharedLock
    RMEnableLocalEgmPeerId RMEnablePMA RMEnablePeFiroBuffer RMEnablePmaManagedPtables RMExternalFabricMgmt
    RMFermiBigPageSize RMForceBarPath RMForceP2PType RMForcePcieConfigSave RMForceStaticBar1 RMGpuLockMidpath
    RMGpuSurpriseRemoval RMGspStateMonitor RMGuestECCState RMIncreaseRsvdMemorySizeMB RMInstLoc RMInstLoc2 RMInstLoc3
    RMInstLoc4 RMInstVPR RMInternalMIGOverrideSwizzIdToZero RMIntrDetailedLogs RMIntrLockingMode
    RMLockingLowPriorityAging RMNvLinkControl RMNvLinkControlLinkPM RMNvLinkDisableLinks RMNvLinkDisableLinks2
    RMNvLinkDisableP2PLoopback RMNvLinkEnable RMNvLinkForceLaneshutdown RMNvLinkForcedLoopbackOnSwitch
    RMNvLinkForcedSysmemDeviceType RMNvLinkMinionControl RMNvLinkSpeedControl RMNvLinkverboseControlMask
    RMNvLogExtraBuffer1 RMNvLogExtraBuffer2 RMNvLogExtraBuffer3 RMNvLogExtraBuffer4 RMNvLogExtraBuffer5
    RMNvLogExtraBuffer6 RMOptimizeComputeOrSparseTex RMOverrideGpuNumaNodeId RMOverrideMaxContextSizeRsvdMemoryMB
    RMOverrideToGMK RMP2PPeerId RMParamCopyNoLock RMPcieFLRPolicy RMPcieFlrDevinitTimeout RMPcieLinkSpeed
    RMPcieP2PType RMPowerFeature RMPriorityBoost RMPriorityThrottleDelay RMRestrictVARange RMRusdPollingInterval
    RMSbiosEnableASPMDT RMScrubBlockShift RMSecBusResetEnable RMSetBAR1AddressSpaceBigPageSize
    RMSetClientRMAllocatedCtxBuffer RMSetMIGAutoOnlineMode RMSetSriovMode RMSetVGPUVersionMax RMSetVGPUVersionMin
    RMSplitVasMgmtServerClientRm RMSupportUserdMapDma RMSysmemPageSize RMTdrSimulatedEscape RMWar5564443 RMemNBSItable
    RmAllowUnknown4PartIds RmBlackListAddresses RmBootGspRmWithBoostClocks RmBreakonRC RmCCMultiGpuNvle
    RmCeEnableAutoConfig RmCeUseGen4Mapping RmComputeModeRules RmConfComputeHeartbeatPeriod RmConfComputeKeyRotation
    RmConfComputeSpdmPolicy RmConfidentialCompute RmCtxswTimeoutDebugDump RmDefaultTimeout RmDefaultTimeoutFlags
    RmDisableBigPagePerAddressSpace RmDisableCotCmd RmDisableFsp RmDisableFspFuseErrorCheck RmDisableGlobalCeUtils
    RmDisableHwFaultBuffer RmDisableInforomBBX RmDisableSec2 RmDmaAdjustPeerMmioBF3 RmEccSbeLoggingPeriodMin
    RmEnableAggressiveVblank RmEnableCacheableControls RmEnableDStateHfrp RmEnableGrWatchdog RmEnableGspPluginWatchcat
    RmEnableHdaDStateHfrp RmEnableKvmVgpuMigration RmEnableLargePageSizeSysmemDefault RmEnableLocalizedMemory
    RmEnableMIGGfx RmEnablePluginFtrace RmEnableProtectedPcie RmEnableRmTaskWatchcat RmEngineContextSwitchTimeoutUs
    RmFbsrFileMode RmFbsrPagedDMA RmFbsrWDDMMode RmForceBarAccessOnHcc RmForceDisableIomapWC RmForceEnableFlaSysmem
    RmForceEnableGen2 RmForceGrScrubberChannel RmFspUseMnoc RmGpuDirectRdmaForceSPA RmGpuFabricProbe
    RmGpuLoadFailureTest RmGspBootInitialShift RmGspBootRetryAttempts RmGspFirmwareHeapSizeMB
    RmGspLibosWatchdogTimeOut RmGspLogBufferSizeTaskInit RmGspLogBufferSizeTaskIntr RmGspLogBufferSizeTaskMnoc
    RmGspLogBufferSizeTaskRm RmGspOwnedFaultBuffersEnable RmGspPluginWatchcatTimeOut RmGspPreserveUnloadLogs
    RmGspRmProfiling RmGspRpcTimeoutGpuResetThreshold RmGspScanWprEndMargin RmGspStackPlacement RmGspStallDetection
    RmGspStatusQueueSize RmGspSysmemHeapSizeMB RmGspTimeoutClassification RmGspTraceCrashLogging
    RmGspTraceCrashLoggingBufferSize RmGspWprEndMargin RmGspliteEnableMask RmHwpmExtendedBuffer
    RmHwpmForceMultiMapping RmIllumLogoBrightness RmIllumSLIBrightness RmInitMemReuse RmKeyRotationInternalThreshold
    RmKeyRotationLowerThreshold RmKeyRotationThresholdDelta RmKeyRotationTimeout RmKeyRotationUpperThreshold
    RmL2CleanFbPull RmLockTimeCollect RmLogonRC RmLpwrC2CState RmLpwrC2cCl3IdleThresholdUs RmLpwrC2cCl4IdleThresholdUs
    RmLpwrC2cClientDisableOverride RmLpwrC2cClxStateCoupling RmLpwrC2cPpsOverride RmMIGBootConfigurationCIAssignment
    RmMIGBootConfigurationFeatureFlags RmMemSubsystemErrorDetection RmMsg RmNumFifos RmNumaAllocSkipReclaimPercent
    RmNvencPVMRL RmNvlinkAdaptiveBwMode RmNvlinkBandwidth RmNvlinkBandwidthLinkCount RmNvlinkEnablePrivErrorRc
    RmNvlinkEncryption RmNvlinkEncryptionWithCC RmNvlinkNvleKeyRefresh RmOverrideCoherentCpuFbBase
    RmOverrideInternalTimeoutsMs RmOverrideNonPasidAtsSupport RmPVMRL RmPVMRLElasticSchedulingCap
    RmPrintAssertBacktrace RmProfilingAdminOnly RmRCPrevDriverBranch RmRCPrevDriverChangelist RmRCPrevDriverLoadCount
    RmRCPrevDriverVersion RmRcWatchdog RmRelaxedGspInitLocking RmReservePteSysmemMB RmResetFsmStateTimeoutUs
    RmRoApiLock RmRoApiLockModule RmRoGpuLockModule RmRobustChannels RmRouteToPhyiscalLockBypass
    RmSetPCIERelaxedOrdering RmStreamMemOps RmThreadStateSetupFlags RmValidateClientData RmVideoEventTrace
    RmWar5785851 RmWatchDogInterval RmWatchDogTimeOut SuppressClassList TSwapRdyHiLsrMinTime
    TSwapRdyHiSwapLockoutStart UseUncachedPCIMappings nvBrokenFb
"""

_KEYS = frozenset(_OF_RM.split())
_LOWER = {name.lower(): name for name in _KEYS}
_UNKNOWN = "is no key that the open modules name, and unknown keys are taken without a word"
#: Parameters of the module, however they are written there.
_NAMES: Dict[str, str] = {name.lower(): name for name in (*PARAMETERS, *GONE, *TABLE)}
#: Highest value that nvrm_registry.h gives a meaning.
_HIGHEST = {"RMForceP2PType": 3, "RMPcieP2PType": 2, "RMForceStaticBar1": 2, "RmSetPCIERelaxedOrdering": 2,
            "PeerMappingOverride": 1}
