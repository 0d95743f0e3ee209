"""An audit is told as it was, whatever groups a later audit of other hosts, or another inventory, puts a box in: its
findings keep their ids, so that what a report printed can be approved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tunecheck_fleet.decisions.by_id import finding_of, shown_in
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Problem, Seen, Status
from tunecheck_fleet.store import Store, open_store

_FAIL = Problem("cmdline-token", "iommu", "fail", "iommu=pt is not on the running command line", "iommu=pt",
                tags=("cmdline",), needs_reboot=True)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    """Three audits of four carried boxes: a check that fails, is over, and values that change, differ and return."""
    with open_store(str(tmp_path / "fleet.db"), catalogue=1) as store:
        for night in range(3):
            _audit(store, "folder", [
                _seen(f"h{number}", "carried", *((_FAIL,) if (number, night) in ((0, 1), (1, 1), (1, 2)) else ()),
                      driver="595.2" if number == 2 and night else "595.1",
                      governor="powersave" if number == 3 and night == 2 else "performance",
                      acs="on" if number == 1 else "off") for number in range(4)])
        yield store


def _audit(store: Store, scope: str, seen: list[Seen]) -> None:
    head = store.begin(scope, [(each.host, each.group) for each in seen])
    for each in seen:
        store.put(head.id, each)
    store.finish(head.id)


def _seen(host: str, group: str, *problems: Problem, status: Status = "ok", driver: str = "595.1",
          governor: str = "performance", acs: str = "off") -> Seen:
    if status != "ok":
        return Seen(host, group, status, "no route to host")
    return Seen(host, group, status, key=f"key {host}", hardware="hw", problems=problems, document=b"{}",
                known={"driver.loaded": driver, "cpu.governor": governor, "pcie.acs": acs},
                tunecheck="0.1.0", spec=None)


def _told(store: Store, audit: int, host: str | None = None) -> list[tuple[str, str, str, str, tuple[str, ...]]]:
    causes = report(store, audit, JudgeOptions(now=1e9), about=host).causes
    return sorted((cause.id, cause.group, cause.fact, cause.state, cause.hosts) for cause in causes)


@pytest.mark.parametrize("host", [None, "h2", "h3"])
def test_an_audit_keeps_the_groups_and_ids_that_it_had(store: Store, host: str | None) -> None:
    before = {audit: _told(store, audit, host) for audit in (2, 3)}
    _audit(store, "inventory", [_seen(f"h{number}", "inference", status="unreachable") for number in range(4)])
    assert {audit: _told(store, audit, host) for audit in (2, 3)} == before
    assert host is not None or {state for told in before.values() for *_, state, _ in told} == \
        {"new", "known", "resolved"}, "the history has one of each"


def test_a_finding_can_be_approved_by_the_id_that_its_audit_printed(store: Store) -> None:
    [printed] = [cause for cause in report(store, 3, JudgeOptions(now=1e9)).causes if cause.fact == "cpu.governor"]
    _audit(store, "inventory", [_seen(f"h{number}", "inference", status="unreachable") for number in range(4)])
    assert finding_of(shown_in(store, [printed.id]), printed.id).lead.hosts == ("h3",)


def test_a_box_that_answers_in_another_group_changes_no_group_of_an_audit_before(store: Store) -> None:
    _audit(store, "inventory", [_seen(f"h{number}", "inference", governor="performance") for number in range(4)])
    assert {group for audit in (2, 3) for _, group, *_ in _told(store, audit)} == {"carried"}
