"""The judges over a real store: planted drift is found, and nothing else; volatile facts left in are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.facts.trees import GPU, frozen, switch
from tests.unit.fleet.synthetic import LEFT_IN, SMALL, Fleet, audited, fleet, scored
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.spec.frozen import Accelerators
from tunecheck_fleet.fleet_report import Note
from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.model import Change, Problem, Seen
from tunecheck_fleet.store import Store, open_store


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Fleet]]:
    made = fleet(SMALL, drifts=55, audits=6)
    with open_store(str(tmp_path_factory.mktemp("fleet") / "fleet.db"), catalogue=1) as store:
        audited(store, made)
        yield store, made


def test_planted_drift_is_found_and_nothing_else(kept: tuple[Store, Fleet]) -> None:
    store, made = kept
    score = scored(report(store, None, JudgeOptions(entries=made.entries)), made)
    assert not score.false, "called an outlier, and is none"
    assert score.missed <= made.hidden, "only what no comparison can find is missed"
    assert score.recall >= 0.92 and score.precision == 1.0


def test_five_volatile_facts_that_were_left_in_are_named(kept: tuple[Store, Fleet]) -> None:
    store, made = kept
    found = report(store, None, JudgeOptions(entries=made.entries))
    named = {note.split()[0]: note.rsplit(" ", 1)[1] for note in found.notes if "looks volatile" in note}
    assert set(named) == set(LEFT_IN)
    assert named["left.replays"] == "counter" and named["left.stamp"] == "time" and named["left.random"] == "time"
    assert not {cause.fact for cause in found.causes} & set(LEFT_IN)


def test_one_thing_on_many_boxes_is_one_cause_with_its_beginning(kept: tuple[Store, Fleet]) -> None:
    store, made = kept
    found = report(store, None, JudgeOptions(entries=made.entries))
    [gone] = [cause for cause in found.causes if cause.fact == "grouped.0"]
    assert len(gone.hosts) == 3 and gone.value is None and gone.before == "group0-1"
    assert gone.since is not None and gone.state == "known" and gone.since.seen == made.audits - 1
    [back] = [cause for cause in found.causes if cause.fact == "uniform.3" and cause.state == "resolved"]
    assert back.value == "off"
    split = {(split.group, split.fact): split for split in found.splits}
    assert split["group2", "grouped.2"].note and not split["group0", "vendors.0"].note, "one looks like a rollout"
    for each in found.splits:       # of all values but one with most hosts every host is named
        [rest] = [count for _, count, names in each.parts if not names]
        assert rest == each.shares[0][1]
        assert all(len(names) == count for _, count, names in each.parts if names)


def test_a_group_that_moved_is_one_line_in_its_audit(kept: tuple[Store, Fleet]) -> None:
    store, made = kept
    found = report(store, 3, JudgeOptions(entries=made.entries))
    [moved] = [cause for cause in found.causes if cause.fact == "grouped.1" and cause.rollout]
    assert moved.authority == "previous" and moved.text and len(moved.hosts) > 25


def test_the_same_question_twice_has_the_same_answer(kept: tuple[Store, Fleet]) -> None:
    store, made = kept
    options = JudgeOptions(entries=made.entries, now=1e9)
    assert report(store, None, options) == report(store, None, options)
    other = report(store, None, replace(options, baseline="audit:2"))
    assert other.previous is not None and other.previous.id == 2
    with refused(Misuse.NO_SUCH, "#3"):
        report(store, 3, replace(options, since=3))
    with pytest.raises(UsageError, match="nobody"):
        report(store, None, replace(options, baseline="host:nobody"))
    alike = report(store, None, replace(options, baseline="host:g0-0000"))
    assert {cause.authority for cause in alike.causes} == {"reference"}


# -- a small history, step by step ------------------------------------------------------------------------------------

class _Steps:
    """Audits of a few hosts, one call each."""

    def __init__(self, path: Path) -> None:
        self.clock = 1000.0
        self.store = open_store(str(path), clock=self._now, catalogue=1)

    def _now(self) -> float:
        return self.clock

    def audit(self, *seen: Seen, scope: str = "all") -> None:
        self.clock += 86400
        head = self.store.begin(scope, [(each.host, each.group) for each in seen])
        for each in seen:
            self.store.put(head.id, each)
        self.store.finish(head.id)

    def said(self, **more: Any) -> Any:
        return report(self.store, None, JudgeOptions(now=self.clock + 60, **more))


@pytest.fixture(name="steps")
def _steps(tmp_path: Path) -> Iterator[_Steps]:
    made = _Steps(tmp_path / "fleet.db")
    yield made
    made.store.close()


def _seen(host: str, *problems: Problem, key: str | None = None, **facts: Any) -> Seen:
    status = facts.pop("status", "ok")
    more = {name: facts.pop(name) for name in ("changes", "unknown", "tunecheck", "volatile", "spec") if name in facts}
    return Seen(host, "g", status, key=key or f"key {host}", hardware="hw", problems=problems, document=b"{}",
                known={name.replace("__", "."): value for name, value in facts.items()},
                **{"tunecheck": "0.1.0", **more})


FAIL = Problem("cmdline-token", "iommu", "fail", "iommu=pt is not on the running command line", "iommu=pt",
               tags=("cmdline",), needs_reboot=True)


def test_a_check_names_its_fact_since_when_and_is_clean_again(steps: _Steps) -> None:
    steps.audit(_seen("a", kernel__cmdline__iommu="pt"), _seen("b", kernel__cmdline__iommu="pt"))
    steps.audit(_seen("a", FAIL), _seen("b", kernel__cmdline__iommu="pt"))
    [cause] = steps.said().causes
    assert (cause.authority, cause.state, cause.hosts, cause.fix) == ("desired", "new", ("a",), "reboot")
    assert (cause.before, cause.value, cause.expected) == ("pt", None, "desired iommu=pt")
    assert (cause.since.after, cause.since.seen) == (1, 2)
    steps.audit(_seen("a", FAIL), _seen("b", kernel__cmdline__iommu="pt"))
    [cause] = steps.said().causes
    assert cause.state == "known" and cause.since.seen == 2
    name = cause.id
    steps.audit(_seen("a", status="timeout"), _seen("b", kernel__cmdline__iommu="pt"))
    [cause] = steps.said().causes
    assert (cause.state, cause.id, cause.counts) == ("known", name, True), "a silent box is as it was last heard"
    assert [(each.audit, each.hosts) for each in cause.last_heard] == [(3, ("a",))]
    assert [(row.host, row.status) for row in steps.said().hosts] == [("a", "timeout"), ("b", "ok")]
    assert any(note.startswith("a ") for note in steps.said().notes)
    steps.audit(_seen("a", kernel__cmdline__iommu="pt", changes=(Change("run 7", 1.0, "committed"),)),
                _seen("b", kernel__cmdline__iommu="pt"))
    [cause] = steps.said().causes
    assert cause.state == "resolved" and cause.hosts == ("a",) and not cause.counts


def test_a_box_that_is_declared_to_be_different_does_not_drift(steps: _Steps) -> None:
    machine, spec = switch(), frozen(accelerators=Accelerators(pci_ids=(GPU,), count=2, relation="PIX"))
    document = packed(Stored(gather(machine.host(), spec.spec, True), spec), created=0)
    usual = [replace(_seen(f"h{number}", pcie__accelerators={"other": 2}), spec="usual") for number in range(9)]
    own = replace(_seen("own", pcie__accelerators={GPU: 2}), spec=spec.digest, document=document)
    steps.audit(*usual, own)
    assert steps.said().causes == ()
    steps.audit(*usual, replace(own, document=b"no snapshot"))
    assert [cause.hosts for cause in steps.said().causes] == [("own",)], "a document that says nothing approves nothing"


def test_what_our_roles_changed_was_intended_and_an_open_run_is_told(steps: _Steps) -> None:
    steps.audit(_seen("a", driver__loaded="595.1"), _seen("b", driver__loaded="595.1"))
    steps.audit(_seen("a", driver__loaded="595.2", changes=(Change("run 7", 5.0, "trial"),),
                      volatile={"roles.state": "trial"}),
                _seen("b", driver__loaded="595.2"))
    found = steps.said()
    assert {cause.hosts: cause.intended for cause in found.causes} == {("a",): True, ("b",): False}
    assert {row.host: row.in_change for row in found.hosts} == {"a": True, "b": False}


def _young(steps: _Steps, *nights: dict[str, Any]) -> None:
    """Twelve boxes night by night: fact -> its value everywhere, or host -> value for those that have another."""
    for night in nights:
        usual = {"driver__loaded": "580.2", "gpu__vbios": {"96.1": 8}}
        steps.audit(*(_seen(f"h{number}", **{fact: night.get(fact, {}).get(number, value)
                                             for fact, value in usual.items()}) for number in range(12)))


def test_what_comes_and_goes_on_a_young_fleet_is_drift_and_not_volatile(steps: _Steps) -> None:
    lost: dict[str, Any] = {"gpu__vbios": {3: {"96.1": 7}}}
    downgraded = {"driver__loaded": dict.fromkeys(range(12), "580.1")}
    _young(steps, {}, lost, {}, lost, {}, lost)
    [cause] = steps.said().causes
    assert (cause.fact, cause.hosts, cause.flapping, cause.counts) == ("gpu.vbios", ("h3",), ("h3",), True)
    _young(steps, {}, downgraded)
    assert [(cause.fact, len(cause.hosts), cause.counts) for cause in steps.said().causes] == [
        ("driver.loaded", 12, True)]
    _young(steps, {}, downgraded, {}, downgraded, {}, downgraded)
    assert [(cause.fact, len(cause.hosts)) for cause in steps.said().causes] == [("driver.loaded", 12)]
    assert not [note for note in steps.said().notes if "volatile" in note]


def test_a_fact_is_left_out_only_after_many_audits_and_an_old_report_stays_as_it_was(steps: _Steps) -> None:
    said = []
    for number in range(1, 9):
        steps.audit(*(_seen(f"h{host}", driver__loaded="580.2", kernel__noise=1000 * number + host)
                      for host in range(12)))
        said.append(report(steps.store, None, JudgeOptions(now=9e9)))
    hidden = ["kernel.noise" not in {cause.fact for cause in each.causes} for each in said]
    assert hidden == [True, False, False, False, False, True, True, True], "the first has nothing to compare with"
    notes = [[note for note in each.notes if isinstance(note, Note) and "kernel.noise" in note.facts] for each in said]
    assert [len(each) for each in notes] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert not notes[4][0].hides and notes[4][0].endswith(" counter"), "its proposed class"
    assert notes[7][0].hides and re.findall(r"\d+", notes[7][0])[-1] == "12"
    for number, then in enumerate(said, 1):
        assert report(steps.store, number, JudgeOptions(now=9e9)) == then, f"of audit {number}"


def _gpus(host: str, count: int, memory: int = 2048) -> Seen:
    return replace(_seen(host, gpu__count=count, pcie__accelerators={GPU: count}, platform__memory=memory),
                   hardware=f"SYS, Xeon, x86_64: {count} x H200, {memory} GiB")


@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_lost_gpu_and_a_lost_module_are_told_every_night(steps: _Steps, from_the_start: bool) -> None:
    usual, lost = [_gpus(f"h{number}", 8) for number in range(2, 9)], [_gpus("h0", 7), _gpus("h1", 8, 1920)]
    if not from_the_start:
        steps.audit(_gpus("h0", 8), _gpus("h1", 8), *usual)
        assert steps.said().causes == ()
    for _ in range(4):
        steps.audit(*lost, *usual)
        told = {cause.fact: cause for cause in steps.said().causes if cause.counts}
        assert {fact: (cause.authority, cause.hosts, cause.expected) for fact, cause in told.items()} == {
            fact: ("majority", (host,), "differs from 8 of 9 in g") for fact, host in (
                ("gpu.count", "h0"), ("pcie.accelerators", "h0"), ("platform.memory", "h1"))}
    assert told["gpu.count"].state == "known" and told["gpu.count"].value == 7
    assert {row.host: row.hardware for row in steps.said().hosts}["h0"].endswith("7 x H200, 2048 GiB")
    steps.audit(_gpus("h0", 8), _gpus("h1", 8), *usual)
    assert {cause.state for cause in steps.said().causes} == {"resolved"}


def test_boxes_of_two_sizes_in_one_group_do_not_drift(steps: _Steps) -> None:
    boxes = [*(_gpus(f"a{number}", 8) for number in range(9)), *(_gpus(f"b{number}", 4) for number in range(6))]
    steps.audit(*boxes)
    assert steps.said().causes == () and steps.said().splits == ()
    steps.audit(_gpus("a0", 4), *boxes[1:])
    for _ in range(2):
        steps.audit(_gpus("a0", 4), *boxes[1:])
        assert {(cause.fact, cause.hosts, cause.expected) for cause in steps.said().causes} == {
            (fact, ("a0",), "differs from 8 of 9 in g") for fact in ("gpu.count", "pcie.accelerators")}


def test_replaced_cloned_and_renamed_boxes(steps: _Steps) -> None:
    facts = {f"package__p{number}": "1" for number in range(50)}
    other = {name: "2" for name in facts}
    steps.audit(_seen("a", **facts), _seen("b", **facts), _seen("c", **facts))
    steps.audit(_seen("a", key="another", **other), _seen("b", **facts), _seen("c", key="key b", **facts))
    causes = {(cause.authority, cause.fact, cause.hosts, cause.state) for cause in steps.said().causes}
    assert causes == {("identity", "host.key", ("a",), "new"), ("identity", "host.key", ("b", "c"), "new")}
    steps.audit(_seen("a", key="another", **other), _seen("b", **facts), _seen("c", key="key b", **facts))
    causes = {(cause.fact, cause.hosts, cause.state) for cause in steps.said().causes}
    assert causes == {("host.key", ("b", "c"), "known")}, "a clone stays one until it has a key of its own"
    steps.audit(_seen("a", key="another", **other), _seen("d", key="key b", **facts), _seen("c", **facts))
    assert [(cause.fact, cause.hosts, cause.state) for cause in steps.said().causes] == [
        ("host.key", ("b", "c"), "resolved")], "c has a key of its own"
    assert any(set(note.split()) >= {"d", "b"} for note in steps.said().notes), "d was b"


def test_two_boxes_with_one_serial(steps: _Steps) -> None:
    steps.audit(*(_seen(name, gpu__serials=serials) for name, serials in (("a", ["1", "4"]), ("b", ["1"]),
                                                                     ("c", ["3"]))))
    [cause] = steps.said().causes
    assert (cause.authority, cause.fact, cause.hosts, cause.value) == ("identity", "gpu.serials", ("a", "b"), "1")


def test_an_audit_that_was_cut_off_says_who_was_not_asked(steps: _Steps) -> None:
    steps.audit(_seen("a", f=1), _seen("b", f=1))
    head = steps.store.begin("all", [("b", "g"), ("a", "g")])
    steps.store.put(head.id, _seen("b", f=2))
    found = report(steps.store, head.id, JudgeOptions())
    assert [(row.host, row.status) for row in found.hosts] == [("a", "unreachable"), ("b", "ok")]
    assert found.audit.finished is None and any(f"#{head.id} " in note for note in found.notes)
    assert [cause.hosts for cause in found.causes] == [("b",)]


def test_a_limit_leaves_the_others_as_they_were(steps: _Steps) -> None:
    steps.audit(_seen("a", FAIL), _seen("b", FAIL))
    steps.audit(_seen("b", FAIL))
    found = steps.said()
    assert [(cause.hosts, cause.state) for cause in found.causes] == [(("b",), "known")]
    assert [row.host for row in found.hosts] == ["b"]
    steps.audit(_seen("a", f=2), scope="only a")
    steps.audit(_seen("a", f=3), scope="only a")
    steps.audit(_seen("b", FAIL))
    assert steps.said().previous.id == 2
    assert {cause.hosts for cause in steps.said().causes} == {("b",)}, "what another audit saw of a is not this one's"


def test_a_waiver_is_remembered_as_matched(steps: _Steps) -> None:
    steps.audit(*(_seen(f"h{number}", cpu__smt=number != 3) for number in range(9)))
    waiver = steps.store.waive("cpu.smt", reason="bench box", author="ada", until=steps.clock + 86400, host="h3")
    idle = steps.store.waive("cpu.smtt", reason="bench box", author="ada", until=steps.clock + 86400, host="h3")
    found = steps.said()
    assert found.causes[0].waived is not None and found.causes[0].waived.id == waiver.id
    assert [note for note in found.notes if note.startswith("waiver ")] == [
        note for note in found.notes if note.startswith(f"waiver {idle.id} ")] != []
    assert {each.id: each.last_matched for each in steps.store.waivers()} == {waiver.id: 1, idle.id: None}
