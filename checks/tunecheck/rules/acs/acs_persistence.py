"""acs-persistence: the redirect bits stay clear after a port reset, an AER recovery and the next boot.

pci_restore_state() writes the kernel's own default and the ACS options of the command line again. A bridge reset or an
AER/DPC recovery therefore loses what setpci wrote, and keeps what an option on the command line asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...model.finding import Finding
from ...parsers.pci.acs import Acs
from ...spec import frozen as spec
from ..check import Check, Family, Heading, Needs
from ..codes import NO_PORT, NOT_DECLARED, REGISTERS_UNREAD, TRIAL_OPEN, UNREAD, VIRTUAL_PORTS
from ..context import Case
from ..evidence_guard import NO_PORT_TEXT
from ..remedies import boot_remedies
from ..remedies.acs_line import uncovered
from ..remedies.acs_remedies import GUEST_PORTS, boot_fix
from ..remedies.redirect_gain import DRIVER_NOT_TOLD, REDIRECTS_NOTHING, NoGain, no_gain

CHECK = Check(
    "acs-persistence", "the redirect bits stay clear after resets and reboots",
    Heading.ACS, 20, Family.ACS, needs=(Needs.WHOLE_TREE, Needs.WAY, Needs.PAIRS), judges=("acs.unit",),
    compares=("kernel.cmdline.pci",),
)
CODES = {
    "no-acs-capability": "No port between the accelerators has an ACS capability.",
    "not-set-by-kernel": "No specification is given, and no port between the accelerators has the ACS bits that the "
                         "kernel sets.",
    "redirect-on": "ACS redirect is on, so there is no clear bit to keep.",
    "lost-at-reset": "After a port reset nothing keeps ACS redirect off.",
    "lost-at-next-boot": "The next boot lacks the option that keeps ACS redirect off now.",
    "neither-option-nor-unit": "No option on the command line keeps ACS redirect off, now or at the next boot, and "
                               "tunecheck-acs.service is not enabled.",
    REDIRECTS_NOTHING: "Nothing keeps ACS redirect off, and the driver refuses peer access between the boards: nothing "
                       "is lost.",
    DRIVER_NOT_TOLD: "Nothing keeps ACS redirect off between boards that NVIDIA's own driver never lets reach each "
                     "other, and whether it is the loaded one is not told.",
    "unit-enabled": "The unit tunecheck-acs.service, which clears the redirect bits at boot, is enabled.",
    "unit-not-enabled": "The unit tunecheck-acs.service, which clears the redirect bits at boot, is not enabled.",
    "unit-locked-down": "Kernel lockdown keeps tunecheck-acs.service from clearing a register.",
}
_ID = CHECK.id
_EXPECTED = "an ACS option for each of these ports on the kernel command line, now and at the next boot"


def judge(case: Case) -> Iterator[Finding]:
    topology, acs = case.snapshot.topology, case.spec.acs
    ports = [port for port in topology.path_ports() if topology.bridges[port].acs.value is not None]
    if case.guest and acs.peer_redirect == "leave":
        yield _finding(VIRTUAL_PORTS, "skip", "declared", GUEST_PORTS)
        return
    if case.frozen is None:
        ports = [port for port in ports if _kernel_asked(topology.bridges[port].acs.value)]
    elif acs.peer_redirect == "leave":
        yield _finding(NOT_DECLARED, "skip", "declared",
                       "the spec leaves ACS alone (box_spec.acs.peer_redirect: leave)")
        return
    if not topology.path_ports():
        yield _finding(NO_PORT, "skip", "behaviour", NO_PORT_TEXT)
    elif not ports:
        unread = [port for port in topology.path_ports() if not topology.bridges[port].acs.known]
        if unread:
            acs_of = topology.bridges[unread[0]].acs
            yield _finding(REGISTERS_UNREAD, "unknown", "behaviour",
                           f"which ports have an ACS capability is unknown: {acs_of.why()}",
                           evidence=(acs_of.source,), absence=acs_of.absence)
        elif case.frozen:
            yield _finding("no-acs-capability", "skip", "behaviour",
                           "no port between accelerators has an ACS capability")
        else:
            yield _finding("not-set-by-kernel", "skip", "behaviour",
                           "no spec given, and no port between accelerators has ACS as the kernel sets it")
    elif case.frozen is None and any(bits.redirects for port in ports if (bits := topology.bridges[port].acs.value)):
        yield _finding("redirect-on", "skip", "behaviour", 
                       "ACS redirect is on (acs-redirect): there is nothing to keep")
    elif acs.mechanism != "setpci":
        found = _with_gain(case, _judge(case, ports), no_gain(case))
        unit = _unit(case) if _has_unit(ports, acs) else None
        if unit is not None and unit.outcome == "fail" and found.code in ("lost-at-reset", "lost-at-next-boot"):
            yield _both(found, unit)      # one cause, the play's tag acs has not done its work, and one fix
            return
        yield found
    if _has_unit(ports, acs):
        yield _unit(case)


def _has_unit(ports: list[str], acs: spec.Acs) -> bool:
    return bool(ports) and acs.peer_redirect == "off" and (acs.at_boot_unit or acs.mechanism == "setpci")


def _both(option: Finding, unit: Finding) -> Finding:
    """One finding where neither the command line nor the unit keeps the bits clear."""
    return replace(option, outcome="fail", code="neither-option-nor-unit", text=f"{option.text}; nor is {unit.subject} "
                   "enabled, which would clear them at boot", observed=unit.observed,
                   evidence=(*option.evidence, *unit.evidence))


def _with_gain(case: Case, found: Finding, gain: NoGain | None) -> Finding:
    """Return the finding with what the driver says of peer access, which is all that a redirect costs."""
    if gain is None or found.outcome == "pass" or found.code == UNREAD:
        return found
    found = replace(found, text=f"{found.text}; {gain.told}")
    if gain.fix is None or found.code == TRIAL_OPEN:
        return found
    return replace(found, code=found.code if case.frozen else gain.code, expected="", remedy=gain.fix)


def _judge(case: Case, ports: list[str]) -> Finding:
    running, generated = case.host.kernel.cmdline, case.host.boot.generated
    if running.value is None:
        return _finding(UNREAD, "unknown", "effective", f"the command line cannot be read: {running.why()}",
                        evidence=(running.source,), absence=running.absence)
    lacking = uncovered(case, ports, running.value)
    remedy = boot_fix(case)
    if lacking:
        return _finding("lost-at-reset", "warn", "effective", f"nothing on the running command line keeps ACS redirect "
                        f"off at {', '.join(lacking)}: a bridge reset or AER recovery turns it on again",
                        expected=_EXPECTED, evidence=(running.source,), remedy=remedy)
    if generated.value is None:
        return _finding(UNREAD, "unknown", "generated", f"whether the next boot keeps ACS redirect off is unknown: "
                        f"{generated.why()}", evidence=(generated.source,), absence=generated.absence)
    lacking = uncovered(case, ports, generated.value)
    if lacking and case.open_trial:
        return _finding(TRIAL_OPEN, "unknown", "generated", "the trial boot is not committed: the next "
                        "boot turns ACS redirect on again unless a commit puts the option that keeps it off into the "
                        f"boot loader's default entry; ports: {', '.join(lacking)}", expected=_EXPECTED,
                        evidence=(running.source, generated.source), remedy=boot_remedies.commit(case, "acs"))
    if lacking:
        return _finding("lost-at-next-boot", "fail", "generated", f"the next boot turns ACS redirect on again at "
                        f"{', '.join(lacking)}: the boot loader's default entry lacks the option that is running now",
                        expected=_EXPECTED, evidence=(running.source, generated.source), remedy=remedy)
    return _finding("ok", "pass", "generated", f"the command line keeps ACS redirect off at {', '.join(ports)}, now "
                    "and at the next boot", expected=_EXPECTED, evidence=(running.source, generated.source))


def _unit(case: Case) -> Finding:
    enabled = case.host.acs_unit
    source = (enabled.source,)
    if enabled.value is None:
        return Finding(_ID, UNREAD, "tunecheck-acs.service", "unknown", "configured",
                       f"whether the unit is enabled is unknown: {enabled.why()}", evidence=source,
                       absence=enabled.absence)
    lockdown = case.host.kernel.lockdown.value
    if lockdown in ("integrity", "confidentiality"):
        return Finding(_ID, "unit-locked-down", "tunecheck-acs.service", "skip", "configured",
                       f"tunecheck-acs.service cannot clear a register under kernel lockdown ({lockdown}): judged by "
                       "kernel-lockdown", lockdown, evidence=(case.host.kernel.lockdown.source,))
    gain = no_gain(case)
    code, outcome, state = (("unit-enabled", "pass", "enabled") if enabled.value else
                            ("unit-not-enabled", "fail", "not enabled"))
    return Finding(_ID, code, "tunecheck-acs.service", outcome, "configured",
                   f"tunecheck-acs.service, which clears the redirect bits at boot, is {state}", state, "enabled",
                   source, None if enabled.value else gain.fix if gain and gain.fix else case.play("acs"))


def _kernel_asked(acs: Acs | None) -> bool:
    """Whether SrcValid and UpstreamFwd are on, which the kernel sets together with the redirects (pci_enable_acs)."""
    return acs is not None and acs.ctl & 0x11 == 0x11


def _finding(code: str, outcome: str, layer: str, text: str, **more: object) -> Finding:
    return Finding(_ID, code, "kernel command line", outcome, layer, text, **more)  # type: ignore[arg-type]
