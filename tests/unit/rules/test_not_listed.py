"""What the kernel log says of a GPU at an address that the list of the PCI devices does not have says so; of one that
it has, or of a list that may be a part, it says nothing of the kind."""

from __future__ import annotations

import pytest
from tests.unit.facts.trees import full, switch

from tunecheck.facts.snapshot import gather
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_BOOT = "[    0.000000] Linux version 6.12.1\n[    1.000000] NVRM: loading NVIDIA UNIX Open Kernel Module  595.71.05\n"
_LINES = {
    "gpu-fallen-off": "NVRM: Xid (PCI:{}): 79, pid=1, name=x, GPU has fallen off the bus.",
    "xid": "NVRM: Xid (PCI:{}): 48, pid=1, name=x, Double Bit ECC Error",
    "gpu-start": "NVRM: GPU {}.0: RmInitAdapter failed! (0x22:0xffff:762)",
}


def _texts(check: str, address: str) -> list[str]:
    machine = full(switch(0), log=f"{_BOOT}[    9.000000] {_LINES[check].format(address)}\n")
    return [each.text for each in judge(Case(gather(machine.host(), None, True), None), "preflight")
            if each.id == check and each.outcome in ("fail", "warn")]


@pytest.mark.parametrize("check", _LINES)
def test_an_address_that_is_not_listed_is_told(check: str) -> None:
    there, elsewhere = _texts(check, "0000:03:00"), _texts(check, "0000:91:00")
    assert there and not [text for text in there if "not in lspci" in text]
    assert elsewhere and all("this address is not in lspci" in text for text in elsewhere)
