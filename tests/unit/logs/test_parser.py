"""The log parser against anything: real samples, a hundred megabytes, and random damage."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tunecheck.facts.kernel.kernel import kernel
from tunecheck.host import Completed
from tunecheck.host.answers import RecordedHost
from tunecheck.host.live import LiveHost
from tunecheck.parsers.kernel.kernel_log import KernelEvents, parse
from tunecheck.parsers.kernel.rejected import rejected
from tunecheck.parsers.nvidia.xid_catalog import CATALOG, RECOVERY, advice
from tunecheck.parsers.text.log_lines import LEFT_OUT, MAX_CHARS, line

_REPO = Path(__file__).resolve().parents[3]
_SAMPLES = Path(os.environ.get("TUNECHECK_SAMPLES", _REPO.parent / "shared/samples"))
_CASES = Path(__file__).parents[1] / "checks/cases"
_LOGS = [yaml.safe_load(path.read_text()).get("log") for path in _CASES.glob("*/*.yml")]
_SEEDS = sorted(log for log in _LOGS if isinstance(log, str))


def _sample(name: str) -> str:
    path = _SAMPLES / name
    if not path.is_file():
        pytest.skip(f"{path} is not on this machine (TUNECHECK_SAMPLES names the folder)")
    return path.read_text(errors="replace")


def test_every_xid_line_of_the_samples_is_recognised() -> None:
    text = _sample("dmesg/dmesg-samples.txt")
    found = parse(text)
    assert sum(xid.count for xid in found.xids) == text.count("NVRM: Xid (") == 26
    assert {xid.code for xid in found.xids} <= set(CATALOG)
    assert {xid.recovery for xid in found.xids if xid.code == 154} == {
        (1, "PF FLR"), (4, "Drain and Reset"), (1, "GPU Reset Required")}
    assert [gpu.gpu for gpu in found.fallen if gpu.at_probe] == ["0000:b3:00"]
    assert sum(error.count for error in found.pcie) == 6
    # The second one stands there without the headline of the kernel: `task:python3.11 state:D`, and its stack.
    assert [task.in_driver for task in found.hung] == [False, True]
    assert {name: bridge.outcome for name, bridge in found.osc.items()} == {"ACPI0016:00": "refused"}
    assert not found.complete


def test_a_box_whose_firmware_keeps_aer_and_nothing_else() -> None:
    found = parse(_sample("host/asus-esc8000a-dmesg.log"))
    assert found.complete and found.loads == 1
    assert {bridge.outcome for bridge in found.osc.values()} == {"refused"} and len(found.osc) == 16
    # Windows of empty hot plug ports found no room there; every board's own memory did.
    assert found.unassigned == ()
    assert not (found.xids or found.fallen or found.hung or found.pcie)


@pytest.mark.parametrize("text", [
    "[    1.0] NVRM: Xid (PCI:0000:01:00): 79, pid=12, name=x, GPU has fallen off the bus.\n",
    "[    1.0] pcieport 0000:00:02.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n",
    "[    1.0] something that nobody asked for, again and again\n", "x", "\n", "a\n",
], ids=["xid", "aer", "other", "one line", "empty lines", "short lines"])
def test_a_hundred_megabytes_are_bounded_in_time_and_memory(text: str) -> None:
    code = ("import resource, sys, time; from tunecheck.parsers.kernel.kernel_log import parse\n"
            "size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "text = sys.argv[1]; log = '[    0.0] Linux version 6.12.1\\n' + text * (100_000_000 // len(text))\n"
            "before, begun = size(), time.process_time(); found = parse(log)\n"
            "print(time.process_time() - begun, (size() - before) >> 10, found.start, found.cut)")
    done = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, timeout=120, check=True,
                          env={**os.environ, "PYTHONPATH": str(_REPO / "checks")})
    seconds, mebibytes, start, cut = done.stdout.split()
    assert (start, cut) == ("True", "True")
    assert float(seconds) < 20, "1 s on a quiet machine"
    assert int(mebibytes) < 64


def test_a_log_of_a_thousand_gpus_is_bounded() -> None:
    lines = (f"NVRM: Xid (PCI:{number:04x}:01:00): 79, GPU has fallen off the bus.\n"
             f"pcieport {number:04x}:00:02.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"
             f"INFO: task a{number}:1 blocked for more than 120 seconds.\n" for number in range(5000))
    found = parse("".join(lines))
    assert {len(found.xids), len(found.fallen), len(found.hung), len(found.pcie)} == {512}


def _damaged(random_: random.Random) -> str:
    text = list(random_.choice(_SEEDS))
    for _ in range(random_.randint(1, 30)):
        at = random_.randrange(len(text))
        match random_.randrange(4):
            case 0:
                text[at] = chr(random_.choice((0, 10, 13, 27, 40, 44, 58, 91, 0x2028, 0xFFFD, random_.randrange(256))))
            case 1:
                del text[at:at + random_.randint(1, 40)]
            case 2:
                text[at:at] = text[at:at + random_.randint(1, 60)] * random_.randint(1, 20)
            case _:
                text[at:at] = random_.choice(_SEEDS)[:random_.randint(1, 200)]
        text = text or ["x"]
    return "".join(text)


def test_damage_never_breaks_the_parser() -> None:
    random_ = random.Random(20261121)
    for _ in range(3000):
        log = _damaged(random_)
        found = parse(log)
        rejected(log)
        assert isinstance(found, KernelEvents)
        assert all(re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}", xid.gpu) for xid in found.xids)
        assert all(xid.count > 0 and len(xid.text) <= 300 for xid in found.xids)
        assert all(error.count > 0 for error in found.pcie)
        assert all(xid.load <= found.loads for xid in found.xids)


@pytest.mark.parametrize("raw", ["[" * 100_000, "<1>" * 50_000, "kern  :" * 50_000, " " * 100_000 + "NVRM: x",
                                 "NVRM: Xid (PCI:0000:01:00): 79, pid=" + "'" * 100_000])
def test_no_line_takes_long(raw: str) -> None:
    begun = time.process_time()
    line(raw)
    parse(raw)
    assert time.process_time() - begun < 1


def test_the_catalogue_is_whole() -> None:
    assert {entry.severity for entry in CATALOG.values()} == {"fail", "warn"}
    assert all(entry.meaning and entry.action for entry in CATALOG.values())
    assert sorted(RECOVERY) == list(range(8))
    assert sorted(CATALOG) == list(range(1, 177))


def test_what_to_do_about_an_xid_names_a_command_or_the_document_that_says_more() -> None:
    """A workflow, a tool or a table of NVIDIA's alone leads nowhere."""
    actions = {(code, word): advice(code, word).action for code in CATALOG for word in ("Fatal", "Nonfatal")}
    names_another = re.compile("workflow|diagnos|investigate|sub-code|hexadecimal|[A-Z]{3,}_[A-Z]|test the")
    leads_there = re.compile(r"`[^`]+`|docs\.nvidia\.com/deploy/")
    assert [key for key, text in actions.items() if names_another.search(text) and not leads_there.search(text)] == []
    assert [key for key, text in actions.items() if re.search("workflow|investigate", text)] == []
    for code in (74, *range(144, 151)):
        for severity in ("Fatal", "Nonfatal"):
            found = advice(code, severity)
            assert "`nvidia-smi nvlink -s`" in found.action and "`nvidia-smi nvlink -e`" in found.action
            assert "docs.nvidia.com/deploy/" in found.action and found.read_on == "fabric-state"


