"""What one GPU can do alone, measured by a worker: its own memory, and copies from and to the host. All GPUs one after
the other; each result is handed over at once.

Measured on one H200 (Gen5 x16, 2026-11-22): host to device 55.55, device to host 55.40 GB/s in 256 MiB, 55.44 and 55.31
in 64 MiB (nvbandwidth 0.8: 55.56, 55.44); within the GPU 2108 (nvbandwidth 2079 to 2083). A GPU takes 0.09 s quick with
64 MiB, 0.67 s whole: 137 GiB written and read back in 0.11 s; its context 0.23 s more.

Methods as in nvbandwidth 0.8 (host_to_device_memcpy_ce, device_to_host_memcpy_ce, device_local_copy): pinned memory,
copies by the copy engine between two events, GB/s of the bytes that are copied (a local copy reads and writes each
once, and counts once). The data is made and looked at by kernels, on both sides: they reach the pinned memory as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from .cuda import Cuda, CudaError, Device
from .peers import SIZE, Gpu, Peers, Wrong, seed_of
from .worker import Context

__all__ = ["run"]

#: Pinning costs time (256 MiB: 88 ms, 64 MiB: 19 to 26 ms), and a copy's fixed 4 us are 0.1 % of 256 MiB at 55 GB/s.
_HOST, _HOST_QUICK = 256 << 20, 32 << 20
_SAMPLES, _SAMPLES_QUICK = 5, 3
_COPIES, _LOCAL_COPIES = 4, 16
#: What the driver and the kernels need beside the buffers that fill a GPU.
_SPARE = 512 << 20
_GB = 1e6                           # bytes per millisecond -> GB/s


def run(context: Context) -> None:
    """Measure each GPU alone. Parameters: ``ordinals`` (CUDA's numbers), ``quick``, ``size`` of a buffer and ``host``
    of the pinned one in bytes, ``cpus``: processors near each GPU, by its address."""
    context.beat.phase("driver")
    cuda, given = Cuda(), context.parameters
    for number, ordinal in enumerate(given["ordinals"]):
        try:
            _one(context, cuda, number, ordinal)
        except CudaError as error:
            # The others have contexts of their own.
            context.result(kind="failure", a=number, text=str(error), code=error.code)


def _one(context: Context, cuda: Cuda, number: int, ordinal: int) -> None:
    context.beat.phase("driver")
    given = context.parameters
    quick = bool(given.get("quick"))
    peers = Peers(cuda, [ordinal], context.beat.step, given.get("size", SIZE))
    gpu = peers.gpus[0]
    context.result(size=peers.size, a=number, gpu=gpu.device.bdf)
    context.beat.phase("verify")
    _own_memory(context, peers, gpu, number, quick)
    host_size = min(given.get("host", _HOST_QUICK if quick else _HOST), peers.size)
    with _near(given.get("cpus", {}).get(gpu.device.bdf, ())):
        pinned = gpu.device.host_alloc(host_size)
        context.beat.step()
        _host_copies(context, peers, gpu, number, pinned, host_size, _SAMPLES_QUICK if quick else _SAMPLES)
        gpu.device.host_free(pinned)
    if not quick:
        # Last: the driver scrubs what is freed, with the copy engines, for a second. Copies beside that read 28 in
        # place of 55 GB/s from the host, and 1880 in place of 2096 within the GPU (2 x H200, 2026-11-22).
        context.beat.phase("verify")
        _all_memory(context, peers, gpu, number)
    for address in (gpu.source, gpu.landing, gpu.notes):
        gpu.device.free(address)


def _own_memory(context: Context, peers: Peers, gpu: Gpu, number: int, quick: bool) -> None:
    """Write, then read back every word of the two buffers. Then measure copies within the memory."""
    seeds = _written_and_read(context, peers, gpu, number, [gpu.source, gpu.landing])
    context.beat.phase("measure")
    peers.poison(gpu, peers.size)
    samples = _timed(peers, gpu, lambda: peers.by_engine(gpu, gpu, gpu), peers.size,
                     _SAMPLES_QUICK if quick else _SAMPLES, _LOCAL_COPIES)
    bad = peers.check(gpu, gpu.landing, peers.size, seeds[0])
    context.result(kind="own memory", a=number, way="copy", size=peers.size, samples=samples,
                   wrong=bad.__dict__ if bad else None)
    context.beat.step()


def _written_and_read(context: Context, peers: Peers, gpu: Gpu, number: int, blocks: Sequence[int]) -> list[int]:
    """Write every block, then read all of them back. Return the seed of what was written to each block."""
    seeds = [seed_of(place + 1000 * number) for place in range(len(blocks))]
    for address, seed in zip(blocks, seeds, strict=True):   # all before one is read: two that are the same one show
        peers.fill(gpu, address, peers.size, seed)
        gpu.device.sync()
        context.beat.step()
    bad = None
    for place, (address, seed) in enumerate(zip(blocks, seeds, strict=True)):
        found = peers.check(gpu, address, peers.size, seed)
        bad = bad or (found and Wrong(found.words, found.offset + place * peers.size, found.found))
        context.beat.step()
    context.result(kind="own memory", a=number, way="write and read back", size=len(blocks) * peers.size,
                   wrong=bad.__dict__ if bad else None)
    return seeds


def _all_memory(context: Context, peers: Peers, gpu: Gpu, number: int) -> None:
    """Write, then read back every word of all that is free."""
    extra = _rest(context, peers, gpu.device)
    _written_and_read(context, peers, gpu, number, [gpu.source, gpu.landing, *extra])
    for address in extra:
        gpu.device.free(address)


def _rest(context: Context, peers: Peers, device: Device) -> list[int]:
    """Return buffers in all memory that is free, but a little; at most as many as the parameter ``blocks`` says."""
    device.use()
    count = max(0, peers.cuda.memory()[0] - _SPARE) // peers.size
    found: list[int] = []
    with suppress(CudaError):           # what is free may lie in pieces
        for _ in range(min(count, context.parameters.get("blocks", count))):
            found.append(device.alloc(peers.size))
            context.beat.step()
    return found


def _host_copies(context: Context, peers: Peers, gpu: Gpu, number: int, pinned: int, size: int, samples: int) -> None:
    """Measure both directions between host and GPU: in each the data is verified first, then the time is taken."""
    device, (there, here) = gpu.device, (seed_of(2001 + number), seed_of(3001 + number))
    ways: tuple[tuple[str, int, int, int], ...] = (
        ("host to device", gpu.landing, pinned, there), ("device to host", pinned, gpu.source, here))
    for way, to, source, seed in ways:
        context.beat.phase("verify")
        peers.fill(gpu, source, size, seed)
        peers.fill(gpu, to, size, ~seed & 0xFFFFFFFF)       # what is found afterwards was written by the copy
        device.sync()
        device.copy(to, source, size)
        device.sync()
        bad = peers.check(gpu, to, size, seed)
        context.beat.phase("measure")
        rates = _timed(peers, gpu, lambda to=to, source=source: device.copy(to, source, size),  # type: ignore[misc]
                       size, samples, _COPIES)
        context.result(kind="host copy", a=number, way=way, size=size, samples=rates,
                       wrong=bad.__dict__ if bad else None)
        context.beat.step()


def _timed(peers: Peers, gpu: Gpu, one: Callable[[], None], size: int, samples: int, copies: int) -> list[float]:
    """Return GB/s of each sample: one warm-up, then ``copies`` between two events."""
    found = []
    for _ in range(samples):
        gpu.device.use()
        one()
        gpu.device.record(gpu.start)
        for _ in range(copies):
            one()
        gpu.device.record(gpu.end)
        gpu.device.sync()
        found.append(size * copies / peers.cuda.milliseconds(gpu.start, gpu.end) / _GB)
    return found


@contextmanager
def _near(cpus: Sequence[int]) -> Iterator[None]:
    """Run on processors near the GPU: pinned pages of another socket's memory would cross the link between the
    sockets."""
    before = os.sched_getaffinity(0)
    with suppress(OSError):             # a container may not have them
        if cpus:
            os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, before)
