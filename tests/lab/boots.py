"""How often a lab box booted, out of its serial console, and what each boot was: shown where a test expected other."""

from __future__ import annotations

import re

_BEGINS = "Linux version "
_LINE = re.compile(r"\] Command line: (.*)")
_OURS = re.compile(r"(?:tunecheck|rdinit|init|systemd|panic)\S*=\S+")
_TELLS = re.compile(r"(?:Kernel panic|tunecheck: |Reached target \S*emergency|reboot: |watchdog: )[^\r\n]*")
_TAIL_CHARS = 300


#: A kernel that QEMU emulates with several threads panics once in a while on its own, and restarts.
EMULATORS_OWN = "Oops: int3"


class Boots(int):
    """A number of boots. Its repr, which pytest shows where an assertion fails, says what each of them was."""

    def __new__(cls, console: str) -> Boots:
        """Count the boots of a console's whole text, but for those that the emulator's own fault ended."""
        boots = console.split(_BEGINS)[1:]
        made = super().__new__(cls, len(boots) - sum(EMULATORS_OWN in each for each in boots[:-1]))
        made._console = console
        return made

    _console: str

    def __repr__(self) -> str:
        shown = [f"{int(self)}"]
        for number, text in enumerate(self._console.split(_BEGINS)[1:], 1):
            line = _LINE.search(text)
            said = [each[:200] for each in _TELLS.findall(text)]
            shown += [f"boot {number}: {' '.join(_OURS.findall(line[1])) if line else 'no command line'}",
                      *(f"    {each}" for each in said[-8:]),
                      f"    ends with: {text[-_TAIL_CHARS:]!r}"]
        return "\n".join(shown)
