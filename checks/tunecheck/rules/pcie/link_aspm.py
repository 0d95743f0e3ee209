"""link-aspm: no port or board between the root complex and an accelerator lets its link sleep (ASPM)."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.devices import Device
from ...model.finding import Finding
from ...parsers.kernel.cmdline import words
from ..check import TOPO, Check, Family, Heading, Needs
from ..context import Case
from .aspm_remedies import fix
from .link_common import at_hops, each

CHECK = Check(
    "link-aspm", "no hop of an accelerator lets its link sleep",
    Heading.LINKS, 30, Family.PCIE, TOPO, needs=(Needs.TREE,), judges=("pcie.aspm", "pcie.bridge.aspm"),
)
_ID = CHECK.id
CODES = {
    "aspm-on": "A link on the path may sleep: ASPM is on.",
}


def judge(case: Case) -> Iterator[Finding]:
    host = case.snapshot.host
    running = words(host.kernel.cmdline.value or ()) if host else []
    yield from each(case, _ID, lambda subject, chain: _judge(subject, chain, running))


def _judge(subject: str, chain: list[Device], running: list[str]) -> Finding:
    links = [(hop.bdf, hop.express.value.link) for hop in chain if hop.express.value]
    asleep = {bdf: link.aspm for bdf, link in links if link and link.aspm}
    named = ", ".join(f"{bdf} ({states})" for bdf, states in asleep.items())
    text = f"ASPM is on at {named}" if asleep else f"ASPM is off {at_hops(chain)}"
    return Finding(_ID, "aspm-on" if asleep else "ok", subject, "warn" if asleep else "pass", "effective",
                   f"{subject}: {text}", named or "off",
                   "ASPM Disabled in LnkCtl at every hop", (chain[-1].express.source,),
                   fix(asleep, running) if asleep else None)
