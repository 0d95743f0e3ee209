"""acs-redirect: no port between two accelerators sends their traffic up to the root complex.

Judged is the control register itself, never the command line: `pci=noacs` is on thousands of command lines and does
nothing. Only ReqRedir, CmpltRedir and EgressCtrl count; SrcValid and UpstreamFwd alone are harmless.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.pci import Device
from ...facts.pci.topology import Pair
from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ...parsers.pci.pci import REDIRECT_MASK, Acs
from ..check import EVERY, Check, Family, Heading, Needs
from ..context import Case
from .acs_remedies import GUEST_PORTS, boot_fix, clear_now

CHECK = Check(
    "acs-redirect", "no port between two accelerators redirects their traffic",
    Heading.ACS, 10, Family.ACS, EVERY, in_trial=True, needs=(Needs.TREE, Needs.PAIRS),
    judges=("acs.redirecting", "acs.path_ports"),
)
_ID = CHECK.id
_EXPECTED = "ReqRedir- CmpltRedir- EgressCtrl-"


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    if len(topology.devices) < 2:
        yield Finding(_ID, "ports", "skip", "behaviour", "fewer than two accelerators: no peer traffic to redirect")
        return
    if case.trial and case.spec.acs.peer_redirect == "leave":
        yield Finding(_ID, "ports", "skip", "behaviour", "the spec leaves ACS alone, so this trial boot has nothing "
                      "to prove about it")
        return
    if case.guest and case.spec.acs.peer_redirect == "leave":
        yield Finding(_ID, _labels(list(topology.pairs)), "skip", "behaviour", GUEST_PORTS)
        return
    ports = topology.path_ports()
    for port in ports:
        yield _judge(case, topology.bridges[port], topology.crossing(port))
    # A pair whose place in the tree is hidden has no ports to look at, which proves nothing about it.
    hidden = [pair for pair in topology.pairs if pair.relation.value is None and not pair.bridges]
    if hidden:
        # A tree that the machine hides (a flat guest) says nothing; one that is not read, whole or in part, is missing.
        asked = (case.spec.accelerators.how_close or case.spec.acs.peer_redirect == "off"
                 or any(device.chain.value is None for device in topology.devices))
        outcome = "unknown" if asked else "skip"
        yield Finding(_ID, _labels(hidden), outcome, "behaviour", f"no port of the path {_labels(hidden)} can be seen: "
                      f"{hidden[0].relation.reason}")
    elif not ports:
        yield Finding(_ID, "ports", "pass", "behaviour", "no port lies between the accelerators and their nearest "
                      "common bridge: nothing can redirect", "no port", _EXPECTED)


def _judge(case: Case, port: Device, pairs: list[Pair]) -> Finding:
    path = f"the path {_labels(pairs)}"
    if not port.acs.known:
        root = port.acs.absence is Absence.NO_PERMISSION
        return Finding(_ID, port.bdf, "unknown", "behaviour", f"the ACS control register of {port.bdf} on {path} "
                       f"cannot be read: {port.acs.why()}", "?", _EXPECTED, (port.acs.source,),
                       AS_ROOT if root else None, absence=port.acs.absence)
    found = port.acs.value
    if found is None:
        return Finding(_ID, port.bdf, "pass", "behaviour", f"{port.bdf} on {path} has no ACS capability, it cannot "
                       "redirect", "no ACS capability", _EXPECTED, (port.acs.source,))
    observed = f"ACSCtl=0x{found.ctl:04x}"
    evidence = (f"{port.acs.source} at 0x{found.offset + 6:x}: {found.names()}", *_before(case, port.bdf))
    if case.spec.accelerators.kernel_driver == "vfio-pci" and case.spec.acs.peer_redirect == "leave":
        return _for_guests(port, path, found, observed, evidence)
    if found.redirects:
        return Finding(_ID, port.bdf, "fail", "behaviour", f"{port.bdf} {observed} redirects peer traffic on {path}",
                       observed, _EXPECTED, evidence, _remedy(case))
    return Finding(_ID, port.bdf, "pass", "behaviour", f"{port.bdf} {observed} lets peer traffic pass on {path} "
                   f"({found.names(REDIRECT_MASK)}{_was(case, port.bdf, found)})", observed, _EXPECTED, evidence)


def _for_guests(port: Device, path: str, found: Acs, observed: str, evidence: tuple[str, ...]) -> Finding:
    """Between virtual machines the same bits are what keeps them apart."""
    if found.redirects:
        return Finding(_ID, port.bdf, "pass", "behaviour", f"{port.bdf} {observed} sends peer traffic on {path} up to "
                       "the IOMMU, which keeps virtual machines apart", observed, "ReqRedir+", evidence)
    return Finding(_ID, port.bdf, "warn", "behaviour", f"{port.bdf} {observed} lets peer traffic pass on {path} below "
                   "the IOMMU: virtual machines with these accelerators are not kept apart", observed, "ReqRedir+",
                   evidence, Remedy("take pci=disable_acs_redir= and whatever else clears ACS out of the boot "
                                    "configuration and reboot; where one machine has all of them, this is its direct "
                                    "way", (), True))


def _labels(pairs: list[Pair]) -> str:
    named = [pair.label for pair in pairs[:4]]
    return ", ".join([*named, *([f"and {len(pairs) - 4} more"] if len(pairs) > 4 else [])])


def _remedy(case: Case) -> Remedy:
    if case.frozen is None:
        # All ports of the box in one command: the same remedy at each of them, shown once.
        topology = case.snapshot.topology
        ports = [port for port in topology.path_ports()
                 if (bits := topology.bridges[port].acs.value) is not None and bits.redirects]
        fix = boot_fix(case)
        return Remedy.of(*fix.parts, "; until then, and until the next reset of a port: ", clear_now(ports),
                         ansible_tags=fix.ansible_tags, needs_reboot=True)
    if case.spec.acs.peer_redirect == "leave":
        return case.play("acs", True, 'set box_spec.acs.peer_redirect: "off" in the inventory',
                         boot_fix(case, by_play=False))
    if case.guest:
        # Declared for a machine whose ports its hypervisor made up: the play clears those that it sees.
        return case.play("acs", True)
    return boot_fix(case)


def _before(case: Case, bdf: str) -> tuple[str, ...]:
    receipt = case.snapshot.receipt.value
    if receipt is None or bdf not in receipt.acs_before:
        return ()
    return (f"{receipt.acs_before[bdf]} before provisioning (receipt {receipt.taken})".replace(" )", ")"),)


def _was(case: Case, bdf: str, found: Acs) -> str:
    receipt = case.snapshot.receipt.value
    before = receipt.acs_before.get(bdf) if receipt else None
    return f"; it was {before} before provisioning" if before and int(before, 16) != found.ctl else ""
