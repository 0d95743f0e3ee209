"""Starts first what takes long to answer: it runs while Python still reads the rest of our modules and sysfs is read.

On 2 x H200 NVML takes 110 ms and `nvidia-smi topo -m` 60, everything else together about as long.
"""

from __future__ import annotations

from .base import Host, Unreadable

__all__ = ["CPU", "DMESG", "DPKG", "DPKG_BOX", "MANAGER", "PAST", "PS", "TOPO", "start"]

_BOARDS = "/proc/driver/nvidia/gpus"
TOPO = ("nvidia-smi", "topo", "-m")
DMESG = ("dmesg",)
#: What the kernel said of drivers and panics in every boot that the journal holds. Upper-case letters make the pattern
#: match case, which is faster.
PAST = ("journalctl", "--no-pager", "-o", "json", "--output-fields=MESSAGE,_BOOT_ID,_TRANSPORT,"
        "SYSLOG_IDENTIFIER,_SOURCE_MONOTONIC_TIMESTAMP", "--grep=NVRM: |SXid |Kernel panic|Linux version |Nvlink Core|"
        "setting system clock", "_TRANSPORT=kernel")
#: The first CPU or two. More would ask every CPU for its clock by an interrupt (arch/x86/kernel/cpu/aperfmperf.c).
CPU = ("head", "-c", "2048", "/proc/cpuinfo")
MANAGER = ("systemctl", "show", "--property=DefaultLimitMEMLOCK")
PS = ("ps", "-eLo", "pid=,ppid=,lwp=,state=,comm=")
_LISTED = ("dpkg-query", "-W", r"-f=${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n")
DPKG = (*_LISTED, "*nvidia*", "cuda-drivers*", "libcuda*")
#: What the driver and the containers stand on; apart from DPKG, which older recordings hold as it is.
DPKG_BOX = (*_LISTED, "podman", "docker-ce", "docker.io", "moby-engine", "containerd", "containerd.io", "crun", "runc",
            "dkms", "linux-image-*", "linux-headers-*", "linux-generic*", "linux-virtual*")


def start(host: Host, text: bool, everything: bool) -> None:
    """Give ``host`` the hint to start commands. What is really wanted is decided by the facts. ``text``: also
    nvidia-smi's table; ``everything``: also what is read beside the topology."""
    try:
        boards = len(host.list(_BOARDS))
    except Unreadable:
        boards = 0
    commands: list[tuple[str, ...]] = [TOPO] if text and boards > 1 else []
    if everything:
        commands += [DMESG, MANAGER, DPKG_BOX, CPU, *([PS, DPKG] if boards else [])]
    host.ahead(*commands, nvml=boards > 0)
