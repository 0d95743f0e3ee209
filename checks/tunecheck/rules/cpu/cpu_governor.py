"""cpu-governor: every CPU frequency policy has the declared governor and energy preference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...facts.kernel.cpu import Policy
from ...model.fact import Fact
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cpulist import show
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "cpu-governor", "every CPU has the declared governor", Heading.SYSTEM, 20, Family.CPU,
    judges=("cpu.governor", "cpu.epp"),
)
_ID = CHECK.id
_SET = {
    "governor": "`sudo cpupower frequency-set -g {wanted}` (until the next boot; package linux-cpupower or "
                "kernel-tools)",
    "energy preference": "`sudo sh -c 'echo {wanted} | tee /sys/devices/system/cpu/cpufreq/policy*/"
                         "energy_performance_preference'` (until the next boot)",
}


def judge(case: Case) -> Iterator[Finding]:
    cpu, found = case.spec.cpu, case.host.policies
    wants_governor = cpu.governor != "leave"
    if not wants_governor and cpu.epp is None:
        yield Finding(_ID, "governor", "skip", "declared", "the spec leaves the governor alone" if case.frozen
                      else f"no spec given{_seen(found)}")
    elif found.value is None:
        yield Finding(_ID, "governor", "unknown", "effective",
                      f"the frequency policies cannot be listed: {found.why()}", "?", cpu.governor, (found.source,),
                      absence=found.absence)
    elif not found.value:
        yield Finding(_ID, "governor", "skip", "effective", "no cpufreq policy: the kernel drives no frequency scaling "
                      "here (virtual machine, or scaling left to the firmware)", "", cpu.governor, (found.source,))
    else:
        if wants_governor:
            yield _judge(case, "governor", found.value, lambda policy: policy.governor, cpu.governor)
        if cpu.epp is not None:
            yield _epp(case, found.value, cpu.epp)
        yield from _uncovered(case, found.value)


def _uncovered(case: Case, policies: tuple[Policy, ...]) -> Iterator[Finding]:
    """CPUs that no policy covers keep the frequency that the firmware gives them; the other findings miss them."""
    online = case.host.platform.online
    if online.value is None or any(policy.cpus.value is None for policy in policies):
        return
    bare = set(online.value) - {cpu for policy in policies for cpu in policy.cpus.value or ()}
    if bare:
        yield Finding(_ID, "CPUs", "warn", "effective", f"CPU {show(bare)} without a frequency policy: no governor "
                      "drives them", show(bare), "every online CPU in a policy", (online.source,),
                      Remedy.typed("look in the kernel log for the scaling driver: `sudo journalctl -k -b -g "
                                   "'cpufreq|pstate'`"))


def _seen(found: Fact[tuple[Policy, ...]]) -> str:
    governors = sorted({policy.governor.value for policy in found.value or () if policy.governor.value})
    return f"; found {', '.join(governors)}" if governors else ""


def _epp(case: Case, policies: tuple[Policy, ...], wanted: str) -> Finding:
    if all(policy.epp.missing for policy in policies):
        return Finding(_ID, "energy preference", "skip", "effective", "the scaling driver has no energy preference "
                       f"({policies[0].driver.value or 'driver unknown'})", "", wanted, (policies[0].epp.source,))
    return _judge(case, "energy preference", policies, lambda policy: policy.epp, wanted)


def _judge(case: Case, subject: str, policies: tuple[Policy, ...], pick: Callable[[Policy], Fact[str]],
           wanted: str) -> Finding:
    values: dict[str, list[str]] = {}
    for policy in policies:
        fact = pick(policy)
        values.setdefault(fact.value if fact.value is not None else f"unknown ({fact.reason})", []).append(policy.name)
    unread = [pick(policy) for policy in policies if pick(policy).value is None]
    wrong = {value: names for value, names in values.items() if value != wanted}
    observed = ", ".join(f"{value} on {len(names)}" for value, names in values.items())
    evidence = (f"{pick(policies[0]).source} and {len(policies) - 1} more" if len(policies) > 1
                else pick(policies[0]).source, f"driver {policies[0].driver.value or 'unknown'}")
    if not wrong:
        return Finding(_ID, subject, "pass", "effective", f"{subject} is {wanted} on all {len(policies)} policies",
                       observed, wanted, evidence)
    read_wrong = [policy.name for value in wrong for policy in policies if pick(policy).value == value]
    if not read_wrong:
        return Finding(_ID, subject, "unknown", "effective", f"{subject} cannot be read: {unread[0].why()}", observed,
                       wanted, evidence, absence=unread[0].absence)
    shown = ", ".join(read_wrong[:3]) + (f" and {len(read_wrong) - 3} more" if len(read_wrong) > 3 else "")
    return Finding(_ID, subject, "fail", "effective", f"{subject} is not {wanted} on {shown} ({observed})", observed,
                   wanted, evidence, case.play("governor", by_hand=Remedy.typed(_SET[subject], wanted=wanted)))
