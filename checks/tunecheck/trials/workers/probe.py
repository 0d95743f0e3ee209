"""Is every GPU usable? A fresh context on each, a kernel, a checked copy between each two neighbours.

The question after a stall: a GPU that still shows 100 % may be fine (a latch that a new context clears) or gone.
"""

from __future__ import annotations

from .cuda import Cuda
from .peers import Peers, seed_of
from .worker import Context

__all__ = ["run"]

_BYTES = 1 << 20


def run(context: Context) -> None:
    """Hand over one result per GPU, {"gpu": bdf, "usable": whether its data was right}. A GPU without a result in the
    end hung."""
    context.beat.phase("driver")
    peers = Peers(Cuda(), context.parameters["ordinals"], context.beat.step, size=_BYTES)
    context.beat.phase("verify")
    if context.parameters.get("peers", True):
        peers.enable()
    count = len(peers.gpus)
    for number, gpu in enumerate(peers.gpus):
        wrong = peers.check(gpu, gpu.source, peers.size, seed_of(number))
        if not wrong and count > 1:
            other = peers.gpus[(number + 1) % count]
            peers.poison(other, peers.size)
            peers.by_engine(gpu, other, gpu)
            gpu.device.sync()
            wrong = peers.check(other, other.landing, peers.size, seed_of(number))
        context.result(gpu=gpu.device.bdf, usable=wrong is None)
        context.beat.step()
