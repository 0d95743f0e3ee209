"""How many hosts came to a value counts those that tell what they have; whoever has another value, is silent, or cannot
tell it, is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.fleet.letters import FACT, WHY
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.store import Store, open_store


def _night(store: Store, values: str) -> None:
    """A letter for each host: "-" has no value, "?" cannot tell it, " " is silent."""
    assert isinstance(store.clock, Clock)
    store.clock.hours(24)
    head = store.begin("folder", [(f"b{number}", "rack2") for number in range(len(values))])
    for number, value in enumerate(values):
        name = f"b{number}"
        if value == " ":
            store.put(head.id, Seen(name, "rack2", "unreachable", "no route to host"))
            continue
        store.put(head.id, Seen(
            name, "rack2", "partial" if value == "?" else "ok", key=f"key {name}", hardware="hw", tunecheck="0.1.0",
            known={"sysctl.x": "1", **({} if value in "-?" else {FACT: value})},
            unknown={FACT: WHY} if value == "?" else {}, document=b"{}"))
    store.finish(head.id)


_MOVED = "fleet moved: now on "


@pytest.mark.parametrize(("nights", "said"), [
    (["aaaaaa", "bbbbbb"], "6 of 6, 6 of them in #2"),
    (["aaaaaa", "bbbbbb", "bbbbb "], "5 of 5, 5 of them in #2; b5, silent now, moved too"),
    (["aaaaaaaaaa", "bbbbbbbbb-"], "9 of 10, 9 of them in #2; not on b9"),
    (["aaaaaaaaaa", "bbbbbbbbba"], "9 of 10, 9 of them in #2; not on b9"),
    (["aaaaaaaaaa", "bbbbbbbbb "], "9 of 9, 9 of them in #2; not known of b9, silent now"),
    (["aaaaaaaaaa", "bbbbbbbb ?"], "8 of 8, 8 of them in #2; not known of b8, silent now; b9 cannot tell it now"),
    # It came in two audits: who is silent, and came in the other one, is no host that has it now.
    (["aaaaaaaaaa", "aaaaaaaaab", "bbbbbbbb  "], "8 of 8, 8 of them in #3; not known of b8, b9, silent now"),
    (["aaaaaaaaaa", "bbbbbbbb b", "bbbbbbbb-b"], "9 of 10, 9 of them in #2; not on b8"),
])
def test_who_has_it_is_counted_of_those_that_tell_it_and_the_others_are_named(
        tmp_path: Path, nights: list[str], said: str) -> None:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        for values in nights:
            _night(store, values)
        options = JudgeOptions(since=1, now=store.clock())
        texts = [cause.text for cause in report(store, None, options).causes if cause.text.startswith(_MOVED)]
        assert texts == [f"{_MOVED}{said}"]
        answers_alike(store, options)
