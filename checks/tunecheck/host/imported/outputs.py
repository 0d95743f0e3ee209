"""Which output answers a question that the texts of an import leave open."""

from __future__ import annotations

import re

__all__ = ["ON_THE_BOX", "output_for"]

#: The beginning of a question (a path, a command or "NVML"), and the command whose output answers it. The first that
#: fits.
_OUTPUTS = (
    ("/sys/bus/pci/", "sudo lspci -nnvvv"), ("/proc/cmdline", "cat /proc/cmdline"),
    ("/sys/devices/system/node/", "numactl -H"),
    ("/proc/swaps", "cat /proc/swaps"), ("/proc/driver/nvidia/params", "cat /proc/driver/nvidia/params"),
    # nvidia-smi tells the version, and never whether the modules are the open ones.
    ("/proc/driver/nvidia/version", "cat /proc/driver/nvidia/version"),
    ("/sys/module/nvidia/version", "nvidia-smi -q"), ("/proc/driver/nvidia/", "nvidia-smi -q"),
    ("/sys/module/nvidia", "grep -r . /sys/module/nvidia*/parameters/"),
    ("/sys/kernel/iommu_groups", "grep . /sys/kernel/iommu_groups/*/type"),
    ("/sys/devices/system/cpu/cpufreq", "grep . /sys/devices/system/cpu/cpufreq/policy*/scaling_*"),
    ("/sys/devices/system/cpu/", "lscpu"), ("systemctl show", "systemctl show --property=DefaultLimitMEMLOCK"),
    ("nvidia-smi topo -m", "nvidia-smi topo -m"),
    ("nvidia-smi topo -p2p r", "nvidia-smi topo -p2p r > topo-p2p-r.txt"),
    ("nvidia-smi topo -p2p w", "nvidia-smi topo -p2p w > topo-p2p-w.txt"),
    ("nvidia-smi topo -p2p", "nvidia-smi topo -p2p r > topo-p2p-r.txt && nvidia-smi topo -p2p w > topo-p2p-w.txt"),
    ("nvidia-smi -q", "nvidia-smi -q"),
    ("dmesg", "sudo dmesg"), ("journalctl --no-pager", "sudo journalctl _TRANSPORT=kernel"),
    ("journalctl", "sudo dmesg"),
    ("/proc/sys/kernel/osrelease", "sudo dmesg"),
    # Asked of the library, which a text stands in for.
    ("NVML library", ""), ("NVML", "nvidia-smi -q"),
)
#: Beginnings of what no text of an import answers: boot loader, libraries, modules on disk, packages, tasks, services.
ON_THE_BOX = ("/boot/", "/etc/", "/efi/", "/usr/", "/lib/", "/run/", "/var/", "/sys/fs/cgroup/", "/sys/firmware/",
              "modinfo", "dpkg", "rpm", "ps ", "grep ", "sleep")
#: In the name of a frequency policy; and what scaling_* does not match there.
_POLICY = re.compile(r"/sys/devices/system/cpu/cpufreq/policy[0-9]+/(?!scaling_)")


def output_for(question: str) -> str:
    """Return the command whose output answers ``question``, the source of a fact. "" where no text does."""
    if question.startswith(ON_THE_BOX) or "/aer_dev_" in question:
        return ""
    # Where lspci shows no group, only the kernel says whether it made some.
    if question.startswith("/sys/bus/pci/") and question.endswith("/iommu_group"):
        return "sudo dmesg"
    if (policy := _POLICY.match(question)) is not None:
        return f"grep -H . /sys/devices/system/cpu/cpufreq/policy*/{question[policy.end():]}"
    found = next((command for start, command in _OUTPUTS if question.startswith(start)), None)
    if found is None and question.startswith(("/proc/sys/", "/sys/kernel/", "/sys/devices/system/")):
        return f"grep -H . {question}"
    return found or ""
