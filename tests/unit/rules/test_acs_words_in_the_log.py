"""Where an ACS option runs and a port redirects all the same, the finding has what the kernel's log says of the option,
and the next step for it: never the same advice for a word that the kernel could not read and for one that acted."""

from __future__ import annotations

import pytest
from tests.unit.checks.machines import build

from tunecheck.facts.snapshot import gather
from tunecheck.model.finding import Finding
from tunecheck.parsers.kernel.boot_log import parse
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_EVERY = "pci=disable_acs_redir=pci:0:0"
_PORT = "0000:02:00.0"
_ACTED = "Another boot"


def _found(word: str, *lines: str) -> Finding:
    log = "".join(f"[    {number}.000000] {line}\n" for number, line in enumerate(("Linux version 6.17.0 (x)", *lines)))
    box = build({"running": f"{word} root=/dev/sda1 ro", "log": log,
                 "config": {port: {"ctl": 0x1d} for port in (_PORT, "0000:02:01.0")}})
    found = judge(Case(gather(box, None, True)), "preflight")
    return next(each for each in found if each.id == "acs-redirect" and each.code == "redirects")


@pytest.mark.parametrize(("word", "lines", "said", "step"), [
    (_EVERY, [f"pci {_PORT}: Configured ACS to 0x0011"], "Configured ACS to 0x0011", "setpci"),
    (_EVERY, [f"pci {_PORT}: disabled ACS redirect"], "disabled ACS redirect", "setpci"),
    (_EVERY, ["PCI: Can't parse ACS command line parameter"], "Can't parse ACS command line parameter",
     "stands there alone"),
    (_EVERY, ["PCI: Can't parse disable_acs_redir parameter: pci:0:0x"], "disable_acs_redir parameter: pci:0:0x",
     "stands there alone"),
    ("pci=disable_acs_redir=02:00.0;02:01.0", ["PCI: Can't parse disable_acs_redir parameter"], "Can't parse",
     f"Put {_EVERY} in its place"),
    (_EVERY, [f"pci {_PORT}: Configured ACS to 0x001d"], "0x001d", "pcie_acs"),
    (_EVERY, [f"pci {_PORT}: cannot disable ACS redirect for this hardware as it does not have ACS capabilities"],
     "cannot disable ACS redirect", "pcie_acs"),
])
def test_each_line_of_the_log_has_its_own_step(word: str, lines: list[str], said: str, step: str) -> None:
    finding = _found(word, *lines)
    assert finding.remedy is not None and said in finding.remedy.text and step in finding.remedy.text, finding.remedy
    assert "tells which" not in finding.remedy.text and (_ACTED in finding.remedy.text) == (step == "setpci")


@pytest.mark.parametrize("lines", [[], ["foo: PCI: Can't parse ACS command line parameter"],
                                   ["pci 0000:7f:00.0: Configured ACS to 0x0011"]])
def test_a_log_without_such_a_line_leaves_it_open(lines: list[str]) -> None:
    finding = _found(_EVERY, *lines)
    assert finding.remedy is not None and "sudo dmesg" in finding.remedy.text, finding.remedy


def test_the_last_line_of_a_port_counts() -> None:
    log = f"pci {_PORT}: Configured ACS to 0x001d\npcieport {_PORT}: Configured ACS to 0x0011\n"
    assert parse(log).acs == ((_PORT, "Configured ACS to 0x0011"),)
