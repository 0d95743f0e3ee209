"""No text of a report begins with a pronoun whose noun is not on the screen, whatever was left out beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.unit.report.all_reports import reports

from tunecheck.model.finding import Finding
from tunecheck.report.grouping import Fold
from tunecheck.report.one_screen.fit import LIMITS
from tunecheck.report.one_screen.sentence import sentence
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules.index import CHECKS

WIDTHS = range(40, 201)
#: A pronoun as first word; "that file" stands for itself.
_BEGINS = re.compile(r"(?:it|its|they|them|their|(?:these|those|that)(?= (?:is|are)\b))\b", re.IGNORECASE)
#: A fix says first what is to be done with what: a pronoun among its first words has no noun before it.
_EARLY = re.compile(r"(?:\S+ ){0,3}(?:(?:it|its|they|them|their)\b|(?:that|these)(?=[,:;.]|$))", re.IGNORECASE)
#: The noun is among these words.
_NOUN_FIRST = ("leave drives", "use one of these sizes")


def _distinct() -> Iterator[Finding]:
    seen = set()
    for report in reports():
        for found in report.findings:
            key = (found.id, found.code, found.outcome, re.sub(r"\d+", "0", found.text)[:60])
            if found.outcome in ("fail", "warn", "unknown") and key not in seen:
                seen.add(key)
                yield found


def test_the_words_of_a_code_begin_with_a_noun() -> None:
    """They stand in place of a finding's own sentence."""
    assert [(check.id, code) for check in CHECKS for code, meaning in check.codes.items()
            if _BEGINS.match(meaning)] == []


def test_a_fix_names_what_it_is_about() -> None:
    """The fix stands below a sentence that is cut, or below those of several findings."""
    fixes = {found.remedy.text: found for report in reports() for found in report.findings if found.remedy}
    assert len(fixes) > 300
    assert [(found.id, fix) for fix, found in fixes.items()
            if _EARLY.match(fix) and not fix.startswith(_NOUN_FIRST)] == []


def test_at_every_width_what_is_shown_of_a_finding_begins_with_a_noun() -> None:
    findings = list(_distinct())
    assert len(findings) > 600
    wrong = {}
    for found in findings:
        row = Fold(found.text, (found,))
        for width in WIDTHS[::7]:
            for most in sorted({lines for lines, _ in LIMITS}):
                said = " ".join(" ".join(sentence(row, Style(width), most)).split()).partition(f"{found.id}: ")[2]
                if _BEGINS.match(said):
                    wrong[found.id, found.code] = said
    assert wrong == {}


def test_the_sentence_that_is_cut_is_preferred_where_it_names_its_subject() -> None:
    """A word that the specification declares and no kernel takes, beside another one that has failed."""
    (found,) = [each for each in _distinct() if each.id == "cmdline-token" and each.outcome == "warn"
                and each.code == "not-set"][:1]
    assert found.remedy and found.subject in found.remedy.text
    for width in WIDTHS:
        for most in (1, 2):
            lines = sentence(Fold(found.text, (found,)), Style(width), most)
            assert found.subject in "".join(lines), (width, lines)


def test_a_whole_screen_names_the_word_at_every_width() -> None:
    report = next(each for each in reports() if any(
        found.id == "cmdline-token" and found.outcome == "warn" for found in each.findings))
    subject = next(found.subject for found in report.findings
                   if found.id == "cmdline-token" and found.outcome == "warn")
    for width in WIDTHS[::3]:
        text = render(report.verb, report.case, report.findings, Style(width), imported=report.imported)
        for entry in re.findall(r"(?m)^WARN +cmdline-token: .*(?:\n +.*)*", text):
            assert subject in entry, (width, entry)
