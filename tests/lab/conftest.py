"""Fixtures that boot lab boxes. Every box ends with its test, also on failure; a failed one keeps its console.

The tests of two boxes run beside each other on two processors. There a box with one processor takes less of their time:
two boxes were up after 40 s, with two processors each after 47 s, and the same commands took 9.1 and 10.6 s. Alone, a
first provision.yml took QEMU 198 and 214 s of CPU, a second look at the command line 13.5 and 17.5 (2026-11-30)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from lab.errors import LabError, NoMeansError
from tests.lab.box import Box

from lab import image, layer, needs, recipe, uefi

_HERE = Path(__file__).parent
_numbers = itertools.count(1)
_failed = pytest.StashKey[bool]()
MakeBox = Callable[..., Box]
LayerImage = Callable[[recipe.Layer], Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder: `-m "not lab"` leaves the slow ones out."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember failures where the fixtures see them at teardown."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]
        for node in item.listchain():
            node.stash[_failed] = True
    return report


@pytest.fixture(scope="session")
def lab_image() -> Path:
    """The image, built if need be (about two minutes); skips where this machine has no means for a lab."""
    try:
        return image.build() if not image.path().exists() else _checked()
    except NoMeansError as error:
        pytest.skip(f"no lab here: {error}")
    except LabError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def serving_image(lab_image: Path) -> Path:
    """The image with an engine, its model and stand-in GPUs, built if need be."""
    pytest.importorskip("xllamacpp", reason="no engine: pip install xllamacpp")
    try:
        return layer.build(recipe.SERVING)
    except NoMeansError as error:
        pytest.skip(f"no lab here: {error}")
    except LabError as error:
        pytest.fail(str(error), pytrace=False)


def _checked() -> Path:
    needs.check(needs.RUN)
    return image.path()


def _factory(stack: ExitStack, node: pytest.Item | pytest.Collector, tmp: Path) -> MakeBox:
    def make(
        layout: str = "switch",
        iommu: str = "intel",
        spec_overrides: dict[str, Any] | None = None,
        base: Path | None = None,
        watchdog: bool = False,
        firmware: str = "bios",
        uuid: str = "",
        cpus: int = 1,
        **variables: Any,
    ) -> Box:
        number = next(_numbers)
        folder = tmp / f"box{number}"
        folder.mkdir()
        box = Box.start(f"t{os.getpid()}-{number}", folder, layout=layout, iommu=iommu, base=base, watchdog=watchdog,
                        firmware=firmware, uuid=uuid, cpus=cpus)
        stack.callback(lambda: box.close(keep_console=node.stash.get(_failed, False)))
        box.set_spec(spec_overrides, **variables)
        box.wait()
        return box

    return make


@pytest.fixture(scope="session")
def drivers_image(lab_image: Path) -> Path:
    """The image with DKMS, compiler, headers and podman (40 s on top of the first); needs root to be unpacked."""
    return _layer(recipe.DRIVERS)


@pytest.fixture(scope="session")
def dracut_image(lab_image: Path) -> Path:
    """The image whose initramfs dracut makes (half a minute on top of the first); needs root to be unpacked."""
    return _layer(recipe.DRACUT)


@pytest.fixture(scope="session")
def secure_boot_image(lab_image: Path) -> Path:
    """The image with Debian's signed shim and GRUB, and with DKMS (two to five minutes on top of the first); needs root
    to be unpacked."""
    return _layer(recipe.SECURE_BOOT, "secure-boot")


@pytest.fixture(scope="session")
def uefi_image(lab_image: Path) -> LayerImage:
    """`uefi_image(layer)` is an image that boots by UEFI alone (about a minute on top of the first); needs root to be
    unpacked."""
    return lambda layer: _layer(layer, "uefi")


def _layer(wanted: recipe.Layer, firmware: str = "bios") -> Path:
    if os.geteuid() != 0:
        pytest.skip("no root: the tree of an image can't be unpacked")
    try:
        uefi.check(firmware)
        return layer.build(wanted)
    except NoMeansError as error:
        pytest.skip(f"no lab here: {error}")
    except LabError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def box(lab_image: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeBox]:
    """`box(layout=..., spec_overrides={...}, base=image, firmware="uefi", **variables)` boots a VM for one test."""
    with ExitStack() as stack:
        yield _factory(stack, request.node, tmp_path)


@pytest.fixture(scope="module")
def shared_box(
    lab_image: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeBox]:
    """As `box`, but the VMs live as long as the module: for tests that follow each other on one box."""
    with ExitStack() as stack:
        yield _factory(stack, request.node, tmp_path_factory.mktemp("shared"))
