"""A fix that helps only some GPU models does not speak as if the model were known: where it is not, it says first how
to find it out, and what holds for GeForce; where the board is a GeForce, it asks for no switch, slot or setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.report.test_no_peers import _table

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.report.check_pages import page
from tunecheck.report.posted import meanings
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_FAR = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t0-15\t0\nGPU1\tPHB\t X \t0-15\t0\n"
_OTHERS = ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA L40S")
#: What a fix asks for that helps no GeForce.
_NO_HELP = ("one PCIe switch", "one switch", "a switch, or slots", "one root complex", "ForceP2P=0x211",
            "set NCCL_P2P_LEVEL")


def _names(*names: str) -> str:
    return "".join(f"GPU {number}: {name} (UUID: GPU-0000000{number}-0000-0000-0000-000000000000)\n"
                   for number, name in enumerate(names))


def _found(folder: Path, text: str, check: str) -> list[Finding]:
    (folder / "given.txt").write_text(text)
    case = Case(gather(load_import(str(folder)), None, True))
    return [each for each in judge(case, "preflight") if each.id == check and each.outcome in ("fail", "warn")]


_TEXTS = [(_table(word, "r", False, 2), "p2p-capability") for word in ("CNS", "GNS", "TNS", "DR", "NS")]
_TEXTS += [(_FAR, "topo-relation")]


@pytest.mark.parametrize(("text", "check"), _TEXTS)
def test_an_unknown_model_is_found_out_first(tmp_path: Path, text: str, check: str) -> None:
    (found,) = _found(tmp_path, text, check)
    assert found.remedy
    fix = found.remedy.text
    if any(word in fix for word in _NO_HELP):
        first = min(fix.index(word) for word in _NO_HELP if word in fix)
        assert 0 <= fix.find("nvidia-smi -L") < first and 0 <= fix.find("GeForce") < first
        assert "nvidia-smi -L" in [each.shown for each in found.remedy.commands]


@pytest.mark.parametrize("text", [_table("CNS", "r", False, 2), _table("GNS", "w", False, 2), _FAR])
def test_a_geforce_is_asked_for_no_switch_and_no_setting(tmp_path: Path, text: str) -> None:
    check = "topo-relation" if text is _FAR else "p2p-capability"
    (found,) = _found(tmp_path, text + "\n" + _names("NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5090"), check)
    assert found.remedy and not any(word in found.remedy.text for word in _NO_HELP)
    assert "this GPU model" in found.text + found.remedy.text


@pytest.mark.parametrize("name", _OTHERS)
@pytest.mark.parametrize(("text", "check"), _TEXTS)
def test_a_known_board_gets_its_fix_at_once(tmp_path: Path, text: str, check: str, name: str) -> None:
    (found,) = _found(tmp_path, text + "\n" + _names(name, name), check)
    assert found.remedy and "GeForce" not in found.remedy.text


def test_one_name_of_two_boards_leaves_the_model_open(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, _table("CNS", "r", False, 2) + "\n" + _names(_OTHERS[0]), "p2p-capability")
    assert found.remedy and found.remedy.text.startswith("first find out the model")


@pytest.mark.parametrize("name", ["", "NVIDIA GeForce RTX 5090", *_OTHERS])
def test_the_legend_does_not_contradict_the_finding(tmp_path: Path, name: str) -> None:
    named = _names(name, name) if name else ""
    (found,) = _found(tmp_path, _table("CNS", "r", False, 2) + "\n" + named, "p2p-capability")
    (legend,) = meanings(["CNS"], "r")
    for text in (legend, page("CNS")):
        assert "GeForce" in text and "below any chipset" in text
    assert ("below any chipset" in found.text) is (name not in _OTHERS)
