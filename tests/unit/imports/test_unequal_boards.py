"""Boards of one model in one host, by nvidia-smi -q alone: what one of them has shows what the others could have."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import findings, snap

_HEAD = "==============NVSMI LOG==============\n\nDriver Version                  : 595.58.03\nAttached GPUs : %d\n"
_GPU = ("GPU 00000000:%02X:00.0\n    Product Name : %s\n    PCI\n        Device Id : 0x233010DE\n"
        "        GPU Link Info\n            PCIe Generation\n                Max : %s\n                Current : 1\n%s"
        "            Link Width\n                Max : %s\n                Current : %s\n")
_H100, _H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"


def _board(name: str = _H100, lanes: str = "16x", now: str = "", gen: str = "5", device: str = "5") -> tuple[str, ...]:
    return name, gen, f"                Device Max : {device}\n" if device else "", lanes, now or lanes


def _report(*boards: tuple[str, ...]) -> str:
    return _HEAD % len(boards) + "".join(_GPU % (number + 1, *board) for number, board in enumerate(boards))


@pytest.mark.parametrize(("boards", "found"), [
    ([_board(), _board(lanes="8x"), _board()], [("unknown", ""), ("warn", "x16"), ("unknown", "")]),
    ([_board(), _board(lanes="8x"), _board(lanes="4x")], [("unknown", ""), ("warn", "x16"), ("warn", "x16")]),
    ([_board(lanes="8x"), _board(lanes="8x")], [("unknown", "")] * 2),
    ([_board(), _board(_H200, lanes="8x")], [("unknown", "")] * 2),
    ([_board(), _board(now="8x")], [("unknown", ""), ("fail", "x16")]),
    ([_board(), _board(lanes="8x", now="4x")], [("unknown", ""), ("fail", "x8")]),
    ([_board(lanes="99x"), _board(lanes="8x")], [("unknown", "")] * 2),
    ([_board("N/A"), _board("N/A", lanes="8x")], [("unknown", "")] * 2),
], ids=["one", "two", "all alike", "another model", "lost lanes", "lost of few", "senseless", "no name"])
def test_lanes_of_equal_boards(tmp_path: Path, boards: list[tuple[str, ...]], found: list[tuple[str, str]]) -> None:
    told = findings(snap(tmp_path, _report(*boards)), "link-width")
    assert [(each.outcome, each.expected if each.outcome != "unknown" else "") for each in told] == found
    assert all(each.code == "fewer-lanes-than-known" and "GPU0" in each.text for each in told if each.outcome == "warn")


@pytest.mark.parametrize(("boards", "found"), [
    ([_board(device=""), _board(device="", gen="3")], ["unknown", "warn"]),
    ([_board(), _board(gen="3")], ["unknown", "warn"]),
    ([_board(device="", gen="3"), _board(device="", gen="3")], ["unknown", "unknown"]),
    ([_board(device=""), _board(_H200, device="", gen="3")], ["unknown", "unknown"]),
], ids=["an older driver", "the board tells it", "all alike", "another model"])
def test_generation_of_equal_boards(tmp_path: Path, boards: list[tuple[str, ...]], found: list[str]) -> None:
    told = findings(snap(tmp_path, _report(*boards)), "link-speed")
    assert [each.outcome for each in told] == found
    assert all(each.code == "slower-than-board" for each in told if each.outcome == "warn")


def test_a_worse_link_is_no_better_without_its_peers(tmp_path: Path) -> None:
    told = findings(snap(tmp_path, _report(_board(lanes="8x"))), "link-width")
    assert [(each.outcome, each.code) for each in told] == [("unknown", "own-link-only")]
