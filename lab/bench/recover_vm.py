"""The lab VM in which lab.bench.recover --vm makes its faults, provisioned by site.yml until it serves."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.lab.box import Box, serving

from lab import layer, recipe
from lab.progress import progress

__all__ = ["box"]

#: The VM's own part of this machine: other work goes first.
_NICE = 5
#: The day's first restart waits for nothing, and a trial forgets those before it; so a limit of a day is never met.
_WATCH = {"on_stall": "restart", "restarts_per_day": 24}


@contextlib.contextmanager
def box(folder: Path) -> Iterator[Box]:
    """A VM that serves with the role's own watch; it ends with the block, and with this process however that ends.
    SystemExit with the play's output where that fails."""
    os.nice(_NICE)
    image = layer.build(recipe.SERVING)
    found = Box.start(f"recover-{os.getpid()}", folder, base=image)
    try:
        found.set_spec({"watch": _WATCH}, **serving(image))
        found.wait()
        progress("site.yml, to a box that serves")
        done = found.playbook(timeout=3600)
        if done.rc != 0:
            raise SystemExit(str(done))
        progress(f"serves after {done.seconds:.0f} s")
        yield found
    finally:
        found.close(keep_console=False)
