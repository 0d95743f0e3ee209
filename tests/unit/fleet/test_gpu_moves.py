"""GPUs that are gone, came, or have others in their place are one entry, whose title says how many and which."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.unit.fleet.reports import WHEN, cause, report, row

from tunecheck.report.style import Style
from tunecheck_fleet.entries import entries, gpus_of, happened, only_counts
from tunecheck_fleet.fleet_report import Cause
from tunecheck_fleet.outputs import entry_words
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.webhook import event
from tunecheck_fleet.whole_causes import each_cause

_BEFORE = ["a", "b", "c", "d"]
#: What happened -> who is there now, and what that is called.
_MOVES = {
    "fewer": (["a", "b", "d"], "1 GPU fewer", "GPU lost"),
    "fewer by two": (["b", "d"], "2 GPUs fewer", "GPU lost"),
    "more": (["a", "b", "c", "d", "e"], "1 GPU more", "GPU added"),
    "replaced": (["a", "b", "d", "e"], "1 GPU replaced", "GPU replaced"),
    "two replaced": (["a", "b", "e", "f"], "2 GPUs replaced", "GPU replaced"),
    "replaced and fewer": (["a", "b", "e"], "1 GPU fewer, 1 replaced", "GPU lost"),
    "replaced and more": (["a", "b", "d", "e", "f"], "1 GPU more, 1 replaced", "GPU added"),
}
_NAMED = {"serials": ("gpu.serials", "gpu.uuids"), "UUIDs alone": ("gpu.uuids",), "no names": ()}
#: Which fact leads: not every snapshot has each.
_LEADS = {"count": ("gpu.count", "gpu.name"), "name": ("gpu.name",), "tree": ("pcie.accelerators",), "names": ()}


def _of(fact: str, before: Any, value: Any, **more: Any) -> Cause:
    return cause(**{"authority": "previous", "fact": fact, "hosts": ("gpu001",), "before": before, "value": value,
                    "id": fact.ljust(8, "0"), "fix": "firmware", "expected": "changed", **more})


def _told(move: str, lead: str, named: str, **more: Any) -> list[Cause]:
    now = _MOVES[move][0]
    counted = {"gpu.count": (len(_BEFORE), len(now)), "gpu.name": ({"H200": len(_BEFORE)}, {"H200": len(now)}),
               "pcie.accelerators": ({"10de:2335": len(_BEFORE)}, {"10de:2335": len(now)}),
               "gpu.bar1": ({"262144": len(_BEFORE)}, {"262144": len(now)}),
               "gpu.power_limit": ({"700000": len(_BEFORE)}, {"700000": len(now)})}
    found = [_of(fact, *counted[fact], **more) for fact in (*_LEADS[lead], "gpu.bar1", "gpu.power_limit")
             if counted[fact][0] != counted[fact][1]]
    return [*found, *(_of(fact, _BEFORE, now, **more) for fact in _NAMED[named])]


_CASES = [each for each in product(_MOVES, _LEADS, _NAMED)
          if (each[1] != "names" or each[2] != "no names")                     # somebody has to tell it
          and ("replaced" not in each[0] or each[2] != "no names")]            # numbers do not tell others


@pytest.mark.parametrize(("move", "lead", "named"), _CASES, ids=str)
def test_it_is_one_entry_with_a_title_and_names(move: str, lead: str, named: str) -> None:
    now, title, code = _MOVES[move]
    causes = _told(move, lead, named)
    (found,) = entries(causes)
    gone, came = [each for each in _BEFORE if each not in now], [each for each in now if each not in _BEFORE]
    assert found.what == code
    assert happened(found) == title
    moves = gpus_of(found)
    assert moves is not None and moves.fewer == len(_BEFORE) - len(now)
    assert (dict(moves.gone), dict(moves.came)) == (
        {"gpu001": tuple(gone)} if gone and _NAMED[named] else {},
        {"gpu001": tuple(came)} if came and _NAMED[named] else {})
    seen = report(hosts=(row(),), causes=tuple(causes))
    sent = event(seen)
    assert sent is not None
    for text in (terminal(seen, Style(0), now=WHEN), terminal(seen, Style(100), now=WHEN), html(seen), sent["text"]):
        shown = " ".join(text.split())
        assert title in shown and shown.count("GPU replaced") == (code == "GPU replaced" and title == "1 GPU replaced")
        word = "serial" if named == "serials" else "UUID"
        assert not (gone and _NAMED[named]) or f"{word} {gone[0]}" in shown


@pytest.mark.parametrize(("move", "lead", "named"), _CASES, ids=str)
def test_what_only_has_another_number_of_gpus_is_not_put_back(move: str, lead: str, named: str) -> None:
    """With -v what leads stands first, and nobody is told to change the firmware for a GPU that is gone."""
    causes = [*_told(move, lead, named), _of("gpu.vbios", {"1": 4}, {"1": 1, "2": 2})]
    other = _of("kernel.running", "6.8", "6.9", hosts=("gpu001",))
    listed = each_cause([other, *causes])
    whole = [each for each in listed if each.part_of is None and gpus_of(each) is not None]
    assert len(whole) == 1 and listed.index(whole[0]) + len(whole[0].more) < len(listed)
    below = listed[listed.index(whole[0]) + 1:][:len(whole[0].more)]
    assert [each.lead for each in below] == list(whole[0].more) and all(each.part_of is whole[0] for each in below)
    for each in listed:
        counted = each.lead.fact in ("gpu.bar1", "gpu.power_limit", "gpu.name") and each.part_of is not None
        assert not counted or (only_counts(each) and "firmware" not in entry_words.needs(each))
        real = each.lead.fact in ("gpu.vbios", "kernel.running")
        assert not real or entry_words.needs(each) == "to put it back: a firmware change"


def test_it_is_one_entry_however_it_was_found() -> None:
    """The others judge what counts, the earlier self what names; and a check leads both."""
    by_others = [_of("gpu.name", {"H200": 4}, {"H200": 3}, authority="majority"), *_told("fewer", "names", "serials")]
    assert len(entries(by_others)) == 1
    checked = cause(fact="accelerator-count", subject="accelerators", hosts=("gpu001",), outcome="fail", text="3 of 4",
                    code="driver-has-fewer", before=None, value=None, id="checked0", remedy="look")
    (found,) = entries([checked, *by_others])
    assert found.lead is checked and entry_words.title(found) == "1 GPU fewer (3 of 4)"
    assert entry_words.says(found) == "serial c is gone"


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c", "d", "e", "f")])
def test_boards_of_several_hosts_stand_with_their_hosts(names: tuple[str, ...]) -> None:
    hosts = tuple(f"gpu{number:03d}" for number, _ in enumerate(names))
    counted = _of("gpu.count", 4, 3, hosts=hosts)
    boards = [_of("gpu.serials", [f"{host}-1", f"{host}-2"], [f"{host}-1"], hosts=(host,)) for host in hosts]
    (found,) = entries([counted, *boards])
    said = entry_words.says(found)
    for host in hosts[:3]:
        assert f"{host}: serial {host}-2 is gone" in said or len(hosts) == 1
    assert ("more hosts" in said) == (len(hosts) > 4)


@pytest.mark.parametrize("before", [None, [], {}])
def test_what_becomes_known_is_no_new_gpu(before: Any) -> None:
    for fact, value in (("gpu.serials", ["a"]), ("gpu.count", 1), ("gpu.name", {"H200": 1})):
        (found, *more) = entries([_of(fact, before, value), _of("gpu.bar1", before, {"1": 1})])
        assert more and not found.what and gpus_of(found) is None


def test_what_is_over_says_so_under_the_same_title() -> None:
    back = [_of(fact, before, value, state="resolved") for fact, before, value in (
        ("gpu.count", 4, 3), ("gpu.bar1", {"1": 4}, {"1": 3}), ("gpu.serials", _BEFORE, ["a", "b", "d"]))]
    (found,) = entries(back)
    assert found.what == "GPU lost" and entry_words.title(found) == "1 GPU fewer"
    assert "RESOLVED 1 GPU fewer" in terminal(report(hosts=(row(),), causes=tuple(back)), Style(0), now=WHEN)


@pytest.mark.parametrize(("code", "subject", "said"), [
    ("left-since-boot", "0000:c3:00.0", "missing at 0000:c3:00.0"),
    ("not-in-driver", "0000:c3:00.0, 0000:d1:00.0", "missing at 0000:c3:00.0, 0000:d1:00.0"),
    ("not-in-driver", "GPUs", ""), ("not-in-tree", "0000:c3:00.0", ""), ("does-not-answer", "*", "")])
def test_the_address_is_said_where_a_check_knows_it(code: str, subject: str, said: str) -> None:
    checked = cause(fact="accelerator-count", subject=subject, hosts=("gpu001",), outcome="fail",
                    text="it is not there", code=code, before=None, value=None, id="checked0", remedy="look")
    for boards in ("serials", "no names"):
        (found,) = entries([checked, *_told("fewer", "count", boards)])
        words = entry_words.says(found)
        assert (said in words if said else "missing at" not in words) and (boards != "serials" or "serial c" in words)
