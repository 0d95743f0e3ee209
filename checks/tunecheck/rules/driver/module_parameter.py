"""module-parameter: a declared parameter has its value in the loaded module, not only in modprobe.d."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...facts.kernel.modules import Module
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import trial_parameters
from ...parsers.kernel.modprobe import normalise_module, same_value
from ..check import DRIVER, Check, Family, Heading
from ..codes import NOT_DECLARED, OK, TRIAL_OPEN, UNREAD
from ..context import Case
from ..nvidia import from_driver, wanted_driver
from ..remedies import boot_remedies

CHECK = Check(
    "module-parameter", "declared module parameters are live",
    Heading.SYSTEM, 10, Family.DRIVER, DRIVER, in_trial=True,
    judges=("module.parameter.{subject}", "module.configured.{subject}"),
)
_ID = CHECK.id
#: Codes of what modprobe.d is to be written for, and of those what loading the module anew ends.
_WRITTEN = frozenset(("not-set", "other-value", "older-value", "next-load-differs"))
_LOADED_ANEW = frozenset(("other-value", "older-value"))
_WITH_SPEC = Remedy.typed("provision the box, or make the snapshot with this specification, as `tunecheck snapshot "
                          "--help` says of --spec")
CODES = {
    "module-not-installed": "The module is not installed for this kernel.",
    "not-loaded": "The module is not loaded, so no live value exists; modprobe.d is ready.",
    "not-set": "The module is not loaded, and modprobe.d does not set the declared value.",
    "no-such-parameter": "The loaded module shows no such parameter.",
    "other-value": "The loaded module has another value than declared.",
    "older-value": "The loaded module has another value than declared and than modprobe.d has: it was loaded before.",
    "next-load-differs": "The live value is right, and modprobe.d sets another one for the next load.",
    "next-load-unread": "The live value is right; modprobe.d cannot be read, so whether it stays is unknown.",
}


def judge(case: Case) -> Iterator[Finding]:
    if not case.spec.modules:
        yield Finding(_ID, NOT_DECLARED, "modules", "skip", "declared",
                      "the spec declares no module parameter" if case.frozen
                      else "no spec given")
    found, wrong, reboot = list[Finding](), dict[str, list[tuple[str, bool]]](), False
    for name, values in case.spec.modules.items():
        for parameter, value in values.items():
            module = case.host.modules.get(name)
            finding = _judge(case, module, parameter, value) if module else _nobody_asked(name, parameter, value)
            found.append(finding)
            if finding.code in _WRITTEN:
                wrong.setdefault(name, []).append((finding.expected, finding.code == "older-value"))
                reboot = reboot or finding.code in _LOADED_ANEW
    # One file and one reboot for all of them.
    fix = case.play("modules", reboot, by_hand=_by_hand(wrong)) if wrong else None
    yield from (replace(each, remedy=fix) if each.code in _WRITTEN else each for each in found)


def _nobody_asked(name: str, parameter: str, value: int | str) -> Finding:
    """Return what is known of a module of which a snapshot holds nothing: it was made without this specification."""
    return Finding(_ID, UNREAD, f"{name} {parameter}", "unknown", "effective",
                   f"{name} {parameter}: the snapshot was made without the specification that asks for it, so it was "
                   "not read", "?", f"{parameter}={value}", absence=Absence.NOT_ASKED, remedy=_WITH_SPEC)


def _judge(case: Case, module: Module, parameter: str, value: int | str) -> Finding:
    subject = f"{module.name} {parameter}"
    expected = f"{parameter}={value}"
    if _waits_for_the_driver(case, module) and (module.installed.value is False or _ready(module, parameter, value)):
        return from_driver.without(case, _ID, subject, module.loaded.source)
    if module.installed.value is False:
        return Finding(_ID, "module-not-installed", subject, "skip", "effective",
                       f"{module.name} is not installed for this kernel", "",
                       expected, (module.installed.source,))
    if module.loaded.value is None:
        return Finding(_ID, UNREAD, subject, "unknown", "effective", f"whether {module.name} is loaded is unknown: "
                       f"{module.loaded.why()}", "?", expected, (module.loaded.source,), absence=module.loaded.absence)
    return (_live if module.loaded.value else _not_loaded)(case, module, parameter, value)


def _waits_for_the_driver(case: Case, module: Module) -> bool:
    """Whether there is no live value because a driver that the box needs is missing. False in a trial boot, which may
    have no driver yet."""
    return (module.name.startswith("nvidia") and not module.loaded.value and not case.trial
            and wanted_driver.needs_nvidia(case) and from_driver.loaded(case).missing)


def _ready(module: Module, parameter: str, value: int | str) -> bool:
    """Whether modprobe.d has the declared value for the next time that the module is loaded."""
    set_to = _configured(module, parameter) if module.configured.value is not None else None
    return set_to is not None and same_value(value, set_to)


def _not_loaded(case: Case, module: Module, parameter: str, value: int | str) -> Finding:
    subject, expected = f"{module.name} {parameter}", f"{parameter}={value}"
    set_to, source = _configured(module, parameter), (module.configured.source,)
    if module.configured.value is None:
        return Finding(_ID, UNREAD, subject, "unknown", "configured",
                       f"{module.name} is not loaded and modprobe.d cannot be read: {module.configured.why()}",
                       "?", expected, source, absence=module.configured.absence)
    if case.trial or _ready(module, parameter, value):
        ready = "" if case.trial else "; modprobe.d has the declared value ready"
        return Finding(_ID, "not-loaded", subject, "skip", "effective",
                       f"{module.name} is not loaded, so no live value exists{ready}", set_to or "",
                       expected, source)
    state = "does not set it" if set_to is None else f"sets {parameter}={set_to}"
    return Finding(_ID, "not-set", subject, "fail", "configured",
                   f"{module.name} is not loaded, and modprobe.d {state}",
                   set_to or "not set", expected, source)


def _live(case: Case, module: Module, parameter: str, value: int | str) -> Finding:
    subject, expected = f"{module.name} {parameter}", f"{parameter}={value}"
    fact = module.live.get(parameter)
    if fact is None:
        return _nobody_asked(module.name, parameter, value)
    evidence = (fact.source, f"modprobe.d: {_configured(module, parameter) or 'not set'}")
    if fact.value is None:
        reason = ("the loaded module shows no such parameter (misspelt, or not exported)" if fact.missing
                  else fact.why())
        return Finding(_ID, "no-such-parameter" if fact.missing else UNREAD, subject, "unknown", "effective",
                       f"not known: the live value of {subject}: {reason}", "?",
                       expected, evidence, absence=fact.absence)
    set_to = _configured(module, parameter)
    ready = set_to is not None and same_value(value, set_to)
    if not same_value(value, fact.value):
        pending = (", though modprobe.d has it: the module was loaded before, or from an older initramfs" if ready
                   else "")
        return Finding(_ID, "older-value" if ready else "other-value", subject, "fail", "effective",
                       f"{subject} is {fact.value} in the loaded module{pending}",
                       fact.value, expected, evidence)
    if case.trial or ready:
        return Finding(_ID, "ok", subject, "pass", "effective", f"{subject} is {fact.value} in the loaded module",
                       fact.value,
                       expected, evidence)
    if module.configured.value is None:
        return Finding(_ID, "next-load-unread", subject, "unknown", "configured",
                       f"whether {subject} stays as it is now is unknown: it is right now; "
                       f"{module.configured.why()}", fact.value, expected, evidence, absence=module.configured.absence)
    # A module's own default needs no line in modprobe.d: then the live value is right and nothing contradicts it.
    wrong = set_to is not None
    if case.open_trial and (wrong or _rides(case, module, parameter)):
        return Finding(_ID, TRIAL_OPEN, subject, "unknown", "configured",
                       f"{subject} is {fact.value} in this trial boot; modprobe.d gets it when the trial is "
                       "committed, and without that the next boot has "
                       f"{set_to if wrong else 'the default'}", fact.value, expected, evidence,
                       boot_remedies.commit(case, "modules"))
    return Finding(_ID, "next-load-differs" if wrong else OK, subject, "fail" if wrong else "pass",
                   "configured" if wrong else "effective",
                   f"{subject} is {fact.value} in the loaded module"
                   + (f", but modprobe.d sets {set_to} at the next load" if wrong else ""),
                   set_to or fact.value, expected, evidence)


def _rides(case: Case, module: Module, parameter: str) -> bool:
    """Whether this boot has the parameter from the command line of a trial alone."""
    name = f"{module.name}.{parameter}".replace("-", "_")
    return any(token.partition("=")[0].replace("-", "_") == name
               for token in trial_parameters(case.host.kernel.cmdline.value or ()))


def _by_hand(wrong: Mapping[str, Sequence[tuple[str, bool]]]) -> Remedy:
    """Return how the parameters of each module are set by hand, all at one time. Those that modprobe.d has already
    (True) only wait for the module to be loaded."""
    lacking = {name: [each for each, ready in values if not ready] for name, values in wrong.items()}
    lines = [f'"options {name} {" ".join(values)}"' for name, values in lacking.items() if values]
    write = "write {lines} to a file of its own in /etc/modprobe.d, " if lines else "modprobe.d is right already: "
    return Remedy.typed(write + "run `sudo update-initramfs -u`, on Fedora and Rocky `sudo dracut -f`, and load "
                        "{modules} again or reboot", lines=" and, on a line of its own, ".join(lines),
                        modules="the module" if len(wrong) == 1 else "these modules")


def _configured(module: Module, parameter: str) -> str | None:
    return (module.configured.value or {}).get(normalise_module(parameter))
