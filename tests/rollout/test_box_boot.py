"""The action plugin box_boot: which boxes are back, as seen at their ports."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PLUGIN = Path(__file__).resolve().parents[2] / "playbooks/action_plugins/box_boot.py"


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """With seconds that a test can wait."""
    spec = importlib.util.spec_from_file_location("box_boot", PLUGIN)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, seconds in {"_LOOK_EVERY": 0.05, "_LOOK_SECONDS": 0.5, "_QUIET_SECONDS": 0.5}.items():
        monkeypatch.setattr(module, name, seconds)
    return module


def _server(says: bytes) -> Callable[[Any, asyncio.StreamWriter], Any]:
    async def answer(_: Any, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(says)
            await asyncio.sleep(0 if says else 1)
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
    return answer


async def _watched(plugin: ModuleType, seconds: float, *, up: int = 0, mute: int = 0, down: int = 0, returns: int = 0,
                   gone: tuple[str, ...] = ()) -> tuple[set[str], set[str]]:
    """So many boxes of each kind; ``returns``: down at first, and back while they are watched."""
    boxes, servers, later = [], [], []
    for kind in ["up"] * up + ["mute"] * mute + ["down"] * down + ["returns"] * returns:
        name = f"{kind}{len(boxes)}"
        server = await asyncio.start_server(_server(b"" if kind == "mute" else b"SSH-2.0-x\r\n"), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
        if kind in ("down", "returns"):
            server.close()
            await server.wait_closed()
            later += [port] if kind == "returns" else []
        boxes.append({"name": name, "door": ["127.0.0.1", port], "gone": name in gone})
    task = asyncio.create_task(plugin.watch(boxes, seconds))
    await asyncio.sleep(0.3)
    servers += [await asyncio.start_server(_server(b"SSH-2.0-x\r\n"), "127.0.0.1", port) for port in later]
    back, was_gone = await task
    for server in servers:
        server.close()
    await asyncio.sleep(0.1)
    return back, was_gone


def test_it_ends_when_all_are_back(plugin: ModuleType) -> None:
    assert asyncio.run(_watched(plugin, 60, returns=2)) == ({"returns0", "returns1"},) * 2


def test_one_that_stays_away_does_not_hold_up_those_that_are_back(plugin: ModuleType) -> None:
    back, gone = asyncio.run(_watched(plugin, 60, down=1, returns=2))
    assert back == {"returns1", "returns2"} and gone == back | {"down0"}


def test_one_that_never_went_down_is_asked_when_the_time_is_over(plugin: ModuleType) -> None:
    assert asyncio.run(_watched(plugin, 0.5, up=1, down=1)) == ({"up0"}, {"down1"})
    # This one went down in an earlier round.
    assert asyncio.run(_watched(plugin, 60, up=1, gone=("up0",))) == ({"up0"}, {"up0"})


def test_a_port_that_says_nothing_is_no_ssh_server(plugin: ModuleType) -> None:
    assert asyncio.run(_watched(plugin, 0.8, mute=1)) == (set(), {"mute0"})


def test_rounds_become_longer_and_end_with_the_stage(plugin: ModuleType) -> None:
    def seconds(waited: float, left: float) -> float:
        return float(plugin.round_seconds([{"since": 1000.0 - waited, "until": 1000.0 + left}], 1000.0))

    assert (seconds(0, 900), seconds(800, 900), seconds(800, 30), seconds(900, -5)) == (20, 100, 30, 0)
    # The longest wait that a specification allows is few enough rounds for a file that includes itself.
    waited, rounds, most = 0.0, 0, 7200 + 14400 + 7200 + 7200
    while waited < most:
        waited, rounds = waited + seconds(waited, most), rounds + 1
    assert rounds < 70
