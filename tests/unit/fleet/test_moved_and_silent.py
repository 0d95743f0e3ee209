"""How many hosts came to a value counts those that answered; the others are named."""

from __future__ import annotations

from pathlib import Path

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store, open_store


def _night(store: Store, version: str, silent: tuple[str, ...] = ()) -> None:
    names = [f"b{number}" for number in range(6)]
    head = store.begin("folder", [(name, "rack2") for name in names])
    for name in names:
        store.put(head.id, Seen(name, "rack2", "unreachable", "no route to host") if name in silent else Seen(
            name, "rack2", "ok", known={"driver.loaded": version}, hardware="hw", tunecheck="0.1.0", document=b"{}"))
    store.finish(head.id)


def test_hosts_that_moved_are_counted_apart_from_those_that_are_silent(tmp_path: Path) -> None:
    """Of hosts that are silent nobody knows what they have now: no more than answered are told to have it."""
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for version in ("595.1", "600.1"):
            _night(store, version)
        _night(store, "600.1", ("b5",))
        [cause] = report(store, None, JudgeOptions(since=1)).causes
        assert cause.text == "fleet moved: now on 5 of 5, 5 of them in #2; b5, silent now, moved too"
