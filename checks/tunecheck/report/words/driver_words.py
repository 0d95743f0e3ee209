"""Words of NVIDIA's driver and libraries (NVML, CUDA) that `tunecheck explain` knows.
Word -> (in words, what to do or to know, the check to read on)."""

from __future__ import annotations

import re

__all__ = ["DRIVER_WORDS", "MEMORY_WORDS", "NVML_ERRORS", "by_pattern"]

_Told = tuple[str, str, str]
_NVML = "an answer of NVML in place of a value: "
#: NVML's names of its return codes (nvml.h), without NVML_ERROR_ before them.
NVML_ERRORS: dict[str, _Told] = {name: (_NVML + what, more, check) for name, (what, more, check) in {
    "NOT_SUPPORTED": ("this GPU or this driver has no such value", "No fault.", "nvml-answers"),
    "NO_PERMISSION": ("only root may ask for it", "Ask as root: sudo tunecheck preflight.", "nvml-answers"),
    "GPU_IS_LOST": ("the GPU does not answer any more", "Look for its Xid in the kernel log.", "gpu-fallen-off"),
    "RESET_REQUIRED": ("the GPU has to be reset before it answers again", "", "gpu-recovery"),
    "FUNCTION_NOT_FOUND": ("the driver's library is older than the question", "No fault.", "nvml-answers"),
    "LIB_RM_VERSION_MISMATCH": ("the driver's library is of another version than the loaded kernel module",
                                "Reboot after an update of the driver.", "driver-coherence"),
    "DRIVER_NOT_LOADED": ("no NVIDIA driver is loaded", "", "driver-bound"),
    "LIBRARY_NOT_FOUND": ("libnvidia-ml.so.1 is not installed", "", "nvml-answers"),
    "INSUFFICIENT_RESOURCES": ("the GPU, the driver or the fabric has no more of what it takes", "", "fabric-state"),
    "INVALID_ARGUMENT": ("this GPU or this driver does not take that question", "", "nvml-answers"),
    "INVALID_STATE": ("it cannot be told in the state that the GPU is in", "", "nvml-answers"),
    "IN_USE": ("somebody else holds what was asked for", "", "nvml-answers"),
    "TIMEOUT": ("the driver did not answer in time", "", "nvml-answers"),
    "UNKNOWN": ("the driver failed and does not say why", "Look for an Xid in the kernel log.", "nvml-answers"),
    "SUCCESS": ("it succeeded; of a fabric: the GPU joined without an error", "", "fabric-state"),
}.items()}
NVML_ERRORS["NotSupported"] = NVML_ERRORS["NOT_SUPPORTED"]
_LOG = "A word of an Xid's text."
DRIVER_WORDS: dict[str, _Told] = {
    "CUDA": ("NVIDIA's interface for programs that compute on GPUs", "", "cuda-toolkit"),
    "NVRM": ("how NVIDIA's driver begins its lines in the kernel log", "See them: sudo journalctl -k -b -g nvrm.",
             "xid"),
    "RM": ("resource manager: the part of NVIDIA's driver that owns the GPUs", "", "gpu-start"),
    "RPC": ("a message between the driver and another processor, mostly the GPU's own (GSP RPC)", "", "xid"),
    "WPR2": ("a region of the GPU's memory that its firmware (GSP) keeps for itself",
             "Where it is in use at the start, the GPU was not reset since the driver before.", "gpu-start"),
    "PMU": ("power management unit: a processor on the GPU; where it halts, the GPU wants a reset", _LOG, "xid"),
    "LTC": ("the part of a GPU's level 2 cache that belongs to one memory channel", _LOG, "xid"),
    "NETIR": ("a part of NVLink 5 on the GPU", _LOG, "xid"),
    "PRIV": ("an access to registers of an NVSwitch or a GPU that need rights", "", "sxid"),
    "MMU": ("memory management unit of a GPU: it translates the addresses of programs", _LOG, "xid"),
    "TPC": ("texture processing cluster: a part of a GPU with two SMs", "", "gpu-ecc"),
    "SRAM": ("the memory inside the GPU's chip: caches and registers", "", "gpu-ecc"),
    "ROW_REMAPPER": ("a section of nvidia-smi -q: rows of a GPU's memory that were replaced by spare ones", "",
                     "gpu-recovery"),
    "RMA": ("return merchandise authorization: the maker takes the board back and sends another one", "", "gpu-ecc"),
    "CE": ("a copy engine of a GPU: it copies data beside the SMs", "", "p2p-integrity"),
    "IMEX": ("NVIDIA's service by which GPUs of several machines share memory over NVLink", "", "xid"),
    "UUID": ("the name of a GPU that stays the same in every slot and order", "List them: nvidia-smi -L.",
             "nccl-environment"),
    "ERR": ("what nvidia-smi prints (ERR!) in place of a value that the GPU did not give", "", "nvml-answers"),
    "vGPU": ("a part of a GPU that NVIDIA's vGPU software gives to a virtual machine; it has drivers of its own", "",
             "module-flavour"),
    "DGX": ("NVIDIA's own server, with an HGX board and the system DGX OS", "", "dgx-os"),
    "SXM": ("a GPU as a module on an HGX board, in place of a card in a PCIe slot", "", "fabric-state"),
    "RegistryDwords": ("the parameter NVreg_RegistryDwords of nvidia.ko: words for the driver's resource manager",
                       "An unknown word is taken without a message.", "registry-dwords"),
    "ForceP2P": ("an old word of NVreg_RegistryDwords that was to allow peer-to-peer",
                 "It is not taken: RMForceP2PType is the key.", "registry-dwords"),
    "RMForceP2PType": ("a word of NVreg_RegistryDwords: which kind of peer-to-peer the driver uses", "",
                       "registry-dwords"),
    "MTU": ("the largest packet of a network", "Both ends and the switch between them must agree.", "nccl-transport"),
    "GID": ("the address of a port of InfiniBand or RoCE", "", "nccl-transport"),
    "PFC": ("priority flow control: an Ethernet switch stops a sender in place of dropping its packets",
            "RoCE needs it.", "nccl-transport"),
}
#: What the kernel's EDAC counts.
MEMORY_WORDS: dict[str, _Told] = {
    "CE": ("in the kernel log (EDAC): an error of memory that was corrected", "", "host-memory"),
    "UE": ("in the kernel log (EDAC): an error of memory that could not be corrected", "", "host-memory"),
}
_MODULE = "What the loaded module has: cat /proc/driver/nvidia/params."


