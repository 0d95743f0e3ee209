"""Boxes for the tests of the reports: eight GPUs behind four switches in two sockets, and as many as one likes."""

from __future__ import annotations

import datetime

from tests.unit.facts.trees import PCI, Machine, frozen, full

from tunecheck.facts.snapshot import gather
from tunecheck.report.document import document
from tunecheck.report.outputs import Run
from tunecheck.rules import Case, Finding, judge
from tunecheck.spec.frozen import Accelerators, Frozen

WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def switches(count: int = 8, redirecting: tuple[int, ...] = (), narrow: tuple[int, ...] = ()) -> Machine:
    """``count`` GPUs, two below each switch, half of the switches on each NUMA node. The downstream ports of the
    GPUs in ``redirecting`` redirect; the GPUs in ``narrow`` have 8 of 16 lanes."""
    machine = Machine().file("/sys/devices/system/node/online", "0-1\n")
    for index in range(count):
        number, side = divmod(index, 2)
        domain, bus = f"{number // 8:04x}", f"{number % 8 * 2:x}"
        root = f"{domain}:{bus}0:01.1"
        up, down = f"{domain}:{bus}1:00.0", f"{domain}:{bus}2:0{side}.0"
        way = f"pci{domain}:{bus}0/{root}"
        if side == 0:
            machine.port(root, way, 0x0011).port(up, f"{way}/{up}", None)
        machine.port(down, f"{way}/{up}/{down}", 0x001D if index in redirecting else 0x0011)
        gpu = f"{domain}:{bus}{3 + side}:00.0"
        machine.gpu(gpu, f"{way}/{up}/{down}/{gpu}", int(index >= count / 2), 8 if index in narrow else 16)
    return machine


def spec(count: int = 8) -> Frozen:
    accelerators = Accelerators(pci_ids=("10de:2bb1",), count=count, relation="SYS", link_width=16)
    return frozen(iommu="pt", accelerators=accelerators)


def judged(machine: Machine, verb: str = "preflight", desired: Frozen | None = None) -> tuple[Case, Run]:
    """Judge a machine as the command would."""
    case = Case(gather(full(machine).host(), desired.spec if desired else None, verb != "topo"), desired)
    findings = judge(case, verb)
    return case, Run(document(verb, case, findings), findings, WHEN)


def wrong(count: int = 8) -> Run:
    """The box with two redirecting ports, a narrow link, a link that nobody can read, and a GPU without an answer."""
    machine = switches(count, redirecting=(0, 5), narrow=(3,))
    gpu = "0000:63:00.0"
    machine.file(f"{PCI}/{gpu}/current_link_width", "63\n")
    return judged(machine, desired=spec(count))[1]


def shown(finding: Finding) -> str:
    """The line of a pipe: the message, with the fix labelled."""
    if finding.remedy is None or not finding.message.endswith(f"; {finding.remedy.text}"):
        return finding.message
    return f"{finding.message.removesuffix(finding.remedy.text)}fix: {finding.remedy.text}"


def hostile() -> Run:
    """A host that puts markup and control characters wherever it can say something."""
    evil = ("</script><script>window.hit=1</script><img src=http://198.51.100.1/x onerror='window.hit=1'>\"'&"
            "\x1b[31m\x00")
    machine = switches(4).file("/proc/sys/kernel/hostname", evil + "\n")
    machine.file("/proc/sys/kernel/random/boot_id", evil)
    for bdf in ("0000:03:00.0", "0000:04:00.0"):
        machine.realpaths[f"{PCI}/{bdf}/driver"] = "/sys/bus/pci/drivers/nvidia"
        machine.errors.pop(f"realpath {PCI}/{bdf}/driver", None)
        machine.file(f"/proc/driver/nvidia/gpus/{bdf}/information", f"Model: \t {evil}\n")
        machine.file(f"{PCI}/{bdf}/current_link_speed", evil)
    case = Case(gather(full(machine, f"iommu=pt {evil}", log=f"[    0.000000] Linux version {evil}\n").host(),
                       spec(4).spec, True), spec(4))
    findings = judge(case, "preflight")
    return Run(document("preflight", case, findings), findings, WHEN, f"/tmp/{evil}")
