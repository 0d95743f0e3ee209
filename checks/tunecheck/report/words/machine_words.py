"""Words of machines, their firmware, system and network, and units, that `tunecheck explain` knows.
Word -> (in words, what to do or to know, the check to read on)."""

from __future__ import annotations

import re

__all__ = ["MACHINE_WORDS", "counted_word"]

_Told = tuple[str, str, str]
_SIZE = "tunecheck writes memory in powers of 1024 (KiB, MiB, GiB) and rates in powers of 1000 (MB, GB)."
_SIGNAL = "A signal of the kernel to a process: man 7 signal."
_NUMBERS = "a format of a model's numbers: "
MACHINE_WORDS: dict[str, _Told] = {
    "CPU": ("the processor of the host; the kernel counts each of its threads as one CPU", "", "cpu-lost"),
    "GPU": ("an accelerator of NVIDIA; GPU0 is the first in the order of the PCI addresses, as nvidia-smi counts",
            "", "accelerator-count"),
    "PCI": ("the bus by whose addresses (0000:41:00.0) the kernel names devices; today it is PCIe", "",
            "accelerator-count"),
    "BDF": ("the address of a PCI device: domain:bus:device.function, such as 0000:41:00.0", "", "accelerator-count"),
    "BIOS": ("the firmware of the mainboard and its setup menu; UEFI is its newer kind", "The names of its settings "
             "differ from maker to maker.", ""),
    "UEFI": ("the newer kind of a mainboard's firmware (BIOS); it starts the boot loader from the EFI partition", "",
             "trial-boot"),
    "EFI": ("the interface of UEFI; the EFI partition of a disk holds the boot loaders that it starts", "",
            "trial-boot"),
    "DMI": ("the table in which the firmware names the machine, its board and serial numbers",
            "See it: sudo dmidecode.", ""),
    "MOK": ("machine owner key: a key of one's own that Secure Boot accepts for kernel modules", "", "secure-boot-key"),
    "NPS": ("NUMA nodes per socket: a setting in the BIOS of AMD's EPYC (NPS1, NPS2, NPS4)", "", "numa-nodes"),
    "NPS2": ("two NUMA nodes in each socket, a setting in the BIOS of AMD's EPYC", "", "numa-nodes"),
    "NPS4": ("four NUMA nodes in each socket, a setting in the BIOS of AMD's EPYC", "", "numa-nodes"),
    "VT": ("Intel's help for virtual machines in the processor; VT-d is its IOMMU", "", "iommu-mode"),
    "LTR": ("Latency Tolerance Reporting: a PCIe device says how long it can wait", "The firmware grants it in the "
            "same answer (_OSC) as AER.", "aer-ownership"),
    "IDE": ("Integrity and Data Encryption: a PCIe link that is encrypted", "", ""),
    "MC": ("multicast: a PCIe packet for several receivers", "", ""),
    "OS": ("operating system; in an answer of the firmware (_OSC) it is the Linux kernel", "", "aer-ownership"),
    "BMC": ("baseboard management controller: the small computer that switches the server on and off and keeps its "
            "event log", "It is reached by ipmitool, Redfish or its web page.", ""),
    "APIC": ("interrupt controller of a CPU; beyond 255 threads the mode X2APIC is needed", "", "cpu-lost"),
    "NUMA": ("memory and PCIe slots are near to one CPU and far from another; a NUMA node is what is near",
             "The driver and its process belong to the node of their GPU.", "numa-nodes"),
    "NIC": ("network card, with Ethernet or InfiniBand; nvidia-smi topo -m has one column for each",
            "It is not judged.", "topo-relation"),
    "MCE": ("machine check exception: the processor reports an error of itself, of memory or of a bus", "",
            "host-memory"),
    "IRQ": ("interrupt request: a device asks the processor for attention; IRQ remapping is a part of the IOMMU", "",
            "cpu-lost"),
    "DefaultLimitMEMLOCK": ("systemd's default for the memory that a service may lock", "infinity", "memlock"),
    "x2APIC": ("the interrupt mode that CPUs beyond 255 threads need, and that needs a working IOMMU", "", "cpu-lost"),
    "VM": ("virtual machine: what it sees of PCIe is what its host made up", "", "topo-relation"),
    "QEMU": ("the program that runs virtual machines on Linux", "", ""),
    "KVM": ("the Linux kernel's part in running virtual machines", "", ""),
    "GRUB": ("a boot loader; Debian and Ubuntu edit its command line in /etc/default/grub", "", "cmdline-token"),
    "DCGM": ("NVIDIA's Data Center GPU Manager: it watches GPUs and runs diagnostics (dcgmi diag)", "", "xid"),
    "API": ("the interface of a program or library; an API mismatch is between two versions of NVIDIA's driver", "",
            "driver-coherence"),
    "GFM": ("global fabric manager; GFM State in nvidia-smi -q says how the service that runs the NVSwitches is", "",
            "fabric-state"),
    "PCI_BUS_ID": ("a value of CUDA_DEVICE_ORDER: GPUs in the order of their PCI addresses, as nvidia-smi counts", "",
                   "nccl-environment"),
    "SOC": ("the word of NVIDIA drivers before 375 for SYS in the table of nvidia-smi topo -m", "", "topo-relation"),
    "CPU AFFINITY": ("a column of nvidia-smi topo -m: the CPUs that are near to this GPU",
                     "Empty in a virtual machine, or where a job may use none of them.", "topo-relation"),
    "NUMA AFFINITY": ("a column of nvidia-smi topo -m: the NUMA node that this GPU is near to", "", "topo-relation"),
    "GPU NUMA ID": ("a column of nvidia-smi topo -m: the NUMA node that the GPU's own memory is; mostly N/A", "",
                    "topo-relation"),
    "N/A": ("not available: the GPU or its driver has no such value", "No fault.", "nvml-answers"),
    "IB": ("InfiniBand, a network for clusters", "It has no use on a single box.", "nccl-transport"),
    "RoCE": ("RDMA over Ethernet", "It has no use on a single box.", "nccl-transport"),
    "APT": ("the package manager of Debian and Ubuntu", "", "unattended-upgrades"),
    "SIGQUIT": ("asks a process to end and to leave a core dump", _SIGNAL, "engine-decisions"),
    "SIGTERM": ("asks a process to end", _SIGNAL, ""),
    "SIGSTOP": ("stops a process until SIGCONT lets it go on", _SIGNAL, ""),
    "SIGCONT": ("lets a process go on that SIGSTOP stopped", _SIGNAL, ""),
    "SIGSEGV": ("a process used memory that it does not have, and was ended", _SIGNAL, ""),
    "KB": ("1000 bytes", _SIZE, ""), "MB": ("1000 KB", _SIZE, ""), "GB": ("1000 MB", _SIZE, ""),
    "KiB": ("1024 bytes", _SIZE, ""), "MiB": ("1024 KiB", _SIZE, ""), "GiB": ("1024 MiB", _SIZE, ""),
    "GB/s": ("gigabytes (1000 million bytes) in a second; 8 Gb/s are 1 GB/s", "", "p2p-bandwidth"),
    "MHz": ("a clock's million beats in a second", "", "gpu-clocks"),
    "FP8": (_NUMBERS + "8 bits each", "", ""), "FP4": (_NUMBERS + "4 bits each", "", ""),
    "NVFP4": (_NUMBERS + "4 bits each, with a scale for 16 of them; NVIDIA's own", "", ""),
    "INT4": (_NUMBERS + "whole numbers of 4 bits", "", ""),
    "KV": ("key and value: what an engine keeps of each token in a GPU's memory (KV cache)", "", "engine-decisions"),
    "TTFT": ("time to the first token: from the request to the first token of the answer", "", ""),
    "ITL": ("inter-token latency: the time between two tokens of one answer", "", ""),
    "TPOT": ("time per output token: how long one token of an answer takes on average", "", ""),
    "E2E": ("end to end: from the request to the end of the answer", "", ""),
}
#: GT/s of a lane of each generation (PCI Express Base Specification).
_LANE = {1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64, 7: 128}


