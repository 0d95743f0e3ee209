"""The evidence that deletions.py deletes from: own fixtures, recordings of own machines, and other people's samples."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from tests.unit.checks.machines import build, spec_of
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.imports import smi_texts
from tests.unit.imports.deletions import Base
from tests.unit.imports.samples import FIXTURES, box

from tunecheck.facts.snapshot import gather
from tunecheck.host import Host
from tunecheck.host.bundle import load
from tunecheck.host.recording import RecordingHost
from tunecheck.spec.frozen import Accelerators, Acs, Frozen, Spec

__all__ = ["own", "real"]

_CASES = Path(__file__).resolve().parents[1] / "checks/cases/errors"
_REPO = Path(__file__).resolve().parents[3]
LOG = """\
[    0.000000] Linux version 6.12.1 (x) #1 SMP
[    0.000000] Command line: root=/dev/sda1 ro iommu=pt
[    0.500000] ACPI: PCI Root Bridge [PCI0] (domain 0000 [bus 00-ff])
[    0.600000] acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug PME AER PCIeCapability LTR]
[    1.000000] LSM: initializing lsm=lockdown,capability
[    1.200000] iommu: Default domain type: Passthrough (set via kernel command line)
[    1.300000] clocksource: Switched to clocksource tsc
[    9.000000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build
[   20.000000] systemd[1]: Startup finished
"""
TOPO = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \t{word}\t0-15\t0\t\tN/A
GPU1\t{word}\t X \t0-15\t0\t\tN/A

Legend:

  X    = Self
"""
LSCPU = """\
Architecture:             x86_64
CPU(s):                   16
  On-line CPU(s) list:    0-15
Vendor ID:                AuthenticAMD
    Thread(s) per core:   2
    Core(s) per socket:   8
    Socket(s):            1
NUMA:
  NUMA node(s):           2
  NUMA node0 CPU(s):      0-7
  NUMA node1 CPU(s):      8-15
"""
NUMACTL = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 4 5 6 7
node 0 size: 64000 MB
node 0 free: 60000 MB
node 1 cpus: 8 9 10 11 12 13 14 15
node 1 size: 64000 MB
node 1 free: 60000 MB
"""
_WORDS = {"acs-iommu": "PIX", "switch1": "PIX", "phb": "PHB", "numa2": "SYS"}
_H100 = ("10de:2330",)


def _smi(text: str) -> str:
    """A healthy report of the boards that this lspci shows."""
    buses = re.findall(r"(?m)^([0-9a-f]{2}):00\.0 .*\[10de:", text)
    gpu = smi_texts.GPU.partition("    Processes")[0] + "    Processes                             : None\n"
    for old, new in ((r"Replays Since Reset               : 3", "Replays Since Reset               : 0"),
                     (r"Exclusive_Process", "Default"), (r"(HW Slowdown\s+: )Active", r"\1Not Active"),
                     (r"(Power Brake Slowdown\s+: )Active", r"\1Not Active"), (r": [1248]\n", ": 0\n"),
                     (r"(able\s+: )(16|32)\n", r"\g<1>0\n"), (r"\[Unknown Error\]", "0"),
                     (r"Pending\s+: Dis", "Pending : En"),
                     (r"2BB510DE", "233010DE"), (r"Device Max\s+: 5", "Device Max : 1"),
                     (r"(Max\s+: )5\n", r"\g<1>1\n")):
        gpu = re.sub(old, new, gpu)
    gpu = gpu.replace("MIG Mode\n        Current                           : Disabled\n        Pending : En",
                      "MIG Mode\n        Current                           : Disabled\n        Pending : Dis")
    return smi_texts.HEAD.format(count=len(buses)) + "\n".join(gpu.format(bus=bus) for bus in buses)


def _table(layout: str) -> str:
    """Two boards, or four: of numa2 two on each socket, of phb all on one host bridge."""
    if layout not in ("numa2", "phb"):
        return TOPO.format(word=_WORDS[layout])
    rows = ["\t" + "\t".join(f"GPU{number}" for number in range(4)) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    for one in range(4):
        words = "\t".join(" X " if one == two else "PHB" if layout == "phb" or one // 2 == two // 2 else "SYS"
                          for two in range(4))
        rows.append(f"GPU{one}\t{words}\t0-15\t{one // 2}\t\tN/A")
    return "\n".join([*rows, "", "Legend:", "", "  X    = Self", ""])


def _folder(layout: str) -> dict[str, str]:
    text = box(layout)
    return {"lspci.txt": text, "dmesg.txt": LOG, "smi-q.txt": _smi(text), "topo.txt": _table(layout),
            "lscpu.txt": LSCPU, "numactl.txt": NUMACTL, "cmdline.txt": "root=/dev/sda1 ro iommu=pt\n",
            "swaps.txt": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
            "memlock.txt": "DefaultLimitMEMLOCK=infinity\n"}


def _recorded(name: str, host: Host, spec: Frozen | None) -> Base:
    door = RecordingHost(host)
    gather(door, spec.spec if spec else None, True)
    return Base(name, {}, door.answers, spec)


def own() -> list[Base]:
    """What is in the project."""
    declared = Frozen("box1", "x", Spec(accelerators=Accelerators(pci_ids=_H100, count=2),
                                         acs=Acs(peer_redirect="off")),
                      {})
    found = []
    for layout in _WORDS:
        texts = _folder(layout)
        found += [Base(f"{layout}, folder", texts), Base(f"{layout}, folder, spec", texts, None, declared),
                  Base(f"{layout}, lspci", {"lspci.txt": texts["lspci.txt"]})]
    dump = (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()
    found.append(Base("acs-iommu, bytes", {"lspci.txt": dump}))
    found += [Base(path.stem, {"lspci.txt": path.read_text()}) 
              for path in sorted((FIXTURES / "pciutils").glob("*.txt"))]
    for name, data in {
            "switch": {"driver": {}}, "switch without spec": {"driver": {}, "spec": {"none": True}},
            "narrow": {"driver": {}, "spec": {"none": True}, "config": {"0000:03:00.0": {"width": 8}}, "files": {
                "/sys/bus/pci/devices/0000:03:00.0/current_link_width": "8\n",
                "/sys/bus/pci/devices/0000:02:00.0/max_link_width": "16\n",
                "/sys/bus/pci/devices/0000:04:00.0/aer_dev_fatal": "DLP 3\nTOTAL_ERR_FATAL 3\n"}},
            "two sockets": {"machine": "numa", "driver": {}},
            "sick": {"driver": {}, "spec": {"none": True}, "nvml": {0: {"recovery_action": 1, "pstate": 0,
                                                                      "ecc_volatile_uncorrected": 4,
                                                                      "mig_mode": "enabled"}},
                     "log": "[    0.000000] Linux version 6.12.1\n"
                            "[   10.000000] NVRM: Xid (PCI:0000:03:00): 79, pid=1, "
                            "name=x, GPU has fallen off the bus.\n"}}.items():
        found.append(_recorded(f"{name}, recording", build(data), spec_of(data)))
    for name in ("stays-down", "four-times-the-same-rank", "begun-and-never-ended", "damaged-line"):
        data = {"driver": {}, **yaml.safe_load((_CASES / f"incidents-{name}.yml").read_text())}
        found.append(_recorded(f"incidents {name}, recording", build(data), spec_of(data)))
    found.append(_recorded("eight GPUs, recording", eight_gpus().host(), big_spec()))
    for path in sorted((_REPO / "tests" / "fixtures").glob("*.tar.zst")):
        found.append(Base(f"{path.name}", {}, load(str(path))))
    return found


def real(samples: Path) -> list[Base]:
    """Other people's, outside of the project."""
    found = []
    whole = {path.name: path.read_text(errors="replace") for path in sorted((samples / "host").glob("*.log"))}
    if whole:
        found += [Base("samples host", whole), Base("samples host, lspci", {
            name: text for name, text in whole.items() if "lspci" in name})]
        found.append(Base("samples host, small", {name: text for name, text in whole.items() if "lspci" not in name}))
    for layout in sorted({path.name.partition(".")[0] for path in (samples / "lab").glob("*.lspci-vvv")}):
        text, log = ((samples / "lab" / f"{layout}.{kind}") for kind in ("lspci-vvv", "dmesg"))
        texts = {"lspci.txt": text.read_text()}
        found.append(Base(f"samples {layout}, lspci", texts))
        if log.exists():
            found.append(Base(f"samples {layout}", {**texts, "dmesg.txt": log.read_text()}))
        dump = samples / "lab" / f"{layout}.lspci-xxxx"
        if dump.exists():
            found.append(Base(f"samples {layout}, bytes", {"lspci.txt": dump.read_text()}))
    found += [Base(f"samples {path.name}", {"topo.txt": path.read_text(errors="replace")})
              for path in sorted((samples / "topo").glob("*.txt"))]
    for path in sorted((samples / "h200").glob("*/smi*.txt")):
        found.append(Base(f"samples {path.parent.name} {path.name}", {path.name: path.read_text(errors="replace")}))
    return found
