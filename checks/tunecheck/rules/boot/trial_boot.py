"""trial-boot: no trial boot ended without a commit. After one that did, the box runs its old boot entry. A boot that
kexec started is named: what it shows, a boot by the firmware has not shown yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ...parsers.kernel.cmdline import by_kexec
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "trial-boot", "no trial boot ended without a commit",
    Heading.BOOT, 45, Family.BOOT, happening=True,
)
CODES = {
    "not-confirmed": "Nobody confirmed the trial boot in time.",
    "not-proven": "The trial boot did not do what it is for.",
    "did-not-come-up": "The trial boot did not come up.",
    "by-kexec": "This boot is a trial that kexec started; no device was reset, and no boot loader ran.",
}
_ID = CHECK.id
_AGAIN = "; then run the play again, which tries it once more"
_REASONS = {
    "not_confirmed": (
        "nobody confirmed it in time, and the box returned to its old boot entry by itself",
        Remedy.typed("look at network and sshd of that boot (`sudo journalctl -b -1`, or the console's log); "
                     "where both worked the box was slower than box_spec.boot.confirm_seconds: raise it" + _AGAIN)),
    "not_proven": (
        "it did not do what it is for, and was not committed",
        Remedy.typed("look at what the play said of it: it names the check that did not hold" + _AGAIN)),
    "did_not_come_up": (
        "it did not come up (a panic, a hang, a power cycle or emergency mode), and the old boot entry runs",
        Remedy.typed("look at the console's log, and at kernel-panic" + _AGAIN)),
}
#: Nobody could read it there. It is history, as in earlier-boots: no verdict needs it.
_ELSEWHERE = (Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST, Absence.NOT_READ)


def judge(case: Case) -> Iterator[Finding]:
    line = case.host.kernel.cmdline
    if line.value is not None and by_kexec(line.value):
        yield Finding(_ID, "by-kexec", "this boot", "warn", "effective", "this boot is a trial that kexec started; "
                      "firmware and boot loader had no part in it, and no device was reset, so a register may hold "
                      "what the boot before it wrote (ACSCtl, for example)", "kexec", "a boot by the firmware",
                      (line.source,),
                      Remedy("reboot once at a convenient time; every check then judges a boot by the firmware", (),
                             True))
    fact = case.host.trial_ended
    if fact.value is None:
        yield Finding(_ID, UNREAD, "trial boot", "skip" if fact.absence in _ELSEWHERE else "unknown", "effective",
                      f"how the last trial boot ended cannot be told: {fact.why()}", evidence=(fact.source,),
                      absence=fact.absence)
        return
    ended = fact.value
    if not ended.reason:
        yield Finding(_ID, "ok", "trial boot", "pass", "effective", "no trial boot ended without a commit",
                      evidence=(fact.source,))
        return
    reason, fix = _REASONS[ended.reason]
    when = f" at {ended.at}" if ended.at else ""
    yield Finding(_ID, ended.reason.replace("_", "-"), "trial boot", "warn", "effective",
                  f"trial boot {ended.trial_id} ended{when} without a commit: {reason}", ended.reason,
                  "a trial boot that is committed", (fact.source,), fix)
