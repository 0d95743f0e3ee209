"""Tables whose lines a window broke: nvidia-smi's plain table and those of benchmarks. Joined they say what whole ones
say; what cannot be joined is named, and never judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.imports.smi_texts import row
from tests.unit.imports.test_line_ends import fold, said

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.line_ends import mended
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.nvidia.nccl_tests import parse_nccl_tests
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_EDGE = "+" + "-" * 89 + "+\n"
_INNER = "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+\n"


def _gpu(index: int) -> str:
    """Rows of a GPU with errors, as wide as the edges."""
    rows = row(index=index, bus=f"0{index + 6}", ecc="7", busy="ERR!")
    return rows.replace(" On |", "      On |").replace("700W |", "700W    |")


SMI = (f"Sat Nov 21 05:23:45 2026\n{_EDGE}"
       f"| {'NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0':<88}|\n{_INNER}"
       + _gpu(0) + _gpu(1)
       + f"\n{_EDGE}| {'Processes:':<88}|\n|{'=' * 89}|\n|  {'No running processes found':<87}|\n{_EDGE}")
_RANK = "#  Rank  {0} Group  0 Pid   1496 on         vm device  {0} [0000:00:0{1}] NVIDIA H200\n"
_COLUMNS = "     time   algbw   busbw  #wrong"


def _row(size: int, wrong: str = "0", more: str = "") -> str:
    figures = f"   890.74  301.36  301.36 {wrong:>7}"
    return f"{size:12}  {size // 2:12}      half     sum      -1{figures}{figures}{more}\n"


def _nccl(rows: str, end: str) -> str:
    return ("# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809\n"
            "# Collective test starting: all_reduce_perf\n"
            "# nThread 1 nGpus 2 minBytes 8 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 50 agg iters: 1\n"
            f"#\n# Using devices\n{_RANK.format(0, 6)}{_RANK.format(1, 7)}#\n"
            f"#{'out-of-place':>74}{'in-place':>31}\n"
            f"#       size         count      type   redop    root{_COLUMNS * 2}\n{rows}{end}")


_SIZES = [8 << (4 * step) for step in range(7)]
NCCL = _nccl("".join(map(_row, [*_SIZES, 1 << 28])),
             "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 71.4926\n#\n")
WRONG = _nccl("".join(_row(size, "3") for size in _SIZES), "")
ITERS = _nccl("".join(_row(size, more="      20") for size in _SIZES), "# Avg bus bandwidth    : 71.4926\n")


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _grid(title: str, own: float, peer: float, count: int = 8) -> str:
    rows = "   D\\D" + "".join(f"{gpu:6} " for gpu in range(count)) + "\n"
    for one in range(count):
        rows += f"{one:6} " + "".join(f"{own if one == other else peer + one:6.2f} " for other in range(count)) + "\n"
    return f"{title}\n{rows}"


P2P = (_grid("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", 2570.0, 371.5)
       + _grid("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", 2573.14, 741.25))
COPIES = "nvbandwidth Version: v0.8\n\nRunning device_to_device_memcpy_read_ce.\n" \
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" + "  " + "".join(f"{gpu:10}" for gpu in range(8)) + "\n" + \
    "".join(f" {one}" + "".join(f"{'N/A' if one == other else f'{764.5 + one:.2f}':>10}" for other in range(8)) + "\n"
            for one in range(8)) + "\nSUM device_to_device_memcpy_read_ce 42812.00\n"
TEXTS = {"smi": SMI, "nccl": NCCL, "wrong": WRONG, "iters": ITERS, "p2p": P2P, "nvbandwidth": COPIES}

pytestmark = pytest.mark.skipif(shutil.which("fold") is None, reason="coreutils' fold is not installed")


@pytest.mark.parametrize("way", ["-w", "-sw"])
@pytest.mark.parametrize("width", [60, 64, 72, 80, 90])
@pytest.mark.parametrize("name", TEXTS)
def test_broken_tables_are_what_they_were(name: str, width: int, way: str) -> None:
    text = TEXTS[name]
    broken = fold(text, way, str(width))
    assert mended(broken).text == text
    assert bool(mended(broken).doubt) == (broken != text)


@pytest.mark.parametrize("text", [*TEXTS.values(), SMI + NCCL + P2P, P2P + COPIES, NCCL + "this is what I see:\n"])
def test_whole_tables_stay_as_they_are(text: str) -> None:
    assert mended(text).text == text and not mended(text).doubt


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", TEXTS)
def test_what_they_say_is_the_same(name: str, width: int, tmp_path: Path) -> None:
    broken = fold(TEXTS[name], "-w", str(width))
    assert said(tmp_path / "broken", broken) == said(tmp_path / "whole", TEXTS[name])


def test_errors_of_a_broken_table_are_told(tmp_path: Path) -> None:
    # The table tells this one count of each board, and of the others nothing.
    assert {each[0] for each in said(tmp_path / "a", fold(SMI, "-w", "80"))["gpu-ecc"]} == {"fail", "unknown"}
    found = said(tmp_path / "b", fold(WRONG, "-w", "72"))["bench-figures"]
    assert {each[:2] for each in found} == {("fail", "wrong-values")}


@pytest.mark.parametrize("way", ["-w", "-sw"])
@pytest.mark.parametrize("name", ["smi", "nccl", "wrong"])
def test_blanks_that_a_terminal_left_out_change_nothing(name: str, way: str, tmp_path: Path) -> None:
    bare = _bare(fold(TEXTS[name], way, "80"))
    assert said(tmp_path / "broken", bare) == said(tmp_path / "whole", TEXTS[name])


def test_a_table_that_cannot_be_joined_is_named(tmp_path: Path) -> None:
    torn = _bare(fold(SMI, "-sw", "32"))
    assert "give it as a file: nvidia-smi > smi.txt" in mended(torn).doubt
    with pytest.raises(UsageError, match="give it as a file: nvidia-smi > smi"):
        said(tmp_path / "a", torn)


def test_rows_that_cannot_be_joined_are_not_compared(tmp_path: Path) -> None:
    torn = fold(NCCL, "-w", "44")
    assert "give it as a file: all_reduce_perf > nccl.txt" in mended(torn).doubt
    assert {each[:2] for each in said(tmp_path / "a", torn)["bench-figures"]} == {("unknown", "cut")}


def test_rows_that_show_how_often_each_size_ran_are_read() -> None:
    assert [each.size for each in parse_nccl_tests(ITERS).rows] == _SIZES
    assert parse_nccl_tests(ITERS).broken == 0


def test_a_text_that_ends_within_a_table_is_joined_as_far_as_it_goes() -> None:
    assert mended(fold(SMI, "-w", "80")[:1500]).text.startswith(SMI[:1200])


@pytest.mark.parametrize("way", ["-w", "-sw"])
@pytest.mark.parametrize("width", range(20, 50))
@pytest.mark.parametrize("name", ["nccl", "wrong", "iters"])
def test_rows_in_a_window_that_is_too_narrow_are_told_as_broken(tmp_path: Path, name: str, width: int, way: str
                                                               ) -> None:
    """In no width it is called a table that nothing can be compared with, nor one of messages that are too small."""
    (tmp_path / "nccl.txt").write_text(fold(TEXTS[name], way, str(width)))
    case = Case(gather(load_import(str(tmp_path)), None, True))
    found = [each for each in judge(case, "preflight") if each.id == "bench-figures"]
    assert [(each.outcome, each.code) for each in found] == [("unknown", "cut")], found
