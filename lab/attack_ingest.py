"""Does ingest answer honest boxes while it is attacked? A real process over TLS, this machine's cores.

    .venv/bin/python -m lab.attack_ingest [--seconds 15]

Twenty hosts push every second, each time over a new connection. Strangers come from 48 other addresses: connections
that never begin TLS, heads that come a byte at a time, half heads on kept-alive connections, bodies that never end,
bytes that are no TLS, 2,000 connections at once; and one host with a token sends the snapshot that once stopped the
writer. For every kind: answered pushes, median and 99th percentile, and how much the log grew.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import zstandard
from tests.fuzz.hostile import many_packages
from tests.unit.fleet.receiver import Receiver, make_pki, receiver, snapshot, tokens

_HOSTS = 20
_PATIENCE = 10.0
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def _trust(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)


async def _push(port: int, tls: ssl.SSLContext, token: str, content: bytes) -> tuple[int, float]:
    """(status, seconds); 0 where there was no answer."""
    packed = zstandard.ZstdCompressor(level=3).compress(content)
    head = (f"POST /v1/snapshot HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Encoding: zstd\r\n"
            f"Content-Length: {len(packed)}\r\nConnection: close\r\n\r\n").encode()
    begun = time.monotonic()
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
            writer.write(head + packed)
            line = await reader.readline()
            writer.close()
            return int(line.split()[1]) if line else 0, time.monotonic() - begun
    except (OSError, TimeoutError, ValueError, IndexError, ssl.SSLError):
        return 0, time.monotonic() - begun


async def _honest(port: int, ca: str, known: list[str], seconds: float) -> list[tuple[int, float]]:
    tls, found = _trust(ca), []

    async def one(token: str) -> None:
        await asyncio.sleep(random.random())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            at = time.monotonic()
            found.append(await _push(port, tls, token, snapshot()))
            await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - at)))

    await asyncio.gather(*(one(token) for token in known))
    return found


async def _open(port: int, tls: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = f"127.0.0.{random.randrange(2, 50)}"
    return await asyncio.open_connection("127.0.0.1", port, ssl=tls, local_addr=(address, 0),
                                         server_hostname="127.0.0.1" if tls else None)


async def _silent(port: int, _: ssl.SSLContext) -> None:
    reader, _w = await _open(port, None)
    await reader.read(1)


async def _garbage(port: int, _: ssl.SSLContext) -> None:
    reader, writer = await _open(port, None)
    writer.write(os.urandom(300))
    await reader.read(100)
    writer.close()


async def _slow_head(port: int, tls: ssl.SSLContext) -> None:
    _, writer = await _open(port, tls)
    for byte in _HEALTH[:-2] * 20:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.5)


async def _half_head(port: int, tls: ssl.SSLContext) -> None:
    reader, writer = await _open(port, tls)
    writer.write(_HEALTH)
    await reader.read(1000)
    writer.write(_HEALTH[:20])
    await reader.read(1)


async def _slow_body(port: int, tls: ssl.SSLContext) -> None:
    reader, writer = await _open(port, tls)
    writer.write(b"POST /v1/snapshot HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    await reader.read(1000)
    for _ in range(100):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.5)


#: kind -> (what one connection does, how many at a time)
KINDS: dict[str, tuple[Callable[[int, ssl.SSLContext], Awaitable[None]], int]] = {
    "never begin TLS (H2 a)": (_silent, 1100), "half heads, kept alive (H2 b)": (_half_head, 520),
    "slow heads": (_slow_head, 300), "slow bodies": (_slow_body, 300), "no TLS": (_garbage, 100),
    "2,000 connections": (_silent, 2000)}


def _attack(kind: str, port: int, ca: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    act, many = KINDS[kind]

    async def again() -> None:
        while True:
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
                async with asyncio.timeout(30):
                    await act(port, _trust_once)
            await asyncio.sleep(0.2)

    _trust_once = _trust(ca)

    async def all_of_them() -> None:
        await asyncio.gather(*(again() for _ in range(many)))

    asyncio.run(all_of_them())


def _figures(found: list[tuple[int, float]]) -> str:
    times = sorted(seconds for status, seconds in found if status == 200)
    if not times:
        return f"0 of {len(found)} pushes answered"
    return (f"{len(times)} of {len(found)} pushes answered, median {times[len(times) // 2] * 1e3:.0f} ms, p99 "
            f"{times[min(len(times) - 1, int(len(times) * 0.99))] * 1e3:.0f} ms")


def _measured(found: Receiver, port: int, ca: str, known: list[str], seconds: float, kind: str = "") -> str:
    attacker = multiprocessing.Process(target=_attack, args=(kind, port, ca)) if kind else None
    logged = len(found.log)
    if attacker is not None:
        attacker.start()
        time.sleep(1.5)
    try:
        line = _figures(asyncio.run(_honest(port, ca, known, seconds)))
    finally:
        if attacker is not None:
            attacker.kill()
            attacker.join()
    return f"{kind or 'no attack':32}{line}; log +{(len(found.log) - logged) / 1024:.0f} KiB"


def main() -> None:
    """One line per kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--only", default="", help="kinds with this word in their name")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        known = tokens(state, [*(f"gpu{number:02}" for number in range(_HOSTS)), "liar"])
        pki = make_pki(Path(folder))
        liar = known.pop("liar")
        with receiver(state, pki, store=Path(folder) / "fleet.db", window=20, every=0.2) as found:
            port, ca = int(found.url.split(":")[2].split("/")[0]), str(pki / "ca.pem")
            hosts = list(known.values())
            print(_measured(found, port, ca, hosts, given.seconds), flush=True)
            for kind in (kind for kind in KINDS if given.only in kind):
                print(_measured(found, port, ca, hosts, given.seconds, kind), flush=True)
            document = json.loads(snapshot())
            status, seconds = asyncio.run(_push(port, _trust(ca), liar, many_packages(document)))
            print(f"{'the snapshot of H1':32}answered with {status} after {seconds:.2f} s", flush=True)
            print(_measured(found, port, ca, hosts, given.seconds), flush=True)
            peak = Path(f"/proc/{found.process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
            begun = time.monotonic()
            found.process.send_signal(signal.SIGTERM)
            found.process.wait(30)
            print(f"log {len(found.log) / 1024:.0f} KiB in all, largest {int(peak) >> 10} MiB, ended "
                  f"{time.monotonic() - begun:.1f} s after SIGTERM; {found.log.count('written:')} audits written",
                  flush=True)


if __name__ == "__main__":
    main()
