"""A report of one host reads little of the others, and says to the letter what the report of all says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import delete
from tests.unit.fleet import synthetic
from tests.unit.fleet.nights import Fleet, random_fleet
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.fleet_report import Note
from tunecheck_fleet.judge import JudgeOptions, judge, load_host_view, matched, report
from tunecheck_fleet.judge.load_view import view
from tunecheck_fleet.model import Problem, Seen
from tunecheck_fleet.store import schema
from tunecheck_fleet.store.store import Store

from .stores import Clock, Makes, one, seen

WEEK = 7 * 86_400.0


def _clock(store: Store) -> Clock:
    assert isinstance(store.clock, Clock)
    return store.clock


def _week(store: Store) -> JudgeOptions:
    """As `drift` asks."""
    return JudgeOptions(since=store.clock() - WEEK)


def _night(store: Store, fleet: Fleet, number: int) -> int:
    head = store.begin("inventory", fleet.asked())
    for said in fleet.night(number):
        store.put(head.id, said)
    store.finish(head.id)
    _clock(store).hours(24)
    return head.id


@pytest.mark.parametrize("seed", range(2))
def test_nights_with_faults(seed: int, makes: Makes) -> None:
    """Drift in waves, silent hosts, clones, a replaced GPU; each night, and on the last the nights before."""
    store, fleet = makes.fresh(), random_fleet(seed, 20, 4)
    for number in range(1, fleet.nights + 1):
        _night(store, fleet, number)
    names = sorted(fleet.boxes)
    assert answers_alike(store, _week(store)) == 20
    assert answers_alike(store, names=names[::4]) == 5
    assert answers_alike(store, _week(store), 3, names[::2]) == 10, "of its findings only the newest texts are kept"


def test_who_is_who(makes: Makes) -> None:
    """Names that changed their machines, clones in two groups, a renamed and a replaced host; our own roles."""
    store, fleet = makes.fresh(), Fleet(90, 5)
    first, second, third, fourth = fleet.take(4, "rack00")
    other, another, moved = fleet.take(3, "rack01")
    fleet.swapped(2, first, second)
    fleet.cloned(2, third, other)
    fleet.cloned(3, fourth, another, board=True)
    fleet.renamed(3, moved, "g01-new1")
    fleet.rolled_out("hung", 2, [name for name, group in fleet.groups.items() if group == "rack01" and name != moved])
    fleet.mark("persistence", 3, [name for name in fleet.groups if name.startswith("g99")])
    fleet.mark("swappiness", 4, fleet.take(12, "rack00"))
    fleet.replaced_gpu(4, fleet.take(1, "rack01")[0])
    board, lender = fleet.take(2, "rack00")
    fleet.at(4, lambda: fleet.boxes[board].serials.__setitem__(3, fleet.boxes[lender].serials[1]))
    fleet.quiet(third, 4, 5)
    for number in range(1, 6):
        _night(store, fleet, number)
    asked = [first, second, third, fourth, other, another, "g01-new1", board, lender, *sorted(fleet.boxes)[::30]]
    assert answers_alike(store, _week(store), names=asked) == len(asked)
    for baseline in ("desired", "majority", "audit:2", f"host:{first}"):
        assert answers_alike(store, JudgeOptions(baseline=baseline), names=asked[:2]) == 2
    assert answers_alike(store, _week(store), names=asked[:4], fact="identity.") == 4


def test_what_was_said_of_findings(makes: Makes) -> None:
    """Waived, approved and acknowledged, on some of the hosts; a waiver that speaks as a report does."""
    store, fleet = makes.fresh(), Fleet(48, 4)
    hosts = fleet.take(6, "rack00")
    fleet.mark("vbios", 2, hosts[:2])
    growing = fleet.mark("link", 2, hosts[2:4])
    fleet.mark("link", 4, hosts[4:5], into=growing)
    fleet.mark("governor", 3, hosts[3:6], until=4)
    for number in range(1, 5):
        if number == 3:
            ids = {cause.fact: cause.id for cause in report(store).causes}
            decide(store, report(store), "approve", [ids["gpu.vbios"]], author="mk", note="a trial")
            decide(store, report(store), "acknowledge", [ids["link-width"]], author="mk", owner="ann", link="https://t/1")
            store.waive("cpu.*", reason="a trial", author="mk", until=None, host=hosts[4], kind="accept")
            store.waive("link-width", reason="later", author="mk", until=store.clock() + 3600, group="rack00")
        _night(store, fleet, number)
        if number != 2:
            assert answers_alike(store, _week(store), names=[*hosts[number % 2::2], "g00-0039", "g99-0045"]) == 5
    store.waive("gpu.vbios", reason="it is left out of drift", author="mk", until=store.clock() + 60, host="nobody")
    assert answers_alike(store, _week(store), names=hosts[:2]) == 2
    _waivers_alike(store, ["gpu.vbios", "link-width", "cpu.governor", "cpu.smt"], [hosts[1], hosts[5], "g00-0039"])


def _waivers_alike(store: Store, facts: list[str], hosts: list[str]) -> None:
    """A new waiver of one host covers, seen from this host, what it covers in a view of all."""
    made = {store.waive(fact, reason="a trial", author="mk", until=store.clock() + 60, host=host).id
            for fact in facts for host in hosts}
    assert all(matched(store, None, host) for host in hosts)
    covers = {each.id for each in store.waivers() if each.id in made and each.last_matched is not None}
    _, of_all = judge(view(store, None, JudgeOptions()), JudgeOptions())
    assert covers == made & set(of_all) and 0 < len(covers) < len(made)


def test_facts_that_never_rest(makes: Makes) -> None:
    """A fleet with five of them, groups of 40 down to 3, half a group that moved, and drift of every age."""
    store, made = makes.fresh(), synthetic.fleet(synthetic.SMALL, drifts=40, seed=3)
    synthetic.audited(store, made)
    options = replace(_week(store), entries=made.entries)
    drifted = sorted({host for host, _ in made.planted})[::6]
    asked = [*drifted, *(host for host, _, _ in made.names[::30])]
    assert answers_alike(store, options, names=asked) == len(asked)
    assert answers_alike(store, replace(options, since=2), names=asked[:2])
    assert sum(note.hides for note in report(store, None, options, asked[0]).notes if isinstance(note, Note)) == 5


def _few(makes: Makes) -> Store:
    """Seven alike but for one, two of another group, and one alone in its group."""
    store = makes.fresh()
    link = Problem("link-width", "GPU0", "fail", "8 lanes", code="narrow")
    for night in range(3):
        odd = {"cpu.smt": "off", "kernel.cmdline.iommu": "off"} if night else {}
        one(store, *(seen(f"a{number}", {"cpu.smt": "on", "kernel.cmdline.iommu": "pt", "gpu.serials": [f"s{number}"],
                                         **(odd if number == 3 else {})}, problems=[link] if number in (2, 3) else ())
                     for number in range(7)),
            seen("b0", {"cpu.smt": "on", "platform.bios": "1"}, group="b", unknown={"kernel.": "no root"}),
            seen("b1", {"cpu.smt": "off", "gpu.serials": ["s3", "s9"]} if night < 2 else {}, group="b",
                 status="ok" if night < 2 else "unreachable"),
            seen("alone", {"cpu.smt": "off"}, group="c"))
    return store


def test_few_hosts(makes: Makes) -> None:
    store = _few(makes)
    assert answers_alike(store, _week(store)) == answers_alike(store) == 10
    drift = {cause.fact for cause in report(store, None, _week(store), "a3", listed=False).causes}
    assert drift == {"cpu.smt", "kernel.cmdline.iommu", "link-width"}


def test_an_audit_that_is_not_whole(makes: Makes) -> None:
    """One that asked other hosts, one that was ended before it had asked all, and one that goes on."""
    store = _few(makes)
    one(store, *(seen(f"a{number}", {"cpu.smt": "off"}) for number in range(5)), scope="all, limit a")
    assert answers_alike(store, _week(store)) == 10, "of which five are in no such audit"
    asked = [(f"a{number}", "g") for number in range(7)] + [("b1", "b"), ("new", "b")]
    head = store.begin("all", asked)
    for number in range(3):
        store.put(head.id, seen(f"a{number}", {"cpu.smt": "off", "platform.bios": "2"}, problems=[
            Problem("smt", "smt", "fail", "SMT is off")]))
    assert answers_alike(store, _week(store)) == 10, "beside one that goes on"
    assert answers_alike(store, _week(store), head.id, names=["a0", "a3", "b1", "new", "alone"]) == 5
    store.finish(head.id)
    assert answers_alike(store, _week(store), names=["a0", "a3", "b1", "new", "alone"]) == 5
    with refused(Misuse.NO_SUCH, "#99"):
        report(store, 99, _week(store), "a0")


def test_the_first_audit(makes: Makes) -> None:
    store = makes.fresh()
    one(store, *(seen(f"a{number}", {"cpu.smt": "on" if number else "off"}) for number in range(6)))
    assert answers_alike(store, _week(store)) == 6


def test_problems_that_are_not_kept_as_findings(makes: Makes) -> None:
    """A history from before findings were kept, and a host that tells more than are kept."""
    store = _few(makes)
    many = tuple(Problem("link-width", f"GPU{number}", "fail", "8 lanes", code="narrow") for number in range(1995))
    last = tuple(Problem("smt", f"cpu{number}", "fail", "SMT is off") for number in range(10))
    one(store, *(seen(f"a{number}", {"cpu.smt": "on"}, problems=[*many, *last] if number == 1 else last[:2])
                 for number in range(7)))
    assert answers_alike(store, _week(store), names=["a0", "a1", "a6"]) == 3
    with store.db.write() as connection:
        connection.execute(delete(schema.finding_span))
    assert answers_alike(store, _week(store), names=["a0", "a1", "a6"]) == 3


def test_specifications_of_their_own(makes: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host's own specification asks for is no drift, however many hosts have one."""
    store = makes.fresh()

    def said(number: int, night: int) -> Seen:
        return seen(f"a{number}", {"cpu.smt": "on" if number or not night else "off"}, document=b"{}",
                    spec="own" if number in (0, 5) else "all")

    for night in range(2):
        one(store, *(said(number, night) for number in range(7)))
    passing = {"a0": {"cpu.smt"}}
    monkeypatch.setattr("tunecheck_fleet.judge.approved._passing", lambda *_: passing["a0"])
    assert answers_alike(store, _week(store)) == 7
    monkeypatch.setattr(load_host_view, "MOST", 0)
    assert answers_alike(store, _week(store)) == 7
