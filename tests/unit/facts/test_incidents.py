"""The journal of incidents on a real disk, asked as on a box: reader and command in children, each with a deadline."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tunecheck.facts.runtime import incidents as facts
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost
from tunecheck.model.absence import Absence

UNIT = "tunecheck-inference.service"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    paths = tmp_path / "var/incidents/journal.jsonl", tmp_path / "run/incidents.jsonl"
    for path in paths:
        path.parent.mkdir(parents=True)
    monkeypatch.setattr(facts, "PATHS", tuple(map(str, paths)))
    monkeypatch.setattr(facts, "_SECONDS", 2.0)
    return paths


@pytest.fixture
def host() -> Iterator[LiveHost]:
    door = LiveHost(read_deadline=2.0)
    yield door
    door.close()


def line(step: str, incident: str = "a", ago: float = 10.0, **more: object) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return json.dumps({"schema": "tunecheck/incident/1", "incident": incident, "at": time.time() - ago, "boot_id": boot,
                       "step": step, "why": "", "unit": UNIT, "invocation": "run", "codes": [], "text": "",
                       **more}, sort_keys=True) + "\n"


def test_no_journal_is_no_incident(places: tuple[Path, Path], host: LiveHost) -> None:
    told = facts.incidents(host)
    assert told.value is not None and told.value.found == () and told.value.now is None
    places[0].parent.rmdir()
    assert facts.incidents(host) == told


def test_both_files_are_one_journal(places: tuple[Path, Path], host: LiveHost) -> None:
    places[0].write_text(line("noticed") + line("reported", "b", 5.0))
    places[1].write_text(line("serving", ago=4.0))
    told = facts.incidents(host).value
    assert told is not None and [(each.id, each.step) for each in told.found] == [("a", "serving"), ("b", "reported")]
    assert told.now is not None and abs(told.now - time.time()) < 60 and not told.cut and told.damaged == 0
    begun = told.found[0].begun
    assert begun is not None and abs(begun - time.time() + 10) < 60


def test_a_huge_one_costs_its_end_alone(places: tuple[Path, Path], host: LiveHost) -> None:
    """10 GiB, nearly all of them a hole: zeros are a damaged line, and the newest incident is known."""
    with places[0].open("wb") as stream:
        stream.truncate(10 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(("\n" + line("noticed") + line("stays-down", ago=5.0)).encode())
    begun = time.monotonic()
    told = facts.incidents(host).value
    assert told is not None and time.monotonic() - begun < 10
    assert told.cut and [each.step for each in told.found] == ["stays-down"]
    places[0].write_text("".join(line("serving", f"i{number}", 4000.0 - number) for number in range(2000)))
    told = facts.incidents(host).value
    assert told is not None and (told.cut, told.damaged, len(told.found), told.found[-1].id) == (True, 0, 50, "i1999")


def test_what_is_no_journal_has_its_reason(places: tuple[Path, Path], host: LiveHost, tmp_path: Path) -> None:
    for number, path in enumerate(places):
        elsewhere = tmp_path / f"elsewhere{number}"
        elsewhere.write_text(line("stays-down"))
        path.symlink_to(elsewhere)
        told = facts.incidents(host)
        assert (told.absence, told.source) == (Absence.UNREADABLE, str(path)) and str(elsewhere) in str(told.reason)
        path.unlink()
        path.mkdir()
        told = facts.incidents(host)
        assert told.absence is Absence.UNREADABLE and os.strerror(errno.EISDIR) in str(told.reason)
        path.rmdir()
        os.mkfifo(path)
        told = facts.incidents(host)
        assert told.absence is Absence.TIMED_OUT
        path.unlink()
    places[0].symlink_to("/dev/zero")
    assert facts.incidents(host).absence is Absence.UNREADABLE


def test_a_folder_on_the_way_may_be_a_link(places: tuple[Path, Path], host: LiveHost, tmp_path: Path) -> None:
    """/var may lie on another disk; only the journal itself is none."""
    (tmp_path / "var").rename(tmp_path / "disk")
    (tmp_path / "var").symlink_to(tmp_path / "disk")
    places[0].write_text(line("serving"))
    told = facts.incidents(host).value
    assert told is not None and len(told.found) == 1


#: Once as root, which loads what is loaded late: somebody else may not read this Python.
_AS_NOBODY = """
import os, sys
from tunecheck.facts.runtime import incidents
from tunecheck.host.live import LiveHost
incidents.PATHS = tuple(sys.argv[1:])
door = LiveHost()
incidents.incidents(door), door.run(("true",)), door.close()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = incidents.incidents(LiveHost())
print(found.absence.value if found.absence else found.value.found)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_only_root_may_read_it() -> None:
    """Its folder is root's as well: whether there is a journal is not known then. Without the folder there is none."""
    def seen(*paths: Path) -> str:
        checks = Path(__file__).resolve().parents[3] / "checks"
        code = f"import sys; sys.path.insert(0, {str(checks)!r}){_AS_NOBODY}"
        done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True,
                              check=False, timeout=60)
        return done.stdout.strip() or done.stderr

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        place, other = folder / "incidents/journal.jsonl", folder / "none.jsonl"
        assert seen(place, other) == "()"
        place.parent.mkdir(0o700)
        assert seen(place, other) == "no-permission"
        place.write_text(line("stays-down"))
        assert seen(place, other) == "no-permission"
        place.parent.chmod(0o755)
        place.chmod(0o600)
        assert seen(place, other) == "no-permission"


def test_systemd_is_asked_where_one_may_not_be_over(places: tuple[Path, Path], host: LiveHost) -> None:
    """And only there. A recording holds the question, also where no systemd answers."""
    for content, asked in ((line("serving"), ()), (line("stays-down"), (UNIT,)),
                           (line("noticed"), (UNIT, facts.RECOVER)), (line("stays-down", unit="--help"), ()),
                           (line("stays-down") + line("serving", "b", 1.0), ())):
        places[0].write_text(content)
        door = RecordingHost(host)
        told = facts.incidents(door).value
        assert told is not None
        questions = [argv for argv in door.answers.runs if argv[0] == "systemctl"]
        assert questions == ([(*facts._SHOW, *asked)] if asked else []), content
        assert facts.incidents(door.answers.host()).value == told, "and it is judged alike"
