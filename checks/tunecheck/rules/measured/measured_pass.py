"""measured-pass: the GPUs are measured before a container starts; what was measured last, and when."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.measured_pass import PATH, MeasuredPass, measurable
from ...model.command import run
from ...model.finding import Finding, Place, Remedy
from ...model.measurement import REFUSED, Measured
from ...model.weakest import weakest
from ..check import ALL, Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "measured-pass", "the GPUs are measured before a container starts",
    Heading.ALLREDUCE, 60, Family.MEASURED, ALL, could_not_look=("not-looked-for", "none-yet"),
)
_ID = CHECK.id
CODES = {
    "measured-never": "The specification says that containers start on GPUs that nobody measured.",
    "slower-than-before": "A figure is much worse than the best that was measured on these GPUs here.",
    "nothing-measured": "A trial ran and gave no figure.",
    "not-looked-for": "This verb does not look at what was measured last.",
    "no-gpu-wanted": "NVIDIA's driver has no GPU, and the specification wants none there.",
    "none-yet": "Nothing was measured on this host yet.",
    "last-did-not-pass": "The last measurement did not pass.",
}
_POLICY = Remedy("set box_spec.gate.measured to each-boot, or to on-change where a start must not take seconds longer",
                 place=Place.INVENTORY)
_DECLINE = Remedy("see link-speed, link-width, link-errors, gpu-throttle and gpu-clocks; if it is meant to be so, "
                  f"remove {PATH} and measure again")
#: What repeats within 3 % from night to night; small all-reduces do not.
_HELD = ("p2p_one_way_gb_s", "p2p_both_ways_gb_s", "p2p_latency_ns", "host_to_device_gb_s", "device_to_host_gb_s",
         "own_memory_gb_s")
_SLOW = 0.8
_WORDS = {"p2p_one_way_gb_s": "GB/s one way", "p2p_both_ways_gb_s": "GB/s both ways", "p2p_latency_ns": "ns a load",
          "host_to_device_gb_s": "GB/s from the host"}


def judge(case: Case) -> Iterator[Finding]:
    wanted = case.spec.gate.measured
    if wanted == "never":
        yield Finding(_ID, "measured-never", "policy", "warn", "declared",
                      "gate.measured is never; a container starts on GPUs whose "
                      "traffic nobody measured", wanted, "each-boot or on-change", ("box_spec.gate.measured",), _POLICY)
    elif case.measured is not None:
        yield from _now(case)
    elif case.snapshot.host is None:
        yield Finding(_ID, "not-looked-for", "GPUs", "skip", "behaviour",
                      "tunecheck host and preflight look at what was measured last")
    else:
        yield _before(case)


def _now(case: Case) -> Iterator[Finding]:
    trial = case.measured
    if trial is not None:
        yield from _slower(case, trial)
    if trial is not None and not trial.figures and not trial.hangs and REFUSED not in trial.failures:
        why = "; ".join(trial.failures.values()) or "there is no GPU that can be measured"
        yield Finding(_ID, "nothing-measured", "GPUs", "unknown", "behaviour",
                      f"nothing was measured: {why}", "", "figures of every GPU",
                      remedy=Remedy("see accelerator-count, nvml-answers and trial-hang"))


def _slower(case: Case, trial: Measured) -> Iterator[Finding]:
    """Yield a finding for each figure that is worse than the best that these GPUs had on this box. Where nothing
    predicts a figure, its own past does."""
    last = case.host.measured_pass.value if case.snapshot.host else None
    if last is None or not last.best or not _same_gpus(case, last):
        return
    for name, value in weakest(trial).items():
        then = last.best.get(name)
        if name not in _HELD or not then:
            continue
        share = value / then if name.endswith("gb_s") else then / value
        if share < _SLOW:
            yield Finding(_ID, "slower-than-before", name, "fail", "behaviour",
                          f"{name} is {value:g}, and was {then:g} on these GPUs: "
                          f"{share:.0%} of the best that was measured here", f"{value:g}", f"{_SLOW:.0%} or more",
                          (PATH,), _DECLINE)


def _same_gpus(case: Case, last: MeasuredPass) -> bool:
    nvml = case.snapshot.nvml.value
    now = {f"{gpu.bdf} {gpu.values.get('uuid')}" for gpu in nvml.gpus} if nvml else set()
    return now == set(last.key.gpus.value or ())


def _before(case: Case) -> Finding:
    """Return the finding about the last measurement on the box. Whether it still holds is the gate's verdict, which
    compares all that it depends on."""
    fact = case.host.measured_pass
    last = fact.value
    if last is None and not measurable(case.spec.accelerators, _driven(case)):
        return Finding(_ID, "no-gpu-wanted", "GPUs", "skip", "behaviour",
                       "NVIDIA's driver has no GPU, and the specification wants "
                       "none there")
    if last is None:
        text = "nothing was measured on this box yet" if fact.missing else f"what was measured last is not known: " \
            f"{fact.why()}"
        return Finding(_ID, "none-yet" if fact.missing else UNREAD, "GPUs", "skip", "behaviour",
                       f"{text}; tunecheck preflight --pass measures",
                       evidence=(fact.source,), absence=None if fact.missing else fact.absence)
    where = "inside the image" if last.place == "image" else "on the host"
    boot = "in this boot" if last.boot_id == case.snapshot.boot_id.value else "in another boot"
    when = f"{last.taken}, {boot}, {last.kind}, {where}, {last.seconds:.1f} s"
    if last.exit_code != 0:
        what = "; ".join(last.reasons) or f"exit code {last.exit_code}"
        return Finding(_ID, "last-did-not-pass", "GPUs", "warn", "behaviour",
                       f"the last measurement ({when}) did not pass: {what}",
                       evidence=(PATH,),
                       remedy=Remedy.of("mend what did not pass, then run: ", run("tunecheck preflight --pass")))
    return Finding(_ID, "ok", "GPUs", "pass", "behaviour", f"measured {when}{_weakest(last)}", evidence=(PATH,))


def _driven(case: Case) -> tuple[str, ...] | None:
    """Return the addresses of the GPUs that NVIDIA's driver has; None where NVML gives no list."""
    if case.host.driver.version.missing:
        return ()
    nvml = case.snapshot.nvml.value
    return None if nvml is None else tuple(gpu.bdf for gpu in nvml.gpus)


def _weakest(last: MeasuredPass) -> str:
    shown = [f"{value:g} {_WORDS[name]}" for name, value in sorted(last.figures.items()) if name in _WORDS]
    return f": weakest {', '.join(shown)}" if shown else ""
