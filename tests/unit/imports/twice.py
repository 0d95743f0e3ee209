"""Two outputs of every kind that an import takes, a good one and a bad one: own texts, after what the tools print."""

from __future__ import annotations

from tests.unit.imports import smi_texts
from tests.unit.imports.samples import lab
from tests.unit.imports.test_fragments import PLAIN

__all__ = ["TWICE"]

_TEST = """# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 268435456 maxBytes 268435456 step: 2(factor) warmup iters: 1 iters: 20 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid   1200 on box device  0 [0000:06:00] NVIDIA H200
#  Rank  1 Group  0 Pid   1200 on box device  1 [0000:07:00] NVIDIA H200
#
   268435456      67108864     float     sum      -1   886.10  302.94  302.94       0   886.06  302.95  302.95       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 302.945
#
"""
_P2P = """[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA H200, pciBusID: 6, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA H200, pciBusID: 7, pciDeviceID: 0, pciDomainID:0
P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 3950.07  38.10
     1  38.20 3950.10
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 3950.07  52.40
     1  52.20 3950.10
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 3950.07 101.00
     1 101.00 3950.10
"""
_COPIES = """nvbandwidth Version: v0.8
Built from Git version: v0.8

Device 0: NVIDIA H200 (00000000:06:00)
Device 1: NVIDIA H200 (00000000:07:00)

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     52.40
 1     52.20       N/A

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    101.00
 1    101.00       N/A

"""
_NCCL = """box:100:101 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
box:100:101 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 - Init START
box:100:102 [1] NCCL INFO ncclCommInitRank comm 0x2 rank 1 nranks 2 cudaDev 1 - Init START
box:100:101 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
box:100:102 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM
"""
_ENGINE = """INFO 05-22 14:12:31 [api_server.py:12] vLLM API server version 0.8.5
INFO 05-22 14:12:32 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: tensor_parallel_size=2
INFO 05-22 14:12:33 vLLM is using nccl==2.21.5
"""
_LINKS = "GPU 0: NVIDIA B200 (UUID: GPU-11111111-aaaa)\n\t Link 0: 50 GB/s\n\t Link 1: %s\n"
_LSCPU = ("Architecture:             x86_64\n  CPU op-mode(s):         64-bit\nCPU(s):                   8\n"
          "  On-line CPU(s) list:    %s\nThread(s) per core:       1\nSocket(s):                1\n")
_QUERY = smi_texts.TEXT
for _name in ("HW Slowdown                       ", "HW Power Brake Slowdown       "):
    _QUERY = _QUERY.replace(f"{_name}: Active", f"{_name}: Not Active")
_NODES = "".join(f"crw-rw-rw- 1 root root 195, {number} Nov 21 10:00 /dev/{name}\n" for number, name in (
    (0, "nvidia0"), (255, "nvidiactl"), (10, "nvidia-uvm")))
_MODINFO = ("filename:       /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko\nversion:        580.95.05\n"
            "license:        %s\nvermagic:       6.8.0-45-generic SMP preempt mod_unload\n")
_LOG = "".join(f"[    0.{number:06}] {text}\n" for number, text in enumerate((
    "ACPI: RSDP 0x1", "pci 0000:06:00.0: [10de:2bb1] type 00 class 0x030000", "nvidia 0000:06:00.0: enabling device",
    "usb 1-1: new device", "ACPI: button: Power Button")))
_DEVICES = 'Slot:\t%s\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\nDevice:\t%s\n\n'
_TREE = ("-[0000:00]-+-00.0  Host bridge\n           +-01.0-[01]----00.0  NVIDIA Corporation GH100 [H200] [10de:2335]\n"
         "           \\-0%d.0-[02]----00.0  NVIDIA Corporation GH100 [H200] [10de:2335]\n")
_LAB = lab("switch1")
_TOPO = "\tGPU0\tGPU1\nGPU0\t X \t%s\nGPU1\t%s\t X \n"
_LETTERS = "nvidia-smi topo -p2p r\n\tGPU0\tGPU1\nGPU0\tX\t%s\nGPU1\t%s\tX\n\n"
_REGION = "06:00.0 3D controller: NVIDIA Corporation GH100 [H200] (rev a1)\n" \
    "\tControl: I/O- Mem+ BusMaster+\n\tRegion 1: Memory at 38000000000 (64-bit, prefetchable) [size=%s]\n"

_REFUSED = ("WARNING 05-22 14:12:34 [custom_all_reduce.py:136] Custom allreduce is disabled because your platform "
            "lacks GPU P2P capability or P2P test failed.\n")

