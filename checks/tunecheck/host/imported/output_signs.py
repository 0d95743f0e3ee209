"""How the outputs that an import takes begin, and which of their lines stand in one output once."""

from __future__ import annotations

import re

from ...parsers.nvidia.topo_matrix import TABLE
from ...parsers.pci.lspci_names import HEADER
from ...util.at_first_use import regex

__all__ = ["CMDLINE", "MANY", "ONCE", "SIGNS"]

_DEVICES = ("Host bridge", "PCI bridge", "VGA compat", "3D contr", "Display contr", "Processing acc")
_QUERY = (r"^=+NVSMI LOG=+|^<\?xml [^\n]{0,200}\n<!DOCTYPE nvidia[^\n]{0,200}(?:\n<nvidia_smi_log>)?"
          r"|^<nvidia_smi_log>")
_SWAPS = r"^Filename[ \t]+Type[ \t]+Size[ \t]+Used[ \t]+Priority"
_COMPILER = r"^(nvcc: NVIDIA|Cuda compilation tools, )"
_ROOT = r"^-(?:\+-)?\[[0-9a-f]{4,8}:"
_BOARD = r"^GPU (\d{1,3}): \S.{0,80}? \(UUID: "
_TEST = r"^#\s*(nccl-tests version |nThread \d|Rank +\d+ (?=.*Pid)(?:Group +\d+ )?|Avg bus bandwidth)"
_P2P = (r"^\[?(P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test|P2P Connectivity Matrix"
        r"|(?:Uni|Bi)directional P2P=(?:Dis|En)abled Bandwidth[^\n]{0,20}|P2P=(?:Dis|En)abled Latency[^\n]{0,20})")
_COPIES = r"^(nvbandwidth Version:|Running \w+\.)"
_MODULE = r"^(Module +Size +Used by\b|(?:nvidia(?:_\w{2,12})?|nouveau|nova_core) +(?=\d{4,9} +\d{1,6}))"
_NODE = r"^c[rwxsStT-]{9}[.+@]? .{1,150}?(nvidia\S*)[ \t]*$|^ls: .{0,20}/dev/nvidia.{0,40}: No such file"
_SLOT = r"^(?:(?:Slot|Device):[ \t]+)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:[ \t]*$| \"[^\"\n]*\" \")"
#: GRUB's begins with BOOT_IMAGE, systemd-boot's with the initramfs or the entry's options.
CMDLINE = regex(
    r"^(?:BOOT_IMAGE=\S+|(?:(?:initrd|root)=\S+|r[ow])(?= (?:[^\n]{0,4000} )?(?:root|initrd|r[ow]\b)))"
    r" [^\n]*$", re.MULTILINE)
#: kind -> (words without which nothing of it is there, how an output begins or each of its lines). What stands between
#: two of these belongs to the one before.
SIGNS = (
    ("lspci", _DEVICES, regex(HEADER.pattern, re.MULTILINE)),
    ("nvidia-smi -q", ("NVSMI LOG", "nvidia_smi_log"), regex(_QUERY, re.MULTILINE)),
    ("topo", ("GPU0",), TABLE),
    ("nvidia-smi", ("NVIDIA-SMI",),
     regex(r"^(?:\w{3} \w{3} +\d[^\n]{0,40}\n)?\+-{20,}\+\s*\n\| NVIDIA-SMI ", re.MULTILINE)),
    ("numactl -H", ("available: ",), regex(r"^available: \d+ nodes?\b", re.MULTILINE)),
    ("lscpu", ("Architecture:",), regex(r"^Architecture:[ \t]+\S", re.MULTILINE)),
    ("/proc/cmdline", ("BOOT_IMAGE=", "root=", "initrd="), CMDLINE),
    ("/proc/driver/nvidia/version", ("NVRM version:",), regex(r"^NVRM version:", re.MULTILINE)),
    ("/proc/driver/nvidia/params", ("ResmanDebugLevel:",), regex(r"^ResmanDebugLevel: ", re.MULTILINE)),
    ("/proc/swaps", ("Priority",), regex(_SWAPS, re.MULTILINE)),
    ("systemctl show", ("DefaultLimitMEMLOCK=",), regex(r"^DefaultLimitMEMLOCK=", re.MULTILINE)),
    ("sysfs values", ("/sys/",), regex(r"^/(?:sys|proc/sys)/(?:[\w.-]+/)+[\w.-]+:", re.MULTILINE)),
    ("nvidia-smi -L", ("(UUID: ",), regex(_BOARD, re.MULTILINE)),
    ("nccl-tests", ("# nThread", "# nccl-tests", " Pid "), regex(_TEST, re.MULTILINE)),
    ("p2pBandwidthLatencyTest", ("P2P",), regex(_P2P, re.MULTILINE)),
    ("nvbandwidth", ("nvbandwidth Version", "_memcpy_"), regex(_COPIES, re.MULTILINE)),
    ("lsmod", ("Used by", "nvidia", "nouveau"), regex(_MODULE, re.MULTILINE)),
    ("modinfo", ("filename: ",), regex(r"^filename: +\S*/nvidia(?:-current)?\.ko", re.MULTILINE)),
    ("nvcc --version", ("Cuda comp",), regex(_COMPILER, re.MULTILINE)),
    ("ls /dev/nvidia*", ("/dev/nvidia",), regex(_NODE, re.MULTILINE)),
    ("lspci -m", ("Slot:", '" "'), regex(_SLOT, re.MULTILINE)),
    ("lspci -t", ("-[",), regex(_ROOT, re.MULTILINE)),
)
#: kind -> lines that stand in one output once, where they are others than above. A group tells several of them apart.
ONCE = {
    "lspci": regex(r"^(?:0000:)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) \S.*?: \S", re.MULTILINE),
    "nvidia-smi": regex(r"^(?:\w{3} \w{3} +\d[^\n]{0,40}\n)?(?:\+-{20,}\+\s*\n)?"
                        r"\|? ?NVIDIA-SMI +(?:\d{3}\.|N/A)", re.MULTILINE),
    "modinfo": regex(r"^(filename): ", re.MULTILINE),
}
#: Those of which one output has many, with the same beginning: a file of several lines, the tables of one command.
MANY = ("topo", "sysfs values")
