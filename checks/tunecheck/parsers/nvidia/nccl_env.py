"""Variables of NCCL, CUDA and the serving engines that are ignored, or known to harm. Sources are at each entry.

NCCL: NVIDIA/nccl 2.30.7 @5067397c, read 2026-11. Only names with these prefixes are ever kept: the same files hold
tokens and keys."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional

from ...util.at_first_use import dataclass
from ...util.suggestions import nearest

__all__ = ["PREFIXES", "Problem", "problems"]

PREFIXES = ("NCCL", "CUDA", "NVIDIA", "VLLM", "SGLANG", "TORCH", "PYTORCH", "UCX")

#: src/graph/paths.cc ncclGetLevel: compared exactly, up to SYS; anything else leaves the default, without a word.
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_OLD_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")
_LEVEL_NAMES = ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL")
#: Words in the wrong order, seen in guides; the rest is found by likeness.
_SWAPPED = {"DISABLE_P2P": "P2P_DISABLE", "DISABLE_IB": "IB_DISABLE", "DISABLE_SHM": "SHM_DISABLE",
            "MIN_CHANNELS": "MIN_NCHANNELS", "MAX_CHANNELS": "MAX_NCHANNELS"}
#: Read by plugins and by nccl-tests, not by NCCL.
_OTHERS = ("NCCL_OFI_", "NCCL_TESTS_", "NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_", "NCCL_TUNER_", "NCCL_UCX_",
           "NCCL_SHARP_")
_ONESHOT = "--enable-pcie-oneshot-allreduce"


@dataclass(frozen=True)
class Problem:
    """What is wrong with one variable. ``code`` is the finding's; ``severity`` is fail, warn, or peer (fail where peer
    traffic is declared, else warn)."""

    name: str
    code: str
    severity: str
    text: str
    remedy: str


def problems(variables: Mapping[str, str], options: frozenset[str], kinds: int, gpus: int) -> Iterator[Problem]:
    """Yield what is wrong with one service's environment. ``options`` are command-line switches beside it; ``kinds`` is
    how many different boards the host has; ``gpus`` is how many boards."""
    for name, value in sorted(variables.items()):
        problem = _level(name, value) or _known(name, value, options, gpus) or _unknown(name)
        if problem is not None:
            yield problem
    order, visible = variables.get("CUDA_DEVICE_ORDER", ""), variables.get("CUDA_VISIBLE_DEVICES", "")
    # CUDA Programming Guide, environment variables: without it CUDA puts the fastest board first.
    if order != "PCI_BUS_ID" and kinds > 1:
        yield Problem("CUDA_DEVICE_ORDER", "device-order", "warn",
                      f"CUDA_DEVICE_ORDER is {order or 'not set'} with {kinds} kinds of "
                      "GPUs: CUDA numbers them by speed, nvidia-smi by address"
                      + (f", and CUDA_VISIBLE_DEVICES={visible} counts in CUDA's order" if visible else ""),
                      "set CUDA_DEVICE_ORDER=PCI_BUS_ID")
    elif order != "PCI_BUS_ID" and visible[:1].isdigit() and visible.count(",") + 1 < gpus:
        yield Problem("CUDA_DEVICE_ORDER", "device-order", "warn",
                      f"CUDA_VISIBLE_DEVICES={visible} picks GPUs by number, and "
                      f"CUDA_DEVICE_ORDER is {order or 'not set'}; the numbers need not be nvidia-smi's",
                      "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID")


def _level(name: str, value: str) -> Optional[Problem]:
    if name not in _LEVEL_NAMES or value in LEVELS or value[:1].isdigit():
        return None
    meant = value.upper() if value.upper() in LEVELS else "SYS"
    return Problem(name, "level-ignored", "peer" if name == "NCCL_P2P_LEVEL" else "warn",
                   f"NCCL ignores {name}={value}: it knows "
                   f"{' '.join(LEVELS)} and numbers, exactly so written", f"set {name}={meant}, or take it out")


def _known(name: str, value: str, options: frozenset[str], gpus: int) -> Optional[Problem]:
    if name == "NCCL_P2P_DISABLE" and value == "1":
        # A workaround of the P2P hang (vllm #33041), 28.7 instead of 302 GB/s on two H200 (own measurement).
        return Problem(name, "p2p-disabled", "peer",
                       "NCCL_P2P_DISABLE=1 sends everything between GPUs through the host",
                       "take the variable out once peer traffic is proven")
    if name == "NCCL_PROTO" and value.upper() == "LL":
        # Kimi, 32 at a time: LL 998, LL128 1131, all three 1127 tokens/s (published sweep).
        return Problem(name, "proto-ll", "warn", "NCCL_PROTO=LL forbids the protocols for large messages",
                       "take the variable out, or set NCCL_PROTO=LL,LL128,Simple")
    if name == "NCCL_GRAPH_FILE" and value:
        return Problem(name, "graph-file", "warn",
                       f"NCCL_GRAPH_FILE={value} fits one set of ranks; the one that goes round for dual "
                       f"Turin is for 8 GPUs, this host has {gpus}", "take the variable out unless "
                       "its file was made on this host")
    if name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF") and "expandable_segments:true" in value.lower():
        # The allocator's memory has no CUDA IPC handle: RuntimeError at pcie_allreduce.cu:321.
        both = _ONESHOT in options
        return Problem(name, "expandable-segments", "fail" if both else "warn", f"{name}={value} "
                       + (f"together with {_ONESHOT} crashes" if both else
                          f"crashes custom all-reduce over CUDA IPC ({_ONESHOT})"),
                       "take expandable_segments out of it")
    if name == "CUDA_LAUNCH_BLOCKING" and value not in ("", "0"):
        return Problem(name, "launch-blocking", "warn",
                       f"CUDA_LAUNCH_BLOCKING={value} is for debugging: every kernel launch waits for "
                       "its end", "take the variable out")
    return None


def _unknown(name: str) -> Optional[Problem]:
    from .nccl_names import NCCL_NAMES

    short = name[5:]
    if not name.startswith("NCCL_") or short in NCCL_NAMES or name.startswith(_OTHERS):
        return None
    near = _SWAPPED.get(short)
    if near is None:
        near = next(iter(nearest(short, NCCL_NAMES, alike=0.8)), None)
    return Problem(name, "name-unknown", "warn", f"NCCL 2.30 reads no {name}",
                   f"did you mean NCCL_{near}?" if near else "take the variable out, or check its spelling")
