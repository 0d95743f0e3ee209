"""Texts of one folder that tell another number of CPUs or nodes, other nodes with memory, or another size of memory: no
finding states what one of them says, and who reads it learns which two contradict each other. The texts of one machine
are never refused, nor doubted."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path

import pytest
from tests.unit.imports.test_import import folder, found
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.host import Unreadable
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.parsers.kernel.cpulist import parse, show
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_NODES = {0: "0-15", 1: "16-31"}
_MIB = 64000
_STATES = ("cpu-lost", "numa-nodes", "smt")


def _lscpu(nodes: dict[int, str] | None = None, offline: str = "", threads: int = 2) -> str:
    each = _NODES if nodes is None else nodes
    online = show(cpu for cpus in each.values() for cpu in parse(cpus))
    off = f"Off-line CPU(s) list: {offline}\n" if offline else ""
    count = len(parse(online)) + len(parse(offline))
    return (f"Architecture: x86_64\nCPU(s): {count}\nOn-line CPU(s) list: {online}\n{off}"
            f"Model name: AMD EPYC 9575F\nThread(s) per core: {threads}\nSocket(s): 2\nNUMA node(s): {len(each)}\n"
            + "".join(f"NUMA node{node} CPU(s): {cpus}\n" for node, cpus in each.items()))


def _numactl(nodes: dict[int, str] | None = None, without: tuple[int, ...] = (), size: int = _MIB) -> str:
    each = _NODES if nodes is None else nodes
    return (f"available: {len(each)} nodes ({show(each)})\n" + "".join(
        f"node {node} cpus: {' '.join(map(str, parse(cpus)))}\nnode {node} size: {0 if node in without else size} MB\n"
        f"node {node} free: 1 MB\n" for node, cpus in each.items()) + "node distances:\nnode   0   1 \n")


def _log(cpus: int = 32, nodes: int = 2, possible: int = 32, memory: int = 2 * _MIB, without: tuple[int, ...] = (),
         more: str = "", line: str = "root=/dev/sda1 ro") -> str:
    ranges = "".join(f"Initmem setup node {node} as memoryless\n" if node in without else
                     f"Initmem setup node {node} [mem 0x{node + 1:x}000000000-0x{node + 1:x}fffffffff]\n"
                     for node in range(nodes))
    lines = ("Linux version 6.17.0 (a@b) #1 SMP\n" f"Command line: {line}\n{ranges}{more}"
             f"setup_percpu: NR_CPUS:8192 nr_cpumask_bits:{possible} nr_cpu_ids:{possible} nr_node_ids:{nodes}\n"
             f"Memory: {memory * 1024 - 9000}K/{memory * 1024}K available (1K kernel code)\n"
             f"smp: Brought up {nodes} node{'s' * (nodes > 1)}, {cpus} CPUs\n"
             "Freeing unused kernel image (initmem) memory: 1K\n").splitlines()
    return "".join(f"[{number:5d}.000000] {line}\n" for number, line in enumerate(lines))


def _sys(online: str = "0-31", present: str = "0-31", nodes: str = "0-1", memory: str = "0-1", smt: str = "on") -> str:
    cpu, node = "/sys/devices/system/cpu", "/sys/devices/system/node"
    return (f"{cpu}/online:{online}\n{cpu}/present:{present}\n{node}/online:{nodes}\n{node}/has_memory:{memory}\n"
            f"{cpu}/smt/control:{smt}\n" + "".join(f"{node}/node{number}/cpulist:{cpus}\n" for number, cpus in
                                                   _NODES.items() if number in parse(nodes)))


def _meminfo(mib: int = 2 * _MIB) -> str:
    return f"$ cat /proc/meminfo\nMemTotal:       {mib * 1024} kB\nMemFree: 1 kB\n"


_TRUE = {"lscpu": _lscpu(), "numactl": _numactl(), "log": _log(), "sys": _sys(), "meminfo": _meminfo()}
_SMALL = {0: "0-3"}
#: What contradicts the machine: what it is about, the kind of text, the text, and the kinds that tell the same fact.
_OTHERS = [
    ("CPUs", "lscpu", _lscpu({0: "0-15", 1: "16-27"}), ("numactl", "sys", "log")),
    ("CPUs", "numactl", _numactl({0: "0-15", 1: "16-27"}), ("lscpu", "sys")),
    ("CPUs", "sys", _sys(online="0-27"), ("lscpu", "numactl")),
    ("CPUs", "sys", _sys(present="0-27", online="0-27"), ("lscpu", "numactl", "log")),
    ("CPUs", "log", _log(cpus=8), ("lscpu", "sys")),
    ("nodes", "lscpu", _lscpu(_SMALL), ("numactl", "sys", "log")),
    ("nodes", "numactl", _numactl(_SMALL), ("lscpu", "sys", "log")),
    ("nodes", "sys", _sys(nodes="0", memory="0"), ("lscpu", "numactl", "log")),
    ("nodes", "log", _log(nodes=1), ("lscpu", "numactl", "sys")),
    ("memory of nodes", "numactl", _numactl(without=(1,)), ("sys", "log")),
    ("memory of nodes", "sys", _sys(memory="0"), ("numactl", "log")),
    ("memory of nodes", "log", _log(without=(1,)), ("numactl",)),
    ("memory", "numactl", _numactl(size=2000), ("log", "meminfo")),
    ("memory", "numactl", _numactl(size=999000), ("log", "meminfo")),
    ("memory", "log", _log(memory=900000), ("numactl", "meminfo")),
    ("memory", "meminfo", _meminfo(4000), ("numactl", "log")),
    ("SMT", "sys", _sys(smt="off"), ("lscpu",)),
]
_PAIRS = [pytest.param(what, text, _TRUE[other], id=f"{what}: {kind} against {other} ({at})")
          for at, (what, kind, text, others) in enumerate(_OTHERS) for other in others]
_OF = {"CPUs": "cpu-lost", "nodes": "numa-nodes", "memory of nodes": "numa-nodes"}


def _findings(path: Path, *texts: str) -> dict[str, Finding]:
    return {each.id: each for each in judge(Case(found(load_import(folder(path, *texts)))), "preflight")
            if each.id in _STATES}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("what", "text", "other"), _PAIRS)
def test_no_finding_states_one_side(tmp_path: Path, what: str, text: str, other: str, turned: bool) -> None:
    try:
        told = _findings(tmp_path, *((other, text) if turned else (text, other)))
    except UsageError as refusal:
        assert refusal.flaw is Damage.CONTRADICTS
        return
    if what in _OF:
        finding = told[_OF[what]]
        assert finding.outcome == "unknown" and finding.remedy is None, finding.text
        # Two texts alone may tell too little for a check in the first place; then it says what to add.
        assert "contradict each other" in finding.text or "add: " in finding.text, finding.text
    if what == "memory":
        assert told["numa-nodes"].outcome == "unknown", told
    if what == "SMT":
        assert told["smt"].outcome in ("unknown", "skip") and "SMT is" not in told["smt"].text, told


@pytest.mark.parametrize(("what", "kind", "text"), [each[:3] for each in _OTHERS], ids=lambda each: str(each)[:16])
def test_beside_a_whole_machine_the_two_texts_are_named(tmp_path: Path, what: str, kind: str, text: str) -> None:
    whole = {**_TRUE, kind: text}
    try:
        told = _findings(tmp_path, *whole.values())
    except UsageError as refusal:
        assert refusal.flaw is Damage.CONTRADICTS
        return
    if kind != "meminfo" and what != "SMT":
        finding = told[_OF.get(what, "numa-nodes")]
        assert finding.outcome == "unknown" and "contradict each other" in finding.text, finding.text


@pytest.mark.parametrize("count", range(1, 6))
def test_the_texts_of_one_machine_are_never_doubted(tmp_path: Path, count: int) -> None:
    for number, kinds in enumerate(combinations(_TRUE, count)):
        path = tmp_path / str(number)
        path.mkdir()
        told = _findings(path, *(_TRUE[kind] for kind in kinds))
        assert not any("contradict" in each.text for each in told.values()), kinds
        if count == len(_TRUE):
            assert told["numa-nodes"].outcome == "pass" and "all 32 CPUs" in told["cpu-lost"].text, told


_OFF = {0: "0-15", 1: "16-30"}
_WITH_GPUS = {**_NODES, 2: ""}


@pytest.mark.parametrize("texts", [
    (_lscpu(_OFF, "31"), _numactl(_OFF), _log()),                       # one CPU was switched off since the boot
    (_lscpu(_OFF, "31"), _log(cpus=31)),
    (_lscpu({0: "0-7", 1: "16-23"}, "8-15,24-31", 1), _numactl({0: "0-7", 1: "16-23"}), _sys("0-7,16-23", smt="off"),
     _log()),
    (_lscpu(), _log(cpus=4, line="root=/dev/sda1 ro maxcpus=4")),
    (_lscpu(), _log(cpus=16, line="root=/dev/sda1 ro mitigations=auto,nosmt")),
    (_lscpu(), _log(cpus=16, more="smpboot: Allowing 32 CPUs, 16 hotplug CPUs\n")),
    (_lscpu(), _log(cpus=31, more="smpboot: CPU 31 has invalid APIC ID ff. Aborting bringup\n")),
    (_lscpu(), _log(possible=512)),
    (_lscpu(_WITH_GPUS), _numactl(_WITH_GPUS), _log(nodes=3, without=(2,))),    # memory of a GPU, since the driver runs
    (_lscpu(_WITH_GPUS), _numactl(_WITH_GPUS, (2,)), _log(nodes=3, without=(2,))),
    (_numactl(), _meminfo(2 * _MIB - 1000), _log(memory=2 * _MIB + 6000)),
    (_numactl(size=9000), _log(more="DMI: QEMU Standard PC (Q35)\n")),          # its host took the memory back
])
def test_what_a_machine_may_become_is_no_contradiction(tmp_path: Path, texts: tuple[str, ...]) -> None:
    for number, order in enumerate(permutations(texts)):
        path = tmp_path / str(number)
        path.mkdir()
        told = _findings(path, *order)
        assert not any("contradict" in each.text for each in told.values()), told


@pytest.mark.parametrize(("texts", "said"), [
    ((_numactl(), _log(possible=16, cpus=16)), ("CPU 31", "higher number than 15")),
    ((_sys(), _log(possible=16, cpus=16)), ("CPU 31", "higher number than 15")),
    ((_numactl(), _log(nodes=1)), ("node 1", "higher number than 0")),
    ((_lscpu(), _numactl({0: "0-7,16-23", 1: "8-15,24-31"})), ("CPU 8", "on node 0", "on node 1", "16 CPUs")),
    (("$ cat /proc/sys/kernel/osrelease\n6.8.0-31\n", _log()), ("6.8.0-31", "6.17.0")),
    (("$ cat /proc/version\nLinux version 6.8.0-31 (x) #1\n", _log()), ("6.8.0-31", "6.17.0")),
])
def test_what_no_machine_can_be_is_refused(tmp_path: Path, texts: tuple[str, ...], said: tuple[str, ...]) -> None:
    with refused(Damage.CONTRADICTS, *said):
        load_import(folder(tmp_path, *texts))


def test_a_device_on_a_node_that_another_text_does_not_have(tmp_path: Path) -> None:
    lspci = ("41:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2bb5] (rev a1)\n"
             "\tControl: I/O- Mem+ BusMaster+\n\tNUMA node: 1\n\tKernel driver in use: nvidia\n")
    told = _findings(tmp_path, lspci, _numactl(_SMALL))
    assert "lspci has devices on node 1" in told["numa-nodes"].text and told["numa-nodes"].outcome == "unknown"


def test_the_log_in_a_bug_report_may_be_of_another_kernel(tmp_path: Path) -> None:
    """One run of one script: its journal may be of an earlier boot, which is not judged, and no reason to refuse it."""
    rule = "_" * 50 + "\n"
    report = (f"Start of NVIDIA bug report log file\nuname: Linux gpu1 6.8.0-31 #1\n\n{rule}\n/usr/bin/dmesg\n\n"
              f"{_log()}\n{rule}\n*** /proc/cmdline\nroot=/dev/sda1 ro\n")
    host = load_import(folder(tmp_path, report))
    assert "its kernel is another" in host.summary()
    with pytest.raises(Unreadable):
        host.run(("dmesg",))
