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
CUTS = [(name, number) for name, phase in PHASES.items() for number in phase.numbers()]


@pytest.fixture(scope="module", params=["bios-grub", "btrfs-boot-next"])
def bench(
    request: pytest.FixtureRequest, lab_image: Any, tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Bench]:  # fmt: skip
    """The box that these tests work on, one for each boot loader, with what a cut at each point leaves of it."""
    with cells.box(request.param, tmp_path_factory.mktemp("box")) as box:
        made = Bench(box, cells.CELLS[request.param])
        made.begin()
        assert power_cuts.take(made) is None
        yield made


@pytest.mark.parametrize(("name", "number"), [
    pytest.param(name, number, id=f"{name}: {point.task} +{point.seconds} s")
    for name, number in CUTS for point in [PHASES[name].points[number]]])
def test_the_box_comes_back_on_what_was_proven(
    bench: Bench, name: str, number: int, record_property: Any,
) -> None:  # fmt: skip
    phase = PHASES[name]
    seconds = power_cuts.returns(bench, f"{name}-{number}", phase.points[number])
    record_property("seconds until it was back on a proven configuration", seconds)
    if number == phase.then:
        power_cuts.goes_on(bench)


def test_rollback_restores_every_boot_file(bench: Bench) -> None:
    found = columns.run(bench, "rollback")
    assert not found["missed"], found["missed"]
