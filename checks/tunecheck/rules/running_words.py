"""Which words of the kernel command line act on the running kernel, asked before a remedy asks for one."""

from __future__ import annotations

from collections.abc import Sequence

from ..parsers.kernel.cmdline import acts, missing
from ..parsers.kernel.param_conflicts import conflicts
from .context import Case

__all__ = ["against", "runs"]


def against(case: Case, declared: Sequence[str]) -> list[str]:
    """Return the running words that contradict these tokens. All of them are one edit, and one reboot."""
    running = case.host.kernel.cmdline.value if case.snapshot.host else None
    return list(dict.fromkeys(each.rival for each in conflicts(declared, running or ())))


def runs(case: Case, word: str) -> bool:
    """Whether the word acts on the running command line, and the next boot is not known to lack it: no remedy asks for
    it again."""
    running = case.host.kernel.cmdline.value if case.snapshot.host else None
    if running is None or not acts(word, running):
        return False
    generated = None if case.trial or case.open_trial else case.host.boot.generated.value
    return generated is None or not missing([word], generated)
