"""A run of nccl-tests that did not check its sums: is its speed good, and which command checks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _found(path: Path, speed: float, wrong: str, board: str = "NVIDIA H200", hosts: int = 1,
           name: str = "all_reduce_perf") -> Finding:
    figures = f"888.00  {speed:.2f}  {speed:.2f}     {wrong}"
    ranks = "".join(f"#  Rank {rank:2} Group  0 Pid   4000 on box{rank % hosts} device {rank:2} [0x{rank + 6:02x}] "
                    f"{board}\n" for rank in range(2))
    (path / "nccl.txt").write_text(
        f"# nThread 1 nGpus 2 minBytes 8 maxBytes 1073741824\n# Collective test starting: {name}\n{ranks}"
        f"   268435456     67108864     float     sum      -1   {figures}   {figures}\n"
        f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {speed}\n")
    (found,) = (each for each in judge(Case(gather(load_import(str(path)), None, True)), "preflight")
                if each.id == "bench-figures")
    return found


@pytest.mark.parametrize(("board", "hosts", "known"), [
    ("NVIDIA H200", 1, True), ("NVIDIA H200", 2, False), ("NVIDIA X9000", 1, False)])
def test_it_says_how_good_the_speed_is_and_how_to_check_the_sums(
        tmp_path: Path, board: str, hosts: int, known: bool) -> None:
    found = _found(tmp_path, 290, "N/A", board, hosts)
    assert (found.outcome, found.code) == ("unknown", "sums-not-checked")
    assert ("96%" in found.text) is known, "of the speed that such boards are known for"
    assert found.remedy and "-c 1" in found.remedy.text
    assert [each.argv[0] for each in found.remedy.commands] == (["all_reduce_perf"] if hosts == 1 else [])


def test_a_speed_that_is_too_low_is_told_before_the_sums(tmp_path: Path) -> None:
    assert _found(tmp_path, 100, "N/A").code == "below-known" and _found(tmp_path, 290, "  0").code == "ok"


def test_a_name_of_another_program_gets_into_no_command(tmp_path: Path) -> None:
    found = _found(tmp_path, 290, "N/A", name="rm_perf")
    assert found.remedy and not [each for each in found.remedy.commands if "rm_perf" in each.argv]
