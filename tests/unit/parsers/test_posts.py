"""Parsers of pasted outputs: any text gives an answer or a ValueError, and damage never makes a machine of another."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.fuzz_posts import PARSERS, SEEDS, damaged
from tests.unit.imports.test_fuzz import _RUNS

from tunecheck.parsers.nvidia.bench_grids import parse_grids
from tunecheck.parsers.nvidia.nccl_log import parse_nccl
from tunecheck.parsers.pci.lspci_tree import parse_tree


@pytest.mark.parametrize("name", [name for name, _ in PARSERS])
def test_no_text_breaks_a_parser(name: str) -> None:
    """A few hundred here; tests/fuzz/fuzz_posts.py runs as long as it is asked to."""
    parse, draw = dict(PARSERS)[name], random.Random(name)
    for number in range(200):
        text = damaged(draw, SEEDS[number % len(SEEDS)])
        try:
            parse(text)
        except ValueError as error:
            assert str(error)


@_RUNS
@given(text=st.text())
def test_any_text(text: str) -> None:
    for name, parse in PARSERS:
        try:
            assert parse(text) is not None or name in ("smi_table", "nvcc")
        except ValueError as error:
            assert str(error)


TREE = ("-[0000:00]-+-00.0  Intel\n           +-01.0-[01-04]----00.0-[02-04]--+-00.0-[03]----00.0  NVIDIA GH100\n"
        "           |                               \\-01.0-[04]----00.0  NVIDIA GH100\n           \\-1f.0  Intel\n")


def test_a_drawing_that_ends_early_is_cut_and_one_that_was_wrapped_is_refused() -> None:
    whole = parse_tree(TREE)
    assert not whole.cut and [device.bdf for device in whole.devices if device.gpu] == ["0000:03:00.0", "0000:04:00.0"]
    for end in range(1, TREE.count("\n")):
        lines = TREE.split("\n")[:end]
        assert parse_tree("\n".join(lines) + "\n").cut
    with pytest.raises(ValueError, match="begins where no branch is open"):
        parse_tree(TREE.replace("           |     ", "|     "))


GRID = ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1      2 \n"
        "     0 1502.40  52.24  52.1 \n     1  52.35 1525.93  52.2 \n     2  52.3  52.1 1500.0 \n")


def test_a_table_without_its_last_row_is_cut() -> None:
    assert not parse_grids(GRID).grids["one way"].cut
    assert parse_grids(GRID[:GRID.rindex("     2")]).grids["one way"].cut
    assert parse_grids(GRID.replace("52.35 1525.93", "52.35")).grids["one way"].cut


def test_a_log_of_nccl_is_whole_only_with_every_channel_of_every_rank() -> None:
    lines = ["box:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2",
             "box:1:1 [0] NCCL INFO 2 coll channels",
             *(f"box:1:1 [{a}] NCCL INFO Channel 0{channel}/0 : {a}[{a}] -> {1 - a}[{1 - a}] via P2P/IPC"
               for a in (0, 1) for channel in (0, 1))]
    assert parse_nccl("\n".join(lines)).whole
    for lost in range(len(lines)):
        left = parse_nccl("\n".join(lines[:lost] + lines[lost + 1:]))
        assert not left.whole or "coll channels" in lines[lost]
