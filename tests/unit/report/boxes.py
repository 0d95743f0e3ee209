"""Boxes for the tests of the reports: eight GPUs behind four switches in two sockets, and as many as one likes."""

from __future__ import annotations

import datetime
from itertools import permutations
from typing import Any

from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import PCI, Machine, frozen, full

from tunecheck.facts.measured_pass import PATH, SCHEMA, Key, MeasuredPass
from tunecheck.facts.snapshot import gather
from tunecheck.facts.typed_file import typed_text
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding
from tunecheck.model.measurement import Measured
from tunecheck.report.document import document
from tunecheck.report.exporters import Run
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Frozen

WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)

#: What was measured on the box before.
_LAST = MeasuredPass(0, (), "quick", "image", Key(*(known((), ""), known("", ""), known("", ""), known("", "")),
                     *(known((), ""),) * 3), "boot", 61.5, "2026-01-02T03:00:00+00:00", 5.9, "0.1.0",
                     {"p2p_one_way_gb_s": 22.1})


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


def judged(machine: Machine, verb: str = "preflight", desired: Frozen | None = None,
           found: Measured | None = None) -> tuple[Case, Run]:
    """Judge a machine as the command would, with what a trial ``found`` on it."""
    case = Case(gather(full(machine).host(), desired.spec if desired else None, verb != "topo"), desired,
                measured=found)
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


def trialled(count: int = 8, verb: str = "preflight", **given: Any) -> Run:
    """switches() after its trials: the farther the slower, and GPU3 behind 8 lanes; GPU3 to GPU2 is the weakest, at
    22.1 of 28.8 GB/s. ``given`` as in the ``measured:`` of a case."""
    figures: dict[str, Any] = {}
    for a, b in permutations(range(count), 2):
        near, same = a // 2 == b // 2, (a < count / 2) == (b < count / 2)
        one_way = 56.5 if near else 50.1 if same else 43.7
        figures[f"one way {a}-{b}"] = min(one_way, 28.0) if 3 in (a, b) else one_way
        figures[f"latency {a}-{b}"] = 715 if near else 1150 if same else 1420
        if a < b:
            figures[f"both ways {a}-{b}"] = 54.0 if 3 in (a, b) else 107.0 if near else 88.0
    figures |= {"one way 3-2": 22.1, "latency 1-0": 790, "latency 7-0": 1490} if count > 3 else {"one way 1-0": 52.3}
    found = measured({**given, "figures": {**figures, **given.get("figures", {})}}, count)
    machine = switches(count, narrow=(3,))
    machine.file(PATH, typed_text(SCHEMA, MeasuredPass, _LAST))
    return judged(machine, verb, spec(count), found)[1]


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
