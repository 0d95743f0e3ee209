"""The driver's own texts have fewer GPUs than the specification declares: nothing makes that a pass, and it fails, as
long as no source has as many. Taking a text away never makes it better."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest
from tests.unit.facts.trees import frozen
from tests.unit.imports import smi_texts
from tests.unit.imports.deletions import Base, deleted, improved, outcomes
from tests.unit.imports.test_fragments import snap

from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators

_ID = "10de:2bb1"


def _query(count: int) -> str:
    return smi_texts.HEAD.format(count=count) + "\n".join(
        smi_texts.GPU.format(bus=f"{0x10 + number:02x}") for number in range(count))


def _table(count: int) -> str:
    names = [f"GPU{number}" for number in range(count)]
    return "\n".join(["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", *(
        "\t".join([one, *(" X " if one == two else "PIX" for two in names), "0-15", "0", "", "N/A"])
        for one in names), "", "Legend:", "", "  X    = Self", ""])


def _list(count: int) -> str:
    return "".join(f"GPU {number}: NVIDIA H200 (UUID: GPU-11111111-2222-3333-4444-{number:012d})\n"
                   for number in range(count))


_TEXTS = {"smi-q.txt": _query, "topo.txt": _table, "smi-L.txt": _list}
_SETS = [names for size in (1, 2, 3) for names in combinations(_TEXTS, size)]


def _judged(folder: Path, counts: dict[str, int], spec: Accelerators) -> list[tuple[str, str, str]]:
    snapshot = snap(folder, *(_TEXTS[name](count) for name, count in counts.items()))
    return [(each.outcome, each.code, each.observed) for each in judge(Case(snapshot, frozen(accelerators=spec)),
                                                                     "preflight") if each.id == "accelerator-count"]


@pytest.mark.parametrize("names", _SETS, ids="+".join)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_by_any_of_the_texts_it_fails_and_never_passes(tmp_path: Path, names: tuple[str, ...], count: int) -> None:
    fails = ("fail", "driver-has-fewer", str(count))
    for number, wanted in enumerate((count - 1, count, count + 1, 8)):
        (folder := tmp_path / str(number)).mkdir()
        found = _judged(folder, dict.fromkeys(names, count), Accelerators(pci_ids=(_ID,), count=wanted))
        assert found == [fails if wanted > count else ("unknown", "tree-unread", str(count))]


@pytest.mark.parametrize("spec", [
    Accelerators(pci_ids=(_ID,)), Accelerators(pci_ids=(_ID, "1002:74a1"), count=8), Accelerators(count=8),
    Accelerators(pci_ids=("1002:74a1",), count=8), Accelerators(pci_ids=(_ID,), count=8, kernel_driver="vfio-pci")])
def test_what_the_driver_need_not_have_is_not_missing(tmp_path: Path, spec: Accelerators) -> None:
    """No number is declared, or it counts boards of other makers, or another driver has the GPUs."""
    assert [each[:2] for each in _judged(tmp_path, dict.fromkeys(_TEXTS, 7), spec)] == [("unknown", "tree-unread")]


@pytest.mark.parametrize("less", _TEXTS)
@pytest.mark.parametrize("most", [7, 8, 9])
def test_texts_with_different_numbers_fail_whatever_is_declared(tmp_path: Path, less: str, most: int) -> None:
    counts = {**dict.fromkeys(_TEXTS, most), less: 6}
    found = _judged(tmp_path, counts, Accelerators(pci_ids=(_ID,), count=8))
    assert [each[:2] for each in found] == [
        *([("fail", "driver-has-fewer")] if most < 8 else []), ("fail", "counts-differ")]


def test_a_text_that_is_cut_counts_for_what_it_says(tmp_path: Path) -> None:
    """`Attached GPUs : 8`, of which 7 are shown: that is no lost GPU."""
    snapshot = snap(tmp_path, _query(7).replace(": 7\n", ": 8\n", 1))
    spec = frozen(accelerators=Accelerators(pci_ids=(_ID,), count=8))
    assert [each.outcome for each in judge(Case(snapshot, spec), "preflight")
            if each.id == "accelerator-count"] == ["unknown"]


def test_nothing_that_is_deleted_improves_it(tmp_path: Path) -> None:
    base = Base("texts", {name: text(3) for name, text in _TEXTS.items()}, None,
                frozen(accelerators=Accelerators(pci_ids=(_ID,), count=4)))
    before, chance = outcomes(base, tmp_path), random.Random(32)
    assert before is not None and before["accelerator-count", ""] == "fail"
    for _ in range(60):
        change = deleted(base, chance)
        after = outcomes(change.left, tmp_path)
        assert after is None or not [each for each in improved(before, after) if "accelerator-count" in each], \
            change.words
