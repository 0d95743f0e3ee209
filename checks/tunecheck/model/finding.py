"""The result of a check: findings, and how to put it right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

from ..util.at_first_use import dataclass
from .command import Command, opens_driver, pieces, typed
from .fact import Absence

__all__ = ["AS_ROOT", "HUNG", "ON_ITS_HOST", "OR_PLAY", "OUTCOMES", "Edit", "Finding", "Place", "Remedy", "exit_code",
           "worst"]

#: Exit code of a trial that hung.
HUNG = 4
#: Before a remedy that a virtual machine cannot follow itself.
ON_ITS_HOST = "to be done on the host of this virtual machine, by the owner of that host: "
#: Worst first. Skip and unknown are never shown as pass.
OUTCOMES = ("fail", "unknown", "warn", "pass", "skip")


OR_PLAY = "; or "


class Place(StrEnum):
    """Where a remedy is carried out; the first one where it names several. Each of its commands has its own place."""

    BOX = "box"                 # in a shell on the machine that was looked at
    INVENTORY = "inventory"     # in the desired state; a play then brings it to the box
    FIRMWARE = "firmware"       # in the set-up of the BIOS or UEFI, so with a reboot, or in the BMC
    MACHINE = "machine"         # with hands: slots, cables, fans, power
    HYPERVISOR = "hypervisor"   # on the host of this virtual machine


class Edit(str):
    """Words of a remedy, with what it does to the kernel command line: so a program knows it without reading them."""

    puts: tuple[str, ...]
    takes: tuple[str, ...]

    def __new__(cls, text: str, puts: Sequence[str], takes: Sequence[str]) -> Edit:
        self = super().__new__(cls, text)
        self.puts, self.takes = tuple(puts), tuple(takes)
        return self


@dataclass(frozen=True)
class Remedy:
    """How to put it right: a sentence, the commands that are in it, the play's tags, and whether the box has to reboot.
    The way by hand comes first; ``play_text`` is the end of the sentence that says the same by a play, where there is
    one. ``needs_reboot``: it has no effect before the box has booted again; of several ways, the first one counts.
    ``as_root``: the only thing to do is to look again as root. ``words_open_driver``: not its
    commands but its words ask for a reset, or for what only the driver answers. ``puts`` and ``takes``: the words that
    it puts on the kernel command line, and those that it takes off."""

    text: str
    ansible_tags: tuple[str, ...] = ()
    needs_reboot: bool = False
    place: Place = Place.BOX
    commands: tuple[Command, ...] = ()
    as_root: bool = False
    play_text: str = ""
    words_open_driver: bool = False
    puts: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @classmethod
    def typed(cls, template: str, ansible_tags: tuple[str, ...] = (), needs_reboot: bool = False,
              place: Place = Place.BOX, words_open_driver: bool = False, **values: str) -> Remedy:
        """Make a remedy of our own sentence with its commands in back-ticks; see ``command.typed`` for ``{name}`` and
        its value."""
        return cls.of(*typed(template, **values), ansible_tags=ansible_tags, needs_reboot=needs_reboot, place=place,
                      words_open_driver=words_open_driver)

    @classmethod
    def of(cls, *parts: str | Command, ansible_tags: tuple[str, ...] = (), needs_reboot: bool = False,
           place: Place = Place.BOX, words_open_driver: bool = False) -> Remedy:
        """Make a remedy of words and commands, in the order in which they are read."""
        edits = [part for part in parts if isinstance(part, Edit)]
        return cls("".join(part if isinstance(part, str) else part.shown for part in parts), ansible_tags, needs_reboot,
                   place, tuple(part for part in parts if isinstance(part, Command)),
                   words_open_driver=words_open_driver, puts=tuple(word for edit in edits for word in edit.puts),
                   takes=tuple(word for edit in edits for word in edit.takes))

    @property
    def physical(self) -> bool:
        """Whether it takes the real machine. In a virtual one only the owner of its host can do it."""
        return self.place in (Place.FIRMWARE, Place.MACHINE)

    @property
    def by_hand(self) -> str:
        """The part of the sentence that a person can do without a play. "" where only the play does it."""
        return self.text[:len(self.text) - len(self.play_text)].removesuffix(OR_PLAY) if self.play_text else self.text

    @property
    def by_play(self) -> Remedy:
        """Return the remedy without the way by hand, where a play does it: for a reader who has the inventory and many
        boxes."""
        commands = tuple(each for _, each in pieces(self.play_text, self.commands) if each is not None)
        return replace(self, text=self.play_text, commands=commands) if self.play_text else self

    @property
    def opens_driver(self) -> bool:
        """Whether who follows it opens NVIDIA's driver, which nobody should while a process is stuck there."""
        return self.words_open_driver or any(opens_driver(each.argv) for each in self.commands)

    @property
    def play(self) -> Command | None:
        """The command that runs the play. None where no play does it."""
        return next((each for each in reversed(self.commands) if each.argv[0] == "ansible-playbook"), None)

    @property
    def parts(self) -> tuple[str | Command, ...]:
        """Return the sentence as it was made: its words as text, each command as a Command."""
        return tuple(command or text for text, command in pieces(self.text, self.commands))


AS_ROOT = Remedy("run as root", as_root=True)


@dataclass(frozen=True)
class Finding:
    """One verdict on one subject. ``layer`` is where it was decided: declared, configured, generated, effective,
    behaviour. ``code`` names what the check says, and does not change between versions: the check's own (CODES in its
    file) or one of rules/codes.py. ``text`` says the same for people; no program reads it. ``absence`` is that of the
    fact that the check lacks."""

    id: str
    code: str
    subject: str
    outcome: str
    layer: str
    text: str
    observed: str = ""
    expected: str = ""
    evidence: tuple[str, ...] = ()
    remedy: Remedy | None = None
    absence: Absence | None = None

    @property
    def message(self) -> str:
        """Return one line: what is so, what was expected, how to put it right."""
        parts = [f"{self.id}: {self.text}"]
        if self.outcome in ("fail", "warn") and self.expected:
            parts.append(f"expected {self.expected}")
        if self.outcome in ("fail", "warn", "unknown") and self.remedy:
            parts.append(self.remedy.text)
        return "; ".join(parts)


def worst(findings: Iterable[Finding]) -> str:
    """Return the verdict over all findings; "unknown" where nothing was judged at all, as where all are skipped."""
    found = {finding.outcome for finding in findings} - {"skip"}
    return next((outcome for outcome in OUTCOMES if outcome in found), "unknown")


def exit_code(outcome: str) -> int:
    """Return the exit code of an outcome: 0 pass, 1 a check failed, 3 could not determine."""
    return {"fail": 1, "unknown": 3}.get(outcome, 0)
