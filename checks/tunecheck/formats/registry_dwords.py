"""The words of NVreg_RegistryDwords, ``Key=value;Key=value``: keys of the driver's resource manager.

Sources: src/nvidia/interface/nvrm_registry.h (every key that the open modules name), kernel-open/nvidia/nv-reg.h
(parameters of the module) and os-registry.c of open-gpu-kernel-modules 595.45.04 @df1c9a3, read 2026-11. A parameter of
the module is not a key: os_registry_init writes the parameters over the registry, or reads the C variable. An unknown
key is taken without a word."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

__all__ = ["PARAMETERS", "problems", "words"]

_MOST = 256


def words(text: str) -> List[Tuple[str, str]]:
    """The words in order; as the driver does it, spaces are dropped and a word without a value is passed over."""
    found = []
    for word in text[:65536].strip().strip('"').replace(" ", "").split(";")[:_MOST]:
        name, mark, value = word.partition("=")
        if name and mark and value:
            found.append((name[:80], value[:40]))
    return found


def problems(text: str) -> Iterator[Tuple[str, str, str]]:
    """(word, what is wrong with it, what to do), for each word that does not do what it seems to."""
    for name, value in words(text):
        wrong = _problem(name, value)
        if wrong is not None:
            yield (f"{name}={value}", *wrong)


def _problem(name: str, value: str) -> Optional[Tuple[str, str]]:
    if name.removeprefix("NVreg_") in PARAMETERS:
        own = name.removeprefix("NVreg_")
        return ("does nothing there: it is a parameter of the module, not a registry key",
                f"options nvidia NVreg_{own}={value}")
    if name == "pci":      # names the board in RegistryDwordsPerDevice
        return None
    if name not in _KEYS:
        near = next((key for key in _KEYS if key.lower() == name.lower()), None) or _near(name)
        return ("is no key that the open modules name, and unknown keys are taken without a word",
                f"did you mean {near}?" if near else "check its spelling")
    try:
        number = int(value, 0)
    except ValueError:
        return "has a value that is not a number, so the driver does not take it", f"give {name} a number"
    # Two bits each: reads 1:0, writes 5:4, atomics 9:8; 0 forbids, 1 allows, 2 leaves it to the driver.
    if name == "ForceP2P" and (number & 0x11) and not number & 0x300:
        return ("forbids peer atomics: their two bits (9:8) are 0", f"ForceP2P={number | 0x200:#x} leaves atomics to "
                "the driver")
    return None


def _near(name: str) -> Optional[str]:
    from difflib import get_close_matches  # only for a word that is wrong

    return next(iter(get_close_matches(name, sorted(_KEYS), 1, 0.8)), None)


_OF_MODULE = """
    CoherentGPUMemoryMode CreateImexChannel0 DeviceFileGID DeviceFileMode DeviceFileUID DmaRemapPeerMmio
    DynamicPowerManagement DynamicPowerManagementVideoMemoryThreshold EnableDbgBreakpoint EnableGpuFirmware
    EnableGpuFirmwareLogs EnableMSI EnableNonblockingOpen EnablePCIERelaxedOrderingMode EnablePCIeGen3
    EnableResizableBar EnableS0ixPowerManagement EnableStreamMemOPs EnableSystemMemoryPools EnableUserNUMAManagement
    ExcludeAllGpus ExcludedGpus GpuBlacklist GpuInitOnProbe GrdmaPciTopoCheckOverride IgnoreMMIOCheck ImexChannelCount
    InitializeSystemMemoryAllocations KMallocHeapMaxSize MemoryPoolSize ModifyDeviceFiles NvLinkDisable
    OpenRmEnableUnsupportedGpus PreserveVideoMemoryAllocations RegisterPCIDriver RegisterPlatformDeviceDriver
    ResmanDebugLevel RestrictProfilingToAdminUsers S0ixPowerManagementVideoMemoryThreshold TegraGpuPgMask
    TemporaryFilePath UseKernelSuspendNotifiers UsePageAttributeTable VMallocHeapMaxSize
"""

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

#: Of nvidia.ko, each set as NVreg_<name>.
PARAMETERS = frozenset(_OF_MODULE.split())
_KEYS = frozenset(_OF_RM.split())
