"""A page that is too long for a screen tells some of it in fewer lines; -v has each cause, and a pipe has 40 of a
kind."""

from __future__ import annotations

import dataclasses

import pytest
from tests.unit.fleet.reports import WHEN, cause, report, row, since

from tunecheck.errors import UsageError
from tunecheck.report.style import Style
from tunecheck_fleet.decisions.by_id import finding_of
from tunecheck_fleet.fleet_report import Cause, Waived, Wave
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import titled

_HOSTS = (row("r3"), row("r4"))


def _standing(count: int) -> tuple[Cause, ...]:
    return tuple(cause(fact=f"stands.{number:02}", id=f"2000000{number:02}", outcome="warn", standing=True,
                       state="known", since=since(364, 363), hosts=("r3",)) for number in range(count))


def _fresh(count: int) -> tuple[Cause, ...]:
    return tuple(cause(fact=f"fact.{number}", id=f"1000000{number:02}", text="what it says " * 20, hosts=("r3",))
                 for number in range(count))


def _named(text: str) -> int:
    return text.count("stands.")


@pytest.mark.parametrize("count", [1, 2, 3, 50])
@pytest.mark.parametrize("crowd", [0, 9, 15])
@pytest.mark.parametrize(("width", "verbose"), [(0, False), (0, True), (100, True)])
def test_every_standing_cause_is_there_for_who_asks(width: int, verbose: bool, crowd: int, count: int) -> None:
    told = report(hosts=_HOSTS, causes=(*_fresh(crowd), *_standing(count)))
    text = terminal(told, Style(width), verbose, now=WHEN)
    assert _named(text) == (count if verbose else min(count, 40)), text


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("crowd", [1, 9, 15])
def test_several_that_stand_are_one_line_where_the_page_is_long(crowd: int, count: int) -> None:
    told = report(hosts=_HOSTS, causes=(*_fresh(crowd), *_standing(count)))
    text = terminal(told, Style(100), now=WHEN)
    assert "STANDING" in text
    if count == 1 or crowd == 1:
        assert _named(text) == count
    else:
        assert "STANDING 2 causes on 1 host (-v lists them)" in text


def test_no_host_is_counted_beside_none() -> None:
    """New on both, in two audits."""
    waves = (Wave(since(364, 363), ("r3",), "new"), Wave(since(), ("r4",), "new"))
    both = cause(fact="host.key", id="90910684", hosts=("r3", "r4"), waves=waves)
    text = terminal(report(hosts=_HOSTS, causes=(both, *_fresh(15))), Style(100), now=WHEN)
    assert "host.key" in text and "beside 0" not in text and "r3, r4" in text


@pytest.mark.parametrize(("subject", "title"), [
    (", ".join(f"GPU{gpu}" for gpu in range(8)), "gpu-power-limit GPU0..GPU7 (8)"),
    ("GPU0, GPU1", "gpu-power-limit GPU0, GPU1"), ("GPU1", "gpu-power-limit GPU1"),
    ("GPU0, GPU2, GPU3, GPU4", "gpu-power-limit GPU0, GPU2..GPU4 (3)"),
    ("GPU0 0000:01:00.0, GPU1", "gpu-power-limit GPU0 0000:01:00.0, GPU1"), ("", "gpu-power-limit")])
def test_many_gpus_are_told_from_the_first_to_the_last(subject: str, title: str) -> None:
    assert titled(cause(fact="gpu-power-limit", subject=subject)) == title


def test_what_is_over_is_not_called_waived_for_what_other_hosts_have() -> None:
    over = cause(fact="smt", id="90910684", hosts=("r3",), state="resolved")
    waived = dataclasses.replace(over, id="11111111", hosts=("r4",), state="known",
                                 waived=Waived(7, WHEN + 1e6, "root", "why"))
    for found, word in ((over, "it is resolved"), (waived, "waiver 7")):
        with pytest.raises(UsageError, match=word):
            finding_of(report(hosts=_HOSTS, causes=(over, waived)), found.id)
