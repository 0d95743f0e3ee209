"""Every report that the project's evidence gives: the case files of the checks, own texts, alone and as a folder, and
other people's where TUNECHECK_SAMPLES names them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.unit.checks.test_cases import CASES, case_of, findings_of
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.samples import FIXTURES
from tests.unit.report.large_boxes import large

from tunecheck.errors import TunecheckError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

__all__ = ["Report", "reports"]


class Report(NamedTuple):
    """What `tunecheck VERB` is given to say."""

    name: str
    verb: str
    case: Case
    findings: list[Finding]
    imported: bool


@cache
def reports() -> tuple[Report, ...]:
    """All of them, judged once for all tests of a run."""
    return tuple([*(Report(box.name, box.verb, box.case, box.findings, box.imported) for box in large()),
                  *_cases(), *_texts()])


def _cases() -> Iterator[Report]:
    for path in CASES:
        data, case, verb = case_of(path)
        yield Report(path.stem, verb, case, list(findings_of(path)), "posts" in data)


def _texts() -> Iterator[Report]:
    with tempfile.TemporaryDirectory() as place:
        for number, base in enumerate(own()):
            if base.texts:
                folder = Path(place, str(number))
                folder.mkdir()
                for name, text in base.texts.items():
                    (folder / name).write_text(text)
                yield from _imported(base.name, folder)
    given = os.environ.get("TUNECHECK_SAMPLES")
    for root in (FIXTURES, *([Path(given)] if given else [])):
        for path in (*sorted(root.glob("*/*")), *sorted(root.glob("*/*/*.txt")), root / "host"):
            yield from _imported(str(path.relative_to(root)), path)


def _imported(name: str, path: Path) -> Iterator[Report]:
    try:
        case = Case(gather(load_import(str(path)), None, True))
    except TunecheckError:      # no text that is known
        return
    yield Report(name, "preflight", case, judge(case, "preflight"), True)
