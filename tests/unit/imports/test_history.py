"""What happened before this boot: told as history with its boots and dates, and never as this boot's."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.facts.trees import full, switch
from tests.unit.imports.test_bug_report import REPORT
from tests.unit.imports.test_import import LOG, folder, run
from tests.unit.told import told

from tunecheck.facts.past import Past, PastBoot, PastEvent
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host import Completed, Host
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.imported.machine import load_import
from tunecheck.host.prefetch import PAST
from tunecheck.model.fact import Absence, known
from tunecheck.model.finding import Finding
from tunecheck.report.history import history_document, history_lines
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_XID = "NVRM: Xid (PCI:0000:03:00): {}, pid=1, name=x, y"


def read(door: Host) -> tuple[Snapshot, Past]:
    snapshot = gather(door, None, True, True, True)
    assert snapshot.past.value is not None, snapshot.past.why()
    return snapshot, snapshot.past.value


def judged(snapshot: Snapshot, check: str) -> Finding:
    return next(each for each in judge(Case(snapshot), "preflight") if each.id == check)


def outcome(snapshot: Snapshot, check: str) -> tuple[str, str]:
    finding = judged(snapshot, check)
    return finding.outcome, finding.code


def test_earlier_boots_has_a_code_for_each_history() -> None:
    snapshot = gather(full(switch()).host(), None, True)
    quiet = PastBoot("a", "", "", 1, ())
    panicked = replace(quiet, events=(PastEvent("panic", "", 0, 1, "", "", "Kernel panic"),))
    for past, kind, code in ((Past(()), "skip", "no-earlier-boot"), (Past((quiet,)), "skip", "nothing-of-gpus"),
                             (Past((quiet, panicked)), "warn", "gpu-events")):
        finding = judged(replace(snapshot, past=known(past, "journalctl")), "earlier-boots")
        assert (finding.outcome, finding.code) == (kind, code)


@pytest.mark.parametrize("source", ["journalctl", "texts of earlier boots"])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("boots", [0, 1, 2])
@pytest.mark.parametrize("events", [0, 1])
def test_a_history_without_anything_in_it_is_a_sentence_and_no_heading(source: str, cut: bool, boots: int, events: int
                                                                     ) -> None:
    boot = PastBoot("a", "", "", 1, (PastEvent("panic", "", 0, 1, "", "", "Kernel panic"),) * events)
    lines = history_lines(known(Past((boot,) * boots, cut), source))
    assert lines[0].startswith("Before this boot")
    assert lines[0].endswith(":") is (len(lines) > 1) and (len(lines) > 1 or not (boots and events))
    if not boots and not cut:
        assert ("/var/log/journal" in lines[0]) is (source == "journalctl")


def test_a_bug_report_tells_of_its_earlier_boots(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(REPORT)
    snapshot, past = read(load_import(str(tmp_path / "a")))
    assert [(boot.name, len(boot.events)) for boot in past.boots] == [("journalctl -b -2", 1), ("journalctl -b -1", 0)]
    event = past.events[0]
    assert (event.kind, event.code, event.count, event.first, event.last) == (
        "xid", 79, 50, "Apr 01 10:00:10", "Apr 01 10:00:59")
    assert outcome(snapshot, "earlier-boots") == ("warn", "gpu-events")
    assert told(judged(snapshot, "earlier-boots").observed) == "79 0000:03:00 50"
    assert outcome(snapshot, "xid") == outcome(snapshot, "gpu-fallen-off") == ("unknown", "log-incomplete")
    lines = "\n".join(history_lines(snapshot.past))
    assert told(lines.splitlines()[0]) == "2 1" and "  boot journalctl -b -2: Apr 01 10:00:10" in lines
    document = history_document(snapshot.past)
    assert document is not None and document["boots"][0]["events"][0]["code"] == 79


def test_the_verb_lists_them(tmp_path: Path) -> None:
    done = run("host", "--from", folder(tmp_path, REPORT), "--history")
    assert re.search(r"(?m)^    0000:03:00 Xid 79 \(GPU has fallen off the bus\) 50 \D+ Apr 01 10:00:10", done.stdout)


def test_a_syslog_file_of_three_boots(tmp_path: Path) -> None:
    boots = [f"Apr {day:02d} 10:00:00 rig kernel: Linux version 6.8.0-45-generic (x)\n"
             f"Apr {day:02d} 10:00:0{day} rig kernel: {_XID.format(code)}\n"
             for day, code in ((1, 79), (2, 48), (3, 31))]
    boots[1] += ("Apr 02 11:00:00 rig kernel: NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x62:0x40:2028)\n"
                 "Apr 02 11:00:01 rig kernel: nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 x\n"
                 "Apr 02 11:00:02 rig kernel: Kernel panic - not syncing: hung\n")
    snapshot, past = read(load_import(folder(tmp_path, "".join(boots))))
    assert [[(event.kind, event.code) for event in boot.events] for boot in past.boots] == [
        [("xid", 79)], [("xid", 48), ("sxid", 20034), ("adapter", 0), ("panic", 0)]]
    assert [boot.first for boot in past.boots] == ["Apr 01 10:00:00", "Apr 02 10:00:00"]
    assert outcome(snapshot, "xid") == ("warn", "xid-31")
    assert (judged(snapshot, "xid").subject, judged(snapshot, "xid").observed) == ("0000:03:00 Xid 31", "1")


def test_pstore_and_a_named_boot_are_history(tmp_path: Path) -> None:
    crash = f"Panic#2 Part1\n<4>[  900.1] {_XID.format(79)}\n<0>[  900.2] Kernel panic - not syncing: x\n"
    named = f"$ journalctl -k -b -1\n[    1.0] {_XID.format(48)}\n"
    snapshot, past = read(load_import(folder(tmp_path, LOG, crash, named)))
    assert sorted((event.kind, event.code) for event in past.events) == [("panic", 0), ("xid", 48), ("xid", 79)]
    assert outcome(snapshot, "xid")[0] == outcome(snapshot, "kernel-panic")[0] == "unknown"


def test_two_logs_of_this_boot_lose_no_xid_of_either(tmp_path: Path) -> None:
    door = load_import(folder(tmp_path, LOG + "[   10.0] x\n" * 9, f"[   99.0] {_XID.format(79)}\n" * 3))
    snapshot, past = read(door)
    assert outcome(snapshot, "xid")[0] == "fail" and past.boots == ()


def test_the_journal_of_a_machine() -> None:
    boot = "0123456789abcdef0123456789abcdef"

    def entry(name: str, second: int, text: str, by: str = "kernel") -> str:
        return json.dumps({"_BOOT_ID": name, "__REALTIME_TIMESTAMP": f"{1740327858 + second}000000", "MESSAGE": text,
                           "_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": by}) + "\n"

    def machine(done: Completed | str) -> Host:
        box = full(switch())
        box.file("/proc/sys/kernel/random/boot_id", f"{uuid.UUID(boot)}\n")
        box.runs[PAST] = reason_of_text(done) if isinstance(done, str) else done
        return box.host()

    journal = (entry("a" * 32, 0, "Linux version 6.1") + entry("a" * 32, 9, _XID.format(79))
               + entry("a" * 32, 9, _XID.format(48), "gpud") + entry("b" * 32, 50, "Linux version 6.1")
               + entry(boot, 90, "Linux version 6.1") + entry(boot, 99, _XID.format(31)))
    snapshot, past = read(machine(Completed(PAST, 0, journal, "")))
    assert [(each.name[0], [event.code for event in each.events]) for each in past.boots] == [("a", [79]), ("b", [])]
    assert past.boots[0].first == "2025-02-23T16:24:18.000000Z"
    assert outcome(snapshot, "xid")[0] == "pass", "this boot's log is dmesg's"
    hint = "Hint: You are currently not seeing messages from other users and the system.\n"
    for done, why in ((Completed(PAST, 0, "", hint), Absence.NO_PERMISSION),
                      ("timed out after 20 s", Absence.TIMED_OUT), ("not present", Absence.NOT_PRESENT)):
        snapshot = gather(machine(done), None, True, True, True)
        assert snapshot.past.absence is why
        assert outcome(snapshot, "earlier-boots")[0] == "skip"
    assert read(machine(Completed(PAST, 1, "-- No entries --\n", "")))[1].boots == ()
