"""The fix of what texts leave open says for each output how many findings need it, in a pipe and on a terminal. What
could not be read stands before a cut, and not what is not known for that."""

from __future__ import annotations

import re

from tests.unit.report.all_reports import reports

from tunecheck.report.grouping import Fold
from tunecheck.report.not_given import is_missing, not_given
from tunecheck.report.one_screen.sentence import sentence
from tunecheck.report.style import GOES_ON, Style


def test_both_forms_say_how_many_each_output_settles() -> None:
    seen = 0
    for report in reports():
        missing = [each for each in report.findings if report.imported and is_missing(each)]
        if len(missing) < 2:
            continue
        found = not_given(report.case, missing)
        for form in (found.fix, found.briefly):
            if not form.startswith("add the output of: "):
                continue
            seen += 1
            count = re.search(r" \((\d+) of them needs? it\)", form)
            assert count and 1 <= int(count[1]) <= len(missing), form
            if int(count[1]) < len(missing) and "; then: " in form:
                rest = form.partition("; then: ")[2].partition("; all of it")[0]
                assert re.fullmatch(r"\d+ more outputs? for \d+ others? \(-v names them\)|"
                                    r".+ \(\d+\)(?:, .+ \(\d+\))?(?: and \d+ more)?",
                                    rest), rest
    assert seen > 40


def test_a_cut_keeps_what_could_not_be_read_and_not_the_introduction() -> None:
    seen = 0
    done = set()
    for report in reports():
        for found in report.findings:
            source = found.evidence[0] if found.evidence else ""
            if found.outcome != "unknown" or not found.absence or not source or (found.id, found.code, source) in done:
                continue
            done.add((found.id, found.code, source))
            first, named, _ = found.text.partition(f"{source}: ")
            if not named or "; " in first:
                continue
            for width in range(60, 201, 20):
                (line,) = sentence(Fold(found.text, (found,)), Style(width), 1)
                if line.endswith(GOES_ON):
                    seen += 1
                    assert line.partition(f"{found.id}: ")[2].startswith(source[:20]) or len(source) > width // 2, line
    assert seen > 20
