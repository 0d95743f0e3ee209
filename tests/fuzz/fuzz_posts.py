"""Damages real-looking outputs of tools and gives them to every parser of pasted text: none may raise anything but
ValueError (UsageError for packed files), none may take over a second for a megabyte.

    python -m tests.fuzz.fuzz_posts --seconds 600 --seed 1        # prints executions, crashes and the slowest
    python -m tests.fuzz.fuzz_posts --large                       # a megabyte of each kind, damaged: times

TUNECHECK_SAMPLES names a folder with more texts to start from."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tunecheck.host.imported.guest import guest_evidence
from tunecheck.host.imported.posts import kinds
from tunecheck.parsers.containers.engine_log import parse_engine
from tunecheck.parsers.nvidia.bench_grids import parse_grids
from tunecheck.parsers.nvidia.nccl_log import parse_nccl
from tunecheck.parsers.nvidia.nccl_tests import parse_nccl_tests
from tunecheck.parsers.nvidia.small_outputs import loaded, modinfo, nodes, nvcc
from tunecheck.parsers.nvidia.smi_failure import failures
from tunecheck.parsers.nvidia.smi_table import listed, parse_table
from tunecheck.parsers.pci.lspci import parse_lspci
from tunecheck.parsers.pci.lspci_machine import MACHINE, listing
from tunecheck.parsers.pci.lspci_regions import bar1_sizes, without_address
from tunecheck.parsers.pci.lspci_tree import parse_tree
from tunecheck.parsers.text.pasted import clean

PARSERS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("smi_table", parse_table), ("smi_list", listed), ("smi_failure", failures), ("lspci_tree", parse_tree),
    ("lspci_regions", lambda text: (bar1_sizes(text), without_address(text))),
    ("nccl_log", lambda text: parse_nccl(text).whole), ("nccl_tests", parse_nccl_tests),
    ("bench_grids", parse_grids), ("engine_log", parse_engine), ("lsmod", loaded), ("modinfo", modinfo),
    ("nvcc", nvcc), ("nodes", nodes), ("pasted", clean), ("kinds", lambda text: list(kinds(text))),
    ("lspci_machine", lambda text: (MACHINE.search(text), parse_lspci(listing(text)))),
    ("guest", lambda text: guest_evidence(text, [text[:4]], [text])),
)
#: Short texts of every kind: what the generator starts from.
SEEDS = (
    "| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |\n"
    "|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |\n"
    "| N/A   30C    P0            109W /  700W |       0MiB / 143771MiB |      0%      Default |\n"
    "|                                         |                        |             Disabled |\n| Processes:  |\n",
    "GPU 0: NVIDIA H200 (UUID: GPU-84ab8b38-911c-6f8b-2e46-221d9928d90d)\n",
    "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\nNo devices were found\n"
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    "bash: nvidia-smi: command not found\n",
    "-+-[0000:80]---00.0-[81-86]----00.0-[82-86]--+-00.0-[83]----00.0  NVIDIA Corporation GB110 [B300] [10de:3182]\n"
    " |                                           \\-01.0-[86]--+-00.0  Mellanox\n"
    " |                                                        \\-00.1  Mellanox\n"
    " \\-[0000:00]-+-00.0  Intel Corporation\n             \\-1f.0  Intel\n",
    "06:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2bb5]\n"
    "\tRegion 1: Memory at 38000000000 (64-bit, prefetchable) [size=128G]\n"
    "\tRegion 3: Memory at <unassigned> (64-bit)\n",
    "box:9:9 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\nbox:9:9 [0] NCCL INFO comm 0x55 rank 0 nRanks 2 nNodes 1\n"
    "box:9:9 [0] NCCL INFO 2 coll channels, 0 nvls channels\nbox:9:9 [0] NCCL INFO Channel 00/24 : 0 1\n"
    "box:9:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
    "box:9:9 [1] misc/socket.cc:50 NCCL WARN Connection closed by remote peer\n"
    "box:9:9 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to SYS\n",
    "# nccl-tests version 2.18.2 nccl-headers=22809\n# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid  21159 on  box device  0 [0000:01:00] NVIDIA RTX PRO 6000\n"
    "     8388608       2097152     float     sum      -1   473.75   17.71   17.71  0   473.61   17.71   17.71  0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 18.2556\n",
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, NVIDIA H100, pciBusID: 3, pciDeviceID: 0, pciDomainID:0\n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n"
    "     0 1502.40  52.24 \n     1  52.35 1525.93 \n",
    "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H200 (00000000:00:06)\nRunning device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    393.93\n"
    " 1    393.74       N/A\n\nSUM device_to_device_memcpy_read_ce 787.67\n",
    "INFO 05-22 14:12:32 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: tensor_parallel_size=2\n"
    "WARNING Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed.\n",
    "Slot:\t0000:03:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\nDevice:\tGH100 [2330]\n"
    "Driver:\tnvidia\nModule:\tnvidia\nNUMANode:\t0\nIOMMUGroup:\t24\n\n",
    '00:00.0 "Host bridge [0600]" "Intel Corporation [8086]" "82G33 [29c0]" -p00 "" ""\n'
    '03:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "GH100 [2330]" -ra1 -p00 "" ""\n',
    "Module                  Size  Used by\nnvidia_uvm           1523712  2\n"
    "nvidia              56717312  2 nvidia_uvm\n",
    "filename:       /lib/modules/6.8.0/updates/dkms/nvidia.ko\nversion:        580.95.05\n"
    "license:        Dual MIT/GPL\n"
    "vermagic:       6.8.0-45-generic SMP preempt mod_unload\n",
    "Cuda compilation tools, release 12.4, V12.4.131\n",
    "crw-rw-rw- 1 root root 195,   0 Jun 30 18:17 /dev/nvidia0\n"
    "ls: cannot access '/dev/nvidia*': No such file or directory\n",
    "> $ nvidia-smi topo -m\n> \tGPU0\tGPU1\n> GPU0\t X \tPIX\n> GPU1\tPIX\t X \n",
    "<html><body><pre>&gt; GPU0 &amp; GPU1<br>\tGPU0</pre></body></html>\n", "  1  one\n  2  two\n  3  three\n",
    "[    0.000000] DMI: Xen HVM domU, BIOS 4.2 01/01/2020\n[    0.000000] Hypervisor detected: Xen HVM\n",
)
_BITS = ('"', '" "', "Slot:\t", "Device:\t",
         "\t", " ", "\n", "\0",
         "\x1b[4m", "[", "]", "-", "|", "+", ">", "<pre>", "&#x41;", "9" * 40, "GPU0", "é", "  ", "\\",
         "-[", "]--", "N/A", "via SHM", ":", "Channel ", "0000:00:00.0", "\u202e", "1e999", "-1", "```", "\r")


def damaged(draw: random.Random, text: str) -> str:
    """Cuts, doublings, insertions, reversals and foreign lines."""
    for _ in range(draw.randint(1, 6)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((1, 3, 40, 400)))
        kind = draw.randrange(6)
        middle = ("", text[start:end] * 2, draw.choice(_BITS) + text[start:end], text[start:end][::-1],
                  draw.choice(SEEDS)[:draw.randint(1, 300)], text[start:end].swapcase())[kind]
        text = text[:start] + middle + text[end:]
        if len(text) > 20_000:
            text = text[:20_000]
    return text


def texts() -> list[str]:
    found = list(SEEDS)
    folder = os.environ.get("TUNECHECK_SAMPLES")
    for path in sorted(Path(folder).rglob("*")) if folder else ():
        if path.is_file() and path.stat().st_size < 30_000:
            found.append(path.read_text(encoding="utf-8", errors="replace")[:8000])
    return found


def run(seconds: float, seed: int, most: int) -> int:
    draw, done, slow, crashes = random.Random(seed), Counter[str](), Counter[str](), 0
    start, every = time.monotonic(), texts()
    while time.monotonic() - start < seconds and sum(done.values()) < most:
        text = damaged(draw, draw.choice(every))
        for name, parse in PARSERS:
            begin = time.perf_counter()
            try:
                parse(text)
            except ValueError:
                pass
            except Exception:
                crashes += 1
                sys.stderr.write(f"{name}: {text!r}\n{traceback.format_exc()}\n")
            slow[name] = max(slow[name], int((time.perf_counter() - begin) * 1e6))
            done[name] += 1
    print(f"seed {seed}: {sum(done.values())} executions of {len(PARSERS)} parsers in {time.monotonic() - start:.0f} s"
          f", {crashes} crashes; slowest {slow.most_common(3)} us")
    return crashes


def large(seed: int) -> float:
    """A megabyte made of each text, and of its own pieces: the slowest parser in seconds."""
    draw, worst = random.Random(seed), (0.0, "", 0)
    for number, text in enumerate(SEEDS):
        for mega in ((text * (1_000_000 // len(text) + 1))[:1_000_000],
                     "".join(damaged(draw, text) for _ in range(1_000_000 // (len(text) + 200)))[:1_000_000],
                     (text.replace("\n", " ") * (1_000_000 // len(text) + 1))[:1_000_000],
                     draw.choice(_BITS) * 1000 + text + " " * 900_000, text[:40] * 25_000,
                     text.split("\n")[0][:60] * 16_000):
            for name, parse in PARSERS:
                begin = time.process_time()
                with contextlib.suppress(ValueError):
                    parse(mega)
                took = time.process_time() - begin
                worst = max(worst, (took, name, number))
                if took > 0.5:
                    print(f"{name} takes {took:.2f} s for a megabyte like text {number}: {mega[:60]!r}")
    print(f"slowest: {worst}")
    return worst[0]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--most", type=int, default=1 << 40)
    options.add_argument("--large", action="store_true")
    chosen = options.parse_args()
    if chosen.large:
        return int(large(chosen.seed) > 1.0)
    return int(run(chosen.seconds, chosen.seed, chosen.most) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
