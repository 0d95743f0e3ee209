"""How to boot so that peer traffic keeps its way: one instruction for one box, whichever check gives it."""

from __future__ import annotations

from .command import Command, addresses, run
from .finding import Case, Remedy
from .iommu_words import switched_off

__all__ = ["GUEST_PORTS", "boot_fix", "clear_now"]

GUEST_PORTS = ("this is a virtual machine: its hypervisor made these ports up; the ACS bits that decide are those of "
               "its host, where they stay on for ATS and between machines")

_OPTION = "pci=disable_acs_redir=pci:0:0"
_WHERE = ("(pci:0:0 means every port, Linux 4.19 and later): put it into GRUB_CMDLINE_LINUX_DEFAULT in "
          "/etc/default/grub, run `update-grub`, reboot; by address or id of ports: `tunecheck explain "
          "acs-persistence`")


def boot_fix(case: Case, by_play: bool = True) -> Remedy:
    """``iommu=pt`` never without the ACS option, as it turns ACS on; and in place of words that switch the IOMMU off,
    as they cost the threads beyond 255 and keep no ACS bit clear."""
    # `tunecheck topo` does not read the command line.
    off = " ".join((switched_off(case) if case.snapshot.host else None) or ())
    # The ports of a virtual machine are not the real ones: no ACS option there.
    between = not case.guest and (case.snapshot.topology.path_ports() or
                                  not case.snapshot.topology.accelerators.known)
    words = " ".join([*(["iommu=pt"] if off else []), *([_OPTION] if between else [])])
    instead = f" in place of {off}" if off else ""
    by_hand = Remedy.typed("boot with {words} " + _WHERE if between else "boot with {words}",
                           ("acs",) if between else (), True, words=f"{words}{instead}")
    if case.frozen is None or not by_play:
        return by_hand
    first = f'set box_spec.iommu: "pt" and take {off} out of box_spec.kernel.cmdline' if off else ""
    return case.play("acs,cmdline" if off else "acs", True, first, by_hand)


def clear_now(ports: list[str]) -> Command:
    """The command that clears the redirect bits of every one of these ports until their next reset: setpci(8) takes
    several devices, each with what is written to it."""
    return run("setpci", *(word for port in addresses(ports) for word in ("-s", port, "ECAP_ACS+6.w=0:2c")))
