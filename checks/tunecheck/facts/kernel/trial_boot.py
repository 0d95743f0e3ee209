"""How the last trial boot ended, where it ended without a commit: the box's own record (parsers/kernel/trial.py)."""

from __future__ import annotations

from ...host import Host
from ...model.fact import Absence, Fact, absent, known, parsed
from ...parsers.kernel import cmdline, trial
from ...parsers.kernel.trial import Ended
from ..file_text import text

__all__ = ["NOT_LOOKED", "trial_ended"]

#: Of a snapshot that was stored before it was looked at.
NOT_LOOKED: Fact[Ended] = absent(trial.ENDED, Absence.NOT_RECORDED)


def trial_ended(host: Host) -> Fact[Ended]:
    """Return how the last trial boot ended. The texts are empty where no trial ended without a commit: none was booted,
    the last one was committed, it waits for its reboot, or it is this boot."""
    recorded = text(host, trial.ENDED)
    if not recorded.missing:
        return parsed(recorded, trial.parse_ended)
    noted = text(host, trial.MEMORY)
    if noted.missing:
        return known(Ended("", "", ""), trial.ENDED)
    here, line = text(host, trial.BOOT_ID), text(host, "/proc/cmdline")
    for each in (here, line):
        if each.value is None:
            return absent(each.source, each.reason or Absence.NOT_READ)
    running = cmdline.trial_id(cmdline.tokenize(line.value or ""))
    return parsed(noted, lambda content: trial.without_end(trial.parse_noted(content), here.value or "", running)
                  or Ended("", "", ""))