#: kind -> (good, bad)
TWICE: dict[str, tuple[str, str]] = {
    "nccl-tests": (_TEST, _TEST.replace("values : 0 OK", "values : 7 FAILED")),
    "p2pBandwidthLatencyTest": (_P2P, _P2P.replace("101.00", " 51.00")),
    "nvbandwidth": (_COPIES, _COPIES.replace("101.00", " 51.00")),
    "nvidia-smi": (PLAIN, PLAIN.replace("|                    0 |", "|                    3 |")),
    "nvidia-smi -q": (_QUERY, smi_texts.TEXT),
    "nvidia-smi -L": ("GPU 0: NVIDIA H200 (UUID: GPU-11111111-aaaa)\nGPU 1: NVIDIA H200 (UUID: GPU-22222222-aaaa)\n",
                      "GPU 0: NVIDIA H200 (UUID: GPU-11111111-aaaa)\n"),
    "nvidia-smi nvlink -s": (_LINKS % "50 GB/s", _LINKS % "<inactive>"),
    "NCCL log": (_NCCL, _NCCL.replace("via P2P/CUMEM", "via SHM/direct/direct")),
    "engine log": (_ENGINE + "INFO 05-22 14:12:34 disable_custom_all_reduce=True\n", _ENGINE + _REFUSED),
    "lscpu": (_LSCPU % "0-7", _LSCPU % "0-6\n  Off-line CPU(s) list:   7"),
    "numactl -H": ("available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n",
                   "available: 2 nodes (0-1)\nnode 0 cpus: 0\nnode 0 size: 100 MB\nnode 1 cpus: 1\n"
                   "node 1 size: 0 MB\n"),
    "/proc/cmdline": ("BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro iommu=pt\n",
                      "BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro pci=noacs\n"),
    "/proc/driver/nvidia/version": ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Release\n",
                                    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.58.03  Release Build\n"),
    "/proc/driver/nvidia/params": ('ResmanDebugLevel: 4294967295\nRegistryDwords: ""\n',
                                   'ResmanDebugLevel: 4294967295\nRegistryDwords: "ForceP2P=17"\n'),
    "/proc/swaps": ("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
                    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap.img    file\t8388604\t\t0\t\t-2\n"),
    "systemctl show": ("DefaultLimitMEMLOCK=infinity\n", "DefaultLimitMEMLOCK=8388608\n"),
    "sysfs values": ("/proc/sys/kernel/numa_balancing:0\n/sys/devices/system/cpu/smt/control:on\n",
                     "/proc/sys/kernel/numa_balancing:1\n/sys/devices/system/cpu/smt/control:on\n"),
    "lsmod": ("nvidia_uvm           1777664  0\nnvidia              56717312  5 nvidia_uvm\n",
              "nvidia_uvm           1777664  0\nnouveau              3096576  1\n"),
    "modinfo": (_MODINFO % "Dual MIT/GPL", _MODINFO % "NVIDIA"),
    "nvcc --version": tuple(  # type: ignore[dict-item]
        f"nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
        f"Cuda compilation tools, release {release}, V{release}.93\n\n" for release in ("12.8", "11.2")),
    "ls /dev/nvidia*": (_NODES, _NODES.replace("crw-rw-rw-", "crw-rw----")),
    "lspci": (_LAB, _LAB.replace("DevSta:\tCorrErr-", "DevSta:\tCorrErr+").replace("UncorrErr-", "UncorrErr+")
              .replace("LnkCap:\tPort #0, Speed 2.5GT/s, Width x1,", "LnkCap:\tPort #0, Speed 2.5GT/s, Width x16,")),
    "lspci -v": (_REGION % "256G", _REGION % "256M"),
    "lspci -m": (_DEVICES % ("06:00.0", "GH100 [H200] [2335]") + _DEVICES % ("07:00.0", "GH100 [H200] [2335]"),
                 _DEVICES % ("06:00.0", "GH100 [H200] [2335]") + _DEVICES % ("07:00.0", "GH100 [H100] [2330]")),
    "lspci -t": (_TREE % 1, _TREE % 3),
    "topo": (_TOPO % ("PIX", "PIX"), _TOPO % ("SYS", "SYS")),
    "topo -p2p": (_LETTERS % ("OK", "OK"), _LETTERS % ("CNS", "CNS")),
    "kernel log": (_LOG, "[ 1234.567890] pcieport 0000:00:01.1: AER: Uncorrectable (Fatal) error message received from "
                   "0000:06:00.0\n[ 1234.567891] INFO: task nvidia-smi:4242 blocked for more than 120 seconds.\n"),
}