def by_pattern(word: str) -> tuple[str, _Told] | None:
    """Return a name that one of many has, as it is written, and what it means; None for any other word."""
    if state := re.fullmatch(r"P(\d|1[0-5])", word, re.IGNORECASE):
        return word.upper(), (f"performance state {state[1]} of a GPU: P0 is the fastest, P8 mostly that of an "
                              "idle GPU", "", "gpu-clocks")
    if controller := re.fullmatch(r"MC(\d{1,2})", word, re.IGNORECASE):
        return word.upper(), (f"memory controller {controller[1]} of the host, as the kernel counts them (EDAC)", "",
                              "host-memory")
    if setting := re.fullmatch(r"(?:NVreg_)?(\w{4,60})", word, re.IGNORECASE):
        from ...parsers.nvidia.nvidia_params import PARAMETERS

        known = {name.upper(): name for name in PARAMETERS}
        if own := known.get(setting[1].upper()):
            return f"NVreg_{own}", ("a parameter of NVIDIA's kernel module nvidia.ko", _MODULE, "module-parameter")
    if re.fullmatch(r"CONFIG_[A-Z0-9_]{2,40}", word, re.IGNORECASE):
        return word.upper(), ("an option that the Linux kernel is built with", "See whether it is on: "
                              "grep -rs --include=config-* CONFIG_ /boot.", "")
    if re.fullmatch(r"(?:CUDA_ERROR|CUBLAS_STATUS)_[A-Z0-9_]{2,60}", word, re.IGNORECASE):
        return word.upper(), ("the name of an error of CUDA: a call of a program on a GPU failed",
                              "The kernel log says more where the GPU is at fault: sudo journalctl -k -b -g xid.",
                              "engine-decisions")
    return None
