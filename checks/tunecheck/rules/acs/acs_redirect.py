"""acs-redirect: no port between two accelerators sends their traffic up to the root complex.

The check reads the control register itself, never the command line: many command lines have `pci=noacs`, and it does
nothing. Only ReqRedir, CmpltRedir and EgressCtrl count. SrcValid and UpstreamFwd alone do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from ...facts.pci.devices import Device
from ...facts.pci.topology import Pair
from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ...parsers.pci.acs import REDIRECT_MASK, Acs
from ...util.text import some
from ..check import EVERY, Check, Family, Heading, Needs
from ..codes import NO_PAIR, NOT_DECLARED, PATH_UNREAD, REGISTERS_UNREAD, VIRTUAL_PORTS
from ..context import Case
from ..nvidia.peer_access import Access, Peers, peers
from ..pcie.p2p_letters import after_the_model
from ..remedies.acs_remedies import GUEST_PORTS, boot_fix, clear_now
from ..remedies.redirect_gain import DRIVER_NOT_TOLD, REDIRECTS_NOTHING, no_gain

CHECK = Check(
    "acs-redirect", "no port between two accelerators redirects their traffic",
    Heading.ACS, 10, Family.ACS, EVERY, in_trial=True, needs=(Needs.TREE, Needs.PAIRS),
    judges=("acs.redirecting", "acs.path_ports"),
)
CODES = {
    "redirects": "A port between two accelerators redirects their traffic up to the root complex.",
    REDIRECTS_NOTHING: "A port redirects, and the driver refuses peer access between the boards that it lies "
                       "between: nothing is lost.",
    DRIVER_NOT_TOLD: "A port redirects between boards that NVIDIA's own driver never lets reach each other, and "
                     "whether it is the loaded one is not told.",
    "path-hidden": "The machine shows no port above the accelerators, and the specification asks for none.",
    "no-port-between": "No port lies between the accelerators and their nearest common bridge: nothing can redirect.",
    "no-acs-capability": "The port has no ACS capability, so it cannot redirect.",
    "guests-kept-apart": "The port sends peer traffic up to the IOMMU, which keeps virtual machines apart.",
    "guests-not-kept-apart": "The port lets peer traffic pass below the IOMMU: virtual machines with these "
                             "accelerators are not kept apart.",
}
_ID = CHECK.id
_EXPECTED = "ReqRedir- CmpltRedir- EgressCtrl-"


def judge(case: Case) -> Iterator[Finding]:
    topology = case.snapshot.topology
    if len(topology.devices) < 2:
        yield Finding(_ID, NO_PAIR, "ports", "skip", "behaviour",
                      "fewer than two accelerators: no peer traffic to redirect")
        return
    if case.trial and case.spec.acs.peer_redirect == "leave":
        yield Finding(_ID, NOT_DECLARED, "ports", "skip", "behaviour", "the spec leaves ACS alone, so this trial boot "
                      "has nothing to prove about it")
        return
    if case.guest and case.spec.acs.peer_redirect == "leave":
        yield Finding(_ID, VIRTUAL_PORTS, _labels(list(topology.pairs)), "skip", "behaviour", GUEST_PORTS)
        return
    ports = topology.path_ports()
    remedy, known = cache(lambda: _remedy(case)), peers(case)       # one for all ports of the box
    for port in ports:
        yield _judge(case, topology.bridges[port], topology.crossing(port), remedy, known)
    # A pair whose place in the tree is hidden has no ports to look at, which proves nothing about it.
    hidden = [pair for pair in topology.pairs if pair.relation.value is None and not pair.bridges]
    if hidden:
        # A tree that the machine hides (a flat guest) says nothing. A tree that was not read is missing evidence.
        asked = (case.spec.accelerators.how_close or case.spec.acs.peer_redirect == "off"
                 or any(device.chain.value is None for device in topology.devices))
        code, outcome = (PATH_UNREAD, "unknown") if asked else ("path-hidden", "skip")
        yield Finding(_ID, code, _labels(hidden), outcome, "behaviour", f"no port of the path {_labels(hidden)} can be "
                      f"seen: {hidden[0].relation.reason}")
    elif not ports:
        yield Finding(_ID, "no-port-between", "ports", "pass", "behaviour", "no port lies between the accelerators and "
                      "their nearest common bridge: nothing can redirect", "no port", _EXPECTED)


def _judge(case: Case, port: Device, pairs: list[Pair], remedy: Callable[[], Remedy], known: Peers) -> Finding:
    path = f"the path {_labels(pairs)}"
    if not port.acs.known:
        root = port.acs.absence is Absence.NO_PERMISSION
        return Finding(_ID, REGISTERS_UNREAD, port.bdf, "unknown", "behaviour", f"{port.bdf}: the ACS control "
                       f"register cannot be read, on {path}: {port.acs.why()}", "?", _EXPECTED, (port.acs.source,),
                       AS_ROOT if root else None, absence=port.acs.absence)
    acs = port.acs.value
    if acs is None:
        return Finding(_ID, "no-acs-capability", port.bdf, "pass", "behaviour", f"{port.bdf} on {path} has no ACS "
                       "capability, it cannot redirect", "no ACS capability", _EXPECTED, (port.acs.source,))
    observed = f"ACSCtl=0x{acs.ctl:04x}"
    evidence = (f"{port.acs.source} at 0x{acs.offset + 6:x}: {acs.names()}", *_before(case, port.bdf))
    if case.spec.accelerators.kernel_driver == "vfio-pci" and case.spec.acs.peer_redirect == "leave":
        return _for_guests(port, path, acs, observed, evidence)
    if acs.redirects:
        gain = no_gain(case, [(pair.a, pair.b) for pair in pairs])
        # What a specification asks for is wanted whatever the driver says.
        if gain is not None and case.spec.acs.peer_redirect != "off":
            there = "there is none" if gain.refused else "whether there is any is not known"
            return Finding(_ID, gain.code, port.bdf, "warn", "behaviour", f"{port.bdf} {observed} would redirect peer "
                           f"traffic; {there}: {gain.why}; on {path}", observed, _EXPECTED, evidence, gain.fix)
        unknown = known.over((pair.a, pair.b) for pair in pairs) is Access.MODEL_UNKNOWN
        fix = gain.fix if gain else None
        fix = fix or (after_the_model(remedy()) if unknown and case.frozen is None else remedy())
        return Finding(_ID, "redirects", port.bdf, "fail", "behaviour", f"{port.bdf} {observed} redirects peer traffic "
                       f"on {path}" + (f"; {gain.told}" if gain else ""), observed, _EXPECTED, evidence, fix)
    return Finding(_ID, "ok", port.bdf, "pass", "behaviour", f"{port.bdf} {observed} lets peer traffic pass on {path} "
                   f"({acs.names(REDIRECT_MASK)}{_change(case, port.bdf, acs)})", observed, _EXPECTED, evidence)


def _for_guests(port: Device, path: str, acs: Acs, observed: str, evidence: tuple[str, ...]) -> Finding:
    """Return the finding about a port whose accelerators go to virtual machines. The same bits keep these machines
    apart, so here they have to be set."""
    if acs.redirects:
        return Finding(_ID, "guests-kept-apart", port.bdf, "pass", "behaviour", f"{port.bdf} {observed} sends peer "
                       f"traffic on {path} up to the IOMMU, which keeps virtual machines apart", observed, "ReqRedir+",
                       evidence)
    remedy = Remedy("take pci=disable_acs_redir= and whatever else clears ACS out of the boot configuration and "
                    "reboot; where one machine has all of them, this is its direct way", (), True)
    return Finding(_ID, "guests-not-kept-apart", port.bdf, "warn", "behaviour", f"{port.bdf} {observed} keeps no "
                   "virtual machines with these accelerators apart; it lets peer traffic pass below the IOMMU on "
                   f"{path}", observed, "ReqRedir+", evidence, remedy)


def _labels(pairs: list[Pair]) -> str:
    return some([pair.label for pair in pairs], 4, ", ")


def _remedy(case: Case) -> Remedy:
    if case.frozen is None:
        # One command names all ports of the box, so that each of them has the same remedy and it is shown once.
        topology = case.snapshot.topology
        ports = [port for port in topology.path_ports()
                 if (bits := topology.bridges[port].acs.value) is not None and bits.redirects]
        fix = boot_fix(case)
        until = "until then, and until" if fix.needs_reboot else "what clears them until"
        return Remedy.of(*fix.parts, f"; {until} the next reset of a port: ", clear_now(ports),
                         ansible_tags=fix.ansible_tags, needs_reboot=fix.needs_reboot)
    if case.spec.acs.peer_redirect == "leave":
        return case.play("acs", True, 'set box_spec.acs.peer_redirect: "off" in the inventory',
                         boot_fix(case, by_play=False))
    if case.guest:
        # The hypervisor made these ports up, and the specification asks all the same: the play clears those it sees.
        return case.play("acs", True)
    return boot_fix(case)


def _before(case: Case, bdf: str) -> tuple[str, ...]:
    """Return as evidence what the receipt of provisioning says of the register before it; empty where it says
    nothing."""
    receipt = case.snapshot.receipt.value
    if receipt is None or bdf not in receipt.acs_before:
        return ()
    return (f"{receipt.acs_before[bdf]} before provisioning (receipt {receipt.taken})".replace(" )", ")"),)


def _change(case: Case, bdf: str, acs: Acs) -> str:
    """Return the end of a sentence that names the register's value before provisioning; "" where it was the same, or is
    not known."""
    receipt = case.snapshot.receipt.value
    before = receipt.acs_before.get(bdf) if receipt else None
    return f"; it was {before} before provisioning" if before and int(before, 16) != acs.ctl else ""
