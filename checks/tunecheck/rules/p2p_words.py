"""What the letters of `nvidia-smi topo -p2p` mean, and what to do (nvml.h: nvmlGpuP2PStatus_t)."""

from __future__ import annotations

from ..facts.topology import Topology
from ..spec.boards import board

__all__ = ["WORDS", "needs_patch"]

#: letter -> (meaning, remedy)
WORDS = {
    "CNS": ("the driver does not support it on this chipset",
            "put both boards below one PCIe switch; below a root complex the driver allows it only on CPUs it knows"),
    "GNS": ("the driver does not support it on this GPU model; NVIDIA's own driver refuses it on GeForce boards",
            "no setting changes that: plan with copies through host memory, or with boards that support it"),
    "TNS": ("the driver does not support it across these I/O hubs", "move both boards below one root complex"),
    "DR": ("a registry word switched it off",
           "see `grep RegistryDwords /proc/driver/nvidia/params`, take ForceP2P and its like out of /etc/modprobe.d, "
           "and load the driver again"),
    "NS": ("it is not supported between these two boards",
           "both must be of the same chip, without MIG and not handed through to different machines; compare "
           "`nvidia-smi -L` and `nvidia-smi topo -p2p r`"),
}


def needs_patch(topology: Topology) -> bool:
    """Whether NVIDIA's own driver refuses peer-to-peer on one of the boards: by their data, else by the name."""
    for device, name in zip(topology.devices, topology.names, strict=False):
        known = board(device.ids)
        if (known.p2p == "patched driver only") if known and known.p2p else "GeForce" in name:
            return True
    return False
