"""Why the kernel does not handle PCIe errors, by the log of each host bridge, and which word is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.finding import Place, Remedy
from ...parsers.kernel.param_conflicts import conflicts, split
from ...parsers.pci.osc import Bridge
from ...spec.frozen import declared_tokens
from ...util.at_first_use import dataclass
from ...util.text import some
from ..context import Case
from . import from_log

__all__ = ["Loss", "losses"]

_BMC = Remedy("look for PCIe errors in the BMC's event log; some BIOSes have a setting for OS native AER",
              place=Place.FIRMWARE)
_OTHER_KERNEL = ("see which installed kernel has the port services (`grep -rs --include=config-* CONFIG_PCIEPORTBUS=y "
                 "/boot`) and boot one that does")
_PORTBUS = Remedy.typed(_OTHER_KERNEL)
#: Where the command line was not read, the word comes first: to look for it is less than to boot another kernel.
_PORTBUS_OR_WORD = Remedy.typed("look for pcie_ports=compat in `cat /proc/cmdline`, and remove it from the boot "
                                f"configuration; where it is not there, {_OTHER_KERNEL}", needs_reboot=True)
#: The code of each outcome of parsers/pci/osc.py that leaves PCIe errors to somebody else, in order of report.
_CODES = {"disabled": "services-off", "unsupported": "support-missing", "not asked": "not-asked",
          "refused": "firmware-keeps-it", "failed": "osc-failed"}
#: What takes a kind of support away: a word of the command line, or something else where no such word is there.
_SUPPORT = {
    "ASPM": ("pcie_aspm=off", "a kernel without CONFIG_PCIEASPM"),
    "ClockPM": ("pcie_aspm=off", "a kernel without CONFIG_PCIEASPM"),
    "MSI": ("pci=nomsi", "a firmware whose FADT table forbids MSI"),
    "ExtendedConfig": ("pci=nommconf", "no extended configuration space (no MCFG table; a virtual machine of type pc)"),
}
#: What each word takes away. drivers/acpi/pci_root.c asks the firmware for nothing (AER, DPC, hot plug) unless it can
#: offer ASPM and the extended configuration space, which begins at 0x100 and holds AER and ACS.
_EFFECTS = {
    "pci=noaer": "{} turns PCIe error reporting off", "pcie_ports=compat": "{} turns PCIe error reporting off",
    "pci=nommconf": "{} takes the extended configuration space away: ACS and AER cannot be reached",
    "pcie_aspm=off": "{} keeps the kernel from asking the firmware for PCIe errors (AER), DPC and hot plug",
}


@dataclass(frozen=True)
class Loss:
    """Why the kernel does not handle PCIe errors of some host bridges. ``code``: that of aer-ownership.
    ``against_spec``: the reason is a word that contradicts what the spec declares."""

    code: str
    text: str
    remedy: Remedy
    against_spec: bool = False


def losses(case: Case, bridges: Mapping[str, Bridge]) -> list[Loss]:
    """Return one loss for each reason, one with a word on the command line first. Empty where the log shows none."""
    line = case.host.kernel.cmdline.value or ()
    running = {word for token in line for word in split(token)}
    # With it the port services take errors over without asking the firmware (portdrv.c, pcie_ports_native).
    native = "pcie_ports=native" in running
    losses_by_reason: dict[str, Loss] = {}
    named: set[str] = set()
    for outcome, code in _CODES.items():
        names = [name for name, bridge in bridges.items() if bridge.outcome == outcome]
        if not names or (native and outcome != "disabled"):
            continue
        words, text = _why(outcome, [bridges[name] for name in names], running, case.host.kernel.cmdline.known)
        named.update(words)
        shown = some(names, 3)
        text = text.format(f"{len(names)} of {len(bridges)} host bridges ({shown})")
        portbus = _PORTBUS if case.host.kernel.cmdline.known else _PORTBUS_OR_WORD
        losses_by_reason[outcome] = _loss(case, code, text, words, portbus if outcome == "disabled" else _BMC)
    # Words whose effect the log does not show: it lost its start, or it is not this boot's.
    unexplained = [word for word in _switches(case, bridges, native) if word in running and word not in named]
    if unexplained and not losses_by_reason:
        effects = "; ".join(_EFFECTS[word].format(word) for word in unexplained)
        losses_by_reason["switched-off"] = _loss(case, "switched-off", effects, unexplained)
    return list(losses_by_reason.values())


def _switches(case: Case, bridges: Mapping[str, Bridge], native: bool) -> Iterator[str]:
    """Yield the words that turn PCIe errors off. What pcie_aspm=off and pci=nommconf do, a whole log shows at each host
    bridge that there is; they say it themselves where there is no such log."""
    yield from ("pci=noaer", "pcie_ports=compat")
    if not bridges and not from_log.is_complete(case):
        yield "pci=nommconf"
        if not native:
            yield "pcie_aspm=off"


def _why(outcome: str, bridges: list[Bridge], running: set[str], line_known: bool) -> tuple[list[str], str]:
    """Return the words to blame, and the sentence with a place ({}) for the host bridges. ``line_known``: whether
    ``running`` is all of the command line."""
    if outcome == "disabled":
        words = [word for word in ("pcie_ports=compat",) if word in running]
        without = "the kernel is built without them (CONFIG_PCIEPORTBUS)"
        blame = (f", because of {words[0]}" if words else
                 f", and no pcie_ports=compat is on the command line: perhaps {without}" if line_known else
                 f": either pcie_ports=compat is on the command line, which cannot be read, or {without}")
        return words, f"the PCIe port services are off at {{}}{blame}"
    if outcome == "unsupported":
        lacks = list(dict.fromkeys(name for bridge in bridges for name in bridge.lacks))
        required = " ".join(bridges[0].required)
        words = list(dict.fromkeys(word for name in lacks if (word := _SUPPORT.get(name, ("", ""))[0]) in running))
        other = dict.fromkeys(_SUPPORT[name][1] for name in lacks if name in _SUPPORT)
        blame = " and ".join(words) or " or ".join(other) or "support that the log does not name"
        return words, (f"the kernel did not ask the firmware for control of PCIe errors at {{}}: it lacks "
                       f"{', '.join(lacks) or 'support'} of the [{required}] that it needs, because of {blame}")
    if outcome == "not asked":
        words = [word for word in ("pci=noaer", "pci=nomsi") if word in running]
        blame = f"{words[0]} turns PCIe error reporting off" if words else \
            "the kernel looks built without CONFIG_PCIEAER"
        return words, f"{blame}: the kernel took other PCIe features and did not ask for errors (AER) at {{}}"
    if outcome == "failed":
        error = ", ".join(dict.fromkeys(bridge.error for bridge in bridges))
        return [], f"the firmware's _OSC failed ({error}) and it keeps PCIe errors of {{}} to itself"
    return [], "the firmware keeps PCIe errors of {} to itself"


def _loss(case: Case, code: str, text: str, words: list[str], otherwise: Remedy = _BMC) -> Loss:
    """Return the loss with the remedy against ``words``; where none is to blame it is ``otherwise``."""
    if not words:
        return Loss(code, text, otherwise)
    declared = declared_tokens(case.spec)
    line = case.host.kernel.cmdline.value or ()
    against = {conflict.rival for conflict in conflicts(declared, line) if conflict.wins}
    ours = {word for token in declared for word in split(token)}
    instead = "pcie_aspm.policy=performance keeps links up without it" if "pcie_aspm=off" in words else ""
    away = f"remove {' and '.join(words)} from"
    if set(words) & ours:
        fix = case.play("cmdline", True, f"{away} box_spec.kernel.cmdline{f' ({instead})' if instead else ''}")
    else:
        fix = Remedy(f"{away} the boot configuration and reboot{f'; {instead}' if instead else ''}", ("cmdline",), True)
    return Loss(code, text, fix, bool(against & set(words)))
