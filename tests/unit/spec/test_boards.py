"""Board data: no value without a dated source, and every board that a profile is about is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from tunecheck.spec import boards, profile_files
from tunecheck.spec.boards import Board, board, board_named

DATA = tomllib.loads((Path(boards.__file__).parent / "boards.toml").read_text(encoding="utf-8"))
_KINDS = {"name": str, "driver_name": str, "p2p": str, "architecture": str}


@pytest.mark.parametrize("ids", DATA)
def test_every_value_has_a_dated_source(ids: str) -> None:
    values = {key: value for key, value in DATA[ids].items() if key != "sources"}
    assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", ids)
    assert set(values) == set(DATA[ids]["sources"]), "values and sources must name the same keys"
    for key, source in DATA[ids]["sources"].items():
        assert re.search(r"\b20\d\d-\d\d", source), f"{ids} {key}: {source}"
    for key, value in values.items():
        assert type(value) is _KINDS.get(key, int), f"{ids} {key}"


@pytest.mark.parametrize("ids", DATA)
def test_the_numbers_fit_each_other(ids: str) -> None:
    found = board(ids)
    assert found is not None
    powers = [watts for watts in (found.power_min_w, found.power_default_w, found.power_max_w) if watts is not None]
    assert powers == sorted(powers)
    assert found.bar1_mib is None or found.memory_mib is None or found.bar1_mib >= found.memory_mib
    assert found.p2p in (None, "stock", "patched driver only", "nvlink")
    assert {field.name for field in fields(Board)} >= set(DATA[ids]) - {"sources"}


@pytest.mark.parametrize("name", profile_files.names())
def test_every_board_of_a_profile_is_known(name: str) -> None:
    for ids in profile_files.load(name).values["accelerators"]["pci_ids"]:
        assert board(ids), ids


def test_an_unknown_board() -> None:
    assert board("10de:ffff") is None
    assert board("") is None


def test_a_board_by_the_name_that_the_driver_gives_it() -> None:
    names = [data["driver_name"] for data in DATA.values() if "driver_name" in data]
    assert len(set(names)) == len(names)
    assert board_named("NVIDIA H200") == board("10de:2335") == board_named(" nvidia h200 ")
    assert board_named("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition") == board("10de:2bb4")


@pytest.mark.parametrize("name", ["NVIDIA B200", "NVIDIA H200 NVL", "NVIDIA RTX PRO 6000", "H200", "", "None",
                                  "NVIDIA RTX PRO 6000 Blac...", "NVIDIA GeForce RTX 5090 Laptop GPU"])
def test_a_name_of_several_boards_or_a_part_of_one_is_none(name: str) -> None:
    assert board_named(name) is None


def test_topo_does_not_read_the_file_where_the_driver_names_its_boards() -> None:
    code = "import sys, tunecheck.facts.snapshot; sys.exit('tomllib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
