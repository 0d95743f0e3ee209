"""What tools put in front of every line is taken away, whatever the lines are; where they name two machines, none of
them is judged as the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.imports.test_seams import LOG
from tests.unit.imports.twice import TWICE
from tests.unit.logs.test_fragment import _MESSAGES, _PARTS
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.dressings import sections
from tunecheck.host.imported.files import pieces
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _before(front: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{front}{line}\n" for line in text.splitlines())


def _stamped(text: str) -> str:
    return "".join(f"2026-03-04T05:06:{number % 60:02}.{number:09}Z {line}\n"
                   for number, line in enumerate(text.splitlines()))


def _container(text: str) -> str:
    return "".join(json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-03-04T05:06:07.1Z"}) + "\n"
                   for line in text.splitlines())


DRESSINGS: dict[str, Callable[[str], str]] = {
    "kubectl --prefix": _before("[pod/gpu-driver-x2x4k/driver] "), "kubectl --timestamps": _stamped,
    "kubectl --prefix --timestamps": lambda text: _before("[pod/gpu-driver-x2x4k/driver] ")(_stamped(text)),
    "stern": _before("gpu-driver-x2x4k driver "), "pdsh": _before("node7: "),
    "pdsh of a domain": _before("node7.lan: "),
    "docker's file": _container, "the container runtime's file": _before("2026-03-04T05:06:07.123456789Z stdout F "),
    "mpirun --tag-output": _before("[1,0]<stdout>:"), "ansible": lambda text: f"node7 | CHANGED | rc=0 >>\n{text}",
    "Markdown": _before("    "), "a tab": _before("\t"), "quoted": _before("> "), "quoted twice": _before("> > "),
    "quoted Markdown": _before(">     "), "Markdown of pdsh": _before("    node7: "),
    "empty lines without blanks": lambda text: "\n".join(line and f"    {line}" for line in text.splitlines()) + "\n",
}
#: docker compose and others align their names: lines of several services are of one machine.
DRESSINGS["docker compose"] = _before("engine-1  | ")


def _texts(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return ["\n".join(line.rstrip() for line in piece.text.strip("\n").splitlines()) for piece in pieces(str(path))]


def _judged(path: Path, text: str) -> set[tuple[str, ...]]:
    path.write_text(text)
    return {(each.id, each.code, each.outcome, each.subject, each.text, each.observed)
            for each in judge(Case(gather(load_import(str(path)), None, True)), "preflight")}


@pytest.mark.parametrize("dressing", DRESSINGS)
def test_every_message_of_the_kernel_is_read_behind_everything_that_is_known(dressing: str, tmp_path: Path) -> None:
    messages = [*_MESSAGES, *_PARTS]
    lines = [f"[{number:5}.123456] {message}" for number, message in enumerate(messages)]
    for line in lines:
        assert _texts(tmp_path / "a", DRESSINGS[dressing](line + "\n")) == [line], line
    plain = "\n".join(lines) + "\n"
    found = _judged(tmp_path / "a", DRESSINGS[dressing](plain))
    assert found == _judged(tmp_path / "a", plain)
    assert len([each for each in found if each[2] in ("fail", "warn")]) > 10


@pytest.mark.parametrize("dressing", DRESSINGS)
def test_every_output_is_read_behind_everything_that_is_known(dressing: str, tmp_path: Path) -> None:
    for kind, both in TWICE.items():
        for text in both:
            plain = _texts(tmp_path / "a", text)
            assert _texts(tmp_path / "a", DRESSINGS[dressing](text)) == plain, kind


@pytest.mark.parametrize("message", _MESSAGES)
def test_what_is_read_of_the_driver_behind_a_name_that_nobody_knows_is_read_of_the_kernel(
        message: str, tmp_path: Path) -> None:
    xid = "[    5.000001] NVRM: Xid (PCI:0000:06:00): 31, pid=1, name=x, Ch 00000008\n"
    plain = f"{xid}[    6.123456] {message}\n"
    fronted = "".join(f"{front}{line}\n" for front, line in zip(("some thing ", "another "), plain.splitlines(),
                                                                 strict=True))
    assert _judged(tmp_path / "a", fronted) == _judged(tmp_path / "a", plain)


@pytest.mark.parametrize("kind", TWICE)
def test_a_bare_output_stays_as_it_is(kind: str) -> None:
    for text in TWICE[kind]:
        assert list(sections(text)) == [("", text)]


@pytest.mark.parametrize("text", [
    "gpud: NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus.\n",
    "NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus.\nNVRM: GPU 0000:06:00.0: lost\n",
    "kernel: [    1.000000] a\nkernel: [    2.000000] b\n", "a: b\na: c\n", "Total: 3\nUsed: 4\n",
    "node-a 1 2\nnode-a 1 3\n", "cat: /proc/cmdline: Permission denied\n",
    "2026-03-04T05:06:07.123456+00:00 node7 kernel: NVRM: GPU 0000:06:00.0: x\n",
    "one | two\none | three\n", "", "\n \n"])
def test_what_is_no_name_in_front_stays(text: str) -> None:
    assert list(sections(text)) == [("", text)]


XIDS = ["[  100.000001] NVRM: Xid (PCI:0000:06:00): 79, pid=1, name=x, GPU has fallen off the bus.\n",
        "[  200.000001] NVRM: Xid (PCI:0000:07:00): 31, pid=1, name=x, Ch 00000008\n"]
TABLE = TWICE["nvidia-smi"][0]
_NAMED: dict[str, Callable[[str], str]] = {
    "pdsh": lambda name: _before(f"{name}: ")(XIDS[0]),
    "ansible": lambda name: f"{name} | CHANGED | rc=0 >>\n{XIDS[0]}",
    "prompt": lambda name: f"root@{name}:~# dmesg | tail -1\n{XIDS[0]}",
    "prompt in brackets": lambda name: f"[me@{name} ~]$ sudo dmesg\n{XIDS[0]}",
    "prompt above nvidia-smi": lambda name: f"me@{name}:~$ nvidia-smi\n{TABLE}",
    "pdsh of nvidia-smi": lambda name: _before(f"{name}: ")(TABLE),
    "syslog": lambda name: f"Mar  4 05:06:07 {name} kernel: {XIDS[0]}",
    "syslog without the kernel's time": lambda name: f"Mar  4 05:06:07 {name} kernel: {XIDS[0].partition('] ')[2]}",
    "iso": lambda name: f"2026-03-04T05:06:07.123456+00:00 {name} kernel: {XIDS[0].partition('] ')[2]}",
    "journal": lambda name: json.dumps({"__REALTIME_TIMESTAMP": "1772600000000000", "_HOSTNAME": name,
                                        "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": XIDS[0].partition("] ")[2]}) + "\n",
    "kubectl": lambda name: _before(f"[pod/{name}/driver] ")(XIDS[0]),
}


@pytest.mark.parametrize("form", _NAMED)
def test_texts_of_two_machines_that_only_their_names_tell_apart_are_refused(form: str, tmp_path: Path) -> None:
    one, two, again = (_NAMED[form](name) for name in ("node7", "node8", "node7"))
    (tmp_path / "a").write_text(one + again.replace("  100.", "  100."))
    load_import(str(tmp_path / "a"))
    (tmp_path / "a").write_text(one + two)
    with refused(Damage.CONTRADICTS, "node7", "node8"):
        load_import(str(tmp_path / "a"))
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, text in enumerate((one, two)):
        (folder / f"{number}.txt").write_text(text)
    with refused(Damage.CONTRADICTS, "node7", "0.txt", "node8", "1.txt"):
        load_import(str(folder))


_SYSLOG = "Mar  4 05:06:{:02} {} kernel: {}\n"


@pytest.mark.parametrize("text", [
    _SYSLOG.format(1, "node7", XIDS[0].strip()) + _SYSLOG.format(2, "node7.lan", XIDS[1].strip()),
    _SYSLOG.format(1, "localhost", "Linux version 6.12.1") + _SYSLOG.format(2, "node7", XIDS[1].strip()),
    _SYSLOG.format(1, "image", "Linux version 6.12.1") + _SYSLOG.format(9, "node7", XIDS[1].strip()),
    f"root@0123456789ab:/app# nvidia-smi\n{TABLE}root@node7:~# dmesg\n{XIDS[0]}",
    f"me@laptop:~$ ssh node7\n{XIDS[0]}", f"me@laptop:~$ cat notes\nnothing\nroot@node7:~# dmesg\n{XIDS[0]}",
    f"10.0.0.7 | CHANGED | rc=0 >>\n{_SYSLOG.format(1, 'node7', XIDS[0].strip())}",
    _before("engine-1  | ")(LOG) + _before("proxy-1   | ")("hello\n"),
], ids=["domain", "localhost", "named while it boots", "container", "ssh", "nothing of the other", "address",
        "compose"])
def test_two_names_of_one_machine_are_not_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    load_import(str(tmp_path / "a"))


def test_a_name_that_changes_long_after_the_boot_is_of_another_machine(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(
        "Mar  4 05:06:01 node6 kernel: Linux version 6.12.1\nMar  4 06:06:01 node6 kernel: usb 1-1: a\n"
        f"Mar  4 06:06:02 node7 kernel: {XIDS[0]}")
    with refused(Damage.CONTRADICTS, "node6", "node7"):
        load_import(str(tmp_path / "a"))


_SWITCH = "06:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx [1000:c030] (rev b0)\n\tControl: I/O+ Mem+ BusMaster+\n"
_GPU = ("{}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)\n\tControl: I/O- Mem+ BusMaster+\n"
        "\tKernel driver in use: nvidia\n")
_ONE = TABLE.replace("00000000:00:06.0", "00000000:06:00.0")


@pytest.mark.parametrize(("listed", "apart"), [
    (_SWITCH, True), (_GPU.format("06"), False),
    (_GPU.format("06") + "\n" + _GPU.format("08"), False), (_GPU.format("08"), False)],
    ids=["a switch in its place", "the same", "one more", "a part of either"])
def test_a_tree_of_another_machine_than_nvidia_smi_is_refused(listed: str, apart: bool, tmp_path: Path) -> None:
    for text in (listed + "\n" + _ONE, _ONE + listed):
        (tmp_path / "a").write_text(text)
        if apart:
            with refused(Damage.CONTRADICTS, "nvidia-smi", "lspci"):
                load_import(str(tmp_path / "a"))
        else:
            load_import(str(tmp_path / "a"))


def test_long_monotonous_texts_take_no_time() -> None:
    for part in ("\n", " ", "\t\n", "    a\n", "a: b\n", "a: \n", "[pod/a/b] \n", "a | CHANGED\n",
                 "{\"log\":\"\",\"stream\":0}\n", "a-b c \n", "2026-03-04T05:06:07.1Z \n"):
        begin = time.process_time()
        list(sections(part * (1_000_000 // len(part))))
        assert time.process_time() - begin < 5, part
