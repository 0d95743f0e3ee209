"""A fix is all that its hosts have to do: who follows the next step to its end needs one reboot, and no second one for
what the same check, or a play of the same entry, asks for besides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.fleet.reports import WHEN
from tests.unit.fleet.rows import DAY, since, view
from tests.unit.rules.judging import judged

from tunecheck.model.command import limited, run
from tunecheck.model.finding import Finding
from tunecheck.report.style import Style
from tunecheck.rules import judge as judge_box
from tunecheck.spec.frozen import Acs, Frozen, Kernel
from tunecheck_fleet.entries import Entry, entries
from tunecheck_fleet.fixes import Fix, Step, fixes_of, said, together
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.view_rows import Host
from tunecheck_fleet.model import Problem
from tunecheck_fleet.outputs.fix_words import placed
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.next_step import next_step
from tunecheck_fleet.outputs.terminal import terminal

_SPEC = frozen(iommu="pt", kernel=Kernel(cmdline=("pcie_port_pm=off",)))
_ACS = run("ansible-playbook site.yml -i inventory/NAME --tags acs -l box1", where="control")


def _problem(finding: Finding, host: str) -> Problem:
    """As the control node keeps it (read.py)."""
    remedy = finding.remedy.by_play if finding.remedy else None
    text, commands = limited(remedy.text, remedy.commands, (host,)) if remedy else ("", ())
    assert finding.outcome in ("fail", "warn")
    return Problem(finding.id, finding.subject, "fail" if finding.outcome == "fail" else "warn", finding.text,
                   finding.expected, text, needs_reboot=bool(remedy and remedy.needs_reboot), commands=commands,
                   code=finding.code, observed=finding.observed)


def _told(found: dict[str, Iterable[Finding]], *more: Problem) -> FleetReport:
    """The first audit of these hosts; ``more`` is found on each of them."""
    hosts = tuple(Host(name, "g", "hw", last_ok=1, last_ok_at=DAY, problems=(
        *(_problem(each, name) for each in findings if each.outcome in ("fail", "warn")),
        *(_on(each, name) for each in more))) for name, findings in found.items())
    began = {host.host: {thing: since(1) for each in host.problems for thing in each.things} for host in hosts}
    return judge(view({name: {} for name in found}, hosts=hosts, number=1, began=began), JudgeOptions())[0]


def _on(problem: Problem, host: str) -> Problem:
    remedy, commands = limited(problem.remedy, problem.commands, (host,))
    return dataclasses.replace(problem, remedy=remedy, commands=commands)


def _conflicts(running: str, spec: Frozen = _SPEC) -> list[Finding]:
    return [each for name in ("cmdline-conflict", "cmdline-token") for each in judged(
        full(switch(), running), name, spec, "host")]


def _next(report: FleetReport) -> str:
    return next_step(entries(report.causes), report, False)[0]


def test_the_next_step_names_every_word_and_one_play() -> None:
    report = _told({name: _conflicts("amd_iommu=off iommu=off") for name in ("r1", "r2", "r3", "r4")})
    (entry,) = entries(report.causes)
    step = _next(report)
    assert " (cmdline-conflict): on r1..r4 (4): remove amd_iommu=off and iommu=off from " in step
    assert step.count("ansible-playbook") == 1 and step.endswith("--tags acs,cmdline -l r1,r2,r3,r4")
    assert {each.remedy for each in entry.more} <= {entry.lead.remedy}, "one fix for the same words"
    for width in (40, 60, 80, 100, 200):
        for verbose in (False, True):
            text = "".join(terminal(report, Style(width), verbose, WHEN).split())
            assert "".join(f"NEXT {step}".split()) in text
    assert placed(entry.lead) in terminal(report, Style(0), now=WHEN)
    assert "remove amd_iommu=off and iommu=off" in html(report)


def test_each_host_is_told_its_own_words() -> None:
    """Two of them have both words, one has the second one alone, whichever of them leads."""
    report = _told({"r1": _conflicts("amd_iommu=off iommu=off"), "r2": _conflicts("amd_iommu=off iommu=off"),
                    "r3": _conflicts("iommu=off")})
    step = _next(report)
    assert "on r1, r2: remove amd_iommu=off and iommu=off from " in step and "on r3: remove iommu=off from " in step
    assert step.index("-l r1,r2") < step.index("on r3: ") and step.endswith("-l r3")
    for entry in entries(report.causes):
        for host in entry.lead.hosts:
            alone = entry.lead.on({host})
            words = "amd_iommu=off and iommu=off" if host != "r3" else "iommu=off"
            assert alone.remedy.startswith(f"remove {words} from ") and alone.remedy.endswith(f"-l {host}")


def test_a_play_of_the_same_entry_needs_no_reboot_of_its_own() -> None:
    acs = Problem("acs-redirect", "0000:02:00.0", "fail", "redirects", remedy=f"run: {_ACS.shown}", commands=(_ACS,),
                  needs_reboot=True, code="redirects")
    spec = frozen(iommu="pt", kernel=Kernel(cmdline=("pcie_port_pm=off",)), acs=Acs(peer_redirect="leave"))
    (entry,) = entries(_told({"r1": _conflicts("amd_iommu=off iommu=off", spec)}, acs).causes)
    assert {each.fact for each in entry.more} == {"cmdline-conflict", "cmdline-token", "acs-redirect"}
    assert entry.lead.remedy.endswith(" --tags cmdline,acs -l r1") and entry.lead.remedy.count("ansible-playbook") == 1
    assert entry.lead.commands[-1].shown in entry.lead.remedy
    raised = dataclasses.replace(acs, remedy=f"set it in the inventory, then run: {_ACS.shown}")
    (entry,) = entries(_told({"r1": _conflicts("amd_iommu=off iommu=off", spec)}, raised).causes)
    assert "acs" not in entry.lead.remedy, "another thing to do, which -v shows"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_entry_leaves_out_a_step_of_its_check_that_takes_a_reboot(path: Path) -> None:
    _, case, verb = case_of(path)
    findings = [each for each in judge_box(case, verb) if each.outcome in ("fail", "warn")]
    report = _told({"r1": findings, "r2": findings})
    for entry in entries(report.causes):
        for finding in findings:
            if _is_in(entry, finding):
                told = _problem(finding, "r1").remedy.replace(" -l r1", " -l r1,r2")
                assert told in _without_tags(entry.lead.remedy) or _without_tags(told) in _without_tags(
                    entry.lead.remedy), (finding.id, finding.subject)


def _is_in(entry: Entry, finding: Finding) -> bool:
    return finding.id == entry.lead.fact and finding.remedy is not None and finding.remedy.needs_reboot \
        and entry.lead.fix == "reboot" and any(
            (each.fact, each.outcome, each.code) == (finding.id, finding.outcome, finding.code) and each.counts
            for each in (entry.lead, *entry.more))


def _without_tags(text: str) -> str:
    words = text.split(" ")
    return " ".join(word for before, word in zip(["", *words], words, strict=False) if before != "--tags")


def test_steps_stand_once_in_order_and_hosts_that_have_the_same_together() -> None:
    first, second, play = Step("do this"), Step("do that"), Step(f"run: {_ACS.shown}", (_ACS,))
    fixes = fixes_of([("a1", first), ("a2", first), ("a1", second), ("a2", second), ("a2", first), ("b", Step(""))])
    assert fixes == (Fix(("a1", "a2"), (first, second)), Fix(("b",), ()))
    assert said(fixes, True)[0] == "on a1, a2: do this; also: do that (1 reboot is enough for all of it); on b: " \
        "no fix is known"
    assert said(fixes[:1], False)[0] == "do this; also: do that"
    assert said(fixes[1:], False) == ("", ())
    own = [(host, play.limited((host,))) for host in ("a1", "a2")]
    (both,) = fixes_of(own)
    assert both.steps[0].commands[0].argv[-2:] == ("-l", "a1,a2")
    (again,) = together([fixes_of(own), (both,)], ("a1", "a2"))
    assert again == both
    many = fixes_of((f"h{number}", Step(f"do {number}")) for number in range(6))
    assert "on h2: do 2; 3 more of these hosts have another: tunecheck drift --host HOST" in said(many, False)[0]
    long = fixes_of(("h", Step(f"do {number}")) for number in range(20))
    assert "do 15; and 4 more, which the host tells: tunecheck preflight -v" in said(long, False)[0]