@pytest.mark.parametrize("code", range(144, 151))
def test_a_fatal_error_of_nvlink5_needs_a_reset_and_another_does_not(code: int) -> None:
    assert advice(code, "NETIR_LINK_EVT  Fatal   XC0").severity == "fail"
    assert "--gpu-reset" in advice(code, "NETIR_LINK_EVT  Fatal   XC0").action
    assert advice(code, "NETIR_LINK_EVT  Nonfatal   XC0").severity == "warn"
    assert "--gpu-reset" not in advice(code, "NETIR_LINK_EVT  Nonfatal   XC0").action


@pytest.mark.parametrize(("lost", "commands"), [(False, ["dmesg"]), (True, ["dmesg", "journalctl"])])
def test_dmesg_is_read_once_and_the_journal_only_where_its_start_is_lost(lost: bool, commands: list[str]) -> None:
    asked: list[tuple[str, ...]] = []

    class Host(RecordedHost):
        def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
            asked.append(argv)
            start = "" if argv[0] == "dmesg" and lost else "[ 0.0] Linux version 6.12.1\n"
            return Completed(argv, 0, start + "[ 5.1] NVRM: Xid (PCI:0000:03:00): 79, x\n", "")

    log = kernel(Host({})).log
    assert [argv[0] for argv in asked] == commands
    assert log.value is not None and log.value.complete and log.value.events.xids[0].code == 79


def test_a_command_that_says_too_much_keeps_its_start_and_its_end() -> None:
    script = "echo first; yes middle | head -c 80000000; echo last"
    done = LiveHost().run(("sh", "-c", script), 60)
    assert done.stdout.startswith("first\n") and done.stdout.endswith("last\n")
    assert f"\n{LEFT_OUT}\n" in done.stdout and len(done.stdout) < MAX_CHARS + 100


def test_the_distance_to_the_line_before_is_no_time() -> None:
    """dmesg --reltime and -d: "+0.000005" says when only beside all lines before it."""
    found = parse("[Feb23 16:24] usb 1-1: new device\n[  +0.000844] NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off "
                  "the bus.\n[  +0.000008] usb 1-1: gone now\n")
    assert [each.last for each in found.xids] == ["Feb23 16:24"], "dmesg says each minute once"
    assert (found.first, found.last) == ("Feb23 16:24", "Feb23 16:24")
    alone = parse("[  +0.000844] usb 1-1: new device\n[  +0.000844] NVRM: Xid (PCI:0000:03:00): 79, GPU is gone\n")
    assert (alone.first, alone.last, [each.last for each in alone.xids]) == ("", "", [""])
