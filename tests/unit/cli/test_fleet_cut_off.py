"""Audits that were cut off, run beside each other, or are still running: what arrived is kept, and nobody is lost."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet, naming, one_line, reason, statuses

from tunecheck_fleet.store import open_store


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


#: tunecheck where one file lies on a disk that does not answer.
DEAF = """
import sys, time
from pathlib import Path
from tunecheck_fleet import folder
read = folder._content
def content(file):
    if file.name == "gpu5.json":
        Path("waits").touch()
        time.sleep(600)
    return read(file)
folder._content = content
sys.argv[0] = "tunecheck"
from tunecheck.__main__ import main
main()
"""


@contextlib.contextmanager
def waiting(fleet: Fleet) -> Iterator[subprocess.Popen[str]]:
    """An audit whose fifth box does not come. The four that came are in the history while it waits for that one."""
    for number in range(1, 6):
        fleet.put(number)
    process, end = fleet.popen("audit", "--from", "boxes", "--json", "-", program=DEAF), time.monotonic() + 60
    try:
        while not (fleet.folder / "waits").exists():
            assert process.poll() is None and time.monotonic() < end, process.communicate()
            time.sleep(0.02)
        with open_store(str(fleet.store)) as store:
            while [host for host, _ in store.pending(1)] != ["gpu5"]:
                assert process.poll() is None and time.monotonic() < end, process.communicate()
                time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_arrived_is_kept_and_the_next_run_asks_the_rest(fleet: Fleet, end: signal.Signals) -> None:
    with waiting(fleet) as process:
        process.send_signal(end)
        out, err = process.communicate(timeout=60)
    if end != signal.SIGKILL:
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[end] and out == ""
        assert naming([one_line(err)], "4", "5", "#1")
    (fleet.files / "gpu1.json").write_text("not asked again")
    code, out, err = fleet.audit("--json")
    document = json.loads(out)
    assert code == 0 and document["audit"]["id"] == 1 and list(statuses(document).values()) == ["ok"] * 5, out + err
    assert naming([one_line(err)], "#1", "4", "5", "1")


def test_new_begins_anew(fleet: Fleet) -> None:
    with waiting(fleet) as process:
        process.kill()
    (fleet.files / "gpu5.json").unlink()
    code, document = fleet.seen("--new")
    assert code == 0 and document["audit"]["id"] == 2 and list(statuses(document).values()) == ["ok"] * 4


def test_while_an_audit_runs_the_others_are_not_called_unreachable_for_good(fleet: Fleet) -> None:
    with waiting(fleet) as process:
        running = json.loads(fleet.run("fleet", "--json")[1])
        process.kill()
    ended = json.loads(fleet.run("fleet", "--json")[1])
    for document, waits in ((running, True), (ended, False)):
        assert {row["host"]: row["waits"] for row in document["hosts"]} == {
            f"gpu{number}": waits and number == 5 for number in range(1, 6)}
        assert statuses(document)["gpu5"] == "unreachable"
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d", reason(running, "gpu5")), "since when"


def test_a_host_that_a_later_audit_has_heard_is_asked_again_and_never_lost(fleet: Fleet) -> None:
    """Cut off with nothing; one host under --limit; the whole again: nobody is missing, and nobody is left unsaid."""
    inventory = fleet.folder / "hosts.json"
    inventory.write_text(json.dumps({"h200": {"hosts": {f"gpu{number}": {} for number in (1, 2, 3)}}}))
    for number in (1, 2, 3):
        fleet.put(number)
    asked = [(f"gpu{number}", "h200") for number in (1, 2, 3)]
    with open_store(str(fleet.store)) as store:
        store.begin(f"{inventory}, files of {fleet.files}", asked)        # Ctrl-C before anybody answered
    assert fleet.audit("-i", "hosts.json", "--limit", "gpu1")[0] == 0
    code, out, err = fleet.audit("-i", "hosts.json", "--json")
    assert (code, err) == (0, "")
    assert {row["host"]: row["status"] for row in json.loads(out)["hosts"]} == dict.fromkeys(
        ("gpu1", "gpu2", "gpu3"), "ok")
    document = json.loads(fleet.run("fleet", "--audit", "1", "--json")[1])
    assert statuses(document) == dict.fromkeys(("gpu1", "gpu2", "gpu3"), "unreachable")


def test_a_host_whose_answer_was_not_kept_counts_as_missing(fleet: Fleet) -> None:
    """A second audit of the same host at the same time (a push) was faster: the first one has no row of it."""
    for number in (1, 2):
        fleet.put(number)
    fleet.audit()
    with open_store(str(fleet.store)) as store:
        store.begin("x", [("gpu1", "ungrouped"), ("gpu2", "ungrouped")])
        store.finish(2)
    code, out, _ = fleet.run("fleet", "--audit", "2", "--max-missing", "1", "--json")
    rows = json.loads(out)["hosts"]
    assert code == 2 and [(row["status"], row["waits"]) for row in rows] == [("unreachable", False)] * 2
