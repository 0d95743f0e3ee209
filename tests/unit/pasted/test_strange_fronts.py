"""A line of the driver counts behind whatever an export, a shipper of logs or a hypervisor puts in front; what a
sentence or another program says does not, and is never passed over in silence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.imports.twice import TWICE
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.kinds import recognise
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.kernel.kernel_log import parse
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_XID = "NVRM: Xid (PCI:0000:04:00): 79, pid=12, name=python3, GPU has fallen off the bus."
_FRONTS = [
    '"2026-11-25T03:14:15Z","gpu07","kernel","%s"', "2026-11-25,gpu07,%s", '2026-11-25T03:14:15Z\tgpu07\t"%s"', '"%s"',
    "a;'b';'%s'", 'ts=2026-11-25T03:14:15Z host=gpu07 level=err msg="%s"', "level=error msg=%s",
    'msg="[   12.345678] %s"',
    '"gpu07","kernel: [   12.345678] %s"', 'x 2026-11-25 stdout: {"stream":"stderr","log":"%s"}', r"\"MESSAGE\":\"%s\"",
    "2026-11-25 03:14:15 ERROR [dcgm] XID error seen: %s", "E1125 03:14:15.123456 123 xid.go:45] XID: %s", "ERROR: %s",
    "[2026-11-25 03:14:15,123] {gpu.py:12} ERROR - %s", "2026-11-25T03:14:16.123Z In(182) vmkernel: cpu3:2097)%s",
    "2026-11-25T03:14:16.123Z Al(177) vmkalert: cpu3:2097)ALERT: %s", "Nov 25 03:14:15 gpu07 kern.err: %s",
    "<3>1 2026-11-25T03:14:15.123456+01:00 gpu07 kernel - - - %s", "2026-11-25T03:14:15Z gpu07 klogd: %s",
    "gpu07 | 2026-11-25 | %s |", "| gpu07 | `%s` |",
]
_SAID = [
    'In dmesg we saw "%s" after the restart', 'it said "%s"', 'He said, "%s"', 'the log says: "%s"',
    "It says `%s` at night.",
    "\u201e%s\u201c", "Feb 23 16:24:18 box1 gpud[77]: %s", "2025-02-23T16:24:09+0100 box1 gpud: %s", "somewatch: %s",
    'Feb 23 16:24:19 box1 kernel: audit: said "%s"', '[   12.345678] audit: type=1107 msg="%s"',
    'audit: type=1107 msg="%s"', 'type=USER msg=audit(1740327859.283:7): msg="%s"', 'dmesg | grep "%s"', 'printf("%s")',
]
_OTHER = "[    5.000000] NVRM: Xid (PCI:0000:03:00): 31, pid=1, name=x, Ch 00000008\n"


@pytest.mark.parametrize("front", _FRONTS)
def test_it_counts_behind_what_nobody_knows(front: str) -> None:
    line = front % _XID + "\n"
    assert recognise(line) == "kernel log"
    for text in (line, _OTHER + line, line + _OTHER):
        found = parse(text)
        assert [(each.gpu, each.count) for each in found.xids if each.code == 79] == [("0000:04:00", 1)]
        assert [each.gpu for each in found.fallen] == ["0000:04:00"] and not found.quoted


@pytest.mark.parametrize("front", _SAID)
def test_what_somebody_says_is_named_and_is_no_event(front: str, tmp_path: Path) -> None:
    line = front % _XID + "\n"
    assert [each.code for each in parse(line).xids] == []
    (tmp_path / "a.txt").write_text(_OTHER + line)
    found = judge(Case(gather(load_import(str(tmp_path / "a.txt")), None, True)), "preflight")
    told = {(each.id, each.code, each.outcome) for each in found if each.id in ("xid", "gpu-fallen-off")}
    assert told == {("xid", "xid-31", "warn"), ("xid", "quoted", "unknown"), ("gpu-fallen-off", "quoted", "unknown")}


@pytest.mark.parametrize("front", ["It says `%s` at night.", 'In dmesg we saw "%s" after', "gpud: %s"])
def test_a_sentence_alone_is_refused_with_what_to_do(front: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(front % _XID + "\n")
    with refused(Damage.TOO_LITTLE, "Xid 79", "sudo dmesg"):
        load_import(str(tmp_path / "a.txt"))


def test_all_of_one_line_count() -> None:
    text = f"[    5.000000] {_XID} [    6.000000] {_XID.replace('04', '05')} {_XID.replace('04', '06')} {'x' * 5000} " \
           f"{_XID.replace('04', '07')}\n"
    assert [(each.gpu, each.last) for each in parse(text).xids] == [
        ("0000:04:00", "5.000000"), ("0000:05:00", "6.000000"), ("0000:06:00", ""), ("0000:07:00", "")]


def test_it_counts_far_behind_in_a_line() -> None:
    far = "x " * 2000
    assert [each.gpu for each in parse(f'{_OTHER}{far}msg="{_XID}"\n').fallen] == ["0000:04:00"]
    found = parse(f'{_OTHER}[    6.000000] audit: {far}msg="{_XID}"\n{far}and we saw "{_XID}"\n')
    assert not found.fallen and [each.code for each in found.quoted] == [79]


@pytest.mark.parametrize("text", [
    "\n" * 300_000, " \n" * 300_000, _XID + " " + "[" * 300_000, "," * 300_000 + '"' + _XID, "NVRM: Xid (" * 30_000,
    (_XID + " ") * 4000, ("a" * 250 + ": ") * 2000 + _XID, ('"' * 1990 + _XID + "\n") * 200,
    "rcu: INFO: rcu_sched self-detected stall on CPU {" + " 1" * 100_000 + "\n", "1-....: (\n" * 30_000,
    ("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n" + "rcu: \t1-....: (x x x x\n" * 60) * 500])
def test_monotonous_texts_take_no_time(text: str) -> None:
    begin = time.process_time()
    parse(_XID + "\n" + text)
    recognise(text)
    assert time.process_time() - begin < 5, "0.1 s on a quiet machine"


@pytest.mark.parametrize("front", _FRONTS)
@pytest.mark.parametrize("other", ["nvidia-smi", "topo", "NCCL log"])
def test_it_counts_below_another_output(other: str, front: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TWICE[other][0] + front % _XID + "\n")
    found = judge(Case(gather(load_import(str(tmp_path / "a.txt")), None, True)), "preflight")
    assert ("gpu-fallen-off", "fail") in {(each.id, each.outcome) for each in found}
