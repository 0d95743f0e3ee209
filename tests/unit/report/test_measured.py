"""What a trial measured, on terminals of every width and as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest
from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import below_one_switch, frozen, full
from tests.unit.report.closed import closed

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
    found = measured({"figures": {"one way 1-0": 52.34, "latency 0-1": 730}}, 2)
    lines = p2p_lines(found, _topology(2), 80)
    assert lines[:4] == [
        "GB/s one way        GB/s both ways        ns per load",
        "      GPU0  GPU1           GPU0   GPU1          GPU0  GPU1",
        "GPU0     -  56.5    GPU0      -  107.0    GPU0     -   730*",
        "GPU1  52.3*    -    GPU1  107.0      -    GPU1   715     -",
    ]
    assert lines[4] == "* the weakest"
    assert "without peer access: 22.0 GB/s one way" in lines


@pytest.mark.parametrize("gpus", [2, 3, 4, 8])
@pytest.mark.parametrize("width", [0, 20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(gpus: int, width: int) -> None:
    lines = p2p_lines(measured({"figures": {"one way 1-0": 52.1, "both ways 0-1": 99.0}}, gpus), _topology(gpus), width)
    tables = lines[:lines.index("* the weakest")]
    assert not width or max(map(len, tables)) <= width
    # What is measured once for both directions stands in both cells of a matrix. No star where all are alike.
    assert "\n".join(tables).count("52.1*") == 1
    assert "\n".join(tables).count("*") == (1 if gpus == 2 else 3)


def test_eight_gpus_in_80_columns_are_three_matrices_below_each_other() -> None:
    lines = p2p_lines(measured({}, 8), _topology(8), 80)
    titles = [line for line in lines if line.startswith(("GB/s", "ns"))]
    assert titles == ["GB/s one way", "GB/s both ways", "ns per load"]
    assert "* the weakest" not in lines, "all are alike"
    assert "ring: 448.0 GB/s in sum over 8 flows" in lines


def test_a_cell_that_was_not_measured_is_a_question_mark() -> None:
    lines = p2p_lines(measured({"figures": {"one way 0-2": None}}, 3), _topology(3), 0)
    assert "?" in lines[2]


def test_nothing_measured() -> None:
    assert p2p_lines(Measured(), _topology(2)) == []
    assert allreduce_lines(Measured()) == []


def test_the_table_of_all_reduces() -> None:
    lines = allreduce_lines(measured({"figures": {"nccl 2 8": None}}, 2))
    assert lines[:3] == [
        "2 ranks, us  own p50   p99  NCCL p50   p99  own/NCCL  NCCL, P2P off",
        "8 B              3.2   4.1         -     -         -              -",
        "8 KB             3.5   4.5       6.5   7.2      0.54           10.3",
    ]
    assert lines[-3:] == [
        "NCCL is faster from 256 KB on: set that as the limit of your engine's own all-reduce",
        "bus bandwidth of 2 ranks in GB/s: 64 MB 39.0, 256 MB 40.0",
        "soak of 2 ranks: 60000 steps in 60 s",
    ]


def test_every_group_has_its_table_and_a_narrow_terminal_gets_lines() -> None:
    lines = allreduce_lines(measured({}, 4), 40)
    assert [line for line in lines if line.endswith("us:")] == ["2 ranks, us:", "4 ranks, us:"]
    assert "8 KB: own 3.5 (p99 4.5), NCCL 6.5" in lines


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
