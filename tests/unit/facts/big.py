"""A large fake machine: eight GPUs behind two levels of switches, 40 bridges, 128 CPUs, and what NVML says of it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from tests.unit.checks.machines import healthy_gpu
from tests.unit.facts.trees import GPU, PCI, Machine, config, frozen, full

from tunecheck.host import Completed
from tunecheck.spec.frozen import Accelerators, Frozen

GPUS = tuple(f"0000:{bus:02x}:00.0" for bus in (0x06, 0x0a, 0x26, 0x2a, 0x86, 0x8a, 0xa6, 0xaa))
_CPUFREQ = "/sys/devices/system/cpu/cpufreq"


def with_serial_number(data: bytes) -> bytes:
    """The configuration space with a Device Serial Number capability at 0x200 behind all others."""
    changed = bytearray(data)
    last = 0x148 if data[0x148:0x14A] == b"\x0d\x00" else 0x100
    header = int.from_bytes(changed[last:last + 4], "little")
    changed[last:last + 4] = (header & 0xFFFFF | 0x200 << 20).to_bytes(4, "little")
    changed[0x200:0x204] = (0x0003 | 1 << 16).to_bytes(4, "little")
    changed[0x204:0x20C] = bytes.fromhex("332211ffff2db048")
    return bytes(changed)


def eight_gpus(ctl: int = 0x001D, log: str | None = None) -> Machine:
    """Four host bridges on two nodes; below each a switch with two switches below, and one GPU behind each of those."""
    machine = Machine().file("/sys/devices/system/node/online", "0-1\n")
    for number, base in enumerate((0x00, 0x20, 0x80, 0xA0)):
        node, root = number // 2, f"pci0000:{base:02x}/0000:{base:02x}:01.0"
        top = f"{root}/0000:{base + 1:02x}:00.0"
        machine.port(f"0000:{base:02x}:01.0", root, ctl).port(f"0000:{base + 1:02x}:00.0", top, None)
        for slot, first in enumerate((base + 3, base + 7)):
            path = top
            ports = [f"0000:{base + 2:02x}:0{slot}.0", *(f"0000:{first + step:02x}:00.0" for step in range(3))]
            for level, bdf in enumerate(ports):
                path = f"{path}/{bdf}"
                machine.port(bdf, path, ctl if level != 1 else None)
            bdf = f"0000:{first + 3:02x}:00.0"
            machine.gpu(bdf, f"{path}/{bdf}", node)
            machine.file(f"{PCI}/{bdf}/config", with_serial_number(config()))
            machine.realpaths[f"{PCI}/{bdf}/driver"] = "/sys/bus/pci/drivers/nvidia"
            machine.realpaths[f"{PCI}/{bdf}/iommu_group"] = f"/sys/kernel/iommu_groups/{first}"
            machine.file(f"/sys/kernel/iommu_groups/{first}/type", "identity\n")
    full(machine, "iommu=pt pci=realloc=off", **({} if log is None else {"log": log}))
    machine.lists[_CPUFREQ] = [f"policy{number}" for number in range(128)]
    for name in machine.lists[_CPUFREQ]:
        for leaf, value in (("driver", "amd-pstate-epp"), ("governor", "performance")):
            machine.file(f"{_CPUFREQ}/{name}/scaling_{leaf}", f"{value}\n")
        machine.file(f"{_CPUFREQ}/{name}/energy_performance_preference", "performance\n")
    machine.file("/sys/module/nvidia/version", "595.71.05\n")
    machine.runs[("nvidia-smi", "topo", "-m")] = Completed(("nvidia-smi", "topo", "-m"), 0, _table(), "")
    machine.nvml = nvml()
    return machine


def _table() -> str:
    def word(a: int, b: int) -> str:
        return "X" if a == b else "PXB" if a // 2 == b // 2 else "NODE" if a // 4 == b // 4 else "SYS"

    names = [f"GPU{number}" for number in range(8)]
    rows = ["\t" + "\t".join(names)] + ["\t".join([name, *(word(a, b) for b in range(8))])
                                        for a, name in enumerate(names)]
    return "\n".join(rows) + "\n"


def nvml() -> dict[str, Any]:
    """The NVML document of eight healthy boards."""
    gpus = [{"bdf": bdf, "index": index, "errors": {}, "values": {
        **healthy_gpu(), "uuid": f"GPU-{index}1111111-2222-3333-4444-555555555555", "serial": f"13214210123{index:02}",
        "processes": [{"pid": 4000 + index, "name": "/home/alice/venv/bin/python3"}]}}
        for index, bdf in enumerate(GPUS)]
    pairs = [{"a": GPUS[a], "b": GPUS[b], "errors": {}, "values": {
        "ancestor": 20 if a // 2 == b // 2 else 40 if a // 4 == b // 4 else 50, "p2p_read": 0, "p2p_write": 0,
        "p2p_nvlink": 5, "p2p_atomics": 0, "p2p_pci": 0}} for a, b in permutations(range(8), 2)]
    return {"driver": "595.71.05", "library": "13.595.71.05", "errors": {}, "gpus": gpus, "pairs": pairs}


def big_spec() -> Frozen:
    return frozen(accelerators=Accelerators(pci_ids=(GPU,), count=8, relation="SYS"), iommu="pt")
