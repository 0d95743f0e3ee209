"""cpu-lost: every thread that the machine has came up."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import cpus, run
from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.cpulist import show
from ..acs.acs_remedies import boot_fix
from ..boot import boot_remedies
from ..check import Check, Family, Heading
from ..context import Case
from ..errors import from_log
from ..iommu.iommu_remedies import switched_off

CHECK = Check(
    "cpu-lost", "every thread of the machine came up", Heading.SYSTEM, 30, Family.CPU,
    judges=("cpu.lost", "cpu.online"),
)
_ID = CHECK.id
_X2APIC = Remedy("look for x2APIC in the BIOS", (), True, Place.FIRMWARE)


def judge(case: Case) -> Iterator[Finding]:
    box, log = case.host.platform, case.host.kernel.log.value
    online, present = set(box.online.value or ()), set(box.present.value or ())
    broken = {cpu for cpu in (log.boot.lost_cpus if log else ()) if cpu not in online}
    unread = next((fact for fact in (box.present, box.online) if fact.value is None), None)
    code, evidence, remedy, outcome = "", (box.present.source, box.online.source), None, "pass"
    capped = [word for word in case.host.kernel.cmdline.value or () if word.startswith(("maxcpus=", "nosmp"))]
    if broken:
        off = " ".join(switched_off(case) or ())
        cause = (f": {off or 'the firmware'} starts no interrupt remapping, so the kernel has only 8-bit APIC ids"
                 if log and log.boot.x2apic_refused else "")
        outcome, text = "warn", f"CPU {show(broken)} did not come up (invalid APIC id){cause}"
        remedy = boot_fix(case) if off else _X2APIC
    elif unread:
        outcome, text = "unknown", f"which CPUs are online cannot be told: {unread.why()}"
    elif present == online and not from_log.whole(case):
        code = from_log.partial_code(case)
        outcome, text = "unknown", (f"all {len(online)} CPUs that the kernel counts are online; no CPU that did not "
                                    f"come up {from_log.partial(case)}")
    elif present == online:
        text = f"all {len(online)} CPUs are online"
    elif box.smt.value in ("off", "forceoff"):
        text = f"{len(online)} of {len(present)} CPUs are online: SMT is {box.smt.value}"
    else:
        named = show(present - online)
        outcome, text = "warn", f"CPU {named} of {len(present)} offline" + (f": {capped[0]} runs" if capped else "")
        remedy = (boot_remedies.remove(capped[0]) if capped else Remedy.of("run: ", run("chcpu -e", named))
                  if cpus(named) else None)
    wanted = show(present | broken) if present else "every CPU online"
    yield Finding(_ID, "CPUs", outcome, "effective", text, show(online), wanted, evidence, remedy, code,
                  unread.absence if unread and outcome == "unknown" else None)
