"""The power is cut while a play works on a box. One VM for each of two boot loaders, in this order; `lab.bench.matrix`
does the same in every cell of docs/boot-matrix.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lab.matrix import cells, columns, power_cuts
from lab.matrix.power_cuts import PHASES
from lab.matrix.seen import Bench

pytestmark = pytest.mark.long
POINTS = [(f"{name}-{number}", point) for name, phase in PHASES.items() for number, point in enumerate(phase.points, 1)]


@pytest.fixture(scope="module", params=["bios-grub", "btrfs-boot-next"])
def bench(
    request: pytest.FixtureRequest, lab_image: Any, tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Bench]:  # fmt: skip
    """The box that these tests work on, one for each boot loader."""
    with cells.box(request.param, tmp_path_factory.mktemp("box")) as box:
        made = Bench(box, cells.CELLS[request.param])
        made.first = made.settled = made.all()
        yield made


@pytest.mark.parametrize(("mark", "point"), [
    pytest.param(mark, point, id=f"{mark}: {point.task} +{point.seconds} s") for mark, point in POINTS])
def test_the_box_comes_back_on_what_was_proven(
    bench: Bench, mark: str, point: power_cuts.Point, record_property: Any,
) -> None:  # fmt: skip
    record_property("seconds until it was back on a proven configuration", power_cuts.cut_at(bench, mark, point))


def test_the_next_play_goes_on_to_its_end(bench: Bench) -> None:
    power_cuts.goes_on(bench, "behind-the-cuts")


def test_rollback_restores_every_boot_file(bench: Bench) -> None:
    found = columns.run(bench, "rollback")
    assert not found["missed"], found["missed"]
