"""Three judgements, kept apart: by hand-made rows, each as small as its case."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.fleet.reports import play
from tests.unit.fleet.rows import DAY, head, move, since, view

from tunecheck.errors import UsageError
from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import Cause, FleetReport, Note
from tunecheck_fleet.focus import focus
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.authority import JUDGED
from tunecheck_fleet.judge.view import Claim, View
from tunecheck_fleet.judge.view_rows import Event, Host, Kept, Meta, Resolved, Tally
from tunecheck_fleet.model import Problem
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.outputs.text import compared
from tunecheck_fleet.store.rows import Volatile, Waiver

OPTIONS = JudgeOptions()


def _said(seen: View, options: JudgeOptions = OPTIONS) -> FleetReport:
    """The report; and whoever asks for one host alone is told the same of it."""
    whole = judge(seen, options)[0]
    for host in seen.hosts[:8]:
        alone = focus(judge(seen, options, host.host)[0], host.host, None)
        named = {cause.id: cause for cause in whole.causes if host.host in cause.hosts}
        assert named.keys() == {cause.id for cause in alone.causes}
        for cause in alone.causes:
            there = named[cause.id]
            assert (cause.authority, cause.group, cause.fact, cause.outcome, cause.code, cause.intended, cause.standing
                    ) == (there.authority, there.group, there.fact, there.outcome, there.code, there.intended,
                          there.standing)
    return whole


def _values(count: int, fact: str, usual: Any, **others: Any) -> dict[str, dict[str, Any]]:
    return {f"h{number:03d}": {fact: others.get(f"h{number:03d}", usual)} for number in range(count)}


def _figures(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _only(report: FleetReport) -> Cause:
    assert len(report.causes) == 1, [(each.authority, each.fact, each.hosts, each.state) for each in report.causes]
    return report.causes[0]


# -- majority ---------------------------------------------------------------------------------------------------------

def test_one_that_differs_from_the_others_is_named_and_never_called_wrong() -> None:
    cause = _only(_said(view(_values(300, "pcie.width", {"16": 8}, h007={"16": 7, "8": 1}))))
    assert (cause.authority, cause.hosts, cause.state) == ("majority", ("h007",), "known")
    assert cause.value == {"16": 7, "8": 1} and cause.before == {"16": 8}
    assert cause.outcome == "" and not cause.waived, "no check says so"
    assert _figures(cause.expected) == ["299", "300"] and "wrong" not in cause.text


@pytest.mark.parametrize(("count", "odd", "causes", "splits"), [
    (5, 1, 1, 0), (4, 1, 0, 0), (10, 2, 1, 0), (10, 3, 0, 1), (10, 5, 0, 1), (300, 60, 1, 0)])
def test_a_majority_has_a_share_of_four_fifths_and_five_hosts(count: int, odd: int, causes: int, splits: int) -> None:
    values = _values(count, "f", "a", **{f"h{number:03d}": "b" for number in range(odd)})
    report = _said(view(values))
    assert (len(report.causes), len(report.splits)) == (causes, splits)
    if splits:
        assert report.splits[0].shares == (("a", count - odd), ("b", odd))
        assert report.splits[0].holders == ((), tuple(f"h{number:03d}" for number in range(odd)))


def test_without_a_half_there_is_no_line() -> None:
    values = {f"h{number}": {"f": number % 3} for number in range(12)}
    report = _said(view(values))
    assert not report.causes and not report.splits


def test_parts_of_two_vendors_make_no_outlier_of_a_small_group() -> None:
    two = [Tally("large", "hw", "disk", value, count) for value, count in (("A", 180), ("B", 120))]
    small = view(_values(6, "disk", "A", h001="B"))
    assert not _said(replace(small, tallies=(*small.tallies, *two))).causes, "five of six are alike by luck"
    large = view(_values(300, "disk", "A", h001="B"))
    assert _only(_said(replace(large, tallies=(*large.tallies, *two)))).hosts == ("h001",)
    third = view(_values(6, "disk", "A", h001="C"))
    assert _only(_said(replace(third, tallies=(*third.tallies, *two)))).value == "C", "usual nowhere"


def test_identity_is_no_matter_of_votes() -> None:
    seen = view(_values(9, "serial", "s", h001="t"), meta={"serial": Meta("identity", "high", "hands-on")})
    assert not _said(seen).causes


def test_what_conforms_again_is_resolved_and_no_change() -> None:
    moves = (move("h001", "f", "b", "a"),)
    cause = _only(_said(view(_values(9, "f", "a"), moves=moves)))
    assert (cause.authority, cause.state, cause.value, cause.hosts) == ("majority", "resolved", "b", ("h001",))


def test_a_fleet_that_moves_is_one_line_and_who_stays_is_named() -> None:
    values = _values(40, "f", "new", h003="old", h004="old")
    moves = tuple(move(host, "f", "old", "new") for host in values if host not in ("h003", "h004"))
    report = _said(view(values, moves=moves))
    by = {cause.authority: cause for cause in report.causes}
    assert by["previous"].rollout and len(by["previous"].hosts) == 38
    moved, _, left = by["previous"].text.partition("; ")
    assert _figures(moved) == ["38", "40", "38", "5"] and left == "not on h003, h004"
    assert by["majority"].hosts == ("h003", "h004") and not by["majority"].rollout
    assert by["majority"].state == "new", "they differ since the others moved"


def test_a_tenth_of_a_group_is_a_rollout_and_a_split_says_so() -> None:
    values = _values(10, "f", "a", h001="b", h002="b", h003="b")
    moves = tuple(move(host, "f", "a", "b") for host in ("h001", "h002", "h003"))
    report = _said(view(values, moves=moves))
    cause = _only(report)
    assert (cause.authority, cause.rollout, len(cause.hosts)) == ("previous", True, 3)
    assert [(split.group, split.fact) for split in report.splits] == [("g", "f")]
    assert _figures(report.splits[0].note) == ["3", "5"] and '"b"' in report.splits[0].note


def test_what_is_absent_has_one_word_in_a_split() -> None:
    names = [f"h{number:03d}" for number in range(3)]
    moves = tuple(move(name, "f", "a", None) for name in names)
    (split,) = _said(view(_values(10, "f", "a", **dict.fromkeys(names)), moves=moves)).splits
    said = terminal(FleetReport(head(5), None, (), (), (split,)), Style(0))
    assert "(absent) on 3" in said and "3 changed to (absent)" in said and "null" not in said


@pytest.mark.parametrize("audits", [(3,), (5,), (3, 4)])
def test_what_moved_is_told_of_the_audit_in_which_it_moved(audits: tuple[int, ...]) -> None:
    """Beside an audit of long ago that need not be the newest."""
    names = [f"h{number:03d}" for number in range(3)]
    moves = tuple(move(name, "f", "a", "b", audits[number % len(audits)]) for number, name in enumerate(names))
    seen = view(_values(10, "f", "a", **dict.fromkeys(names, "b")), moves=moves, previous=head(2))
    (split,) = _said(seen).splits
    assert _figures(split.note) == ["3", *(str(audit) for audit in audits)]
    values = _values(40, "f", "b", h003="a")
    moves = tuple(move(name, "f", "a", "b", audits[0]) for name in values if name != "h003")
    causes = _said(view(values, moves=moves, previous=head(2))).causes
    (stayed,) = [cause for cause in causes if cause.hosts == ("h003",)]
    assert _figures(stayed.text) == ["2"]


@pytest.mark.parametrize(("moved", "rollout"), [(3, False), (4, True)])
def test_less_than_a_tenth_is_no_rollout(moved: int, rollout: bool) -> None:
    names = [f"h{number:03d}" for number in range(moved)]
    seen = view(_values(40, "f", "a", **dict.fromkeys(names, "b")), moves=tuple(
        move(name, "f", "a", "b") for name in names))
    cause = _only(_said(seen))
    assert (cause.authority, cause.rollout) == ("majority", rollout)


# -- previous ---------------------------------------------------------------------------------------------------------

def test_a_change_has_an_interval_and_whether_it_was_ours() -> None:
    values = {"h1": {"f": "b"}, "h2": {"f": "b"}, "h3": {"f": "x"}}
    moves = (move("h1", "f", "a", "b"), move("h2", "f", "a", "b", ours=True))
    report = _said(view(values, moves=moves))
    out_of_band, ours = sorted(report.causes, key=lambda cause: cause.intended)
    assert (out_of_band.hosts, out_of_band.before, out_of_band.value) == (("h1",), "a", "b")
    assert out_of_band.since is not None and (out_of_band.since.after, out_of_band.since.seen) == (4, 5)
    assert ours.hosts == ("h2",) and ours.intended and not ours.counts and out_of_band.counts


def test_over_several_audits_only_the_way_from_first_to_last_counts() -> None:
    values = {"h1": {"f": "c", "g": 1}}
    moves = (move("h1", "f", "a", "b", 3), move("h1", "f", "b", "c", 5), move("h1", "g", 1, 2, 3),
             move("h1", "g", 2, 1, 4))
    report = _said(view(values, moves=moves, previous=head(2)))
    cause = _only(report)
    assert (cause.before, cause.value) == ("a", "c") and cause.since is not None
    assert (cause.since.after, cause.since.seen) == (2, 5)
    assert [note for note in report.notes if note.startswith("g ")] == ["g changed and came back since #2 on h1"]


def test_flapping_hosts_are_marked() -> None:
    seen = view({"h1": {"f": "b"}}, moves=(move("h1", "f", "a", "b"),), flaps={("h1", "f"): 7})
    assert _only(_said(seen)).flapping == ("h1",)


@pytest.mark.parametrize("check", sorted(JUDGED))
def test_a_value_is_flapping_also_where_a_check_tells_of_it(check: str) -> None:
    for pattern in JUDGED[check]:
        fact = pattern.replace("{subject}", "x").replace("*", "x")
        seen = view({"h1": {fact: "b"}, "h2": {fact: "a"}}, flaps={("h1", fact): 3, ("h2", "another.fact"): 3}, hosts=(
            _host("h1", Problem(check, "x", "fail", "")), _host("h2", Problem(check, "x", "fail", ""))))
        assert {cause.flapping for cause in _said(seen).causes if cause.fact == check} == {("h1",)}


# -- desired ----------------------------------------------------------------------------------------------------------

def _host(name: str, *problems: Problem, **more: Any) -> Host:
    return Host(name, "g", "hw", **{"spec": "s", "last_ok": 5, **more}, problems=problems)


def _fail(check: str = "cpu-governor", subject: str = "governor", text: str = "governor is not performance",
          **more: Any) -> Problem:
    return Problem(check, subject, more.pop("outcome", "fail"), text, **more)


def test_one_cause_for_one_problem_on_many_boxes_whatever_their_addresses() -> None:
    hosts = tuple(_host(f"h{number}", _fail("acs-redirect", f"0000:{number}2:08.0",
                                           f"0000:{number}2:08.0 redirects GPU{number}-GPU0", expected="ReqRedir-",
                                           tags=("acs",), **play("acs", f"h{number}")))
                  for number in range(1, 9))
    cause = _only(_said(view({}, hosts=hosts)))
    assert cause.remedy == "run: ansible-playbook site.yml --tags acs -l h1,h2,h3,h4,h5,h6,h7,h8"
    assert (cause.authority, cause.severity, cause.outcome, len(cause.hosts)) == ("desired", "high", "fail", 8)
    assert cause.subject == "*" and cause.fix == "reload" and cause.expected == "desired ReqRedir-"


def test_other_destinations_are_other_causes_and_the_worst_of_them_comes_first() -> None:
    hosts = (_host("h1", _fail("link-width", "GPU0", "GPU0 has x8")), _host("h2", _fail("link-width", "GPU1", "GPU1 "
             "has x4")), _host("h3", _fail("link-width", "GPU5", "GPU5 has x8"), _fail("swap", outcome="warn")),
             _host("h4", _fail("xid", outcome="unknown")))
    report = _said(view({}, hosts=hosts))
    assert [(cause.fact, cause.severity, cause.hosts) for cause in report.causes] == [
        ("link-width", "high", ("h1", "h3")), ("link-width", "high", ("h2",)), ("swap", "medium", ("h3",)),
        ("xid", "low", ("h4",))]


def test_a_check_with_another_number_on_each_box_is_one_cause() -> None:
    hosts = tuple(_host(f"h{number:02d}", _fail("gpu-temperature", f"GPU{number % 8}", f"GPU{number % 8} at "
                                                f"{number + 60} C")) for number in range(30))
    assert len(_only(_said(view({}, hosts=hosts))).hosts) == 30


def test_other_words_are_the_same_cause_and_another_code_is_another() -> None:
    """What a check says in the next version in other words keeps its name: who watches it is not told again."""
    def causes(words: str) -> list[tuple[str, str, tuple[str, ...]]]:
        hosts = (_host("h1", _fail("link-width", "GPU0", f"GPU0 {words} x8", code="lost-lanes", observed="x8")),
                 _host("h2", _fail("link-width", "GPU1", f"GPU1 {words} x8!", code="lost-lanes", observed="x8")),
                 _host("h3", _fail("link-width", "GPU0", f"GPU0 {words} x8", code="fewer-lanes", observed="x8")),
                 _host("h4", _fail("xid", "GPU0", words, code="xid-79")), 
                 _host("h5", _fail("xid", "GPU0", words, code="xid-31")))
        return sorted((cause.id, cause.code, cause.hosts) for cause in _said(view({}, hosts=hosts)).causes)

    assert causes("has") == causes("was trained with")
    assert sorted(each[1:] for each in causes("has")) == [
        ("fewer-lanes", ("h3",)), ("lost-lanes", ("h1", "h2")), ("xid-31", ("h5",)), ("xid-79", ("h4",))]
    assert len({name for name, _, _ in causes("has")}) == 4


def test_new_known_and_resolved() -> None:
    hosts = (_host("h1", _fail()), _host("h2", _fail("swap")), _host("h3"),
             _host("h4", status="timeout", last_ok=None), _host("h5", _fail("xid", outcome="unknown")))
    resolved = tuple(Resolved(host, "g", check, "it", "fail", since(2, 1)) for host, check in (
        ("h3", "smt"), ("h4", "smt"), ("h5", "xid")))
    report = _said(view({}, hosts=hosts, resolved=resolved, began={
        "h1": {("cpu-governor", "governor", ""): since(5, 4)}, "h2": {("swap", "governor", ""): since(2, 1)}}))
    states = {(cause.fact, cause.hosts): cause.state for cause in report.causes}
    # h4 never answered and h5's check does not know: neither has resolved anything.
    assert states == {("cpu-governor", ("h1",)): "new", ("swap", ("h2",)): "known", ("smt", ("h3",)): "resolved",
                      ("xid", ("h5",)): "new"}


def test_the_desired_state_has_the_say_before_majority_and_previous() -> None:
    values = _values(10, "cpu.governor", "powersave", h001="performance", h002="ondemand")
    hosts = tuple(_host(name, *([] if name == "h001" else [_fail()])) for name in sorted(values))
    moves = (move("h002", "cpu.governor", "performance", "ondemand"), move("h001", "cpu.governor", "x", "performance"))
    report = _said(view(values, hosts=hosts, moves=moves,
                        meta={"cpu.governor": Meta("config", "high", "reload")}))
    assert {cause.authority for cause in report.causes} == {"desired", "previous"}
    desired = [cause for cause in report.causes if cause.authority == "desired"]
    assert len(desired) == 1 and len(desired[0].hosts) == 9, "nine of ten may be on it: it is not desired"
    assert [cause.hosts for cause in report.causes if cause.authority == "previous"] == [("h001",)]


@pytest.mark.parametrize(("outcome", "severity"), [("fail", "high"), ("warn", "medium"), ("unknown", "low")])
@pytest.mark.parametrize("of_the_fact", ["low", "medium", "high"])
def test_what_a_check_says_on_the_host_is_its_severity(outcome: str, severity: str, of_the_fact: Any) -> None:
    """One source: a warning there is no alarm here, whatever the fact that it is about would be without a check."""
    values = {"h1": {"acs.unit": False}}
    seen = view(values, hosts=(_host("h1", _fail("acs-persistence", outcome=outcome, needs_reboot=True)),),
                meta={"acs.unit": Meta("config", of_the_fact, "reload")})
    cause = _only(_said(seen))
    assert (cause.severity, cause.fix) == (severity, "reboot")


def test_what_is_over_without_a_change_of_its_facts_is_most_likely_allowed_now() -> None:
    """A list that was cut short is told without its end."""
    hosts = (_host("h1"),)
    lists = ("GPU0-GPU4", "GPU1-GPU5 and 10 more")
    over = tuple(Resolved("h1", "g", "topo-relation", name, "warn", since(5, 4), respecified=True) for name in lists)
    errors = (Resolved("h1", "g", "xid", "GPU0", "warn", since(5, 4), respecified=True),)
    values = {"h1": {"pcie.relation": {"PIX": 1}}}
    same = _said(view(values, hosts=hosts, resolved=(*over, *errors)))
    told = {(each.fact, each.subject, "the specification most likely allows this now" in each.text)
            for each in same.causes}
    assert told == {("topo-relation", "GPU*-GPU*", True), ("xid", "GPU0", False)}
    moves = (move("h1", "pcie.relation", {"SYS": 1}, {"PIX": 1}),)
    changed = _said(view(values, hosts=hosts, resolved=over, moves=moves))
    assert not [each for each in changed.causes if "allows this" in each.text]


@pytest.mark.parametrize(("values", "said"), [
    (("pt",), "kernel.cmdline.iommu is pt now"), ((None,), "kernel.cmdline.iommu is absent now"),
    (("pt", "pt"), "kernel.cmdline.iommu is pt now"), (("pt", None), "the check finds this no more"),
    (({"PIX": 1},), "kernel.cmdline.iommu has changed, and the check finds this no more"),
    ((), "the specification most likely allows this now: no fact that the check judges has changed"),
])
@pytest.mark.parametrize("told", [True, False])
def test_of_what_is_over_the_value_is_told_that_all_its_hosts_have(values: tuple[Any, ...], said: str,
                                                                   told: bool) -> None:
    names = [f"h{number}" for number in range(max(1, len(values)))]
    last = _fail("cmdline-token", "iommu=pt", code="not-running") if told else None
    over = tuple(Resolved(name, "g", "cmdline-token", "iommu=pt", "fail", since(5, 4), last, respecified=True)
                 for name in names)
    moves = tuple(move(name, "kernel.cmdline.iommu", "x", value) for name, value in zip(names, values, strict=False))
    there = {name: {"kernel.cmdline.iommu": value} for name, value in zip(names, values or ("x",), strict=False)}
    (cause,) = [each for each in _said(view(there, hosts=tuple(map(_host, names)), resolved=over, moves=moves)).causes
                if each.state == "resolved"]
    assert cause.text == said and len(cause.hosts) == len(names)
    unknown = tuple(replace(each, outcome="unknown") for each in over)
    (cause,) = [each for each in _said(view(there, hosts=tuple(map(_host, names)), resolved=unknown,
                                            moves=moves)).causes if each.fact == "cmdline-token"]
    assert cause.text == "this can be judged now"


def test_a_standing_warning_is_no_drift_and_lets_the_others_speak() -> None:
    problem = _fail("acs-persistence", "acs.unit", outcome="warn")
    key = ("acs-persistence", "acs.unit", "")
    values = _values(6, "acs.unit", True, h000=False)
    hosts = tuple(_host(name, *([problem] if name == "h000" else [])) for name in values)
    meta = {"acs.unit": Meta("config", "high", "reload")}
    first, later = (_said(view(values, hosts=hosts, meta=meta, began={"h000": {key: since(3, 2)}},
                               standing={"h000": frozenset(keys)})) for keys in ({key}, ()))
    assert {(each.authority, each.counts, each.standing) for each in first.causes} == {
        ("desired", False, True), ("majority", True, False)}
    assert [(each.authority, each.counts) for each in later.causes] == [("desired", True)], "it was otherwise once"


def test_a_check_that_two_changes_led_to_names_neither_as_the_change_of_all() -> None:
    hosts = tuple(_host(name, _fail("cpu-governor", "governor")) for name in ("h1", "h2"))
    values = {name: {"cpu.governor": "powersave"} for name in ("h1", "h2")}
    cause = next(each for each in _said(view(
        values, hosts=hosts, moves=(move("h2", "cpu.governor", "performance", "powersave"),))).causes
        if each.authority == "desired")
    assert (cause.hosts, cause.before, cause.value) == (("h1", "h2"), None, None)
    assert cause.text == _fail().text, "and no change beside it"


# -- who is who -------------------------------------------------------------------------------------------------------

def test_a_replaced_box_is_one_finding_and_not_a_hundred_and_fifty() -> None:
    facts = {f"f{number}": "new" for number in range(150)}
    moves = tuple(move("h1", fact, "old", "new") for fact in facts)
    cause = _only(_said(view({"h1": facts}, moves=moves, events=(Event("h1", "replaced"),))))
    assert (cause.authority, cause.fact, cause.hosts) == ("identity", "host.key", ("h1",))


def test_two_boxes_that_say_they_are_one_are_found() -> None:
    hosts = (_host("h1", key="k"), _host("h2", key="k"), _host("h3", key="other"))
    shared = (Kept("serial", "s", ("h1", "h2")), Kept("mac", "m", ("h2", "h3")))
    report = _said(view({}, hosts=hosts, shared=shared, claims=(Claim("h2", "k", "h1", since(5, 4), True),),
                        meta={"mac": Meta("identity", "high", "hands-on")}))
    mac, clone = report.causes
    assert "h1, h2" in clone.text and "serial" in clone.text and "systemd-machine-id-setup" in clone.remedy
    assert (clone.value, clone.before, clone.since, clone.state) == ("k", "k", since(5, 4), "new")
    assert [(cause.fact, cause.hosts, cause.severity) for cause in (clone, mac)] == [
        ("host.key", ("h1", "h2"), "high"), ("mac", ("h2", "h3"), "high")], "the same two are one finding"


@pytest.mark.parametrize(("facts", "one_box"), [
    ((), False), (("identity.board",), False), (("gpu.serials",), True), (("gpu.uuids",), True),
    (("gpu.serials", "gpu.uuids", "identity.board"), True)])
def test_one_box_under_two_names_is_no_clone_whose_id_is_to_be_changed(facts: tuple[str, ...], one_box: bool) -> None:
    hosts = (_host("h1", key="k"), _host("h2", key="k"))
    report = _said(view({}, hosts=hosts, shared=tuple(Kept(fact, "s", ("h1", "h2")) for fact in facts)))
    cause, = report.causes
    assert ("machine-id" in cause.remedy, "one box under 2 names" in cause.text) == (not one_box, one_box)
    assert bool(cause.commands) == (not one_box) and ("inventory" in cause.remedy) == one_box


@pytest.mark.parametrize(("silent", "claim", "told"), [
    ("h1", Claim("h2", "k", "h1", since(3), True), True), ("h2", Claim("h2", "k", "h1", since(3), True), True),
    ("h1", Claim("h2", "k", "h1", since(3), False), False), ("h1", Claim("h2", "k", "h1", None, True), False)])
def test_a_clone_is_one_once_both_told_its_key_and_while_both_are_in_the_fleet(silent: str, claim: Claim,
                                                                               told: bool) -> None:
    hosts = tuple(_host(name, key="k", status="timeout" if name == silent else "ok") for name in ("h1", "h2"))
    report = _said(view({}, hosts=hosts, claims=(claim,)))
    assert [(cause.hosts, cause.value, cause.state) for cause in report.causes] == (
        [(("h1", "h2"), "k", "known")] if told else [])
    assert any("h1" in note and "h2" in note for note in report.notes) == (claim.since is None), "h1 is h2 now"


def test_two_boxes_replaced_at_once_are_one_cause_that_shows_neither_key_as_that_of_both() -> None:
    events = tuple(Event(name, "replaced", "", 5, f"old {name}", f"new {name}", since(5, 4)) for name in ("h1", "h2"))
    seen = view({}, hosts=(_host("h1"), _host("h2")), events=events)
    cause = _only(_said(seen))
    assert (cause.hosts, cause.value, cause.before, cause.since) == (("h1", "h2"), None, None, since(5, 4))
    cause = _only(_said(replace(seen, events=events[:1])))
    assert (cause.before, cause.value) == ("old h1", "new h1")


# -- waivers ----------------------------------------------------------------------------------------------------------

def _waiver(number: int, fact: str, **more: Any) -> Waiver:
    fields: dict[str, Any] = dict(host=None, group=None, value=None, until=99 * DAY, reason="rma 4711", author="ada",
                                  created=0.0)
    return Waiver(id=number, fact=fact, **{**fields, **more})


def test_what_is_waived_still_shows_and_does_not_count() -> None:
    values = _values(20, "f", "a", h001="b", h002="b", h003="c")
    report, matched = judge(view(values, waivers=(_waiver(1, "f", host="h001"), _waiver(2, "f", value='"c"'))),
                            OPTIONS)
    shown = {cause.hosts: cause.waived.id if cause.waived else None for cause in report.causes}
    assert shown == {("h002",): None, ("h001",): 1, ("h003",): 2} and matched == [1, 2]
    assert next(row for row in report.hosts if row.host == "h001").drifted == 0


def test_an_expired_waiver_counts_again_and_one_that_matches_nothing_is_reported() -> None:
    values = _values(20, "f", "a", h001="b")
    waivers = (_waiver(1, "f", until=2 * DAY), _waiver(2, "mistyped.*"), _waiver(3, "f", host="h0*", kind="accept",
               value='"z"', until=None), _waiver(4, "f", host="elsewhere"))
    report = _said(view(values, waivers=waivers, known=frozenset([*values, "elsewhere"])))
    assert _only(report).waived is None
    assert [note.split(" (")[0] for note in report.notes] == ["waiver 1", "waiver 2"]
    assert "1970-01-03" in report.notes[0], "it expired"


@pytest.mark.parametrize(("made", "told"), [(-DAY, 1), (59.0, 1), (61.0, 0), (3 * DAY, 0)])
def test_a_waiver_that_was_made_after_the_audit_is_not_said_to_match_nothing_in_it(made: float, told: int) -> None:
    seen = view(_values(8, "f", 1), waivers=(_waiver(1, "gpu.*", created=5 * DAY + made, until=99 * DAY),))
    assert len([note for note in _said(seen).notes if "matches nothing" in note]) == told


def test_an_accepted_value_is_the_baseline_from_then_on() -> None:
    waiver = _waiver(1, "f", value='"b"', until=None, kind="accept")
    assert not _only(_said(view(_values(20, "f", "a", h001="b"), waivers=(waiver,)))).counts
    assert _only(_said(view(_values(20, "f", "a", h001="c"), waivers=(waiver,)))).counts


def test_what_is_resolved_needs_no_waiver_any_more() -> None:
    seen = view(_values(9, "f", "a"), moves=(move("h001", "f", "b", "a"),), waivers=(_waiver(1, "f"),))
    report = _said(seen)
    assert _only(report).waived is None and report.notes[-1].startswith("waiver 1 ")


def test_one_thing_that_a_check_says_can_be_waived_by_its_code() -> None:
    hosts = (_host("h1", _fail("gpu-ecc", "GPU0", code="off"), _fail("gpu-ecc", "GPU0", "a row", code="remap-failed")),)
    report = _said(view({}, hosts=hosts, waivers=(_waiver(1, "gpu-ecc/off"),)))
    assert {cause.code: cause.waived is not None for cause in report.causes} == {"off": True, "remap-failed": False}


def test_a_check_can_be_waived_by_its_name() -> None:
    seen = view({}, hosts=(_host("h1", _fail("link-width", "GPU0")),), waivers=(_waiver(1, "link-width/GPU?"),))
    assert _only(_said(seen)).waived is not None


# -- notes, volatile facts, order -------------------------------------------------------------------------------------

def test_facts_that_never_rest_are_named_with_a_class_and_left_out() -> None:
    rng = random.Random(1)
    names = [f"h{number}" for number in range(40)]
    made: dict[str, Any] = {"gauge": lambda audit: rng.randrange(999), "counter": lambda audit: audit * 1000 +
                            rng.randrange(9), "time": lambda audit: f"2026-11-{audit:02d}T05:00:{rng.randrange(60)}Z"}
    recent = [move(name, fact, make(audit - 1), make(audit), audit) for audit in range(2, 8)
              for fact, make in made.items() for name in names]
    seen = view({name: {"gauge": 1, "driver": 2} for name in names}, number=7, recent=tuple(recent), moves=tuple(
        each for each in recent if each.since.seen == 7), volatile=tuple(
        Volatile(fact, 40, 1.0, 0.99, fact != "driver", sure=True) for fact in ("driver", *made)))
    report = _said(seen)
    told = [note for note in report.notes if isinstance(note, Note) and note.hides]
    assert {note.split()[0]: note.rsplit(" ", 1)[1] for note in told} == {
        "gauge": "gauge", "counter": "counter", "time": "time"}
    assert not report.causes
    assert [_figures(note)[-1] for note in told] == ["40", "39", "40"], "changes that are left out"
    named = _said(replace(seen, volatile=tuple(replace(each, sure=False) for each in seen.volatile)))
    assert {cause.fact for cause in named.causes} == set(made), "named, and nothing of it is hidden"
    assert not any(isinstance(note, Note) and note.hides for note in named.notes)
    assert {note.split()[0] for note in named.notes if note.rsplit(" ", 1)[1] in made} == set(made)
    rare = view(_values(20, "gauge", 1, h001=2), volatile=(Volatile("gauge", 20, 0.1, 0.9, True, sure=True),))
    assert not _said(rare).causes, "no majority either"


def test_what_one_has_to_know_is_said() -> None:
    hosts = (_host("h1", tunecheck="0.1.0"), _host("h2", tunecheck="0.2.0"), _host("h3", status="timeout", last_ok=3))
    seen = view({}, hosts=hosts, previous=head(4, catalogue=0), in_change=frozenset({"h1"}),
                events=(Event("h2", "renamed", "h9"),))
    notes = "\n".join(_said(seen).notes)
    assert len(notes.splitlines()) == 5
    for named in ((), ("0.1.0", "0.2.0"), ("h3",), ("h1",), ("h2", "h9")):
        assert any(all(name in note for name in named) for note in notes.splitlines()), named
    assert [row.in_change for row in _said(seen).hosts] == [True, False, False]


def test_equal_rows_in_any_order_give_the_same_report() -> None:
    values = _values(30, "f", "a", h001="b", h002="b") | {"h005": {"f": "a", "g": 1}}
    moves = tuple(move(f"h{number:03d}", "x", 1, number) for number in range(9))
    seen = view(values, moves=moves)
    expected = _said(seen)
    for seed in range(5):
        rng = random.Random(seed)
        mixed = replace(seen, **{name: tuple(rng.sample(getattr(seen, name), len(getattr(seen, name))))
                                 for name in ("moves", "outliers", "tallies")})
        assert _said(mixed) == expected


def test_baselines_choose_who_has_the_say() -> None:
    values = _values(20, "f", "a", h001="b")
    hosts = tuple(_host(name, *([_fail()] if name == "h002" else [])) for name in sorted(values))
    seen = view(values, hosts=hosts, moves=(move("h003", "x", 1, 2),))
    asked = {name: {cause.authority for cause in _said(seen, JudgeOptions(baseline=name)).causes}
             for name in ("previous", "desired", "majority")}
    assert asked == {"previous": {"desired", "previous", "majority"}, "desired": {"desired"},
                     "majority": {"desired", "majority"}}
    known = {name: {**facts} for name, facts in values.items()}
    beside = _said(replace(seen, reference="h000", values=known), JudgeOptions(baseline="host:h000"))
    assert [(cause.authority, cause.hosts) for cause in beside.causes] == [
        ("desired", ("h002",)), ("reference", ("h001",))], "what fails the specification fails beside any other box"
    assert "h000" in compared(beside)
    cause = beside.causes[1]
    assert (cause.authority, cause.hosts, cause.before, cause.value) == ("reference", ("h001",), "a", "b")
    with pytest.raises(UsageError, match="previous, audit:N"):
        JudgeOptions(baseline="yesterday")


def test_a_report_of_one_fact_is_silent_about_the_others() -> None:
    hosts = (*(_host(f"h{number:03d}") for number in range(1, 9)),
             _host("h000", status="partial", unknown={"gpu.": "nvidia-smi timed out"}))
    seen = view(_values(9, "f", "a", h001="b"), hosts=hosts, notes=(
        Note("f.x changed and came back", "f.x"), Note("f looks volatile", "f"), "g and f are words here"))
    text = terminal(focus(_said(seen), None, "g"), Style(0))
    assert "CLEAN: no drift of g on the 9 hosts that answered" in text
    assert "NOTE" not in text and "INCOMPLETE" not in text
    about = focus(_said(seen), None, "f")
    assert about.notes == ("f looks volatile",) and "DRIFT: 1 cause of f on 1 host" in terminal(about, Style(0))
    for fact in ("gpu.ecc", "gpu."):
        assert "INCOMPLETE partial; 1 host: h000" in (said := terminal(focus(_said(seen), None, fact), Style(0))), said


def test_hostile_values_are_data() -> None:
    nasty = "\x1b]0;pwned\x07<script>" + "A" * 100_000
    hosts = tuple(_host(f"h{number}", _fail(f"check{nasty}", nasty, nasty)) for number in range(3))
    seen = view({f"h{number}": {nasty: nasty if number else [nasty] * 3} for number in range(8)},
                moves=(move("h1", nasty, None, nasty),), waivers=(_waiver(1, "[" * 50, host="*" * 50),))
    report = _said(replace(seen, hosts=(*hosts, *seen.hosts[3:])))
    assert {cause.authority for cause in report.causes} == {"desired", "majority", "previous"}
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    assert _said(view({f"h{number}": {"f": deep} for number in range(5)})).causes == ()


def test_a_tally_without_hosts_is_no_vote() -> None:
    assert not _said(replace(view({}), tallies=(Tally("g", "hw", "f", 1, 0),))).causes


# -- cost -------------------------------------------------------------------------------------------------------------

class _Counted(str):
    """A host's name that counts how often it is held against another one."""

    held = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.held += 1
        return str.__eq__(self, other)


def test_twice_the_hosts_are_twice_the_work() -> None:
    problem = Problem("acs-redirect", "0000:42:08.0", "fail", "redirects")

    def work(count: int) -> int:
        hosts = tuple(Host(_Counted(f"h{number:04d}"), "g", "hw", last_ok=5, problems=(problem,))
                      for number in range(count))
        seen = view({}, hosts=hosts, tallies=(Tally("g", "hw", "acs.redirecting", "on", count),))
        _Counted.held = 0
        assert len(_only(_said(seen)).hosts) == count
        return _Counted.held

    assert work(400) < 2.5 * work(200) + 1000
