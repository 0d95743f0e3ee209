"""A list of devices does not push what is wrong out of the first line of a terminal, where a short report may end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.unit.checks.test_cases import CASES, findings_of

from tunecheck.model.finding import Finding
from tunecheck.report.grouping import folded

_BDF = r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_DEVICE = rf"(?:GPU\d+ )?(?:{_BDF}|GPU\d+(?:->?GPU\d+)?)(?: [\d.]+)?"
LIST = re.compile(rf"{_DEVICE}(?:, {_DEVICE})+(?:,? and \d+ more)?")
#: Words in front of a list that tell what it is a list of.
_WORDS = 2
#: Three boards with their addresses, which is the most that a check of NVML's values names.
_SHORT = 60


def _wrong() -> Iterator[Finding]:
    for path in CASES:
        yield from (each for each in findings_of(path) if each.outcome in ("fail", "warn", "unknown"))


def ends_its_clause(text: str) -> bool:
    """Whether every list of devices stands behind what is wrong: the clause ends with it. A list that cannot grow may
    stand at the beginning."""
    for found in LIST.finditer(text):
        before, behind = text[:found.start()], text[found.end():].lstrip(")")
        bounded = found.end() <= _SHORT and re.match(rf"GPU\d+ {_BDF}, ", text)
        bounded = bounded or re.match(r"(?:.*: )?GPU\d+, GPU\d+(?:, GPU\d+)*(?: and \d+ more)? share ", text)
        whole = not behind or re.match(r"[:;.]|, (?!and |or )", behind)
        if not bounded and not (whole and len(re.findall(r"[A-Za-z]{2,}", before)) >= _WORDS):
            return False
    return True


def test_what_is_wrong_stands_in_front_of_the_devices() -> None:
    found = list(_wrong())
    assert sum(bool(LIST.search(each.text)) for each in found) > 40
    assert {(each.id, each.code): each.text for each in found if not ends_its_clause(each.text)} == {}


@pytest.mark.parametrize("text", [
    "the PCI tree has 8 GPUs (0000:06:00.0, 0000:07:00.0), and nvidia-smi has 4",
    "0000:06:00.0, 0000:07:00.0: no group", "whether 0000:06:00.0, 0000:07:00.0 hangs on a switch is not known",
    "GPU0-GPU1, GPU0-GPU2 and 3 more: not joined"])
def test_a_list_in_front_is_found(text: str) -> None:
    assert not ends_its_clause(text)


def test_many_findings_that_are_one_line_name_their_subjects_at_the_end() -> None:
    many = [Finding("link-width", "narrow", f"GPU{at} 0000:{at:02x}:00.0", "fail", "effective",
                    f"GPU{at} 0000:{at:02x}:00.0: x8 of x16") for at in range(3, 11)]
    (fold,) = folded(many)
    assert fold.text.startswith("8 GPUs: x8 of x16: ") and all(each.subject in fold.text for each in many)