def counted_word(word: str) -> tuple[str, _Told] | None:
    """Return a word with a number in it, as a report writes it, and what it means; None for any other word."""
    if number := re.fullmatch(r"GPU(\d{1,3})", word, re.IGNORECASE):
        return word, (f"the GPU with number {number[1]}, counted from 0 in the order of the PCI addresses, as "
                      "nvidia-smi counts", "CUDA may count in another order: CUDA_DEVICE_ORDER.", "accelerator-count")
    if numbers := re.fullmatch(r"GPU(\d{1,3})-GPU(\d{1,3})", word, re.IGNORECASE):
        return word, (f"the pair of the GPUs with the numbers {numbers[1]} and {numbers[2]}",
                      "The table of `tunecheck topo` says what lies between them.", "topo-relation")
    if number := re.fullmatch(r"Gen ?([1-7])", word, re.IGNORECASE):
        return word, (f"the speed of a PCIe link: generation {number[1]}, {_LANE[int(number[1])]} GT/s for each lane "
                      "and way", "", "link-speed")
    if number := re.fullmatch(r"x(1|2|4|8|12|16|32)", word, re.IGNORECASE):
        lanes = "1 lane" if number[1] == "1" else f"{number[1]} lanes"
        return word, (f"the width of a PCIe link: {lanes}", "", "link-width")
    return None
