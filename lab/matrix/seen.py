"""One column in one cell: what a play did there and what was seen of the box, and whether that keeps the promise."""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.lab import grub_cell
from tests.lab.box import Box, end_tree, until
from tests.lab.headings import Headings

from lab import photo

from .cells import Cell

__all__ = ["Bench", "MissedError", "Play", "configuration", "sentence", "stamp"]

PLAY = grub_cell.PLAY
#: The word of a command line that says which column's configuration it is.
_MARK = "lab.matrix="
_REBOOT = "Request the reboot"
#: The photo of the box before the first play.
_FIRST = "first"
#: What a box needs to return to its old entry, with everything before it: a bound for what never returns.
SECONDS = 2400
#: Files of ours, wherever they are: a play that is refused leaves none.
_OURS = "find / -xdev -iname '*tunecheck*' -not -path '/tmp/*' -not -path '*/.ansible/*'"


class MissedError(Exception):
    """A column did not do what it promises; the text says what was seen."""


def configuration(line: str) -> str:
    """The column whose configuration a command line is of, "" for the image's own."""
    return next((word.removeprefix(_MARK) for word in line.split() if word.startswith(_MARK)), "")


def _messages(text: str) -> Iterator[str]:
    """Each `msg` that a play printed as YAML, on one line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if begins := re.match(r"( *)msg: ?(.*)", line):
            # The message goes on as long as lines are indented more than its key.
            behind = re.compile(rf"\s*$|{begins[1]} +\S")
            more = itertools.takewhile(behind.match, lines[number + 1:])
            head = re.sub(r"^[>|][-+]?$", "", begins[2].strip())
            yield " ".join(" ".join([head, *more]).split()).strip("'\"")


def sentence(text: str, words: str) -> str:
    """The sentence with these words in a message of a play; "" where none has them."""
    sentences = (each for message in _messages(text) for each in re.split(r"(?<=\.) ", message))
    return next((each.rstrip(".") for each in sentences if words in each), "")


@dataclass
class Bench:
    """A cell's box, and what is known of it. ``first``: its boot files before the first play; ``settled``: those of the
    configuration that it has now, without what a trial leaves that nobody took away. ``proven``: the configurations
    that a boot has proven. ``before_cuts``: what the default entry booted before the play whose cuts are kept as
    photos, "" where there is none. ``stood_still``: how often the emulator stood still, or crashed, behind
    a cut of this column."""

    box: Box
    cell: Cell
    first: str = ""
    settled: str = ""
    proven: set[str] = field(default_factory=lambda: {""})
    done: set[str] = field(default_factory=set)
    before_cuts: str = ""
    stood_still: int = 0

    def begin(self) -> None:
        """Note how the box is before the first play, and keep it."""
        self.box.ssh("sync", timeout=600)
        self.first = self.settled = self.all()
        photo.take(self.box.machine.folder, _FIRST)

    def start_over(self) -> None:
        """Make the box what it was before the first play."""
        self.box.back_to(_FIRST)
        self.box.wait()
        self.settled, self.proven = self.first, {""}

    def all(self) -> str:
        return self.box.ssh(self.cell.all, timeout=900)

    def default(self) -> str:
        return self.box.ssh(self.cell.default, timeout=900)

    def changed(self) -> list[str]:
        """What differs from ``settled``. Of GRUB's environment what it says counts, not its bytes."""
        differ = set(self.settled.splitlines()) ^ set(self.all().splitlines())
        return sorted(line for line in differ if not line.endswith(" boot/grub/grubenv"))

    def ours(self) -> str:
        """Our files, asked where a refusal has to leave none: it takes long."""
        return "" if self.cell.trial else self.box.ssh(_OURS, timeout=900)

    def boots(self) -> int:
        return self.box.boots()

    def ask_for(self, column: str, *tokens: str, modules: dict[str, Any] | None = None, **seconds: int) -> None:
        """Let the inventory ask for a configuration that bears the column's name."""
        wanted = {"kernel": {"cmdline": ["pci=noacs", f"{_MARK}{column}", *tokens]}}
        self.box.set_spec(wanted | ({"modules": modules} if modules else {}) | ({"boot": seconds} if seconds else {}))

    def on_proven(self) -> bool:
        """Whether the box answers, in a boot of a configuration that was proven, and not of a trial."""
        line = self.box.line()
        return line != "" and "tunecheck.trial=" not in line and configuration(line) in self.proven

    def may_log_in(self) -> None:
        """Ansible's user may log in, a moment later than root."""
        until(lambda: self.box.machine.ssh("true", user="lab", timeout=30).returncode == 0, "nobody may log in")


@dataclass
class Play:
    """A play that runs against a box, with what was there before it."""

    bench: Bench
    argv: tuple[str, ...]
    playbook: str = PLAY

    def __post_init__(self) -> None:
        box = self.bench.box
        self.console = len(box.console())
        self.begun = self.bench.boots()
        self.before, self.default, self.ours = self.bench.all(), self.bench.default(), self.bench.ours()
        self._process = box.popen(*self.argv, playbook=self.playbook, start_new_session=True)
        self.shown = Headings(self._process)

    def __enter__(self) -> Play:
        return self

    def __exit__(self, *_: object) -> None:
        end_tree(self._process.pid)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """The control node dies: nothing of the play goes on."""
        end_tree(self._process.pid)
        self._process.wait()

    def end(self) -> int:
        """Wait for the play's end and return its exit code."""
        until(self.ended, lambda: f"the play did not end: {self.tail()}", seconds=SECONDS)
        return self._process.wait()

    def tail(self) -> str:
        return self.shown.text()[-1500:]

    def new_console(self) -> str:
        """What the console has shown since the play began."""
        return self.bench.box.console()[self.console:]

    def rebooted(self, times: int = 1) -> bool:
        """Whether so many kernels have started since the play began."""
        return self.bench.boots() >= self.begun + times

    def wait_for(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until `reached()`; MissedError where the play ends before that."""
        until(lambda: reached() or self.ended(), f"{what}: {self.tail()}", seconds=SECONDS)
        if not reached():
            raise MissedError(f"the play ended before {what}: {self.tail()}")

    def refused(self) -> dict[str, Any] | None:
        """Wait for the request to reboot and return None; where the play was refused before that, what it said.
        MissedError where a refusal left anything, or a trial could be had."""
        until(lambda: self.shown.has(_REBOOT) or self.ended(), f"the play never asked for a reboot: {self.tail()}",
              seconds=SECONDS)
        if self.shown.has(_REBOOT):
            return None
        self.end()
        text = self.shown.text()
        if self.bench.cell.trial or "Nothing was written" not in " ".join(text.split()):
            raise MissedError(f"the play ended before its reboot: {self.tail()}")
        if self.rebooted() or self.bench.all() != self.before or self.bench.ours() != self.ours:
            raise MissedError(f"refused, and yet something was written or the box rebooted: {self.tail()}")
        return {"outcome": "refused", "said": sentence(text, "a trial boot is not possible here")}

    def requested(self) -> float:
        """When the play asked for the reboot."""
        at = self.shown.at(_REBOOT)
        assert at is not None
        return at

    def receipt(self) -> str:
        document = json.loads(self.bench.box.ssh("cat /var/lib/tunecheck/receipt.json"))
        return str(document["state"])


def stamp() -> dict[str, Any]:
    """When, and how busy this machine is: times of an emulated box hang on it."""
    return {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "load": round(os.getloadavg()[0], 1)}
