"""cmdline-token: every declared parameter is configured, in the generated configuration, and running.

A parameter that is set but not yet booted, and one that runs but is lost at the next boot, are findings of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ...parsers.kernel.cmdline import missing, words
from ...spec.frozen import declared_tokens
from ..check import Check, Family, Heading
from ..context import Case
from . import boot_remedies
from .cmdline_rejected import rejection

CHECK = Check(
    "cmdline-token", "every declared kernel parameter is set, generated and running",
    Heading.BOOT, 10, Family.BOOT, in_trial=True, judges=("kernel.cmdline.{subject}",),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    tokens = declared_tokens(case.spec)
    running = case.host.kernel.cmdline
    if not tokens:
        yield Finding(_ID, "kernel command line", "skip", "declared", "the spec declares no kernel parameter"
                      if case.frozen else "no spec given: no kernel parameter is asked for")
    elif running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,),
                      absence=running.absence)
    else:
        for token in tokens:
            yield _judge(case, token, running.value)


def _judge(case: Case, token: str, running: tuple[str, ...]) -> Finding:
    boot = case.host.boot
    source = case.host.kernel.cmdline.source
    effective = not missing([token], running)
    # Present is not effective: what the kernel threw away must not read as a pass.
    refused = effective and any(rejection(case, word)[0] for word in words([token]))
    if case.trial:
        if refused:
            return _refused(token, "", (source,))
        return (_pass(token, "is on the running command line", source) if effective else
                _fail(case, token, "effective", "is not on the command line of this trial boot", (source,)))
    configured = _has(boot.configured.value, token)
    generated = _has(boot.generated.value, token)
    evidence = (f"configured {_word(configured)}: {boot.configured.source}",
                f"generated {_word(generated)}: {boot.generated.source}", f"running {_word(effective)}: {source}")
    if refused and generated:
        return _refused(token, " and stays there at the next boot", evidence)
    if effective and generated:
        return _pass(token, "is running and stays at the next boot", *evidence)
    if effective and generated is None:
        return Finding(_ID, token, "unknown", "generated", f"{token} is running; whether the next boot keeps it is "
                       f"unknown: {boot.generated.why()}", "running", "running and generated", evidence,
                       absence=boot.generated.absence)
    if effective:
        return _fail(case, token, "generated", "is running but not in the generated configuration: the next boot loses "
                     f"it{_culprit(case, configured)}", evidence)
    if generated:
        return _fail(case, token, "effective", "is set, reboot pending: it is in the generated configuration but not "
                     "on the running command line", evidence)
    if configured and generated is False:
        return _fail(case, token, "generated", "is configured but not in the generated configuration: update-grub has "
                     f"not run or failed{_culprit(case, configured)}", evidence)
    return _fail(case, token, "configured", "is not on the running command line, nor configured", evidence)


def _has(tokens: tuple[str, ...] | None, token: str) -> bool | None:
    return None if tokens is None else not missing([token], tokens)


def _word(state: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[state]


def _culprit(case: Case, configured: bool | None) -> str:
    files = case.host.boot.overwriters
    return f" ({', '.join(files)} overwrites GRUB_CMDLINE_LINUX_DEFAULT after us)" if files and configured else ""


def _refused(token: str, more: str, evidence: tuple[str, ...]) -> Finding:
    return Finding(_ID, token, "skip", "effective", f"{token} is on the command line as asked{more}, but the kernel "
                   "rejects it: judged by cmdline-rejected", "rejected", "running", evidence)


def _pass(token: str, text: str, *evidence: str) -> Finding:
    return Finding(_ID, token, "pass", "effective", f"{token} {text}", "running", "running", evidence)


def _fail(case: Case, token: str, layer: str, text: str, evidence: tuple[str, ...]) -> Finding:
    expected = "running" if case.trial else "configured, generated and running"
    return Finding(_ID, token, "fail", layer, f"{token} {text}", "missing", expected, evidence,
                   case.play("cmdline", True, by_hand=boot_remedies.add(token)))
