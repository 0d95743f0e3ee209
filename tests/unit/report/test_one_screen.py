"""On a terminal a report is short: one fix for what has one cause, counts for what is well, one next step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from tests.unit.facts.big import eight_gpus
from tests.unit.report.large_boxes import Box, large, sampled
from tests.unit.report.pasted import too_wide

from tunecheck.facts.snapshot import gather
from tunecheck.model.absence import Absence
from tunecheck.model.finding import AS_ROOT, OUTCOMES, Finding, Remedy
from tunecheck.report import screen
from tunecheck.report.grouping import Fold
from tunecheck.report.one_screen.sentence import sentence
from tunecheck.report.style import Style, height
from tunecheck.report.terminal import render
from tunecheck.rules.check import Check
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS

HEALTHY = Finding("smt", "ok", "smt", "pass", "effective", "SMT is on")
ROOT = Finding("xid", "any-code", "log", "unknown", "effective", "the log cannot be read", remedy=AS_ROOT)
WRONG = Finding("swap", "any-code", "swap", "warn", "effective", "swap is in use",
                remedy=Remedy("reboot it", needs_reboot=True))
OTHER = replace(WRONG, id="smt", subject="smt", text="SMT is off")
CASE = Case(gather(eight_gpus().host(), None, False))


def shown(findings: list[Finding], width: int = 80, verbose: bool = False) -> str:
    return render("host", CASE, findings, Style(width), verbose)


@pytest.mark.parametrize(("findings", "has", "lacks"), [
    ([HEALTHY], [r"PASS    1 \w+ \(-v .*"], ["SMT is on", "next:"]),
    ([WRONG, OTHER], [r"        \w+ \w+ \w+ 2: reboot it",
                      r"next: tunecheck explain swap; 1 \D+ 2 \w+ 2 .*"], []),
    ([ROOT, replace(ROOT, id="sxid"), WRONG], [r"UNKNOWN 2 [^:]*\(-v [^:]*\): xid, sxid",
                                              "        fix: sudo tunecheck host", "next: sudo tunecheck host"],
     [AS_ROOT.text]),
    ([ROOT], ["UNKNOWN xid: the log cannot be read", re.escape(f"        fix: {AS_ROOT.text}")], ["next:"]),
    ([replace(HEALTHY, outcome="skip")], [r"SKIP    [^:\d]+: 1 \w+ \(-v .*"], ["smt"]),
])
def test_a_terminal_gets_one_screen(findings: list[Finding], has: list[str], lacks: list[str]) -> None:
    text = shown(findings)
    assert [each for each in has if not any(re.fullmatch(each, line) for line in text.splitlines())] == []
    assert [each for each in lacks if each in text] == []
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("options", [{"width": 0}, {"verbose": True}])
def test_a_pipe_and_verbose_get_everything(options: dict[str, int]) -> None:
    """In a pipe what needs root is one line, as it has one cause; that line names every check."""
    text = shown([HEALTHY, ROOT, replace(ROOT, id="sxid"), WRONG, OTHER], **options)  # type: ignore[arg-type]
    whole = "verbose" in options
    assert "SMT is on" in text and text.count(AS_ROOT.text) == 2 * whole and text.count("reboot it") == 2
    assert bool(re.search(r"(?m)^UNKNOWN 2 .*: xid, sxid; \w+: run: sudo tunecheck host$", text)) is not whole
    assert "next:" not in text and "as for" not in text


@pytest.mark.parametrize("width", [0, 80])
def test_of_a_recording_no_command_judges_this_machine(width: int) -> None:
    """What only root could read is recorded again, on the box."""
    text = render("host", CASE, [ROOT, replace(ROOT, id="sxid"), WRONG], Style(width), elsewhere=True)
    assert "record the box again as root: sudo tunecheck record" in " ".join(text.split())
    assert set(re.findall(r"sudo tunecheck (\w+)", text)) == {"record"}


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("failing", [1, 3])
@pytest.mark.parametrize("warned", [9, 60])
@pytest.mark.parametrize("shared", [False, True])
def test_the_fix_of_what_fails_is_shortened_last(width: int, failing: int, warned: int, shared: bool) -> None:
    """Warnings and what is not known give way to it, also where several checks share one long fix."""
    long = "put `pci=disable_acs_redir=pci:0:0` into /etc/default/grub " * 7
    fails = [replace(WRONG, id=check.id, outcome="fail", text=f"{check.id} is wrong " * 9,
                     remedy=Remedy.typed(f"{{way}}: {long}", way=f"way {check.id if not shared else 'of all'}"))
             for check in CHECKS[:failing]]
    warnings = [replace(WRONG, id=check.id, text=f"{check.id} is odd " * 9, remedy=Remedy(f"mend {number // 2} {long}"))
                for number, check in enumerate(CHECKS[20:20 + warned])]
    missing = [replace(ROOT, id=check.id, remedy=None, absence=Absence.NOT_IN_IMPORT, evidence=("dmesg",))
               for check in CHECKS[90:]]
    lines = render("host", CASE, [*warnings, *missing, *fails], Style(width), imported=True).splitlines()
    text = _bare("".join(lines))
    assert [each.id for each in fails if each.remedy and _bare(each.remedy.text) not in text] == []
    assert height(lines, width) <= screen.LINES
    assert sum(line.startswith("FAIL ") for line in lines) == failing


def test_a_tall_terminal_gets_all_rows_that_it_has() -> None:
    many = [replace(WRONG, id=check.id, text=f"{check.id} is wrong", remedy=Remedy(f"mend {check.id}"))
            for check in CHECKS[:40]]
    small, tall = (render("host", CASE, many, Style(80, rows=rows)).splitlines() for rows in (24, 200))
    assert len(small) <= screen.LINES < len(tall)
    assert sum(line.startswith("        fix: mend ") for line in tall) == 40


def test_each_warning_has_a_line_before_what_is_unknown_takes_more() -> None:
    """As many warnings as fit are named one by one; what is not known takes lines behind them."""
    many = [replace(WRONG, id=check.id, text=f"{check.id} is wrong", remedy=Remedy(f"mend {check.id} " + "x " * 60))
            for check in CHECKS[:18]]
    missing = [replace(ROOT, id=check.id, remedy=None, absence=Absence.NOT_IN_IMPORT, evidence=("dmesg",))
               for check in CHECKS[20:]]
    lines = render("host", CASE, [*many, *missing], Style(80), imported=True).splitlines()
    assert sum(line.startswith("WARN    ") and " is wrong" in line for line in lines) == 18
    assert len(lines) <= screen.LINES


@pytest.mark.parametrize("width", [0, 80])
def test_texts_that_do_not_fit_together_are_told_also_on_a_full_screen(width: int) -> None:
    many = [replace(WRONG, id=check.id, outcome="fail", text=f"{check.id} is wrong") for check in CHECKS[:60]]
    doubt = replace(HEALTHY, id="accelerator-count", code="counts-differ", outcome="fail", text="8 and 4 GPUs")
    text = render("host", CASE, [*many, doubt], Style(width), imported=True)
    assert "FAIL    accelerator-count: 8 and 4 GPUs" in text
    calm = render("host", CASE, [HEALTHY, replace(doubt, code="other-count-in-guest", outcome="unknown")],
                  Style(width), imported=True)
    assert "the texts have to fit together (accelerator-count)" in " ".join(calm.split())


#: What a line says of how many findings it stands for: a check with its number, a list of checks, a count.
_COUNTS = tuple(re.compile(text) for text in (
    r"[\w-]+ \((\d+)\): ", r"(\d+) ", r"(?:[a-zA-Z]+ )+[a-zA-Z]+:? (\d+) "))
_ONE = re.compile(r"[\w-]+: ")
_MARKED = re.compile(rf"({'|'.join(outcome.upper() for outcome in OUTCOMES)}) +(.*)")
_WORDS = {"fail": "failed", "unknown": "unknown", "warn": "warning", "pass": "passed", "skip": "skipped"}


@cache
def _reports() -> tuple[tuple[Box, list[str]], ...]:
    return tuple((box, _lines(box)) for box in large())


def _lines(box: Box, width: int = 80) -> list[str]:
    return render(box.verb, box.case, box.findings, Style(width, False, True), imported=box.imported).splitlines()


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The outcome of each row, and the row with what belongs to it."""
    row: tuple[str, str] | None = None
    for line in [*lines, ""]:
        if row and line.startswith("        ") and not line.startswith("        fix"):
            row = (row[0], f"{row[1]} {line.strip()}")
            continue
        if row:
            yield row
        found = _MARKED.fullmatch(line)
        row = (found.group(1).lower(), found.group(2)) if found else None


