"""``tunecheck allreduce``: do all-reduces come to an end, are their sums right, and how long do they take?"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import click

from ..app.run_trial import check_library, trial, trial_options
from ..errors import UsageError

__all__ = ["allreduce", "seconds"]

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds(text: str) -> float:
    """``90``, ``60s``, ``10m`` as seconds."""
    found = re.fullmatch(r"(\d{1,6})([smh]?)", text)
    if not found:
        raise UsageError(f"--soak {text}: expected a time, as in --soak 60s, 10m or 0")
    return float(found.group(1)) * _UNITS[found.group(2)]


@click.command()
@click.option("--soak", default="60s", metavar="TIME", help="How long to repeat mixed bursts (10m); 0: not at all.")
@click.option("--nccl", "nccl_path", metavar="FILE", help="The libnccl.so.2 to measure; default: an installed one.")
@trial_options
def allreduce(soak: str, nccl_path: str | None, **given: Any) -> None:
    """Measure all-reduces over every subset size, then soak.

    One process per GPU, our own kernel and NCCL. Exit code 4: one hung; the GPUs were examined afterwards."""
    from ..trials.allreduce import allreduce as measure

    soaked = seconds(soak)
    check_library(nccl_path)
    trial("allreduce", partial(measure, soak_seconds=soaked, nccl_path=nccl_path), **given)
