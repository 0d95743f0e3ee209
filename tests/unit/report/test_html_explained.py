"""What the page says of checks and of remedies is what `tunecheck explain` and the finding say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.report.boxes import judged, spec, switches, wrong

import tunecheck.report.check_pages
from tunecheck.model.command import Command
from tunecheck.report.check_pages import page
from tunecheck.report.html import html
from tunecheck.report.html.explained import Explained, explained
from tunecheck.report.html.shell import ways
from tunecheck.report.page import inline, rendered
from tunecheck.report.style import Style
from tunecheck.rules.index import CHECKS

_IDS = [check.id for check in CHECKS]


def _words(told: Explained) -> list[str]:
    return [word for block in told.blocks for line in block.lines for word in "".join(
        part.text for part in line).split()]


def _bare(words: list[str]) -> list[str]:
    return [bare for word in words if (bare := word.strip(".,;:()"))]


def test_a_command_to_copy_stands_alone() -> None:
    text = "# x\n\n## How to fix\n\nBy hand, now (`sudo sysctl -w a=0`). After every boot:\n" \
        "`echo a=0 | sudo tee /etc/sysctl.d/90-a.conf`.\nSee what `nvidia-smi topo -m` prints " + "and more " * 9
    lines = rendered(text, Style(60)).splitlines()
    assert "      sudo sysctl -w a=0" in lines and "      echo a=0 | sudo tee /etc/sysctl.d/90-a.conf" in lines
    assert "  After every boot:" in lines and any("`" not in line and "nvidia-smi topo -m" in line for line in lines)


def test_every_check_says_in_the_browser_what_it_says_in_the_terminal() -> None:
    for told in explained(_IDS):
        lines = rendered(page(told.check), Style(100)).splitlines()[1:]
        shown = [word for line in lines for word in re.sub(r"^  (?:-|\d+\.) ", "", line).split()]
        # A command on a line of its own has no full stop behind it. A table has columns in a terminal, which names them
        # in each row where they do not fit.
        said, read = _bare(_words(told)), _bare(shown)
        assert set(said) == set(read) if re.search(r"^\|", page(told.check), re.MULTILINE) else said == read, told.check
        assert {block.kind for block in told.blocks} <= {"heading", "text", "code", "bullets", "numbers"}
        assert told.summary
        for block in told.blocks:
            plain = [part.text for line in block.lines for part in line if not part.code and block.kind != "code"]
            assert not [text for text in plain if re.search(r"`|\*\*|\]\(", text)], told.check


def test_code_may_hold_a_back_tick() -> None:
    assert inline("says ``Unknown option `noacs'``, and `pci=noacs` **stays** [here](here)") == [
        (False, "says "), (True, "Unknown option `noacs'"), (False, ", and "), (True, "pci=noacs"),
        (False, " stays here")]


def test_pages_lead_to_each_other_where_both_are_there() -> None:
    whole = {told.check: told for told in explained(_IDS)}
    linked = {(check, part.to) for check, told in whole.items() for block in told.blocks for line in block.lines
              for part in line if part.to}
    assert linked and all(to in whole for _, to in linked)
    check, to = min(linked)
    (alone,) = explained([check])
    assert not [part for block in alone.blocks for line in block.lines for part in line if part.to == to != check]


def test_a_missing_page_does_not_cost_the_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [told.check for told in explained(["canary", "xid", "xid"])] == ["xid"]
    monkeypatch.setattr(tunecheck.report.check_pages, "_FOLDERS", (tmp_path,))
    text = html(judged(switches(2, redirecting=(0,)), "topo")[1])
    assert "acs-redirect" in text and "#about-" not in text


def test_the_ways_of_a_remedy_hold_every_command_once() -> None:
    findings = [*wrong().findings, *judged(switches(2, redirecting=(0,)), "topo")[1].findings,
                *judged(switches(4), "host", spec(4))[1].findings]
    remedies = {finding.remedy for finding in findings if finding.remedy}
    names = set()
    for remedy in remedies:
        told = ways(remedy)
        names.add(tuple(name for name, _ in told))
        commands = [part for _, parts in told for part in parts if isinstance(part, Command)]
        assert commands == list(remedy.commands), remedy.text
        text = "".join(part if isinstance(part, str) else part.shown for _, parts in told for part in parts)
        assert len(text) >= len(remedy.text) - len("; or "), remedy.text
    assert {("",), ("By hand", "By play")} <= names