def _counted(row: str) -> int:
    found = next((found for pattern in _COUNTS if (found := pattern.match(row))), None)
    assert found or _ONE.match(row), row
    return int(found.group(1)) if found else 1


def _check(box: Box, lines: list[str]) -> None:
    name = f"{box.name}, {box.verb}"
    assert too_wide("\n".join(lines), box.findings, 80) == [], name
    assert height(lines, 80) <= 60 or box.gpus > 8, f"{name}: {len(lines)} lines"
    there = Counter(finding.outcome for finding in box.findings)
    said: Counter[str] = Counter()
    for outcome, row in _rows(lines):
        said[outcome] += _counted(row)
    assert said == there, name
    ending = " ".join(lines[-7:])
    assert [f"{count} {_WORDS[outcome]}" for outcome, count in there.items() if f"{count} {_WORDS[outcome]}" not in
            ending] == [], name
    rows = list(_rows(lines))
    listed = " ".join(row for _, row in rows)
    for outcome in ("fail", "unknown", "warn"):
        ids = {finding.id for finding in box.findings if finding.outcome == outcome}
        shown = {check for check in ids if re.search(rf"(?<![\w-]){check}(?![\w-])", listed)}
        # A list that does not fit ends in " ..."; its number stands before it.
        assert shown == ids or any(kind == outcome and row.endswith(" ...") for kind, row in rows), (name, ids - shown)
    causes = Counter(finding.id for finding in box.findings if finding.outcome == "fail")
    rows_of = [row.partition(":")[0].partition(" ")[0] for kind, row in rows if kind == "fail"]
    assert set(rows_of) == set(causes), f"{name}: a check that fails keeps its row"
    xids = {finding.code for finding in box.findings if finding.outcome == "fail" and finding.id == "xid"}
    assert all(f"Xid {code.removeprefix('xid-')} " in listed for code in xids), name
    _check_fixes(box, lines)


