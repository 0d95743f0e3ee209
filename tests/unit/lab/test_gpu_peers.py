"""What NVIDIA's programs write, read for the benchmark of the trials."""

from __future__ import annotations

import json
import sys
import time

import pytest
from lab.bench.lines import at_most, shown, within
from lab.gpu_peers import PeerError, all_reduce_rows, matrices, run

ROW = "     8192     4096     half     sum     -1     6.51    1.26    1.26     {}     6.40    1.28    1.28     0\n"


def _said(*tests: dict[str, object]) -> str:
    return "a warning\n" + json.dumps({"nvbandwidth": {"testcases": list(tests), "version": "v0"}})


def test_matrices() -> None:
    one = {"name": "one", "bandwidth_matrix": [["N/A", "396.1"], ["395.9", "N/A"]]}
    total = {"name": "both", "bandwidth_matrix": [["N/A", "1"], ["2", "N/A"], ["N/A", "3"], ["4", "N/A"],
                                                  ["N/A", "783.5"], ["783.6", "N/A"]]}
    waived = {"name": "waived", "status": "Waived"}
    assert matrices(_said(one, total, waived)) == {"one": [[None, 396.1], [395.9, None]],
                                                   "both": [[None, 783.5], [783.6, None]]}


@pytest.mark.parametrize("said", ["", "{", "{}", '{"nvbandwidth": {"testcases": [{"bandwidth_matrix": [["x"]]}]}}',
                                  '{"nvbandwidth": {"testcases": [{"bandwidth_matrix": 3}]}}'])
def test_no_matrices(said: str) -> None:
    with pytest.raises(PeerError, match="cannot be read"):
        matrices(said)


def test_rows() -> None:
    said = "# nccl-tests\n#  size  count\n" + ROW.format(0) + "# Avg bus bandwidth    : 1.2\n"
    assert all_reduce_rows(said) == {8192: (6.51, 1.26)}


@pytest.mark.parametrize(("said", "why"), [(ROW.format(3), "wrong sums"), (ROW.format("x"), "cannot be read"),
                                           ("# nothing\n", "wrote no table")])
def test_no_rows(said: str, why: str) -> None:
    with pytest.raises(PeerError, match=why):
        all_reduce_rows(said)


def test_a_program_that_does_not_end_is_killed_with_its_children() -> None:
    began = time.monotonic()
    with pytest.raises(PeerError, match="not done within 1 s"):
        run(["sh", "-c", "sleep 100 & sleep 100"], 1)
    assert time.monotonic() - began < 50


def test_a_program_that_fails_says_why() -> None:
    with pytest.raises(PeerError, match="ended with 3: no device"):
        run([sys.executable, "-c", "import sys; print('no device', file=sys.stderr); sys.exit(3)"], 60)
    with pytest.raises(PeerError, match="No such file"):
        run(["/nonexistent/nvbandwidth"], 60)


def test_lines() -> None:
    assert within("a", "copy", 99.1, 100.0, "GB/s", 0.01).good and not within("a", "copy", 98.9, 100, "", 0.01).good
    assert within("a", "copy", 99.0, None, "GB/s", 0.01).good is None
    assert at_most("b", "own", 3.0, "us", 0.6, 6.0, ratio=True).good
    assert not at_most("b", "own", 4.0, "us", 0.6, 6.0, ratio=True).good
    assert at_most("a", "wall", 3.9, "s", 4.0, 7.3).good and at_most("a", "wall", 3.9, "s", None).good is None
    text = shown(within("a", "copy", 396.0, 400.0, "GB/s", 0.005, "a note"))
    assert text.split() == ["a", "copy", "396", "400", "GB/s", "0.9900", "within", "0.5", "%", "MISSED", "a", "note"]
    assert "not judged" in shown(within("a", "copy", 1.0, None, "", 0.01))
