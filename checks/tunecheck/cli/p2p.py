"""``tunecheck p2p``: is traffic between the GPUs fast, correct and complete?"""

from __future__ import annotations

from typing import Any

import click

from ..app.run_trial import trial, trial_options

__all__ = ["p2p"]


@click.command()
@trial_options
def p2p(**given: Any) -> None:
    """Measure every pair of GPUs: data, bandwidth, latency.

    Takes seconds. Uses up to 1 GiB of each GPU. Exit code 4: a copy hung; the GPUs were examined afterwards."""
    from ..trials.p2p import p2p as measure

    trial("p2p", measure, **given)
