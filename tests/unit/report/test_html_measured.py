"""What the page makes of measured figures: shares, classes, marks, and where a plot's lines go."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from tests.unit.checks.measurements import measured
from tests.unit.facts.trees import flat
from tests.unit.report.boxes import judged, spec, switches, trialled
from tests.unit.told import told

from tunecheck.model.measurement import Measured
from tunecheck.report.html import html
from tunecheck.report.html.heat import Cell, Heat, Quantity, heat
from tunecheck.report.html.plot import Series, plot
from tunecheck.report.html.reduce import Reduce, reduce
from tunecheck.report.measured_document import measured_document, measured_of


def _heat(data: dict[str, Any], gpus: int = 4, machine: Any = None) -> Heat:
    run = judged(machine or switches(gpus), "p2p", spec(gpus), measured(data, gpus))[1]
    found = heat(measured_of(run.document["measured"]), run.document)
    assert found
    return found


def _cell(quantity: Quantity, a: int, b: int) -> Cell:
    cell = quantity.rows[a][b]
    assert cell
    return cell


def _reduce(data: dict[str, Any], gpus: int = 4) -> Reduce:
    found = reduce(measured(data, gpus))
    assert found
    return found


def test_figures_come_back_from_the_document() -> None:
    hang = {"trial": "allreduce", "ranks": 2, "culprits": ["rank 1"], "bundle": "x"}
    tried = [{"pairs": [[0, 1], [2, 3]], "least": 0.5, "apart": True}]
    found = measured({"hangs": [hang], "failures": {"p2p": "no"}, "wrong": [{"trial": "control", "way": "x"}],
                      "notes": {"at once": tried}}, 3)
    assert measured_of(measured_document(found)) == found
    none = measured_document(measured({"only": True, "figures": {"one way 0-1": float("nan")}}, 2))
    assert measured_of(none).figures == ()


def test_a_cell_has_its_share_of_the_prediction() -> None:
    one_way, both_ways, _ = _heat({"figures": {"one way 1-0": 40.3, "both ways 2-3": 57.0}}).quantities
    assert (_cell(one_way, 0, 1).text, _cell(one_way, 0, 1).share, _cell(one_way, 0, 1).level) == ("56.5", "98 %", 5)
    weak = _cell(one_way, 1, 0)
    assert (weak.share, weak.level, weak.weakest) == ("70 %", 2, True)
    assert one_way.weakest == "GPU1\u2192GPU0 40.3 GB/s"
    facts = {name: told(text) for name, text in weak.facts}
    assert facts["Predicted"] == "57.6 0000:02:00.0-0000:03:00.0 x16 Gen5"
    assert (facts["Measured"], facts["Share"], facts["Samples"]) == ("40.3", "70", "5 1")
    assert told(weak.facts[-1][1]) == "56.5 22.0", "what is told beside it"
    assert [_cell(both_ways, *pair).level for pair in ((2, 3), (3, 2))] == [1, 1], "one figure, both cells"
    assert sum(bool(cell and cell.weakest) for row in both_ways.rows for cell in row) == 2


def test_without_a_prediction_the_best_of_the_class_counts() -> None:
    latency = _heat({"figures": {"latency 0-1": 900, **{f"latency {a}-{b}": 1400 for a in (0, 1) for b in (2, 3)}}}
                    ).quantities[2]
    assert (_cell(latency, 0, 1).share, _cell(latency, 0, 1).level) == ("+26 %", 3)
    share = dict(_cell(latency, 0, 1).facts)["Share"]
    assert told(share) == "+26 715" and "(switch, " in share
    assert _cell(latency, 0, 2).weakest and told(latency.weakest) == "GPU0 \u2192 GPU2 1400 3"
    # Nothing is known of the way: no prediction, and one class.
    hidden = _heat({"figures": {"one way 1-0": 45.0}}, 2, flat()).quantities
    facts = dict(_cell(hidden[0], 1, 0).facts)
    assert told(facts["Share"]) == "80 56.5" and told(facts["Predicted"]) == ""
    only = _cell(hidden[1], 0, 1)
    assert (only.share, only.level) == ("", 0), "one figure says nothing about itself"


def test_wrong_data_is_no_good_figure() -> None:
    one_way, both_ways, _ = _heat({"wrong": [{"trial": "integrity", "way": "x", "a": 1, "b": 0, "size": 4}]}).quantities
    assert (_cell(one_way, 1, 0).wrong, _cell(one_way, 1, 0).level) == ("wrong data", 0)
    assert _cell(one_way, 0, 1).wrong == "" and _cell(both_ways, 0, 1).wrong == "wrong data"
    assert dict(_cell(one_way, 1, 0).facts)["Verified"] == "no"


def test_only_what_was_chosen_and_what_was_not_measured() -> None:
    found = _heat({"figures": {"one way 1-3": None}, "notes": {"chosen": [1, 3], "no_access": [[1, 3]]}})
    assert found.gpus == (1, 3)
    missing = _cell(found.quantities[0], 0, 1)
    assert (missing.text, missing.share, missing.facts[0][0]) == ("?", "", "Measured")
    asked = _cell(_heat({"figures": {"one way 1-3": None}, "notes": {"chosen": [1, 3]}}).quantities[0], 0, 1)
    assert asked.facts[0] != missing.facts[0], "refused, or only not measured"
    assert all(row[0] in ("GPU1\u2192GPU3", "GPU3\u2192GPU1", "GPU1-GPU3") for row in found.listed)


def test_nothing_to_show() -> None:
    document = judged(switches(2), "p2p", spec(2))[1].document
    assert heat(Measured(), document) is None and reduce(Measured()) is None
    only_control = heat(measured({"only": True, "figures": {"control 0-1": 20.0}}, 2), document)
    assert only_control and only_control.quantities == () and len(only_control.listed) == 1
    page = html(judged(switches(2), "p2p", spec(2), measured({"only": True, "figures": {"control 0-1": 20.0}}, 2))[1])
    assert "20.0 GB/s" in page and 'class="heat-of"' not in page


def test_all_reduces_by_ranks_with_their_crossover() -> None:
    found = _reduce({"wrong": [{"trial": "allreduce", "way": "soak sum", "b": 3, "ranks": 4, "arm": "p2p"}]})
    assert [group.ranks for group in found.groups] == [2, 4]
    assert found.groups[0].rows[1] == ("8 KB", "3.5", "4.5", "6.5", "7.2", "0.54", "10.3")
    assert found.groups[0].crossed == "256 KB" and found.groups[0].plot
    assert found.groups[0].plot.cross and told(found.groups[0].plot.cross.text) == "NCCL 256"
    (wrong,) = found.groups[1].wrong
    assert found.groups[0].wrong == () and wrong.startswith("soak sum ") and told(wrong) == "3"
    assert told(found.soaks[0].wrong) == "3" and found.soaks[0].rate == "1000"
    assert found.bus == (("64 MB", "39.0"), ("256 MB", "40.0")) and found.bus_plot
    assert found.nccl == "NCCL 2.28.9 (libnccl.so.2)"


def test_without_nccl_there_is_a_plot_and_no_crossover() -> None:
    figures = {name: None for name in ("nccl 2 8", "nccl 2 8192", "nccl 2 65536", "nccl 2 262144", "nccl 2 1048576",
                                       "soak 2", "bus 2 67108864")}
    found = _reduce({"figures": figures, "notes": {"nccl version": None, "nccl missing": "no libnccl"}}, 2)
    picture = found.groups[0].plot
    assert picture and picture.cross is None and found.groups[0].crossed == ""
    assert [curve.id for curve in picture.curves] == ["nccl-staged", "own"]
    assert found.bus_plot is None, "one point is no line"
    assert found.nccl.startswith("NCCL ") and found.nccl.endswith(": no libnccl") and found.soaks == ()


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("values", [[3.1, 3.2, 9.5], [3.0, 3.0, 3.0], [0.004, 2.0, 250000.0]])
def test_a_plot_stays_in_its_picture(values: list[float], logarithmic: bool) -> None:
    sizes = (8, 256, 1024, 8192, 32768, 65536, 131072, 262144, 1 << 20)[-3:]
    series = [Series("own", name, tuple((size, value, value * 1.3) for size, value in zip(sizes, values, strict=True)))
              for name in ("one", "two", "three")]
    picture = plot("x", "title", "us", series, logarithmic=logarithmic)
    assert picture
    for curve in picture.curves:
        assert all(picture.left <= mark.x <= picture.right and picture.top <= mark.y <= picture.bottom
                   for mark in curve.marks)
        assert all(float(y) >= picture.top - 1 for y in [part.split(" ")[1] for part in curve.band[1:-1].split("L")])
    places = sorted(curve.label.y for curve in picture.curves)
    assert all(later - earlier > 13.9 for earlier, later in pairwise(places)), "no name covers one"
    shown = [tick.x for tick in picture.below if tick.text]
    assert shown[-1] == picture.below[-1].x
    assert all(later - earlier >= 46 for earlier, later in pairwise(shown))
    assert all(picture.top <= tick.y <= picture.bottom for tick in picture.beside) and 2 <= len(picture.beside) <= 12


def test_the_page_of_eight_gpus_stays_small() -> None:
    """What a check means is the same on every page, and grows with the documentation: it is counted for itself."""
    page = html(trialled(8))
    about = re.findall(r'<details class="about">.*?</details>', page, re.DOTALL)
    assert len(about) > 20 and max(map(len, about)) < 8_000
    assert len(page) - sum(map(len, about)) < 270_000
