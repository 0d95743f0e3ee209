"""cpu-governor: every CPU frequency policy has the declared governor and energy preference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...facts.kernel.cpu import Policy
from ...model.fact import Fact
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cpulist import show
from ...util.text import some
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, NOT_SUPPORTED, UNREAD
from ..context import Case

CHECK = Check(
    "cpu-governor", "every CPU has the declared governor", Heading.SYSTEM, 20, Family.CPU,
    judges=("cpu.governor", "cpu.epp"),
    judges_of=(("governor", "cpu.governor"), ("energy preference", "cpu.epp"), ("CPUs", "")),
)
CODES = {
    "no-policy": "The kernel scales no CPU frequency here, so there is no policy.",
    "cpu-without-policy": "An online CPU is in no frequency policy.",
    "differs": "A frequency policy has another governor or energy preference than the specification declares.",
}
_ID = CHECK.id
#: Scaling drivers that have no energy preference on any machine (drivers/cpufreq/acpi-cpufreq.c, pcc-cpufreq.c). Where
#: one of them runs there is no such file, so none of it can be given.
_WITHOUT_EPP = frozenset({"acpi-cpufreq", "pcc-cpufreq"})
_SET = {
    "governor": "`sudo cpupower frequency-set -g {wanted}`, until the next boot; it is in the package "
                "linux-cpupower or kernel-tools",
    "energy preference": "`sudo sh -c 'echo {wanted} | tee /sys/devices/system/cpu/cpufreq/policy*/"
                         "energy_performance_preference'`, until the next boot",
}


def judge(case: Case) -> Iterator[Finding]:
    cpu, policies = case.spec.cpu, case.host.policies
    wants_governor = cpu.governor != "leave"
    if not wants_governor and cpu.epp is None:
        yield Finding(_ID, NOT_DECLARED, "governor", "skip", "declared",
                      "the spec leaves the governor alone" if case.frozen else f"no spec given{_governors(policies)}")
    elif policies.value is None:
        yield Finding(_ID, UNREAD, "governor", "unknown", "effective", "the frequency policies cannot be listed: "
                      f"{policies.why()}", "?", cpu.governor, (policies.source,), absence=policies.absence)
    elif not policies.value:
        yield Finding(_ID, "no-policy", "governor", "skip", "effective", "no cpufreq policy: the kernel drives no "
                      "frequency scaling here (virtual machine, or scaling left to the firmware)", "", cpu.governor,
                      (policies.source,))
    else:
        if wants_governor:
            yield _judge(case, "governor", policies.value, lambda policy: policy.governor, cpu.governor)
        if cpu.epp is not None:
            yield _epp(case, policies.value, cpu.epp)
        yield from _uncovered(case, policies.value)


def _uncovered(case: Case, policies: tuple[Policy, ...]) -> Iterator[Finding]:
    """Yield a finding about online CPUs without a frequency policy. They keep the frequency that the firmware gives
    them, and no other finding is about them."""
    online = case.host.platform.online
    if online.value is None or any(policy.cpus.value is None for policy in policies):
        return
    uncovered = set(online.value) - {cpu for policy in policies for cpu in policy.cpus.value or ()}
    if uncovered:
        yield Finding(_ID, "cpu-without-policy", "CPUs", "warn", "effective", f"CPU {show(uncovered)} without a "
                      "frequency policy: no governor drives them", show(uncovered), "every online CPU in a policy",
                      (online.source,),
                      Remedy.typed("look in the kernel log for the scaling driver: `sudo journalctl -k -b -g "
                                   "'cpufreq|pstate'`"))


def _governors(policies: Fact[tuple[Policy, ...]]) -> str:
    governors = sorted({policy.governor.value for policy in policies.value or () if policy.governor.value})
    return f"; found {', '.join(governors)}" if governors else ""


def _epp(case: Case, policies: tuple[Policy, ...], wanted: str) -> Finding:
    if all(policy.epp.missing or (policy.epp.value is None and policy.driver.value in _WITHOUT_EPP)
           for policy in policies):
        return Finding(_ID, NOT_SUPPORTED, "energy preference", "skip", "effective", "the scaling driver has no energy "
                       f"preference ({policies[0].driver.value or 'driver unknown'})", "", wanted,
                       (policies[0].epp.source,))
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
    # The first is the path that an output is asked for by: no words stand in it.
    rest = (f"the same of {len(policies) - 1} more",) if len(policies) > 1 else ()
    evidence = (pick(policies[0]).source, *rest, f"driver {policies[0].driver.value or 'unknown'}")
    if not wrong:
        return Finding(_ID, "ok", subject, "pass", "effective", f"{subject} is {wanted} on all {len(policies)} "
                       "policies", observed, wanted, evidence)
    read_wrong = [policy.name for value in wrong for policy in policies if pick(policy).value == value]
    if not read_wrong:
        return Finding(_ID, UNREAD, subject, "unknown", "effective", f"{subject} cannot be read: {unread[0].why()}",
                       observed, wanted, evidence, absence=unread[0].absence)
    shown = some(read_wrong, 3)
    return Finding(_ID, "differs", subject, "fail", "effective", f"{subject} is not {wanted} on {shown} ({observed})",
                   observed, wanted, evidence,
                   case.play("governor", by_hand=Remedy.typed(_SET[subject], wanted=wanted)))
