"""Machines with GPUs that are not there: workers of the real supervisor on the fake libcuda and libnccl."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.build import build
from tunecheck.trials.supervisor import Job, Outcome, Supervisor

REPO = Path(__file__).resolve().parents[3]
#: Long enough for a busy machine with two cores, short enough for a test.
LIMITS = {"start": 20.0, "driver": 2.0, "memory": 2.0, "join": 2.0, "verify": 2.0, "measure": 5.0, "soak": 1.5}


@dataclass(frozen=True)
class Machine:
    """``cuda`` and ``nccl`` are words of FAKE_CUDA and FAKE_NCCL (tests/fakes). The libraries are in the path of the
    workers only: this process never loads them."""

    libraries: Path
    folder: Path
    gpus: int = 2
    cuda: str = ""
    nccl: str = ""

    @property
    def environment(self) -> dict[str, str | None]:
        return {"LD_LIBRARY_PATH": str(self.libraries), "FAKE_FOLDER": str(self.folder), "CUDA_VISIBLE_DEVICES": None,
                "FAKE_CUDA": f"gpus={self.gpus} {self.cuda}", "FAKE_NCCL": self.nccl, "TUNECHECK_NCCL": None,
                "PYTHONPATH": os.pathsep.join([str(REPO / "checks"), str(REPO)])}

    def run(self, job: str, workers: int = 1, limits: Mapping[str, float] = LIMITS, **parameters: Any) -> Outcome:
        given = {"ordinals": list(range(self.gpus)), "folder": str(self.folder), **parameters}
        jobs = [Job(f"tunecheck.trials.{job}:run", given, self.environment)] * workers
        return Supervisor(limits).run(jobs, 60)

    def copies(self, **parameters: Any) -> Outcome:
        return self.run("copies", size=1 << 20, **parameters)

    def ranks(self, sizes: Sequence[int] = (8,), **parameters: Any) -> Outcome:
        return self.run("reduce", self.gpus, sizes=list(sizes), large=[], **parameters)


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fakes")
    build("cuda.c", "libcuda.so.1", folder)
    build("nccl.c", "libnccl.so.2", folder)
    return folder


@pytest.fixture
def machine(libraries: Path, tmp_path: Path) -> Callable[..., Machine]:
    return lambda *gpus, **words: Machine(libraries, tmp_path, *gpus, **words)
