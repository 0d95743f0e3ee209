"""Sentences call a value of NVML as people do: the name of the program's own field tells an operator nothing."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, findings_of
from tests.unit.imports import smi_texts
from tests.unit.imports.test_partial_lspci import judged

from tunecheck.parsers.nvidia import nvml_keys

KEYS = set(re.findall(r'"([a-z0-9]+(?:_[a-z0-9]+)+)"', inspect.getsource(nvml_keys)))


def _keys(text: str) -> set[str]:
    return KEYS & set(re.findall(r"(?<![\w./=-])[a-z0-9]+(?:_[a-z0-9]+)+(?![\w./=])", text))


def test_no_finding_of_a_case_shows_a_field() -> None:
    assert len(KEYS) > 40
    for path in CASES:
        assert [(each.id, each.code) for each in findings_of(path) if _keys(each.text)] == [], path


@pytest.mark.parametrize("text", [
    smi_texts.table(smi_texts.row(), smi_texts.row(index=1, bus="41", ecc="2")),
    smi_texts.HEAD.format(count=1) + smi_texts.GPU.format(bus="06")])
def test_no_finding_of_a_text_shows_a_field(tmp_path: Path, text: str) -> None:
    found = judged(tmp_path, text)
    assert [each.text for some in found.values() for each in some if _keys(each.text)] == []
