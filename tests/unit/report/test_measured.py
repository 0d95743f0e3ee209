"""What a trial measured, on terminals of every width and as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest
from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import below_one_switch, frozen, full
from tests.unit.report.closed import closed
from tests.unit.report.drawn import drawn
from tests.unit.told import told

from tunecheck.app.schemas import MEASURED
from tunecheck.facts.pci.topology import Topology
from tunecheck.facts.snapshot import gather
from tunecheck.model.measurement import Measured
from tunecheck.report.measured import allreduce_lines, p2p_lines
from tunecheck.report.measured_document import measured_document

_HANG = {"trial": "allreduce", "phase": "soak", "ranks": 2, "aftermath": "wedged", "culprits": ["rank 1"]}
_WRONG = {"trial": "integrity", "way": "engine write", "a": 0, "b": 1, "size": 4, "words": 1, "offset": 0}


def _topology(gpus: int) -> Topology:
    return gather(full(below_one_switch(gpus)).host(), frozen().spec, False).topology


def test_two_gpus_side_by_side_with_the_weakest_marked() -> None:
    lines = drawn()["figures/two GPUs"]
    heads, columns, *rows = lines
    assert heads.count("GB/s") == 2 and heads.count("ns") == 1 and columns.split() == ["GPU0", "GPU1"] * 3
    assert [row.split() for row in rows[:2]] == [
        ["GPU0", "-", "56.5", "GPU0", "-", "107.0", "GPU0", "-", "730*"],
        ["GPU1", "52.3*", "-", "GPU1", "107.0", "-", "GPU1", "715", "-"]]
    assert len({len(line) for line in (columns, rows[1])}) == 1 and rows[0] == f"{rows[0][:-4]}730*"
    assert rows[2].startswith("* ") and [told(line) for line in rows[3:]] == ["56.5", "22.0", "1.29"]


@pytest.mark.parametrize("gpus", [2, 3, 4, 8])
@pytest.mark.parametrize("width", [0, 20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(gpus: int, width: int) -> None:
    lines = p2p_lines(measured({"figures": {"one way 1-0": 52.1, "both ways 0-1": 99.0}}, gpus), _topology(gpus), width)
    tables = lines[:next(number for number, line in enumerate(lines) if line.startswith("* "))]
    assert not width or max(map(len, tables)) <= width
    # What is measured once for both directions stands in both cells of a matrix. No star where all are alike.
    assert "\n".join(tables).count("52.1*") == 1
    assert "\n".join(tables).count("*") == (1 if gpus == 2 else 3)


def test_eight_gpus_in_80_columns_are_three_matrices_below_each_other() -> None:
    lines = p2p_lines(measured({}, 8), _topology(8), 80)
    titles = [line.split()[0] for line in lines if line.startswith(("GB/s", "ns"))]
    assert titles == ["GB/s", "GB/s", "ns"]
    assert not [line for line in lines if line.startswith("* ")], "all are alike"
    assert [line.partition(": ")[0] for line in lines if told(line) == "448.0 8"] == ["ring", "all pairs"]


def test_a_cell_that_was_not_measured_is_a_question_mark() -> None:
    lines = p2p_lines(measured({"figures": {"one way 0-2": None}}, 3), _topology(3), 0)
    assert "?" in lines[2]


def test_nothing_measured() -> None:
    assert p2p_lines(Measured(), _topology(2)) == []
    assert allreduce_lines(Measured()) == []


def test_the_table_of_all_reduces() -> None:
    lines = drawn()["all-reduces/two ranks"]
    assert told(lines[0]) == "2 p50 p99 NCCL p50 p99 NCCL NCCL P2P"
    assert [line.split() for line in lines[1:3]] == [
        ["8", "B", "3.2", "4.1", "-", "-", "-", "-"], ["8", "KB", "3.5", "4.5", "6.5", "7.2", "0.54", "10.3"]]
    assert len(set(map(len, lines[:6]))) == 1, "columns"
    assert [told(line) for line in lines[6:]] == ["NCCL 256", "2 64 39.0 256 40.0", "2 60000 60"]


def test_every_group_has_its_table_and_a_narrow_terminal_gets_lines() -> None:
    lines = drawn()["all-reduces/four ranks on a narrow terminal"]
    assert [told(line) for line in lines if line.endswith("us:")] == ["2", "4"]
    assert [told(line) for line in lines].count("8 3.5 p99 4.5 NCCL 6.5") == 2


@pytest.mark.parametrize("data", [{}, {"only": True}, {"hangs": [_HANG], "wrong": [_WRONG], "failures": {"p2p": "no"}},
                                  {"notes": {"no_access": [[0, 1]], "seconds": 1.5, "odd": {1}}}])
def test_the_document_fits_its_schema(data: dict[str, object]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(MEASURED)
    document = measured_document(measured(data, 4))
    jsonschema.validate(json.loads(json.dumps(document, allow_nan=False)), closed(MEASURED))


def test_a_senseless_number_is_null() -> None:
    found = measured({"only": True, "figures": {"one way 0-1": 1.0}}, 2)
    odd = dataclasses.replace(found.figures[0], value=float("nan"), p99=float("inf"), median=56.123456789)
    figure = measured_document(Measured((odd,)))["figures"][0]
    assert (figure["value"], figure["p99"], figure["median"]) == (None, None, 56.1235)
