"""Which command or file a text is, by what it holds. Names decide nothing: `report(1).txt` says nothing anyway."""

from __future__ import annotations

import re

from ..formats.bug_report import START
from ..formats.lspci import HEADER
from ..formats.topo_matrix import TABLE

__all__ = ["recognise"]

#: As far as a text is looked at. What is recognised may be longer.
_HEAD = 256 * 1024

_LSPCI = re.compile(HEADER.pattern, re.MULTILINE)
_LSPCI_BODY = re.compile(r"^[ \t]*(?:(?:Control|Status|Flags|Capabilities|Kernel driver in use|Bus): "
                         r"|[0-9a-f]{2}:(?: [0-9a-f]{2}){16} ?$)", re.MULTILINE)
_LOG = re.compile(r"^[ \t]*(?:<\d+>)?\[ *\d+\.\d{6}\] "
                  r"|^\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] "
                  r"|^(?:\w{3} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+)(?: \S+)? kernel(?:\[\d+\])?: ", re.MULTILINE)
_CMDLINE = re.compile(r"(?:^|\s)(?:BOOT_IMAGE|root|initrd)=\S")
_PATTERNS = (
    ("topo", TABLE),
    ("nvidia-smi -q", re.compile(r"^=+NVSMI LOG=+|<nvidia_smi_log>", re.MULTILINE)),
    ("numactl -H", re.compile(r"^available: \d+ nodes?(?: \([\d,-]+\))?\s*$", re.MULTILINE)),
    ("/proc/driver/nvidia/version", re.compile(r"^NVRM version:", re.MULTILINE)),
    ("/proc/driver/nvidia/params", re.compile(r"^RegistryDwords(?:PerDevice)?: ", re.MULTILINE)),
    ("sysfs values", re.compile(
        r"^/sys/(?:kernel/iommu_groups|devices/system/cpu/cpufreq|module/\w+/parameters)/\S+?:", re.MULTILINE)),
)


def recognise(text: str) -> str | None:
    """The kind, in words for people; None for anything else."""
    head = text[:_HEAD]
    if head.lstrip().startswith("{"):
        return "spec" if '"tunecheck/spec/1"' in head else None
    if START in head[:4096] or "\0" in head:
        return None
    if _LSPCI.search(head) and _LSPCI_BODY.search(head):
        return "lspci"
    for kind, pattern in _PATTERNS:
        if pattern.search(head):
            return kind
    if len(_LOG.findall(head)) >= 3:
        return "kernel log"
    if len(head.strip().splitlines()) == 1 and _CMDLINE.search(head):
        return "/proc/cmdline"
    return None