def _bare(text: str) -> str:
    """Without what parts words: a command on a line of its own has nothing behind it."""
    return re.sub(r"[\s.,;:()]", "", text)


def _check_fixes(box: Box, lines: list[str]) -> None:
    """Half a command must not be pasted: a fix is whole, or says where it is."""
    whole = {_bare(finding.remedy.text) for finding in box.findings if finding.remedy}
    fix: str | None = None
    for line in [*lines, ""]:
        if fix is not None and line.startswith("          "):
            fix += f" {line.strip()}"
            continue
        if fix is not None:
            said = fix.partition(": ")[2]
            assert _bare(said) in whole or re.fullmatch(
                r"(?:in full with -v; why: )?tunecheck explain [\w-]+|"
                r"run: ansible-playbook [^;]+?(?:;? by hand: -v says how)?|"
                r"(?:[^:;]+: )?sudo tunecheck \w+|"
                # Behind a command on a line of its own, of one or of several joined by &&, no semicolon stands.
                r"[^:;]+: [^;]+;? (?:\w+: [^;]+;? )?[^:;]+: sudo tunecheck record", said), (
                f"{box.name}: {said}")
        fix = line.strip() if line.startswith("        fix") else None


def test_every_box_fits_one_screen_and_every_finding_is_shown_or_counted() -> None:
    assert max(box.gpus for box, _ in _reports()) > 8, "more than fits is there, too"
    for box, lines in _reports():
        _check(box, lines)


def test_other_peoples_boxes_fit_one_screen() -> None:
    found = sampled()
    if not found:
        pytest.skip("TUNECHECK_SAMPLES is not set: other people's files are not part of the project")
    for box in found:
        _check(box, _lines(box))


