"""A command in a report can be pasted: a terminal's width breaks the sentence around it, and never the command."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.unit.checks.test_cases import CASES, findings_of
from tests.unit.report.large_boxes import large
from tests.unit.report.pasted import broken, too_wide

from tunecheck.host.imported import outputs
from tunecheck.model.finding import Finding, Remedy
from tunecheck.report.style import Style, fix_lines, height, marked, unbroken, wrap
from tunecheck.report.terminal import render

WIDTHS = (60, 80, 120)


@cache
def _of_cases() -> tuple[Finding, ...]:
    return tuple(finding for path in CASES for finding in findings_of(path))


@cache
def _findings() -> tuple[Finding, ...]:
    """One for each remedy that the checks' cases give."""
    every = [*_of_cases(), *(finding for box in large() for finding in box.findings)]
    return tuple({finding.remedy: finding for finding in every if finding.remedy}.values())


@pytest.mark.parametrize("width", WIDTHS)
def test_every_command_of_every_remedy_is_unbroken(width: int) -> None:
    assert sum(len(finding.remedy.commands) for finding in _findings() if finding.remedy) > 200
    for finding in _findings():
        assert finding.remedy
        given = [each.shown for each in finding.remedy.commands]
        lines = fix_lines(f"fix: {finding.remedy.text}", Style(width), given)
        assert [each for each in given if not any(each in line for line in lines)] == [], finding.remedy.text
        assert too_wide("\n".join(lines), [finding], width) == []
        # Nothing is lost but what parts a command of its own line from the sentence.
        said, whole = (re.sub(r"[\s.,;:()]", "", text) for text in ("".join(lines), f"fix: {finding.remedy.text}"))
        assert said == whole


#: The outputs that sentences ask for ("not in the import; add: nvidia-smi -q"): no field of a finding holds them.
ASKED = sorted({command for _, command in outputs._OUTPUTS if " " in command} | {
    "sudo lspci -xxxx", "nvidia-smi -L", "nvidia-smi topo -p2p r", "lspci -nnk", "grep -H . /proc/sys/kernel/tainted",
    "sudo tunecheck record", "sudo tunecheck preflight --from box.tar.zst", "tunecheck approve F12 --note WHY",
    "ansible-playbook site.yml -i inventory/prod --tags acs -l box1", "tunecheck drift --host box1 -v"})


@pytest.mark.parametrize("width", range(30, 121, 3))
def test_no_command_in_a_sentence_is_broken(width: int) -> None:
    for command in ASKED:
        for before in range(0, 60, 7):
            for end in ("", ".", "; then look again", " (tells 15 of them), and all of it is in a recording", ")"):
                text = f"{'word ' * before}{'(' * (end == ')')}add: {command}{end}"
                for lines in (marked("unknown", text, Style(width)), wrap(text, width)):
                    assert any(command in line for line in lines), (lines, command)
                    assert all(len(line) <= width or line.strip() == command for line in lines), lines


@pytest.mark.parametrize("width", (60, 80))
def test_no_sentence_of_a_check_breaks_what_it_asks_for(width: int) -> None:
    texts = {finding.text for finding in _of_cases()}
    seen = 0
    for text in texts:
        for command in ASKED:
            if command in text and re.search(rf"(?<!\S){re.escape(command)}(?![\w*/.=> -])", text):
                seen += 1
                assert any(command in line for line in marked("warn", text, Style(width))), text
    assert seen > 20


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_report_breaks_a_command(width: int, verbose: bool) -> None:
    for box in large():
        text = render(box.verb, box.case, box.findings, Style(width, False, True), verbose, imported=box.imported)
        assert broken(text, box.findings) == [], (box.name, box.verb)
        assert too_wide(text, box.findings, width) == [], (box.name, box.verb)


def test_a_command_that_does_not_fit_has_a_line_of_its_own() -> None:
    long = "sudo setpci -s 0000:02:00.0 ECAP_ACS+6.w=0:2c"
    text = f"fix: run it now (`{long}`); then look: `sudo tunecheck host`.".replace("`", "")
    given = [long, "sudo tunecheck host"]
    assert unbroken(text, given, 40, 2) == [
        "  fix: run it now", f"    {long}", "    then look: sudo tunecheck host."]
    assert unbroken(text, given, 200, 2) == [f"  {text}"] == unbroken(text, given, 0, 2)
    assert unbroken("fix: no command is in it", given, 80, 0) == ["fix: no command is in it"]
    assert height(["x" * 41, "", "\x1b[31;1mFAIL\x1b[0m" + "x" * 36], 40) == 4


def test_a_command_counts_for_the_screen_as_the_terminal_shows_it() -> None:
    case = large()[0].case
    remedy = Remedy.typed("run `sudo setpci -s {a}`", a="x" * 900)
    many = [Finding(f"check-{number}", "any-code", f"s{number}", "fail", "effective", "it is wrong", remedy=remedy)
            if number == 0 else Finding(f"check-{number}", "any-code", f"s{number}", "warn", "effective", "it is odd")
            for number in range(60)]
    lines = render("host", case, many, Style(80)).splitlines()
    assert height(lines, 80) <= 60


def test_a_word_that_the_kernel_quotes_is_no_command() -> None:
    """Its mark and the next back-tick enclose no command, so a line is not wider than the terminal."""
    text = "it logs \"PCI: Unknown option `noacs'\" and leaves ACS as it is, " + "word " * 30 + "; see `pci=nomsi`"
    assert all(len(line) <= 80 for line in marked("warn", text, Style(80)))
