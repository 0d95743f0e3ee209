"""acs-persistence: the redirect bits stay clear after a port reset, an AER recovery and the next boot.

pci_restore_state() re-applies the kernel's own default and the command line's ACS options, so a value written by
setpci is lost in a bridge reset or AER/DPC recovery, and the command line form is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import NO_PORT, Finding
from ...parsers.kernel.cmdline import words
from ...parsers.pci.pci import Acs, covered_by_acs_option
from ..check import Check, Family, Heading, Needs
from ..context import Case
from ..evidence_guard import NO_PORT_TEXT
from .acs_remedies import GUEST_PORTS, boot_fix

CHECK = Check(
    "acs-persistence", "the redirect bits stay clear after resets and reboots",
    Heading.ACS, 20, Family.ACS, needs=(Needs.WHOLE_TREE, Needs.WAY, Needs.PAIRS), judges=("acs.unit",),
)
_ID = CHECK.id
_EXPECTED = "an ACS option for each of these ports on the kernel command line, now and at the next boot"


def judge(case: Case) -> Iterator[Finding]:
    topology, acs = case.snapshot.topology, case.spec.acs
    ports = [port for port in topology.path_ports() if topology.bridges[port].acs.value is not None]
    if case.guest and acs.peer_redirect == "leave":
        yield _finding("skip", "declared", GUEST_PORTS)
        return
    if case.frozen is None:
        ports = [port for port in ports if _kernel_asked(topology.bridges[port].acs.value)]
    elif acs.peer_redirect == "leave":
        yield _finding("skip", "declared", "the spec leaves ACS alone (box_spec.acs.peer_redirect: leave)")
        return
    if not topology.path_ports():
        yield _finding("skip", "behaviour", NO_PORT_TEXT, code=NO_PORT)
    elif not ports:
        unread = [port for port in topology.path_ports() if not topology.bridges[port].acs.known]
        if unread:
            why = topology.bridges[unread[0]].acs.why()
            yield _finding("unknown", "behaviour", f"which ports have an ACS capability is unknown: {why}")
        else:
            yield _finding("skip", "behaviour", "no port between accelerators has an ACS capability" if case.frozen else
                           "no spec given, and no port between accelerators has ACS as the kernel sets it")
    elif case.frozen is None and any(bits.redirects for port in ports if (bits := topology.bridges[port].acs.value)):
        yield _finding("skip", "behaviour", "ACS redirect is on (acs-redirect): there is nothing to keep")
    elif acs.mechanism != "setpci":
        yield _judge(case, ports)
    if ports and acs.peer_redirect == "off" and (acs.at_boot_unit or acs.mechanism == "setpci"):
        yield _unit(case)


def _judge(case: Case, ports: list[str]) -> Finding:
    running, generated = case.host.kernel.cmdline, case.host.boot.generated
    if running.value is None:
        return _finding("unknown", "effective", f"the command line cannot be read: {running.why()}",
                        absence=running.absence)
    bare = uncovered(case, ports, running.value)
    remedy = boot_fix(case)
    if bare:
        return _finding("warn", "effective", f"nothing on the running command line keeps ACS redirect off at "
                        f"{', '.join(bare)}: a bridge reset or AER recovery turns it on again", expected=_EXPECTED,
                        evidence=(running.source,), remedy=remedy)
    if generated.value is None:
        return _finding("unknown", "generated", f"whether the next boot keeps ACS redirect off is unknown: "
                        f"{generated.why()}", evidence=(generated.source,), absence=generated.absence)
    bare = uncovered(case, ports, generated.value)
    if bare:
        return _finding("fail", "generated", f"the next boot turns ACS redirect on again at {', '.join(bare)}: the "
                        "boot loader's default entry lacks the option that is running now", expected=_EXPECTED,
                        evidence=(running.source, generated.source), remedy=remedy)
    return _finding("pass", "generated", f"the command line keeps ACS redirect off at {', '.join(ports)}, now and at "
                    "the next boot", expected=_EXPECTED, evidence=(running.source, generated.source))


def _unit(case: Case) -> Finding:
    enabled = case.host.acs_unit
    source = (enabled.source,)
    if enabled.value is None:
        return Finding(_ID, "tunecheck-acs.service", "unknown", "configured",
                       f"whether the unit is enabled is unknown: {enabled.why()}", evidence=source,
                       absence=enabled.absence)
    lockdown = case.host.kernel.lockdown.value
    if lockdown in ("integrity", "confidentiality"):
        return Finding(_ID, "tunecheck-acs.service", "skip", "configured", "tunecheck-acs.service cannot clear a "
                       f"register under kernel lockdown ({lockdown}): judged by kernel-lockdown", lockdown,
                       evidence=(case.host.kernel.lockdown.source,))
    state = "enabled" if enabled.value else "not enabled"
    return Finding(_ID, "tunecheck-acs.service", "pass" if enabled.value else "fail", "configured",
                   f"tunecheck-acs.service, which clears the redirect bits at boot, is {state}", state, "enabled",
                   source, None if enabled.value else case.play("acs"))


def _kernel_asked(acs: Acs | None) -> bool:
    """Whether SrcValid and UpstreamFwd are on, which the kernel sets together with the redirects (pci_enable_acs)."""
    return acs is not None and acs.ctl & 0x11 == 0x11


def uncovered(case: Case, ports: list[str], line: tuple[str, ...]) -> list[str]:
    """The ports whose redirect bits no ACS option of this command line keeps clear."""
    bridges = case.snapshot.topology.bridges
    options = words(line)
    return [port for port in ports
            if not any(covered_by_acs_option(word, bridges[port].path, bridges[port].ids) for word in options)]


def _finding(outcome: str, layer: str, text: str, **more: object) -> Finding:
    return Finding(_ID, "kernel command line", outcome, layer, text, **more)  # type: ignore[arg-type]
