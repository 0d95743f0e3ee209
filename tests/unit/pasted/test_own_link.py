"""A slow link of `nvidia-smi -q` alone: a fault under load, saved power at idle, and neither where nothing tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_QUERY = """
==============NVSMI LOG==============

Driver Version                            : 595.71.05
Attached GPUs                             : 1
GPU 00000000:03:00.0
    Product Name                          : NVIDIA RTX PRO 6000 Blackwell Server Edition
    PCI
        Device Id                         : 0x2BB510DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 3
                Device Max                : 5
"""
_LOAD = "    Utilization\n        GPU                               : {} %\n"
_POWER = ("    GPU Power Readings\n        Average Power Draw                : {} W\n"
          "        Instantaneous Power Draw          : {} W\n        Requested Power Limit             : 600.00 W\n")


def _state(number: int) -> str:
    return f"    Performance State                     : P{number}\n"


@pytest.mark.parametrize(("more", "code", "said"), [
    ("", "own-link-only", "not told"), (_state(0), "own-link-only", "not told"),
    (_state(8), "own-link-only", "idle"), (_state(0) + _LOAD.format(0), "own-link-only", "idle"),
    (_state(0) + _LOAD.format(100), "slow-under-load", "under load"),
    (_state(0) + _POWER.format("500.00", "500.00"), "slow-under-load", "under load"),
    (_state(0) + _POWER.format("90.00", "90.00"), "own-link-only", "not told"),
    (_LOAD.format(100), "own-link-only", "not told"),
    (_state(0) + _LOAD.format("N/A").replace(" %", ""), "own-link-only", "not told")])
def test_idle_is_said_only_where_something_tells_it(tmp_path: Path, more: str, code: str, said: str) -> None:
    (tmp_path / "a.txt").write_text(_QUERY + more)
    found = judge(Case(gather(load_import(str(tmp_path / "a.txt")), None, True)), "preflight")
    (link,) = [each for each in found if each.id == "link-speed"]
    assert link.code == code
    assert next(word for word in ("not told", "idle", "under load") if word in link.text) == said
