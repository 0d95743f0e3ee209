"""Machines with GPUs that are not there: workers of the real supervisor on the fakes (lab/standins/gpu)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunecheck.host import Unreadable
from tunecheck.model.absence import Absence
from tunecheck.trials.heartbeat import PHASES
from tunecheck.trials.supervisor import Job, Outcome, Supervisor

__all__ = ["LIMITS", "Blind", "Machine", "Machines"]

REPO = Path(__file__).resolve().parents[3]
#: For what is healthy: eight ranks start on two busy cores. Tests of a hang set shorter ones.
LIMITS = {**PHASES, "soak": 3.0}


@dataclass(frozen=True)
class Machine:
    """``cuda`` and ``nccl`` are words of FAKE_CUDA and FAKE_NCCL (lab/standins/gpu). The libraries are in the path of
    the workers only: this process never loads them."""

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


Machines = Callable[..., Machine]


class Blind:
    """A host that tells nothing: there is no NVML here."""

    def nvml(self, seconds: float) -> dict[str, Any]:
        raise Unreadable("nvml", Absence.NOT_PRESENT)
