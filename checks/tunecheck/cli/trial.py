"""``tunecheck trial --in-container``: the same trials inside the inference image, whose NCCL is the engine's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..app.run_trial import trial as run_trial
from ..app.run_trial import trial_options
from .allreduce import seconds

if TYPE_CHECKING:
    from ..model.measurement import Measured

__all__ = ["trial"]


@click.command()
@click.option("--in-container", "image", metavar="IMAGE", required=True,
              help="The image, by name@sha256:... or its 64-digit id; it is never pulled.")
@click.option("--runtime", type=click.Choice(["podman", "docker"]), help="Default: podman, else docker.")
@click.option("--trial", "which", type=click.Choice(["p2p", "allreduce", "both"]), default="both", show_default=True)
@click.option("--soak", default="60s", metavar="TIME", help="As of allreduce.")
@click.option("--nccl", "nccl_path", metavar="FILE", help="A libnccl.so.2 inside the image; default: an installed one.")
@trial_options
def trial(image: str, runtime: str | None, which: str, soak: str, nccl_path: str | None, **given: Any) -> None:
    """Run p2p and allreduce inside the inference image.

    With the image's own Python (3.10 or later) and NCCL, without network. Watched from outside; no container is left
    behind. Exit code 4: one hung; the GPUs were examined afterwards."""
    from ..host.live import LiveHost
    from ..trials.containers.container_trial import in_container
    from ..trials.containers.runtimes import find_image, find_runtime

    measure = _measure(which, seconds(soak), nccl_path)
    door = LiveHost()
    try:
        by = find_runtime(door, runtime)
        found = find_image(door, by, image)
    finally:
        door.close()
    run_trial("trial" if which == "both" else which, in_container(measure, by, found), **given)


def _measure(which: str, soak_seconds: float, nccl_path: str | None) -> Callable[..., Measured]:
    if which == "p2p":
        from ..trials.p2p import p2p

        return p2p
    from ..trials.allreduce import allreduce
    from ..trials.full_trial import everything

    return partial(allreduce if which == "allreduce" else everything, soak_seconds=soak_seconds, nccl_path=nccl_path)
