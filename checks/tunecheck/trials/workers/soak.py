"""The soak of the all-reduce trial: what a serving engine does all day, until it hangs or the time is over."""

from __future__ import annotations

import struct
import time
from array import array

from .rank import HALF_OF, Rank

__all__ = ["soak"]

#: (bytes, how many): a decode step of a large model makes dozens of tiny all-reduces, a prefill a few large ones.
_BURSTS = ((8192, 60), (65536, 40), (256, 100), (1 << 20, 8), (8192, 1), (16 << 20, 1))
#: Steps between two looks at the sums and at the clock.
_LOOK = 600


def soak(rank: Rank, reduce: object) -> None:
    """Run all-reduces of mixed sizes, eager and in graphs, in bursts as a decoding engine makes them; every burst is a
    step."""
    assert callable(reduce)
    device, seconds = rank.device, float(rank.context.parameters["soak_seconds"])
    bursts = [burst for burst in _BURSTS if burst[0] <= rank.size]
    graphs = {}
    for size, count in bursts:
        device.begin_capture()
        for _ in range(count):
            reduce(size)
        graphs[size, count] = device.end_capture()
    rank.meeting.exchange("soak")
    rank.context.beat.phase("soak")
    until, steps, wrong = time.monotonic() + seconds, 0, 0
    while True:
        size, count = bursts[steps % len(bursts)]
        device.use()
        if steps % 3:
            device.launch_graph(graphs[size, count])
        else:
            for _ in range(count):
                reduce(size)
        while not device.done():
            time.sleep(20e-6)
        steps += 1
        rank.context.beat.step()
        # All ranks have to stop after the same step: rank 0's clock decides.
        if steps % _LOOK == 0:
            stop = _enough(rank, reduce, time.monotonic() >= until)
            wrong += _sums_wrong(rank, reduce)
            if stop:
                break
    rank.context.result(kind="soak", steps=steps, seconds=seconds, wrong=wrong)


def _sums_wrong(rank: Rank, reduce: object, size: int = 65536) -> int:
    """Return 1 where a sum is not exactly what it has to be, else 0."""
    assert callable(reduce)
    rank.device.write(rank.input, rank.values(size // 2))
    rank.device.memset(rank.output, 0xEE, size)
    rank.device.sync()
    rank.device.use()
    reduce(size)
    rank.device.sync()
    return int(rank.device.read(rank.output, size) != rank.expected(size // 2))


def _enough(rank: Rank, reduce: object, mine: bool) -> bool:
    """Whether rank 0 says that it is enough: its 1.0 or 0.0 reaches all ranks through an all-reduce, which is exact."""
    assert callable(reduce)
    device = rank.device
    word = HALF_OF[1] if mine and rank.rank == 0 else 0
    device.write(rank.input, array("H", [word] * 4).tobytes())
    device.use()
    reduce(8)
    device.sync()
    stop: bool = struct.unpack("H", device.read(rank.output, 2))[0] == HALF_OF[1]
    return stop


