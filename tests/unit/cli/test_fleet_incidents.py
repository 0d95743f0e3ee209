"""A box that brought back what it serves in the night: the audit of the morning says so, and the history keeps it. The
journal is written by the recovery's own code and read from a disk, the snapshots are of a real box."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.unit.cli.carried import NIGHTLY, Fleet

from tunecheck.facts.runtime import incidents as facts
from tunecheck.facts.runtime.incidents import Incidents, UnitState
from tunecheck.host.live import LiveHost
from tunecheck.model.fact import Fact, known
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Record, Step, Why
from tunecheck.watch.model import Culprit, Kind, Witness
from tunecheck_fleet.store import open_store

UNIT, HOUR = "tunecheck-inference.service", 3600.0
RANK_1 = Culprit(77, "VLLM::Worker_TP1", "T", 1, "0000:04:00.0", "GPU-1", "", (Witness.PROCESS,), (Kind.STOPPED,))
SERVES = (Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED, Step.STARTING, Step.SERVING)
Night = Callable[..., Fact[Incidents]]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    """Note an incident in the box's journal and read all of it."""
    path, door = str(tmp_path / "journal.jsonl"), LiveHost()
    monkeypatch.setattr(facts, "PATHS", (path, str(tmp_path / "none.jsonl")))
    # The machine of the tests may have booted an hour ago, and nothing of a boot is older than it.
    monkeypatch.setattr(facts, "_clock", lambda host: (time.time(), time.time() - 100 * HOUR))
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def noted(name: str = "", hours_ago: float = 0.0, steps: tuple[Step, ...] = SERVES, why: Why = Why.NONE,
              xids: tuple[int, ...] = (79,)) -> Fact[Incidents]:
        begun = time.time() - hours_ago * HOUR
        for number, step in enumerate(steps if name else ()):
            first = step is Step.NOTICED
            Journal((path,)).append(Record(
                name, begun + number, boot_id, step, why if step is steps[-1] else Why.NONE, UNIT, "run",
                ("tokens-frozen", "xid") if first else (), "for people", RANK_1 if first else None,
                xids if first else ()))
        told = facts.incidents(door)
        assert told.value is not None
        # No systemd knows the unit here.
        units = {UNIT: UnitState("loaded", "failed", "run")}
        return known(replace(told.value, watched=known(True, "unit"), units=units), told.source)

    yield noted
    door.close()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def causes(fleet: Fleet) -> list[dict[str, Any]]:
    _, out, _ = fleet.run("drift", "--json")
    return [cause for cause in json.loads(out)["causes"] if cause["fact"] == "incidents"]


def rows(fleet: Fleet, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = fleet.run("history", "--host", "gpu1", "--json", *arguments)
    assert code == 0, err
    schema = json.loads((Path(__file__).parents[3] / "docs/schema/fleet-list-1.json").read_text())
    Draft202012Validator(schema).validate(document := json.loads(out))
    return [row for row in document["rows"] if row["fact"] == "host.incident"]


def test_the_morning_after(fleet: Fleet, night: Night) -> None:
    for number in (1, 2):
        fleet.put(number, incidents=night())
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 0 and "CLEAN" in out, out

    night("20261124T220000Z-0001", 5.0)
    fleet.put(1, incidents=night("20261125T010000Z-0002", 2.0))
    code, out, _ = fleet.audit("--fail-on", "fail")
    assert code == 0, f"it serves again: {out}"
    (cause,) = causes(fleet)
    assert [cause[name] for name in ("hosts", "outcome", "code", "state")] == [["gpu1"], "warn", "served-again", "new"]
    for words in ("2 times", "always rank 1", "always GPU 0000:04:00.0", "always after Xid 79"):
        assert words in " ".join(out.split()), out

    found = rows(fleet)
    assert [(row["value"]["id"], row["value"]["step"], row["value"]["rank"], row["value"]["xids"], row["since"]["seen"])
            for row in found] == [("20261124T220000Z-0001", "serving", 1, [79], 2),
                                  ("20261125T010000Z-0002", "serving", 1, [79], 2)]
    assert abs(found[0]["value"]["begun"] - (time.time() - 5 * HOUR)) < 300, "an event has a time of its own"
    _, out, _ = fleet.run("history", "--host", "gpu1")
    text = " ".join(out.split())
    when = time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(found[0]["value"]["begun"]))
    assert f"{when} by the box's clock" in text and "rank 1" in text and "it serves again" in text and "#2" in text
    _, out, _ = fleet.run("history", "--host", "gpu2")
    assert "nothing changed" in out


