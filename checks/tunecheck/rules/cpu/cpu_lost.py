"""cpu-lost: every thread that the machine has came up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...model.command import cpus, run
from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.cpulist import show
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from ..errors import from_log
from ..remedies import boot_remedies
from ..remedies.acs_remedies import boot_fix
from ..remedies.iommu_remedies import ON_IN_BIOS, WIDE, iommu_table, no_remapping, switched_off

CHECK = Check(
    "cpu-lost", "every thread of the machine came up", Heading.SYSTEM, 30, Family.CPU,
    judges=("cpu.lost", "cpu.online"), counts=("cpu.online", "numa.cpus"),
    misses=("no-interrupt-remapping", "invalid-apic-id", "capped-by-cmdline", "offline"),
    # The kernel log of the boot tells the cause, and is overwritten after a while.
    one_fault=("offline", "no-interrupt-remapping", "invalid-apic-id", "capped-by-cmdline"),
)
CODES = {
    "no-interrupt-remapping": "A CPU did not come up, for want of interrupt remapping.",
    "invalid-apic-id": "A CPU did not come up, because its APIC id is invalid.",
    "smt-off": "Only some CPUs are online, because SMT is off.",
    "capped-by-cmdline": "CPUs are offline, and a word on the command line limits their number.",
    "offline": "CPUs are offline.",
}
_ID = CHECK.id
_X2APIC = "look for x2APIC in the BIOS"


def judge(case: Case) -> Iterator[Finding]:
    box, log = case.host.platform, case.host.kernel.log.value
    online, present = set(box.online.value or ()), set(box.present.value or ())
    broken = {cpu for cpu in (log.boot.lost_cpus if log else ()) if cpu not in online}
    unread = next((fact for fact in (box.present, box.online) if fact.value is None), None)
    code, evidence, remedy, outcome = "ok", (box.present.source, box.online.source), None, "pass"
    capped = [word for word in case.host.kernel.cmdline.value or () if word.startswith(("maxcpus=", "nosmp"))]
    if broken:
        refused = log is not None and log.boot.x2apic_refused
        code, outcome = "no-interrupt-remapping" if refused else "invalid-apic-id", "warn"
        text = f"CPU {show(broken)} did not come up (invalid APIC id){_cause(case) if refused else ''}"
        remedy = _wide_ids(case, refused)
    elif unread:
        code, outcome, text = UNREAD, "unknown", f"which CPUs are online cannot be told: {unread.why()}"
    elif present == online and not from_log.is_complete(case):
        code, outcome = from_log.incomplete_code(case), "unknown"
        lost = (f"no CPU that did not come up {from_log.limits_of_log(case)}" if log else
                f"the kernel log would tell, and cannot be read: {case.host.kernel.log.why()}")
        text = (f"whether the kernel left a CPU out is not known: {lost}; all {len(online)} CPUs that it counts are "
                "online")
    elif present == online:
        text = f"all {len(online)} CPUs are online"
    elif box.smt.value in ("off", "forceoff"):
        forced = "forced off" if box.smt.value == "forceoff" else "off"
        code, text = "smt-off", f"{len(online)} of {len(present)} CPUs are online: SMT is {forced}"
    else:
        named = show(present - online)
        code, outcome = "capped-by-cmdline" if capped else "offline", "warn"
        text = f"CPU {named} of {len(present)} offline" + (f": {capped[0]} runs" if capped else "")
        words = no_remapping(case) if not capped and _may_be_refused(case) else []
        if words:
            text += (f"; {' '.join(words)} can keep CPUs from coming up, as without interrupt remapping the "
                     "kernel has only 8-bit APIC ids")
        remedy = (boot_remedies.remove(case, capped[:1]) if capped else
                  _up(case, named, words) if cpus(named) else None)
    whole = present | broken
    wanted = f"{len(whole)} CPU{'s' * (len(whole) > 1)} ({show(whole)})" if present else "every CPU online"
    yield Finding(_ID, code, "CPUs", outcome, "effective", text, show(online), wanted, evidence, remedy,
                  unread.absence if unread and outcome == "unknown" else None)


def _cause(case: Case) -> str:
    """Return why the kernel says that it has no interrupt remapping for wide APIC ids."""
    words, table = no_remapping(case), iommu_table(case)
    if table == "":
        return ("; the firmware describes no IOMMU (no table IVRS or DMAR), so there is no interrupt remapping and the "
                "kernel has only 8-bit APIC ids")
    by = " ".join(words) or "the kernel"
    return f"; {by} starts no interrupt remapping, so {'the kernel' if words else 'it'} has only 8-bit APIC ids"


def _wide_ids(case: Case, refused: bool) -> Remedy:
    """Return how the kernel gets APIC ids of more than 8 bits. ``refused``: its log says that it has no interrupt
    remapping for them. That needs an IOMMU first (arch/x86/kernel/apic/apic.c try_to_enable_x2apic()); the setting
    x2APIC of a BIOS alone does not give it."""
    words = no_remapping(case)
    boot = (boot_fix(case) if switched_off(case) else boot_remedies.remove(case, words)) if words else None
    bios = ""
    if refused and (table := iommu_table(case)) is not None:
        bios = "" if table and boot else ON_IN_BIOS if not table else (
            "look in the BIOS for the IOMMU's interrupt remapping (AMD-Vi, VT-d) and for x2APIC")
    elif not boot:
        bios = f"{ON_IN_BIOS}, and x2APIC" if refused else _X2APIC
    if not boot:
        return Remedy(bios, (), True, Place.FIRMWARE)
    # Both are needed: the play alone would not do.
    return replace(boot, text=f"{bios}; then {boot.text}", play_text="", place=Place.FIRMWARE) if bios else boot


def _may_be_refused(case: Case) -> bool:
    """Return whether a CPU may be offline because the kernel refused its APIC id. A log of the whole boot would name
    the CPU, so nothing is suspected beside one."""
    return len(case.host.platform.present.value or ()) >= WIDE and not from_log.is_complete(case)


def _up(case: Case, named: str, words: list[str]) -> Remedy:
    """Return how to bring CPUs up, and what to do where the kernel refuses that."""
    bring = Remedy.of("run: ", run("chcpu -e", named))
    if not words:
        return _with_next_output(case, bring) if _may_be_refused(case) else bring
    boot = boot_fix(case) if switched_off(case) else boot_remedies.remove(case, words)
    lead = f"{bring.text}; where that fails (the kernel log then says: invalid APIC ID), "
    # The play is the second half of this fix: as its short form it would drop the first one.
    return replace(boot, text=lead + boot.text, commands=(*bring.commands, *boot.commands), needs_reboot=False,
                   play_text="")


def _with_next_output(case: Case, bring: Remedy) -> Remedy:
    """Return the way to bring CPUs up, and the outputs that tell why the kernel may refuse it."""
    line = () if case.host.kernel.cmdline.known else (" and ", run("cat /proc/cmdline"))
    # The kernel says why when it is asked, so a log from before does not have it.
    new = "the new output" if case.host.kernel.log.known else "the output"
    return Remedy.of("try: ", *bring.commands, f"; where that fails, add {new} of: ", run("sudo dmesg"), *line)
