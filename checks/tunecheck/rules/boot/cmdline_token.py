"""cmdline-token: every declared parameter is configured, in the generated configuration, and running.

A parameter that is set and not yet booted has a code of its own, and so has one that the next boot loses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...model.finding import Finding
from ...parsers.kernel.cmdline import missing, words
from ...parsers.kernel.kernel_params import HARMLESS, INEFFECTIVE
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..codes import NOT_DECLARED, TRIAL_OPEN, UNREAD
from ..context import Case
from ..remedies import boot_remedies
from ..remedies.acs_remedies import line_fix
from ..remedies.loader_edit import tool
from .cmdline_rejected import rejection

CHECK = Check(
    "cmdline-token", "every declared kernel parameter is set, generated and running",
    Heading.BOOT, 10, Family.BOOT, in_trial=True, judges=("kernel.cmdline.{subject}",),
)
CODES = {
    "rejected": "The declared parameter is on the command line, and the kernel rejects it: cmdline-rejected judges it.",
    "not-running": "The command line of the trial boot lacks the declared parameter.",
    "lost-at-next-boot": "The declared parameter runs, and the generated configuration lacks it.",
    "reboot-pending": "The declared parameter is in the generated configuration and does not run.",
    "not-generated": "The declared parameter is configured, and the generated configuration lacks it.",
    "not-set": "The declared parameter does not run and is not configured.",
    "not-running-config-unread": "The declared parameter does not run, and the boot configuration was not read.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    tokens = declared_tokens(case.spec)
    running = case.host.kernel.cmdline
    if not tokens:
        yield Finding(_ID, NOT_DECLARED, "kernel command line", "skip", "declared",
                      "the spec declares no kernel parameter" if case.frozen else "no spec given: no kernel parameter "
                      "is asked for")
    elif running.value is None:
        yield Finding(_ID, UNREAD, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
    else:
        for token in tokens:
            yield _judge(case, token, running.value)


def _judge(case: Case, token: str, running: tuple[str, ...]) -> Finding:
    found = _judged(case, token, running)
    if found.outcome != "fail" or case.trial or not set(words([token])) <= INEFFECTIVE.keys():
        return found
    # It is asked for and not set, which is told; what no kernel takes fails no box, and is worth no reboot.
    text = (f"{token} is without effect on this kernel; every kernel rejects it, also once it is set "
            f"(cmdline-rejected); it{found.text.removeprefix(token)}; {HARMLESS.format(word=token)}")
    return replace(found, outcome="warn", remedy=boot_remedies.leave_unset(token), text=text)


def _judged(case: Case, token: str, running: tuple[str, ...]) -> Finding:
    boot = case.host.boot
    source = case.host.kernel.cmdline.source
    effective = not missing([token], running)
    # A word that is present may have no effect: a rejected one must not pass.
    rejected = effective and any(rejection(case, word)[0] for word in words([token]))
    if case.trial:
        if rejected:
            return _rejected(token, "", (source,))
        return (_pass(token, "is on the running command line", source) if effective else
                _fail(case, "not-running", token, "effective", "is not on the command line of this trial boot",
                      (source,)))
    configured = _has(boot.configured.value, token)
    generated = _has(boot.generated.value, token)
    evidence = (f"configured {_yes_or_no(configured)}: {boot.configured.source}",
                f"generated {_yes_or_no(generated)}: {boot.generated.source}",
                f"running {_yes_or_no(effective)}: {source}")
    if rejected and generated:
        return _rejected(token, " and stays there at the next boot", evidence)
    if effective and generated:
        return _pass(token, "is running and stays at the next boot", *evidence)
    if effective and generated is None:
        return Finding(_ID, UNREAD, token, "unknown", "generated", f"{token} is running; whether the next boot keeps "
                       f"it is unknown: {boot.generated.why()}", "running", "running and generated", evidence,
                       absence=boot.generated.absence)
    if effective and case.open_trial:
        return Finding(_ID, TRIAL_OPEN, token, "unknown", "generated", f"{token} is not in the boot loader's "
                       "default entry yet: it is running in this trial boot, and the next boot loses it unless the "
                       "trial is committed", "running", "running and generated", evidence,
                       boot_remedies.commit(case, "cmdline"))
    if effective:
        return _fail(case, "lost-at-next-boot", token, "generated", "is running but not in the generated "
                     f"configuration: the next boot loses it{_overwriters(case, configured)}", evidence)
    if generated:
        return _fail(case, "reboot-pending", token, "effective", "is set, reboot pending: it is in the generated "
                     "configuration but not on the running command line", evidence)
    if configured and generated is False:
        return _fail(case, "not-generated", token, "generated", "is configured but not in the generated configuration: "
                     f"{tool(case)} has not run or failed{_overwriters(case, configured)}", evidence)
    if generated is None and configured is not False:
        return _fail(case, "not-running-config-unread", token, "effective", "is not on the running command line; "
                     f"whether the next boot has it was not read ({boot.generated.why()})", evidence)
    return _fail(case, "not-set", token, "configured", "is not on the running command line, nor configured", evidence)


def _has(tokens: tuple[str, ...] | None, token: str) -> bool | None:
    return None if tokens is None else not missing([token], tokens)


def _yes_or_no(state: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[state]


def _overwriters(case: Case, configured: bool | None) -> str:
    files = case.host.boot.overwriters
    return f" ({', '.join(files)} overwrites GRUB_CMDLINE_LINUX_DEFAULT after us)" if files and configured else ""


def _rejected(token: str, more: str, evidence: tuple[str, ...]) -> Finding:
    return Finding(_ID, "rejected", token, "skip", "effective", f"{token} is on the command line as asked{more}, but "
                   "the kernel rejects it: judged by cmdline-rejected", "rejected", "running", evidence)


def _pass(token: str, text: str, *evidence: str) -> Finding:
    return Finding(_ID, "ok", token, "pass", "effective", f"{token} {text}", "running", "running", evidence)


def _fail(case: Case, code: str, token: str, layer: str, text: str, evidence: tuple[str, ...]) -> Finding:
    """The finding; its fix is that of all parameters: one that is left would take another reboot."""
    expected = "running" if case.trial else "configured, generated and running"
    return Finding(_ID, code, token, "fail", layer, f"{token} {text}", "missing", expected, evidence,
                   line_fix(case))
