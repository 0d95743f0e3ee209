"""On a terminal a report is short: one fix for what has one cause, counts for what is well, one next step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.facts.big import eight_gpus

from tunecheck.facts.snapshot import gather
from tunecheck.report.terminal import Style, render
from tunecheck.rules import Case, Finding, Remedy
from tunecheck.rules.finding import AS_ROOT

HEALTHY = Finding("smt", "smt", "pass", "effective", "SMT is on")
ROOT = Finding("xid", "log", "unknown", "effective", "the log cannot be read", remedy=AS_ROOT)
WRONG = Finding("swap", "swap", "warn", "effective", "swap is in use", remedy=Remedy("reboot it", needs_reboot=True))
OTHER = replace(WRONG, id="smt", subject="smt", text="SMT is off")
CASE = Case(gather(eight_gpus().host(), None, False))


def shown(findings: list[Finding], width: int = 80, verbose: bool = False) -> str:
    return render("host", CASE, findings, Style(width), verbose)


@pytest.mark.parametrize(("findings", "has", "lacks"), [
    ([HEALTHY], ["PASS    1 finding (-v lists them)"], ["SMT is on", "next:"]),
    ([WRONG, OTHER], ["fix: reboot it", "fix: as for swap, above",
                      "next: 1 reboot is needed for 2 of 2 fails and warnings; tunecheck explain swap"], []),
    ([ROOT, replace(ROOT, id="sxid"), WRONG], ["2 checks need root (-v says what for): xid, sxid",
                                              "fix: sudo tunecheck host", "next: sudo tunecheck host"],
     ["run as root"]),
    ([ROOT], ["xid: the log cannot be read", "fix: run as root"], ["next:"]),
    ([replace(HEALTHY, outcome="skip")], ["SKIP    not judged: 1 finding (-v"], ["smt"]),
])
def test_a_terminal_gets_one_screen(findings: list[Finding], has: list[str], lacks: list[str]) -> None:
    text = shown(findings)
    assert [each for each in has if each not in text] == [] and [each for each in lacks if each in text] == []
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("options", [{"width": 0}, {"verbose": True}])
def test_a_pipe_and_verbose_get_everything(options: dict[str, int]) -> None:
    text = shown([HEALTHY, ROOT, replace(ROOT, id="sxid"), WRONG, OTHER], **options)  # type: ignore[arg-type]
    assert "SMT is on" in text and text.count("run as root") == 2 and text.count("reboot it") == 2
    assert "next:" not in text and "as for" not in text
