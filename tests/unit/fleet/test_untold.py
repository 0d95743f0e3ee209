"""What a check found before stays open where the check tells nothing any more; what nobody asks is no cure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.facts.trees import answering, full, switch
from tests.unit.fleet.test_read import answer

from tunecheck.report.style import Style
from tunecheck.rules.check import Needs
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, exit_code, report
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.outputs.document import document
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.read import seen
from tunecheck_fleet.store.store import Store

_START = "[    0.000000] Linux version 6.8.0-60-generic (b@h) (gcc) #63-Ubuntu SMP\n"
_LOST = "[    9.000000] NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
_LATER = "[   99.000000] usb 1-1: new device\n"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    store = Store(str(tmp_path / "fleet.db"))
    yield store
    store.close()


def _night(store: Store, found: Seen) -> FleetReport:
    head = store.begin("all", [(found.host, found.group)])
    store.put(head.id, found)
    store.finish(head.id)
    return report(store, head.id)


def _log(text: str) -> Seen:
    return seen(answer(full(switch(), log=text)))


def _of(found: FleetReport, check: str) -> set[tuple[str, str]]:
    return {(cause.state, cause.outcome) for cause in found.causes if cause.fact == check}


def test_a_log_that_lost_its_start_resolves_nothing(store: Store) -> None:
    first = _night(store, _log(_START + _LOST + _LATER))
    logs = {cause.fact for cause in first.causes if cause.fact in ("gpu-fallen-off", "xid")}
    assert "gpu-fallen-off" in logs
    for _ in range(2):
        cut = _night(store, _log(_LATER))
        for check in logs:
            assert _of(cut, check) == {("known", "unknown")}, check
        assert any("cannot be told now" in cause.text for cause in cut.causes if cause.fact == "gpu-fallen-off")
        alone = report(store, about="gpu01")
        assert _of(alone, "gpu-fallen-off") == {("known", "unknown")}
    whole = _night(store, _log(_START + _LATER))
    assert {state for state, _ in _of(whole, "gpu-fallen-off")} == {"resolved"}


def _told(*problems: Problem, untold: tuple[str, ...] = (), unasked: tuple[str, ...] = ()) -> Seen:
    return Seen("gpu01", "g", "ok", known={"x": 1}, problems=problems, untold=untold, unasked=unasked)


@pytest.mark.parametrize("outcome", ["fail", "warn", "unknown"])
def test_a_check_that_tells_nothing_ends_nothing(store: Store, outcome: str) -> None:
    bad = Problem("gpu-ecc", "GPU0", outcome, "so it is")     # type: ignore[arg-type]
    _night(store, _told(bad))
    assert _of(_night(store, _told(untold=("gpu-ecc",))), "gpu-ecc") == {("known", "unknown")}
    other = Problem("gpu-ecc", "GPU1", "fail", "so it is")
    assert ("known", "unknown") in _of(_night(store, _told(other, untold=("gpu-ecc",))), "gpu-ecc")
    assert {state for state, _ in _of(_night(store, _told()), "gpu-ecc")} == {"resolved"}


_DARK = {
    "the check tells nothing": _told(untold=("gpu-ecc",)),
    "it says that it cannot": _told(Problem("gpu-ecc", "GPU0", "unknown", "not read", code="unread")),
    "of all": _told(Problem("gpu-ecc", "", "unknown", "not read", code="unread")),
    "and is asked again": _told(Problem("gpu-ecc", "GPU0", "unknown", "not read"), untold=("gpu-ecc",))}


@pytest.mark.parametrize("about", [None, "gpu01"])
@pytest.mark.parametrize("dark", sorted(_DARK))
@pytest.mark.parametrize("before", ["fail", "warn", "pass"])
@pytest.mark.parametrize("earlier", [True, False])
def test_to_take_evidence_away_improves_no_exit_code(store: Store, dark: str, before: str, earlier: bool,
                                                     about: str | None) -> None:
    """Of a host that was heard before it was found, and of one on which it was found when it was first heard."""
    if before == "pass" and dark == "the check tells nothing":
        pytest.skip("of a check that passed and tells nothing there is nothing to be told")
    if earlier:
        _night(store, _told())
    _night(store, _told(*([Problem("gpu-ecc", "GPU0", before, "so it is", observed="3")]   # type: ignore[arg-type]
                          if before != "pass" else [])))
    for _ in range(2):
        _night(store, _DARK[dark])
        now = report(store, about=about)
        assert exit_code(now, ["drift"]) == exit_code(now, ["unknown"]) == 1
        assert exit_code(now, ["fail"]) == int(before == "fail")
        assert not now.unjudged, "it was known once"


def test_what_was_known_on_one_host_and_never_on_another_are_two_findings(store: Store) -> None:
    """The one is drift, the other is not; each has an id of its own, the same every night."""
    ids = set()
    dark = Problem("gpu-ecc", "GPU0", "unknown", "not read", code="unread")
    for night, first in enumerate((Problem("gpu-ecc", "GPU0", "fail", "bad", code="uncorrected"), dark, dark)):
        head = store.begin("all", [("a", "g"), ("b", "g")])
        for host, problem in (("a", first), ("b", dark)):
            store.put(head.id, replace(_told(problem), host=host, key=f"key {host}"))
        store.finish(head.id)
        found = report(store)
        assert [cause.hosts for cause in found.drift] == [("a",)]
        assert [cause.hosts for cause in found.unjudged] == [("b",)]
        ids |= {(cause.hosts, cause.id) for cause in found.open} if night else set()
    assert len(ids) == 2 == len({number for _, number in ids})


def test_what_nobody_asks_any_more_is_no_cure(store: Store) -> None:
    _night(store, _told(Problem("cpu-governor", "governor", "unknown", "not read")))
    found = _night(store, _told(unasked=("cpu-governor",)))
    assert not _of(found, "cpu-governor")
    assert [note for note in found.notes if "cpu-governor is not asked any more on 1 host: no specification" in note]
    assert not [note for note in _night(store, _told(unasked=("cpu-governor",))).notes if "asked any more" in note]


def test_a_line_of_another_gpu_in_a_log_that_is_cut_does_not_clear_the_first(store: Store) -> None:
    _night(store, _log(_START + _LOST + _LATER))
    other = _night(store, _log(_LATER + _LOST.replace("03:00", "04:00").replace("79,", "31,")))
    assert not [cause for cause in other.causes if cause.state == "resolved"
                and cause.fact in ("xid", "gpu-fallen-off")]


def test_an_nvml_that_is_gone_clears_nothing(store: Store) -> None:
    box = answering(full(switch()))
    assert box.nvml is not None
    checks = sorted(check.id for check in CHECKS if Needs.GPUS in check.needs and "preflight" in check.verbs)
    gone = seen(answer(full(switch())))
    held = replace(seen(answer(box)), problems=tuple(Problem(check, "GPU0", "fail", "bad") for check in checks))
    _night(store, held)
    found = _night(store, gone)
    assert len(checks) > 3
    assert not [cause.fact for cause in found.causes if cause.state == "resolved" and cause.fact in checks
                and cause.fact not in {"accelerator-count"}]


def test_drift_is_compared_with_an_audit_that_heard_these_hosts(store: Store) -> None:
    head = store.begin("another", [("gpu01", "g")])
    store.put(head.id, Seen("gpu01", "g", "timeout"))
    store.finish(head.id)
    for _ in range(2):
        _night(store, _told(Problem("gpu-ecc", "GPU0", "fail", "so it is")))
    options = JudgeOptions(since=0.0)
    for about in (None, "gpu01"):
        found = report(store, 3, options, about)
        assert _of(found, "gpu-ecc") == {("known", "fail")}, about


_WHY = "/boot/grub/grub.cfg: not in the import"


@pytest.mark.parametrize("dark", [{}, {"acs-persistence": (_WHY, "")}, {"acs-persistence": (_WHY, "run: mend it")}])
def test_what_cannot_be_told_now_says_why_and_what_to_do_in_every_form(store: Store,
                                                                       dark: dict[str, tuple[str, str]]) -> None:
    bad = Problem("acs-persistence", "kernel command line", "fail", "so it is")
    _night(store, _told(bad))
    found = _night(store, replace(_told(untold=("acs-persistence",)), dark=dark))
    why, fix = dark.get("acs-persistence", ("holds nothing of it", ""))
    for style in (Style(0), Style(100)):
        shown = " ".join(terminal(found, style).split())
        assert "cannot be told now" in shown and why in shown and (fix or "sudo tunecheck snapshot --json") in shown
    for form in (str(document(found)), html(found)):
        assert why in form and (fix or "sudo tunecheck snapshot --json") in form
        assert "takes effect at once" not in form


def test_a_standing_warning_that_cannot_be_told_now_is_no_drift(store: Store) -> None:
    _night(store, _told(Problem("acs-persistence", "kernel command line", "warn", "so it is")))
    for now in (_told(untold=("acs-persistence",)),
                _told(Problem("acs-persistence", "kernel command line", "unknown", _WHY), untold=("acs-persistence",))):
        found = _night(store, now)
        cause, = (each for each in found.causes if each.fact == "acs-persistence")
        assert cause.standing and not cause.counts and cause.outcome == "unknown" and not found.drift
        assert exit_code(found, ["drift", "fail", "unknown"]) == 0


def test_an_answer_says_why_a_check_told_nothing() -> None:
    cut = _log(_LATER)
    assert {"xid", "gpu-fallen-off"} <= cut.dark.keys() <= {*cut.untold}
    assert all(why for why, _ in cut.dark.values())


def test_what_is_not_asked_and_what_tells_nothing_is_in_the_same_order_in_every_run(store: Store) -> None:
    names = tuple(f"check-{number}" for number in range(8))
    found = _night(store, Seen("h", "g", "ok", hardware="hw", tunecheck="0.1.0", document=b"{}", unasked=names,
                               untold=names))
    [host] = document(found)["hosts"]
    assert list(host["skipped"]) == list(host["dark"]) == sorted(names)
