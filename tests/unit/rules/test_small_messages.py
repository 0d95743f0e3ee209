"""An all-reduce of small messages alone is told which size can be compared, and the command that measures it; which
collective a table is of, its columns tell where the version does not print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.parsers.nvidia.nccl_tests import parse_nccl_tests
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_SIZES = (8, 1000, 8 << 10, 1 << 20, 16 << 20, 64 << 20, 128 << 20, 1 << 30)
_NAME = "# Collective test starting: all_reduce_perf\n"
_H200, _H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"


def _table(sizes: tuple[int, ...], name: str = _NAME, ranks: int = 2, board: str = _H200, factor: float = 0,
           operation: str = "sum      -1", hosts: int = 1) -> str:
    factor = factor or 2 * (ranks - 1) / ranks
    figures = f"888.00  {300 / factor:.2f}  300.00       0"
    rows = "".join(f" {size:12} {size // 4:12}     float     {operation}   {figures}   {figures}\n" for size in sizes)
    return (f"# nThread 1 nGpus {ranks} minBytes 8 maxBytes 1073741824\n{name}" + "".join(
        f"#  Rank {rank:2} Group  0 Pid   4000 on box{rank % hosts} device {rank:2} [0x{rank + 6:02x}] {board}\n"
        for rank in range(ranks)) + f"{rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 300.00\n")


def _found(path: Path, text: str) -> Finding:
    (path / "nccl.txt").write_text(text)
    case = Case(gather(load_import(str(path)), None, True))
    (found,) = (each for each in judge(case, "preflight") if each.id == "bench-figures")
    return found


@pytest.mark.parametrize("name", [_NAME, ""], ids=["named", "by its columns"])
@pytest.mark.parametrize("board", [_H200, _H100])
@pytest.mark.parametrize("most", range(len(_SIZES)))
def test_the_size_that_is_needed_is_said_where_it_is_missing(tmp_path: Path, most: int, board: str, name: str) -> None:
    found = _found(tmp_path, _table(_SIZES[:most + 1], name, board=board))
    small = _SIZES[most] < 128 << 20
    assert (found.code == "too-small") == small, found.message
    assert found.outcome in (("unknown",) if small or board == _H100 else ("pass",))
    if small:
        assert found.remedy is not None
        assert [each.shown for each in found.remedy.commands] == ["all_reduce_perf -b 128M -e 1G -f 2 -g 2"]
        assert found.expected == "128 MiB or more"


def test_no_row_is_too_small_too(tmp_path: Path) -> None:
    assert _found(tmp_path, _table(())).code == "too-small"


def test_ranks_on_several_machines_are_started_as_they_were(tmp_path: Path) -> None:
    found = _found(tmp_path, _table((16 << 20,), ranks=4, hosts=2))
    assert found.code == "too-small"
    assert found.remedy is not None and found.remedy.commands == () and "-b 128M -e 1G -f 2" in found.remedy.text


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16])
@pytest.mark.parametrize(("what", "factor", "operation"), [
    ("all_reduce_perf", lambda n: 2 * (n - 1) / n, "sum      -1"), ("", lambda n: (n - 1) / n, "sum      -1"),
    ("", lambda n: (n - 1) / n, "none     -1"), ("", lambda _: 1, "none      0"), ("", lambda _: 1, "sum       0"),
], ids=["all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce"])
def test_the_columns_tell_the_collective(what: str, factor: object, operation: str, ranks: int) -> None:
    assert callable(factor)
    text = _table((16 << 20, 1 << 30), "", ranks, factor=factor(ranks), operation=operation)
    assert parse_nccl_tests(text).name == what


def _codes(path: Path, **texts: str) -> dict[str, list[str]]:
    for name, text in texts.items():
        (path / f"{name}.txt").write_text(text)
    case = Case(gather(load_import(str(path)), None, True))
    found: dict[str, list[str]] = {}
    for each in judge(case, "preflight"):
        if each.id == "bench-figures":
            found.setdefault(each.code, []).append(each.outcome)
    return found


_LARGE = (256 << 20,)


@pytest.mark.parametrize("name", [_NAME, "# Collective test starting: all_reduce_perf_mpi\n", ""])
@pytest.mark.parametrize("most", range(len(_SIZES) - 2))
def test_no_larger_run_is_asked_for_where_one_is_judged(tmp_path: Path, most: int, name: str) -> None:
    found = _codes(tmp_path, small=_table(_SIZES[:most + 1]), large=_table(_LARGE, name))
    assert found == {"larger-is-judged": ["skip"], "ok": ["pass"]}


@pytest.mark.parametrize("large", [
    _table(_LARGE, ranks=4), _table(_LARGE, board=_H100), _table(_LARGE, hosts=2), _table(_SIZES[:4]),
    _table(_LARGE, "# Collective test starting: all_gather_perf\n"), _table(_LARGE).partition("# Out of")[0],
], ids=["more ranks", "other boards", "two machines", "small, too", "another collective", "cut"])
def test_a_run_of_another_kind_answers_nothing(tmp_path: Path, large: str) -> None:
    found = _codes(tmp_path, small=_table(_SIZES[:4]), large=large)
    assert "unknown" in found["too-small"] and "larger-is-judged" not in found


@pytest.mark.parametrize("large", [
    _table(_LARGE).replace("888.00  300.00  300.00", "888.00   30.00   30.00"),
    _table(_LARGE).replace("Out of bounds values : 0 OK", "Out of bounds values : 3 FAILED")], ids=["slow", "wrong"])
def test_what_is_wrong_with_the_larger_run_stays(tmp_path: Path, large: str) -> None:
    found = _codes(tmp_path, small=_table(_SIZES[:4]), large=large)
    assert found["larger-is-judged"] == ["skip"] and len(found) == 2 and "ok" not in found
