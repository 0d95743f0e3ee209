"""What a stall leaves for whoever asks for its cause: a folder of texts, taken before anything is stopped.

Each is read with its own deadline, so that a driver that hangs costs seconds and no more. An engine's log may hold what
its users wrote and its key: the folder is root's, and keys are masked."""

from __future__ import annotations

import contextlib
import json
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ProbeError
from ..host import Host
from ..host.http_page import fetch
from ..parsers.text import secrets
from ..util import safe_files
from ..watch.processes import of_group
from ..watch.request import Request
from ..watch.witnesses import ask
from .unit import UnitNow

__all__ = ["FOLDER", "gather"]

FOLDER = "/var/lib/tunecheck/incidents"
#: Folders that are kept, the newest.
_KEPT = 10
_MOST_TEXT = 4 << 20
#: Bytes that must be free: the evidence of one incident is about 1 MB.
_ROOM = 256 << 20
_MOST_THREADS = 512
#: Name of the file -> command, seconds it may take. {unit} is the unit.
_COMMANDS = {
    "unit.txt": (("systemctl", "show", "--", "{unit}"), 5.0),
    "log.txt": (("journalctl", "--no-pager", "--quiet", "--lines=500", "--output=short-precise", "--unit={unit}"),
                10.0),
    "kernel.txt": (("journalctl", "--no-pager", "--quiet", "--boot", "--dmesg", "--lines=1000",
                    "--output=short-monotonic"), 10.0),
}
_GPUS = {
    "nvidia-smi.txt": (("nvidia-smi", "-q"), 20.0),
    "gpu-processes.txt": (("nvidia-smi", "pmon", "-c", "1", "-s", "um"), 10.0),
}


def gather(host: Host, request: Request, unit: UnitNow, key: str, alive: Callable[[], None],
           folder: str = FOLDER, context: ssl.SSLContext | None = None) -> str:
    """The folder that holds it. OSError where the disk takes nothing; then nothing is left behind."""
    place = Path(folder) / request.incident
    _make_room(host, Path(folder), place.name)
    if place.is_symlink():
        raise OSError(f"{place} is a link")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for name, text in _texts(host, request, unit, key, alive, context):
            alive()
            safe_files.replace(str(place / name), _plain(text, key).encode("utf-8", "replace")[-_MOST_TEXT:], 0o600)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return str(place)


def _texts(host: Host, request: Request, unit: UnitNow, key: str, alive: Callable[[], None],
           context: ssl.SSLContext | None) -> list[tuple[str, str]]:
    """What passes first is read first: stacks and samples, then what stays."""
    found = [("nccl-ras.txt", request.ras or _ras(host, unit.cgroup)),
             ("processes.json", json.dumps(_threads(host, unit.cgroup), indent=1)),
             ("metrics.txt", _page(request.url, key, context))]
    loaded = True
    try:
        host.realpath("/sys/module/nvidia")     # nvidia-smi would load the driver
    except ProbeError:
        loaded = False
    for name, (words, seconds) in {**(_GPUS if loaded else {}), **_COMMANDS}.items():
        alive()
        found.append((name, _output_of(host, tuple(word.format(unit=request.unit) for word in words), seconds)))
    # Not indented: it is larger than the request then, and a document that is cut is none.
    found.append(("stall.json", json.dumps({"watch": request.document, "timeline": list(request.timeline)})))
    return found


def _plain(text: str, key: str) -> str:
    return secrets.mask(text.replace(key, secrets.MASK) if key else text)


def _output_of(host: Host, argv: tuple[str, ...], seconds: float) -> str:
    try:
        done = host.run(argv, seconds)
    except ProbeError as error:
        return f"{error}\n"
    return done.stdout + (f"\nexit code {done.returncode}\n{done.stderr}" if done.returncode else "")


def _page(url: str, key: str, context: ssl.SSLContext | None) -> str:
    try:
        return fetch(f"{url}/metrics", 3.0, key or None, context).text
    except ProbeError as error:
        return f"{error}\n"


def _ras(host: Host, group: str) -> str:
    try:
        return ask(host, group)
    except ProbeError as error:
        return f"{error}\n"


def _threads(host: Host, group: str) -> list[dict[str, Any]]:
    """Every thread of the unit: where it waits, in the kernel too (only root may read that)."""
    found: list[dict[str, Any]] = []
    for process in of_group(host, group):
        try:
            threads = host.list(f"/proc/{process.pid}/task")
        except ProbeError:
            continue
        for thread in threads[:_MOST_THREADS - len(found)]:
            place = f"/proc/{process.pid}/task/{thread}"
            stat = _read(host, f"{place}/stat")
            found.append({
                "pid": process.pid, "thread": thread, "name": stat.rpartition(")")[0].partition("(")[2],
                "state": stat.rpartition(") ")[2][:1], "waits_in": _read(host, f"{place}/wchan"),
                "kernel_stack": _read(host, f"{place}/stack").splitlines()})
    return found


def _read(host: Host, path: str) -> str:
    try:
        return host.read_bytes(path).decode("utf-8", "replace").strip()
    except ProbeError:
        return ""


def _make_room(host: Host, folder: Path, name: str) -> None:
    """Drop the oldest folders. OSError where too little is free even then."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink() and each.name != name)
    for each in others[:max(0, len(others) + 1 - _KEPT)]:
        shutil.rmtree(each, ignore_errors=True)
    with contextlib.suppress(ProbeError, ValueError, IndexError):
        lines = host.run(("df", "--output=avail", "--block-size=1", "--", str(folder)), 5.0).stdout.splitlines()
        if int(lines[1]) < _ROOM:
            raise OSError(f"less than {_ROOM >> 20} MiB are free")
