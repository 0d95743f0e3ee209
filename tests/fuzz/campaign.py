"""A campaign without instruments: snapshots, bundles, folders and pushes are changed where their structure says that
something is, and read and judged under the limits of every foreign input.

    PYTHONPATH=checks:. .venv/bin/python -m tests.fuzz.campaign --seconds 600 [--seed 1] [--only snapshot]

An execution is one input through the code that a real one goes through. What counts as found: an exception that nobody
catches (a crash), more than 5 s of processor time, or a process larger than 300 MiB. The input is made from its number
alone: `--replay TARGET:NUMBER` runs one again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import h11
import zstandard
from tests.fuzz.hostile import BUNDLES, answers, many_packages

from tunecheck.errors import TunecheckError
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.bundle import pack, unpack
from tunecheck.host.foreign import Bounds, Confined, DefectError, ExceededError
from tunecheck.host.imported.machine import load_import
from tunecheck.report.document import document as report
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck_fleet.ingest.body import unpacked
from tunecheck_fleet.ingest.inbox import _checked
from tunecheck_fleet.ingest.limits import Limits, Refusal
from tunecheck_fleet.ingest.tokens import _TOKEN
from tunecheck_fleet.model import Answer
from tunecheck_fleet.read import seen

_MOST_CPU, _MOST_RSS = 5.0, 300 << 20
#: Executions between two reports of a child.
_BATCH = {"snapshot": 40, "bundle": 100, "folder": 40, "ingest": 2000}
_TEXTS = ("", "\0", "\x1b[2J", "A" * 5000, "\n" * 5000, "../../etc/shadow", "$(reboot)", "gpu7;curl evil", "0" * 400,
          "-" * 400, "\ud800", "é" * 90, "{" * 500, "0000:01:00.0", "595.71.05", " " * 3000, "%s%n", "a,b\tc" * 200)
_VALUES: tuple[Any, ...] = (None, True, -1, 0, 1 << 70, 1e308, float("nan"), [], {}, [[]], {"a": {}}, *_TEXTS)


def _changed(rng: random.Random, value: Any) -> Any:
    """A document with one to four places changed."""
    value = json.loads(json.dumps(value)) if isinstance(value, (dict, list)) else value
    for turn in range(rng.choice((1, 1, 2, 4))):
        if turn:        # what was repeated is shared: a change inside of it would be repeated, too, up to gigabytes
            value = json.loads(json.dumps(value))
        at, parent, key = value, None, None
        while isinstance(at, (dict, list)) and at and (parent is None or rng.random() < 0.85):
            parent, key = at, rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            at = parent[key]
        if parent is None:
            return json.loads(json.dumps(rng.choice(_VALUES)))
        kind = rng.randrange(8)
        if kind == 0:
            del parent[key]
        elif kind == 1 and isinstance(parent, list):
            parent *= min(rng.choice((2, 70, 300, 5000)), 1 + 4_000_000 // (1 + len(json.dumps(parent))))
        elif kind == 2 and isinstance(parent, dict):
            parent[rng.choice(_TEXTS)] = at
        elif kind == 3 and isinstance(parent, dict):
            many = min(rng.choice((3, 200, 5000)), 4_000_000 // (1 + len(json.dumps(at))))
            parent.update({f"{key}{number}": at for number in range(many)})
        elif kind == 4 and isinstance(at, str):
            parent[key] = _text(rng, at)
        elif kind == 5 and type(at) is int:
            parent[key] = at + rng.choice((1, -1, 1 << 31, -(1 << 40)))
        elif kind == 6:
            other = json.dumps(rng.choice(list(value.values()) if isinstance(value, dict) else value or [None]))
            parent[key] = json.loads(other) if len(other) < 20_000 else None
        else:
            parent[key] = json.loads(json.dumps(rng.choice(_VALUES)))
    return value


def _text(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 5))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(7)
        if kind == 0:
            lines[at] = rng.choice(_TEXTS)
        elif kind == 1:
            del lines[at:at + rng.choice((1, 3, 20))]
            lines = lines or [""]
        elif kind == 2:
            part = lines[at:at + rng.choice((1, 5))]
            lines[at:at] = part * min(rng.choice((1, 3, 300)), 1 + 1_000_000 // (1 + sum(map(len, part))))
        elif kind == 3 and lines[at]:
            cut = rng.randrange(len(lines[at]))
            lines[at] = lines[at][:cut] + rng.choice(_TEXTS) + lines[at][cut + rng.randrange(4):]
        elif kind == 4:
            lines[at] = "".join(chr(ord(char) ^ 1) if rng.random() < 0.05 else char for char in lines[at])
        elif kind == 5:
            lines[at] = lines[at] * min(rng.choice((2, 50)), 1 + 1_000_000 // (1 + len(lines[at])))
        else:
            rng.shuffle(lines)
    return "\n".join(lines)


def _bytes(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            found[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del found[at:at + rng.choice((1, 16, 512))]
        elif kind == 2:
            found[at:at] = rng.randbytes(rng.choice((1, 8, 64)))
        else:
            found[at:at] = found[:rng.choice((1, 100, 600))]
    return bytes(found)


@cache
def _snapshots() -> list[dict[str, Any]]:
    return [json.loads(packed(Stored(gather(answers().host(), None, True), None), 1790000000.0))]


def _snapshot(rng: random.Random) -> None:
    if rng.random() < 0.0005:
        content = many_packages(json.loads(json.dumps(_snapshots()[0])))
    else:
        content = json.dumps(_changed(rng, rng.choice(_snapshots()))).encode()
    seen(Answer("gpu1", "h200", "ok", content))


@cache
def _seed_bundles() -> list[bytes]:
    small = answers()
    small.reads = {path: small.reads[path] for path in sorted(small.reads)[:12]}
    small.lists = dict(sorted(small.lists.items())[:8])
    small.runs = dict(sorted(small.runs.items())[:3])
    small.realpaths, small.errors, small.nvml = dict(list(small.realpaths.items())[:8]), {}, None
    return [zstandard.decompress(pack(small, created=0), max_output_size=1 << 24)]


def _bundle(rng: random.Random) -> None:
    kind = rng.random()
    try:
        if kind < 0.0005:
            content = rng.choice([make for name, make in BUNDLES.items() if name != "old-format"])()
            unpack(content).host().close()
        elif kind < 0.95:       # the tar: its blocks' checksums are put right
            data = _bytes(rng, rng.choice(_seed_bundles()))
            blocks = [bytearray(data[at:at + 512]) for at in range(0, len(data), 512)]
            for block in blocks:
                if len(block) == 512 and block[257:262] == b"ustar":
                    block[148:156] = b" " * 8
                    block[148:156] = b"%06o\0 " % sum(block)
            unpack(zstandard.ZstdCompressor(level=1).compress(b"".join(blocks)))
        else:                   # what is in it: read and judged
            found = answers()
            lists = _changed(rng, found.lists)
            found.lists = {path: names for path, names in (lists.items() if isinstance(lists, dict) else ())
                           if isinstance(names, list) and all(isinstance(name, str) for name in names)}
            for path in rng.sample(sorted(found.reads), 3):
                found.reads[path] = _bytes(rng, found.reads[path][:20_000])
            if isinstance(found.nvml, dict) and isinstance(nvml := _changed(rng, found.nvml), dict):
                found.nvml = nvml
            snapshot = gather(found.host(), None, True)
            case = Case(snapshot, None)
            report("preflight", case, judge(case, "preflight"))
    except (ValueError, TunecheckError):
        return


@cache
def _folder_texts() -> dict[str, str]:
    here = Path(__file__).resolve().parents[1] / "unit/imports"
    texts = {path.name: path.read_text(errors="replace")[:12_000] for path in sorted(here.rglob("*"))
             if path.suffix in (".txt", ".log", ".lspci") and path.is_file()}
    found = answers()
    texts["dmesg.txt"] = "[    0.000000] Linux version 6.8.0 (x)\n[    1.0] pci 0000:01:00.0: [10de:2bb5] type 00\n"
    texts["lspci.txt"] = ("00:00.0 Host bridge [0600]: Intel Corporation Device [8086:1234]\n"
                          "00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:1235]\n"
                          "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
                          "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n\n"
                          "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation Device [10de:2bb5] (rev a1)\n"
                          "\tCapabilities: [78] Express (v2) Legacy Endpoint, MSI 00\n"
                          "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n\tKernel driver in use: nvidia\n")
    texts["topo.txt"] = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-7\t0\nGPU1\tPIX\t X \t0-7\t0\n"
    for argv, done in found.runs.items():
        if not isinstance(done, str) and argv[0] == "nvidia-smi":
            texts[f"{'-'.join(argv)[:40].replace('/', '_')}.txt"] = done.stdout[:12_000]
    return texts


def _folder(rng: random.Random) -> None:
    names = rng.sample(sorted(_folder_texts()), min(3, len(_folder_texts())))
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for name in names:
            Path(folder, name).write_text(_text(rng, _folder_texts()[name]), errors="replace")
        try:
            host = load_import(folder)
            case = Case(gather(host, None, True), None)
            report("preflight", case, judge(case, "preflight"))
        except TunecheckError:
            return


_HEAD = (b"POST /v1/snapshot HTTP/1.1\r\nHost: fleet:8733\r\nAuthorization: Bearer tc_0123456789abcdef."
         + b"A" * 43 + b"\r\nContent-Type: application/json\r\nContent-Encoding: zstd\r\nContent-Length: 40\r\n\r\n")
_BODIES = (b'{"schema": "tunecheck/snapshot/1", "created": "2026-11-21T18:00:00Z", "nonce": "1.000-00", '
           b'"snapshot": {}}', b"[" * 3000, b'{"a":' * 900 + b"1" + b"}" * 900, b"[]," * 4000, b"\xff" * 40)


def _ingest(rng: random.Random) -> None:
    kind = rng.random()
    if kind < 0.7:
        connection = h11.Connection(h11.SERVER, 65536)
        try:
            connection.receive_data(_bytes(rng, _HEAD))
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Request):
                    for name, value in event.headers:
                        if name == b"authorization":
                            _TOKEN.fullmatch(value.decode("latin-1").partition(" ")[2].strip())
                if isinstance(event, (h11.ConnectionClosed, h11.EndOfMessage)):
                    break
        except h11.RemoteProtocolError:
            return
        return
    body, encoding = _bytes(rng, rng.choice(_BODIES)), rng.choice(("", "zstd", "gzip", "x"))
    if encoding == "zstd" and rng.random() < 0.8:
        body = zstandard.ZstdCompressor(level=1).compress(body)
        body = _bytes(rng, body) if rng.random() < 0.5 else body
    try:
        json.loads(_checked(unpacked(body, encoding, Limits())))
    except Refusal:
        return


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "snapshot": _snapshot, "bundle": _bundle, "folder": _folder, "ingest": _ingest}


def _run(target: str, first: int, last: int, seed: int) -> dict[str, Any]:
    """In the child: the numbers first..last-1."""
    slowest, at, crashes = 0.0, first, []
    for number in range(first, last):
        begun = time.process_time()
        try:
            TARGETS[target](random.Random(f"{seed}:{target}:{number}"))
        except MemoryError:
            raise
        except Exception as error:
            import traceback

            frame = traceback.extract_tb(error.__traceback__)[-1]
            crashes.append(f"{target}:{number}: {type(error).__name__}: {str(error)[:200]} at "
                           f"{frame.filename.rpartition('/')[2]}:{frame.lineno}")
        took = time.process_time() - begun
        if took > slowest:
            slowest, at = took, number
    return {"slowest": slowest, "at": at, "crashes": crashes,
            "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}


def _campaign(target: str, seconds: float, seed: int, start: int) -> dict[str, Any]:
    done = {"executions": 0, "crashes": [], "refused": [], "slowest": 0.0, "at": start, "rss": 0}

    def answer(request: bytes) -> bytes:
        first, last = json.loads(request)
        return json.dumps(_run(target, first, last, seed)).encode()

    until, number = time.monotonic() + seconds, start
    with Confined(answer, Bounds(cpu=600, wall=3600.0, most=7200.0), foreground=True) as child:
        while time.monotonic() < until:
            last = number + _BATCH[target]
            try:
                found = json.loads(child.ask(json.dumps([number, last]).encode()))
            except (ExceededError, DefectError) as error:
                done["refused"].append(f"{target}:{number}-{last}: {error}")
            else:
                done["crashes"] += found["crashes"]
                done["slowest"], done["at"] = max((done["slowest"], done["at"]), (found["slowest"], found["at"]))
                done["rss"] = max(done["rss"], found["rss"])
                done["executions"] += _BATCH[target]
            number = last
    return done


def main() -> None:
    """Run for so long, and say what was found; 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the first number")
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--replay", metavar="TARGET:NUMBER")
    given = parser.parse_args()
    if given.replay:
        target, _, number = given.replay.partition(":")
        TARGETS[target](random.Random(f"{given.seed}:{target}:{number}"))
        return
    wrong, total = False, 0
    chosen = [given.only] if given.only else list(TARGETS)
    for target in chosen:
        done = _campaign(target, given.seconds / len(chosen), given.seed, given.start)
        total += done["executions"]
        bad = done["crashes"] or done["refused"] or done["slowest"] > _MOST_CPU or done["rss"] > _MOST_RSS
        wrong |= bool(bad)
        print(f"{target:9}{done['executions']:9} executions, {len(done['crashes'])} crashes, {len(done['refused'])} "
              f"batches over a limit, slowest {done['slowest']:.2f} s ({target}:{done['at']}), largest "
              f"{done['rss'] >> 20} MiB", flush=True)
        for line in [*done["crashes"][:20], *done["refused"][:20]]:
            print("  " + line, flush=True)
    print(f"seed {given.seed}, from {given.start}: {total} executions", flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
