"""A recipe is judged by the boards that the checks see, also where no text shows the PCI tree; what is not told of them
is unknown, and no text that is taken away makes a recipe fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.facts import trees
from tests.unit.imports import smi_texts

from tunecheck.app.read_host import look
from tunecheck.cli.main import cli
from tunecheck.facts.snapshot import gather
from tunecheck.recipes.box import box_of, capability
from tunecheck.recipes.load import load, names
from tunecheck.recipes.rules import judge, rule
from tunecheck.rules.context import Case
from tunecheck.rules.nvidia.posted_gpus import gpu_count
from tunecheck.spec.architectures import architecture
from tunecheck.spec.boards import _data, board

_TOPO = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"
_LIST = "".join(f"GPU {number}: NVIDIA H200 (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n"
                for number in range(2))
#: The texts -> (how many boards, their capability).
TEXTS = {
    "nvidia-smi -q": ([smi_texts.TEXT], 2, "12.0"),
    "nvidia-smi -q -x": ([smi_texts.XML], 1, "9.0"),
    "nvidia-smi topo -m": ([_TOPO], 2, None),
    "nvidia-smi -L": ([_LIST], 2, "9.0"),
    "both": ([_TOPO, _LIST], 2, "9.0"),
}
_ONE = "qwen35-27b-vllm-dflash-1x"
_TWO = "qwen35-27b-vllm-dflash-2x"


def _folder(tmp_path: Path, texts: list[str]) -> str:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    return str(tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_the_boards_are_those_that_the_checks_count(name: str, tmp_path: Path) -> None:
    texts, count, sm = TEXTS[name]
    snapshot = look("preflight", None, _folder(tmp_path, texts))[1]
    boards = box_of(snapshot).boards.value
    assert boards is not None and len(boards) == count == gpu_count(Case(snapshot))
    assert {each.sm for each in boards} == {sm}
    assert all(each.memory_mib for each in boards) == (name == "nvidia-smi -q")


@pytest.mark.parametrize("name", [*TEXTS, "no text of GPUs"])
def test_no_gpus_is_said_only_where_there_are_none(name: str, tmp_path: Path) -> None:
    texts, _, sm = TEXTS.get(name, (["BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n"], 0, None))
    done = CliRunner().invoke(cli, ["recipe", "lint", _TWO, "--from", _folder(tmp_path, texts)])
    assert "no GPUs" not in done.stdout and "has none" not in done.stdout
    assert ("reject     gpu-capability" in done.stdout) == (sm == "9.0")
    assert ("unknown    gpu-capability" in done.stdout) == (sm is None)


def test_a_machine_without_gpus_is_told_so() -> None:
    box = box_of(gather(trees.Machine().host(), None, True))
    assert box.boards.value == () and rule.names(box) == "no GPUs"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("recipe", names())
def test_without_the_pci_tree_no_recipe_for_several_gpus_fits_by_silence(recipe: str, name: str,
                                                                         tmp_path: Path) -> None:
    """Which port redirects peer traffic stands in the tree alone."""
    frozen = load(recipe).frozen
    box = box_of(look("preflight", None, _folder(tmp_path, TEXTS[name][0]))[1])
    said = {each.rule.id: each.outcome for each in judge(frozen, box)}
    if frozen.requires.p2p and frozen.requires.gpus > 1:
        assert said["p2p-host"] in ("unknown", "reject", "overridden")
    if TEXTS[name][2] is None and frozen.requires.sm:
        assert said["gpu-capability"] in ("unknown", "overridden") or frozen.requires.gpus > len(box.boards.value or ())


def test_what_was_judged_of_the_box_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["recipe", "lint", _ONE, _TWO, "--from", _folder(tmp_path, [smi_texts.TEXT])])
    first, *rest = done.stdout.splitlines()
    assert first.startswith("judged for a box with 2 x NVIDIA RTX PRO 6000") and "GiB" in first and "driver: " in first
    frozen = load(_ONE).frozen
    (fits,) = [line for line in rest if line.startswith("  fits ")]
    for value in (f"{frozen.requires.gpus} GPU", frozen.requires.sm[0], f"{frozen.requires.vram_gib} GiB"):
        assert str(value) in fits
    assert rest.index(fits) == 1, "of the recipe for one GPU; for two the way between them is not known"
    alone = CliRunner().invoke(cli, ["recipe", "lint", _ONE]).stdout
    assert "  fits " not in alone and "judged for" not in alone


@pytest.mark.parametrize("ids", [each for each in _data() if each.startswith("10de:")])
def test_every_board_that_is_known_has_a_capability(ids: str) -> None:
    """By its id, and by the name that its driver gives it; both say the same."""
    known = board(ids)
    assert known is not None and capability("", ids) is not None
    if known.driver_name:
        assert capability(known.driver_name) == capability("", ids)
    assert capability("NVIDIA Experimental", ids) is None, "a name that is in no table is no name of this board"
    if architecture(ids) == "Hopper":
        assert capability("", ids) == "9.0"
