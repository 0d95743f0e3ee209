"""The commands that a remedy gives: lists of words, quoted once where they are shown, each with the place it runs.

What a host says about itself (its name, its packages, its kernel's release) is a stranger's: it gets into a command
only where it is such a name, and then as one word. Everything else stays in the sentence around the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ..util.at_first_use import dataclass, regex

__all__ = ["HOST", "Command", "addresses", "cpus", "file", "host", "limited", "packages", "pieces", "release", "run",
           "typed"]

#: Stand for what a person has to fill in: the name of a host, or of several, and an old version of a package.
HOST = "HOST"
_HOSTS = "HOSTS"
_FILL_IN = (HOST, _HOSTS, "OLD")
#: So many hosts are named in one command.
_NAMED = 10
_WORD = regex(r"[ -~]{1,4096}")
_HOST = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
#: Words that Ansible's -l takes for groups: "all" is every box.
_GROUPS = ("all", "ungrouped")
#: deb-control(5) takes lower case, digits and + - . behind letter or digit, with ":arch" behind it; rpm also capitals
#: and _.
_PACKAGE = regex(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,127}(?::[a-z0-9-]{1,32})?")
_RELEASE = regex(r"[A-Za-z0-9][A-Za-z0-9+._~-]{0,127}")
_ADDRESS = regex(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CPUS = regex(r"[0-9][0-9,-]{0,2000}")
#: Programs that need root: with any argument, or with one that begins like this.
_AS_ROOT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("setpci", "modprobe", "rmmod", "chcpu", "cpupower", "update-grub", "update-initramfs", "mokutil",
                     "apt-mark", "apt-get", "dnf", "nvidia-ctk"), ()),
    "nvidia-smi": ("-pm", "-pl", "-e", "-mig", "-c", "-lgc", "-rgc", "--gpu-reset"),
    "systemctl": ("enable", "disable", "start", "stop", "restart", "mask"),
    "sysctl": ("-w",), "journalctl": ("-k", "-u"), "dkms": ("autoinstall", "install", "remove"),
    "tunecheck": ("preflight", "host", "p2p", "allreduce", "record"),
}
_FIELD = regex(r"\{([a-z_]+)\}")
_FILE = regex(r"/[A-Za-z0-9][A-Za-z0-9/._+-]{0,254}")


@dataclass(frozen=True)
class Command:
    """``argv`` as a program gets it. ``where``: "box" is the one that was looked at, "control" the machine that has the
    inventory and runs the plays."""

    argv: tuple[str, ...]
    where: Literal["box", "control"] = "box"

    def __post_init__(self) -> None:
        if not self.argv or not all(_WORD.fullmatch(word) for word in self.argv):
            raise ValueError(f"not the words of a command: {self.argv!r}")

    @property
    def as_root(self) -> bool:
        """Whether it changes the box, or reads what only root may: no user is asked for a password in vain."""
        if self.argv[0] == "sudo":
            return True
        known = _AS_ROOT.get(self.argv[0])
        return known is not None and (not known or any(word.startswith(known) for word in self.argv[1:]))

    @property
    def fill_in(self) -> tuple[str, ...]:
        """The words in capitals that a person has to replace first: such a line cannot be pasted as it is."""
        return tuple(word for word in _FILL_IN if any(word in part.split("/") for part in self.argv))

    @property
    def shown(self) -> str:
        """One line for a shell."""
        return shlex.join(self.argv)


def run(line: str, *words: str, where: Literal["box", "control"] = "box") -> Command:
    """``line`` is ours and is split at its spaces; each of ``words`` is one word, whatever is in it."""
    return Command((*line.split(), *words), where)


def typed(template: str, **values: str) -> tuple[str | Command, ...]:
    """Our own sentence with its commands in back-ticks, in parts: ``see `lspci -tv`: ...``. A command is split as a
    shell would. ``{name}`` stands for a value, which may be a stranger's: in the sentence it is text whatever it
    holds, in a command it is (a part of) one word."""
    parts: list[str | Command] = []
    for number, part in enumerate(template.split("`")):
        if number % 2:
            words = tuple(_filled(word, values) for word in shlex.split(part))
            parts.append(Command(words, "control" if words[0].startswith("ansible-") else "box"))
        elif part:
            parts.append(_filled(part, values))
    return tuple(parts)


def _filled(text: str, values: dict[str, str]) -> str:
    return _FIELD.sub(lambda found: values[found.group(1)], text) if values else text


def pieces(text: str, commands: Sequence[Command]) -> Iterator[tuple[str, Command | None]]:
    """The text in order, each command on its own. A command that the text does not hold as it is has been cut off or
    masked, and is none any more."""
    for each in commands:
        before, found, after = text.partition(each.shown)
        if not found:
            continue
        if before:
            yield before, None
        yield each.shown, each
        text = after
    if text:
        yield text, None


def limited(text: str, commands: Sequence[Command], hosts: Sequence[str]) -> tuple[str, tuple[Command, ...]]:
    """The same for other hosts: the plays in it are limited (-l) to these."""
    said, changed = [], []
    for part, each in pieces(text, commands):
        if each is not None and each.where == "control" and "-l" in each.argv[:-1]:
            at = each.argv.index("-l") + 1
            each = replace(each, argv=(*each.argv[:at], _limit(hosts), *each.argv[at + 1:]))
            part = each.shown
        said.append(part)
        changed += [each] if each is not None else []
    return "".join(said), tuple(changed)


def _limit(hosts: Sequence[str]) -> str:
    if len(hosts) == 1:
        return host(hosts[0])
    return ",".join(hosts) if len(hosts) <= _NAMED and all(host(name) == name for name in hosts) else _HOSTS


def host(name: str | None) -> str:
    """The name for Ansible's -l, or HOST where it is none of a host."""
    return name if name and _HOST.fullmatch(name) and name not in _GROUPS else HOST


def packages(names: Iterable[str], most: int) -> list[str]:
    """Those that are names of packages."""
    return [name for name in names if _PACKAGE.fullmatch(name)][:most]


def release(name: str) -> str | None:
    """The release of a kernel, or None where it is none."""
    return name if _RELEASE.fullmatch(name) else None


def addresses(names: Iterable[str]) -> list[str]:
    """Those that are addresses of PCI devices."""
    return [name for name in names if _ADDRESS.fullmatch(name)]


def cpus(text: str) -> str | None:
    """A list of CPUs as the kernel writes it, or None where it is none."""
    return text if _CPUS.fullmatch(text) else None


def file(path: str) -> str | None:
    """A plain absolute path that leads nowhere else, or None."""
    return path if _FILE.fullmatch(path) and ".." not in path.split("/") else None