def test_it_stays_in_the_history_and_not_in_the_report(fleet: Fleet, night: Night) -> None:
    """Begun in one audit, ended in the next; after a week nothing is found any more."""
    fleet.put(1, incidents=night())
    fleet.audit()
    fleet.put(1, incidents=night("a", 1.0, (Step.NOTICED, Step.STOPPING, Step.STOPPED, Step.STARTING)))
    code, _, _ = fleet.audit("--fail-on", "fail")
    assert code == 1 and [(cause["outcome"], cause["code"]) for cause in causes(fleet)] == [("fail", "not-ended")]
    ended = night("a", 0.5, (Step.SERVING,))
    fleet.put(1, incidents=ended)
    code, _, _ = fleet.audit("--fail-on", "fail")
    assert code == 0 and [(cause["outcome"], cause["state"]) for cause in causes(fleet)] == [
        ("warn", "new"), ("fail", "resolved")]
    assert [(row["value"]["step"], row["since"]["seen"]) for row in rows(fleet)] == [("serving", 2)]
    assert ended.value is not None and ended.value.now is not None
    fleet.put(1, incidents=replace(ended, value=replace(ended.value, now=ended.value.now + 8 * 24 * HOUR)))
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 0 and "CLEAN" in out, out
    assert [row["value"]["id"] for row in rows(fleet)] == ["a"]
    assert [row["value"]["id"] for row in rows(fleet, "--fact", "host.incident")] == ["a"]
    assert rows(fleet, "--fact", "kernel.cmdline.") == []


def test_what_waits_for_a_person_fails_every_night(fleet: Fleet, night: Night) -> None:
    fleet.put(1, incidents=night())
    fleet.audit()
    down = night("a", 400.0, (Step.NOTICED, Step.STOPPING, Step.STAYS_DOWN), Why.TOO_MANY)
    for state in ("1 new", "1 known"):
        fleet.put(1, incidents=down)
        code, out, _ = fleet.audit("--fail-on", "fail")
        assert code == 1 and state in out and "stays down (too-many)" in " ".join(out.split()), out
    (cause,) = causes(fleet)
    assert (cause["outcome"], cause["code"], cause["subject"]) == ("fail", "stays-down", UNIT)


def test_what_was_forgotten_is_forgotten(fleet: Fleet, night: Night) -> None:
    fleet.put(1, incidents=night("a", 2.0))
    fleet.audit()
    fleet.put(1, incidents=night("b", 1.0))
    fleet.audit()
    assert [row["since"]["seen"] for row in rows(fleet)] == [1, 2]
    with open_store(str(fleet.store), create=False) as store:
        store.prune(store.audit(2).started)
    assert [row["since"]["seen"] for row in rows(fleet)] == [2]


def test_a_box_can_tell_what_it_likes(fleet: Fleet, night: Night) -> None:
    """Nothing of it reaches a terminal, and the same incidents are no row twice."""
    told = night("a", 1.0).value
    assert told is not None
    odd = replace(told.found[0], id="x\x1b[2J" * 20, step="serving", why="\x1b]0;x\x07", gpu="é\ud800", begun=-1e300,
                  ended=1e300, codes=("\x00",) * 99)
    fleet.put(1, incidents=known(replace(told, found=(odd, odd)), "journal"))
    fleet.audit()
    (row,) = rows(fleet)
    assert row["value"]["begun"] is None and row["value"]["ended"] is None
    code, out, err = fleet.run("history", "--host", "gpu1")
    assert code == 0 and "\x1b" not in out + err and "\x00" not in out
