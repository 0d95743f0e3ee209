"""What changed and came back is one line for the hosts that it did so on together, and no line of a host is about
another one."""

from __future__ import annotations

from tests.unit.fleet.rows import head, move, view

from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.view_rows import Move

_FACTS = [f"gpu.x{number}" for number in range(40)]


def _there_and_back(host: str, fact: str) -> tuple[Move, ...]:
    return move(host, fact, 8, 7, 3), move(host, fact, 7, 8, 4)


def test_many_facts_of_one_host_are_one_line() -> None:
    moves = [each for fact in _FACTS for each in _there_and_back("h1", fact)]
    moves += [each for host in ("h1", "h2") for each in _there_and_back(host, "y")]
    seen = view({"h1": {"a": 1}, "h2": {"a": 1}, "h3": {"a": 1}}, moves=tuple(moves), previous=head(2))
    both = "y changed and came back since #2 on h1, h2"
    folded = "40 facts (gpu.x0, gpu.x1, gpu.x10 and 37 more) changed and came back since #2 on h1"
    whole = judge(seen, JudgeOptions())[0]
    assert list(whole.notes) == [both, folded]
    # Of one host alone it names no other one, and of one fact it is about that.
    own = "41 facts (gpu.x0, gpu.x1, gpu.x10 and 38 more) changed and came back since #2 on h1"
    for host, said in (("h1", [own]),
                       ("h2", ["y changed and came back since #2 on h2"]), ("h3", [])):
        assert list(focus(judge(seen, JudgeOptions(), host)[0], host, None).notes) == said
    assert list(focus(whole, None, "gpu.x7").notes) == ["gpu.x7 changed and came back since #2 on h1"]
    assert list(focus(whole, None, "y").notes) == [both]
