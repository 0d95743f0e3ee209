"""The fake libraries, compiled once, and machines that run on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.build import build
from tests.unit.trials.fake_machine import Machine, Machines


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fakes")
    build("cuda.c", "libcuda.so.1", folder)
    build("nccl.c", "libnccl.so.2", folder)
    build("nvml.c", "libnvidia-ml.so.1", folder)
    return folder


@pytest.fixture
def machine(libraries: Path, tmp_path: Path) -> Machines:
    return lambda *gpus, **words: Machine(libraries, tmp_path, *gpus, **words)
