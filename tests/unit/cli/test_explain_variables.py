"""Every environment variable that a page or a recipe names can be asked for: what it does, and which pages name it."""

from __future__ import annotations

import re

import pytest
import yaml
from tests.unit.cli.carried import ROOT

from tunecheck.errors import UsageError
from tunecheck.parsers.containers.variable_words import VARIABLES, variable_of
from tunecheck.report.check_pages import asked_for, page
from tunecheck.report.words.terms import term
from tunecheck.rules.index import BY_ID

_NAMES = re.compile(r"(?<![A-Za-z0-9_])((?:NCCL|CUDA|VLLM|SGLANG|PYTORCH|OMP|HF|SAFETENSORS|TUNECHECK|ANSIBLE|DOCKER"
                    r"|XDG)_[A-Z0-9_]*[A-Z0-9]|NO_COLOR)(?![A-Za-z0-9_])")
_PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "checks").glob("*.md"),
          *(ROOT / "roles").glob("*/README.md")]
#: What the tests of this project alone read.
_NONE = {"TUNECHECK_SAMPLES"}


def _named() -> set[str]:
    found = {name for path in _PAGES for name in _NAMES.findall(path.read_text(encoding="utf-8"))}
    for path in (ROOT / "checks/tunecheck/recipes").glob("*.yml"):
        found |= set(yaml.safe_load(path.read_text(encoding="utf-8")).get("env") or {})
    return found - _NONE


@pytest.mark.parametrize("name", sorted(_named() | set(VARIABLES)))
def test_each_has_a_page(name: str) -> None:
    assert asked_for([name]) == [name]
    text = page(name)
    assert name in text and (term(name) or VARIABLES[name][0] in text)
    assert all(check in BY_ID for check in re.findall(r"`tunecheck explain ([a-z0-9-]+)`", text))


@pytest.mark.parametrize("asked", ["NCCL_P2P_LEVEL", "nccl_p2p_level", "NCCL_P2P_LEVEL=SYS", "$NCCL_P2P_LEVEL"])
def test_however_it_is_written(asked: str) -> None:
    text = page(*asked_for([asked]))
    assert "SYS" in text and "`tunecheck explain topo-relation`" in text and "`tunecheck explain allreduce-bus`" in text


def test_a_misspelt_one_leads_to_the_name_and_a_small_word_is_none() -> None:
    with pytest.raises(UsageError) as told:
        page("NCCL_P2P_LEVELS")
    assert "NCCL_P2P_LEVEL" in str(told.value)
    assert [variable_of(word) for word in ("port", "model", "PORT", "")] == ["", "", "PORT", ""]