def test_what_is_not_in_an_import_is_known_by_its_code() -> None:
    """It is folded by the code, never by words."""
    unknown = (finding for box in (*large(), *sampled()) for finding in box.findings if finding.outcome == "unknown")
    blind = [(finding.id, finding.text) for finding in unknown
             if finding.absence is None and ": not in the import; add: " in finding.text]
    assert blind == []


def test_every_reason_has_words() -> None:
    assert set(screen._WHY) == set(Absence)


def test_a_small_box_keeps_its_tree_and_a_narrow_terminal_has_more_lines() -> None:
    box = next(box for box in large() if (box.name, box.verb) == ("four", "topo"))
    assert any("0000:00:01.1 1000:c030 x16 Gen5 ACS 0x0011" in line for line in _lines(box, 200))
    assert too_wide("\n".join(_lines(box, 40)), box.findings, 40) == [] and height(_lines(box, 40), 40) <= 120


@pytest.mark.parametrize(("count", "rows", "fixes"), [(3, 3, 3), (70, 70, 1)])
def test_what_fails_keeps_its_row_even_where_nothing_else_fits(count: int, rows: int, fixes: int) -> None:
    many = [replace(WRONG, id=f"check-{number}", outcome="fail", remedy=Remedy(f"way {number}"))
            for number in range(count)]
    lines = shown([*many, HEALTHY, OTHER]).splitlines()
    assert sum(line.startswith("FAIL    check-") for line in lines) == rows
    assert sum(line.startswith("        fix: way ") for line in lines) == fixes
    if count > 60:
        assert [line for line in lines if re.fullmatch(r"WARN    1 [^:]*\(-v [^:]*\): smt", line)]


def test_one_code_is_one_row_and_other_codes_are_others() -> None:
    found = [replace(WRONG, id="xid", subject=f"GPU{gpu} Xid {code}", outcome="fail", code=f"xid-{code}",
                     text=f"GPU{gpu}: Xid {code} " + "in many words " * 30, remedy=Remedy(f"look at GPU{gpu}"))
             for code in (79, 48) for gpu in range(8)]
    lines = shown(found).splitlines()
    assert [line[:26] for line in lines if line.startswith("FAIL ")] == ["FAIL    xid (8): GPU0: Xid"] * 2
    assert any(re.match(r"        [^:]*\(-v [^:]*\): look at GPU0", line) for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("wrong", [0, 5, 15, 40, 100])
def test_which_text_to_add_is_said_however_much_is_wrong(width: int, wrong: int) -> None:
    """Of an import whose report is shortened, too: the one command that tells most, and the way to all of it."""
    many = [replace(WRONG, id=f"check-{number}", outcome=("fail", "unknown", "warn")[number % 3],
                    text="it is wrong " * 12, remedy=Remedy.typed("look at `dmesg`, then {way}", way=str(number)))
            for number in range(wrong)]
    missing = [Finding(f"other-{number}", "any-code", "s", "unknown", "effective", "not in the import",
                       evidence=(f"/sys/bus/pci/devices/0000:0{number}:00.0/config",), absence=Absence.NOT_IN_IMPORT)
               for number in range(9)]
    for columns in (width, 0):
        text = " ".join(render("host", CASE, [*many, *missing], Style(columns), imported=True).split())
        assert "add the output of: sudo lspci -" in text and text.count("sudo tunecheck record") == 1, text[-900:]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_warning_that_does_not_fit_is_a_whole_sentence_where_its_code_has_one(check: Check) -> None:
    """Whatever check and code: what is cut off has no shorter sentence that would fit."""
    for code, meaning in check.codes.items():
        found = replace(WRONG, id=check.id, code=code, text="it is odd in many words " * 9, remedy=None)
        (line,) = sentence(Fold(found.text, (found,)), Style(80), 1)
        fits = len(f"WARN    {check.id}: {meaning.rstrip('.')}") <= 80
        assert line.endswith(" ...") is not fits, line
        assert (meaning.rstrip(".") in line) is fits
        whole = replace(found, text="it is odd")
        assert sentence(Fold(whole.text, (whole,)), Style(80), 1) == [f"WARN    {check.id}: it is odd"]
