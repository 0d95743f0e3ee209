"""A list of devices that shows no relation takes nothing away from the driver's table beside it; and GPUs that a text
names are not "fewer than two"."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.facts.trees import frozen
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import OUTCOMES, Finding
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Groups

_LIST = "".join(f"{bus}:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)\n" for bus in ("06", "07"))
_TABLE = ("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-63\t0\t\tN/A\n"
          "GPU1\tPHB\t X \t0-63\t0\t\tN/A\n")
_GPUS = "".join(f"GPU {index}: NVIDIA GeForce RTX 5090 (UUID: GPU-{index + 1:08x}-0000-0000-0000-00000000000a)\n"
                for index in (0, 1))


def _relation(folder: Path, text: str, wanted: Accelerators | None = None) -> Finding:
    (folder / "a.txt").write_text(text)
    spec = frozen(accelerators=wanted) if wanted else None
    facts = gather(load_import(str(folder / "a.txt")), spec.spec if spec else None, True)
    found = [each for each in judge(Case(facts, spec), "preflight") if each.id == "topo-relation"]
    return min(found, key=lambda each: OUTCOMES.index(each.outcome))


@pytest.mark.parametrize("text", [_TABLE, _LIST + _TABLE, _TABLE + _LIST, _LIST.splitlines()[0] + "\n" + _TABLE])
def test_the_table_is_judged_with_and_without_a_list(tmp_path: Path, text: str) -> None:
    found = _relation(tmp_path, text)
    assert (found.code, found.outcome, found.observed) == ("through-cpu", "warn", "PHB")


@pytest.mark.parametrize("text", [_TABLE, _LIST + _TABLE, _LIST])
@pytest.mark.parametrize(("wanted", "with_table"), [
    (Accelerators(pci_ids=("10de:2bb5",), relation="PIX"), "fail"),
    (Accelerators(pci_ids=("10de:2bb5",), relation="SYS"), "unknown"),
    (Accelerators(pci_ids=("10de:2bb5",), groups=Groups(inside="PIX")), "unknown"),
    (Accelerators(pci_ids=("10de:2bb5",), groups=Groups(size=2, inside="PIX", across="PIX")), "fail")])
def test_without_a_tree_nothing_that_is_asked_for_passes_or_is_skipped(
        tmp_path: Path, text: str, wanted: Accelerators, with_table: str) -> None:
    assert _relation(tmp_path, text, wanted).outcome == (with_table if _TABLE in text else "unknown")


def test_gpus_without_any_relation_are_unknown(tmp_path: Path) -> None:
    found = _relation(tmp_path, _GPUS)
    assert (found.code, found.outcome) == ("relation-unknown", "unknown") and "nvidia-smi topo -m" in found.text


def test_a_table_that_a_narrow_window_broke_is_told_so(tmp_path: Path) -> None:
    """Given again as it was, it would be refused again."""
    wide = "\n".join(line.expandtabs(8) for line in _TABLE.splitlines())
    broken = "\n".join(line[at:at + 40] for line in wide.splitlines() for at in range(0, len(line), 40))
    (tmp_path / "a.txt").write_text(broken)
    with refused(Damage.TOO_LITTLE, "nvidia-smi topo -m > topo.txt"):
        load_import(str(tmp_path / "a.txt"))
