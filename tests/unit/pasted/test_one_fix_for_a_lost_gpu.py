"""A GPU that fell off the bus is one fault: every finding about it gives what the driver's Xid asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_LOG = "[  77.000001] NVRM: Xid (PCI:0000:34:00): 79, pid=1, name=a, GPU has fallen off the bus.\n"
_ASKS = ("[  77.000002] NVRM: Xid (PCI:0000:34:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
         "(Node Reboot Required)\n")
_SMI = ("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\nNo devices were found\n",
        "Unable to determine the device handle for GPU 0000:34:00.0: GPU is lost.  Reboot the system to recover this "
        "GPU\n")


@pytest.mark.parametrize("answer", _SMI)
@pytest.mark.parametrize("asks", ["", _ASKS])
def test_what_nvidia_smi_says_of_it_has_the_fix_of_its_xid(tmp_path: Path, answer: str, asks: str) -> None:
    (tmp_path / "a.txt").write_text(_LOG + asks + answer)
    found = judge(Case(gather(load_import(str(tmp_path / "a.txt")), None, True)), "preflight")
    fixes = {each.remedy.text for each in found if each.outcome == "fail" and each.remedy
             and (each.id in ("xid", "gpu-fallen-off") or each.code in ("gpu-lost", "gpu-not-opened"))}
    assert len(fixes) == 1, fixes
