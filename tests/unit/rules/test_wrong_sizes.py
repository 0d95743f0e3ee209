"""bench-figures names the sizes at which nccl-tests found wrong values, not the largest size that ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

HEAD = """# nccl-tests version 2.18.2 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid  21159 on  box device  0 [0000:01:00] NVIDIA RTX PRO 6000
#  Rank  1 Group  0 Pid  21159 on  box device  1 [0000:21:00] NVIDIA RTX PRO 6000
"""


def _row(size: int, out: str = "0", within: str = "0") -> str:
    return (f" {size:12} {size // 4:12}     float     sum      -1   473.75   17.71   17.71 {out:>6}   473.61   17.71"
            f"   17.71 {within:>6}\n")


@pytest.mark.parametrize(("rows", "bounds", "told"), [
    (_row(8 << 20) + _row(512 << 20, within="12") + _row(2 << 30), 1, "12 values are wrong at 512 MiB"),
    (_row(8 << 20, "3") + _row(512 << 20, "2", "1") + _row(2 << 30), 2, "6 values are wrong at 8 MiB and 1 more size"),
    (_row(2 << 30, "1") + _row(64 << 10, "1") + _row(1000, "N/A", "4"), 6,
     "6 values are wrong at 1000 bytes and 2 more sizes"),
    (_row(64 << 10, "1") * 2, 2, "2 values are wrong at 64 KiB"),
    (_row(8 << 20, "1"), 1, "1 value is wrong at 8 MiB"),
    (_row(8 << 20) + _row(2 << 30, "2"), 5, "5 values are wrong, 2 of them at 2048 MiB"),
    (_row(8 << 20), 12, "12 values are wrong, its rows do not tell at which size"),
    ("", 12, "12 values are wrong, its rows do not tell at which size"),
], ids=["one", "two", "three", "twice the same", "one value", "a row is missing", "no row has them", "no rows"])
def test_the_sizes_with_wrong_values_are_named(tmp_path: Path, rows: str, bounds: int, told: str) -> None:
    (tmp_path / "nccl.txt").write_text(f"{HEAD}{rows}# Out of bounds values : {bounds} FAILED\n"
                                       "# Avg bus bandwidth    : 18.2556\n")
    case = Case(gather(load_import(str(tmp_path)), None, True))
    found = [each for each in judge(case, "preflight") if each.id == "bench-figures"]
    assert [(each.outcome, each.code) for each in found] == [("fail", "wrong-values")]
    assert found[0].text.endswith(told)
