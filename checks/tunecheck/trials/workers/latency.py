"""Latency between GPUs: a chain of dependent loads, and a flag there and back. Nanoseconds."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from ctypes import c_uint, c_ulonglong

from .peers import Gpu, Peers
from .worker import Context

__all__ = ["chases", "lay_chain", "ping_pong"]

#: From many SMs: their ways differ by 60 ns (2 x H200), and which SM a block gets is not ours to choose. Of eleven, one
#: more or less on the longer way moved the mean by 0.7 %.
_CHASE_BYTES, _CHASE_STRIDE, _CHASE_LOADS, _CHASE_BLOCKS = 2 << 20, 128, 3000, 44
_SPIN_CLOCKS = 1_000_000_000        # about half a second


def chases(context: Context, peers: Peers, pairs: Sequence[tuple[int, int]]) -> None:
    """Measure a chain of dependent loads (lay_chain) through the other one's memory, from several SMs: nanoseconds per
    load. Both ways, and all ``pairs``, at once: a load under way is no load for the other one's (830.1 and 830.2 ns;
    one by one 829.7 and 830.0, 2 x H100)."""
    ways = [way for a, b in pairs for way in ((a, b), (b, a))]

    def chase(targets: tuple[int, ...]) -> list[float]:
        for (reader, owner), target in zip(ways, targets, strict=True):
            here = peers.gpus[reader]
            here.device.use()
            here.device.launch("tc_chase", here.device.multiprocessors, 1, c_ulonglong(peers.gpus[owner].landing),
                               c_uint(_CHASE_LOADS), c_uint(target), c_ulonglong(here.notes))
        for reader, _ in ways:
            peers.gpus[reader].device.sync()
        context.beat.step()
        return [struct.unpack("Q", peers.gpus[reader].device.read(peers.gpus[reader].notes, 8))[0] / _CHASE_LOADS
                for reader, _ in ways]

    blocks = [peers.gpus[reader].device.multiprocessors for reader, _ in ways]
    places = list(zip(*[range(0, most, max(1, most // _CHASE_BLOCKS)) for most in blocks], strict=False))
    # The first chase meets cold translations and an owner that was just written to: 1,087 to 1,130 ns where the others
    # take 830 (2 x H200), which made the mean of eleven 3 % too high.
    chase(places[0])
    samples = [chase(each) for each in places]
    for (reader, owner), found in zip(ways, zip(*samples, strict=True), strict=True):
        context.result(kind="latency", a=reader, b=owner, way="pointer chase", samples=list(found),
                       at_once=len(pairs))


def lay_chain(peers: Peers, owner: Gpu) -> None:
    """Write the chain of loads: each word of ``owner``'s landing buffer holds the address of the one a stride further,
    the last ones those at its beginning."""
    base, count, ahead = owner.landing, min(_CHASE_BYTES, peers.size) // 8, _CHASE_STRIDE // 8
    chain = array("Q", range(base + ahead * 8, base + count * 8, 8)) + array("Q", range(base, base + ahead * 8, 8))
    owner.device.write(base, chain.tobytes())


def ping_pong(context: Context, peers: Peers, a: int, b: int) -> None:
    """Measure the round trip of a flag through both memories; give up after a bounded number of clocks."""
    left, right = peers.gpus[a], peers.gpus[b]
    samples, gave_up = [], False
    for attempt in range(5):
        offset = attempt * 4096       # another address each time: it differs by 10 % between addresses
        for gpu in (left, right):
            gpu.device.memset(gpu.landing + offset, 0, 4)
            gpu.device.sync()
        for gpu, other, first in ((left, right, 1), (right, left, 0)):
            gpu.device.use()
            gpu.device.launch("tc_pingpong", 1, 1, c_ulonglong(gpu.landing + offset),
                              c_ulonglong(other.landing + offset), c_uint(0), c_uint(50), c_uint(1000),
                              c_uint(first), c_ulonglong(_SPIN_CLOCKS), c_ulonglong(gpu.notes))
        for gpu in (left, right):
            gpu.device.sync()
        nanoseconds, rounds, timeout = struct.unpack("3Q", left.device.read(left.notes, 24))
        gave_up = gave_up or bool(timeout) or bool(struct.unpack("3Q", right.device.read(right.notes, 24))[2])
        if gave_up:
            break
        samples.append(nanoseconds / rounds)
        context.beat.step()
    context.result(kind="latency", a=a, b=b, way="ping-pong", samples=samples, gave_up=gave_up)
