"""The commands that a remedy gives. Each is a list of words, quoted once where it is shown, with the place where it
runs.

What a host says about itself (its name, its packages, its kernel's release) is a stranger's: it gets into a command
only where it is such a name, and then as one word. Everything else stays in the sentence around the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Literal

from ..util.at_first_use import dataclass, regex

__all__ = ["HOST", "Command", "addresses", "cpus", "file", "host", "limited", "of_inventory", "opens_driver",
           "packages", "pieces", "release", "retagged", "run", "tagged", "tags_of", "typed"]

#: Stand for what a person has to fill in: the name of a host, or of several, an old version of a package, the name of
#: an inventory, and a file.
HOST = "HOST"
_HOSTS = "HOSTS"
_INVENTORY = "inventory/NAME"
_FILL_IN = (HOST, _HOSTS, "OLD", "NAME", "FILE")
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
#: Programs that need root: with any argument, with an option that begins like this, or with this word first.
_AS_ROOT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("setpci", "modprobe", "rmmod", "chcpu", "cpupower", "update-grub", "update-initramfs", "apt-mark",
                     "apt-get", "dnf", "nvidia-ctk"), ()),
    "nvidia-smi": ("-pm", "-pl", "-e", "-mig", "-c", "-lgc", "-rgc", "--gpu-reset"),
    "systemctl": ("enable", "disable", "start", "stop", "restart", "mask"),
    "mokutil": ("--import",), "sysctl": ("-w",), "journalctl": ("-k", "-u"),
    "dkms": ("autoinstall", "install", "remove"),
    "tunecheck": ("preflight", "host", "p2p", "allreduce", "record"),
}
#: Programs and services that open NVIDIA's driver, verbs of tunecheck that do, and tags of the play that do.
_OPEN = ("nvidia-smi", "nvidia-modprobe", "nvidia-persistenced", "nvidia-fabricmanager", "nvidia-imex", "nvidia-ctk",
         "nvidia-cdi", "dcgmi", "nv-hostengine")
_VERBS = ("topo", "host", "driver", "runtime", "preflight", "p2p", "allreduce", "record")
_TAGS = ("driver", "gpu", "runtime", "modules")
_FIELD = regex(r"\{([a-z_]+)\}")
_FILE = regex(r"/[A-Za-z0-9][A-Za-z0-9/._+-]{0,254}")


@dataclass(frozen=True)
class Command:
    """One command. ``argv`` is as a program gets it. ``where``: "box" is the machine that was looked at, "control" the
    one that has the inventory and runs the plays. ValueError for words that no command has."""

    argv: tuple[str, ...]
    where: Literal["box", "control"] = "box"

    def __post_init__(self) -> None:
        if not self.argv or not all(_WORD.fullmatch(word) for word in self.argv):
            raise ValueError(f"not the words of a command: {self.argv!r}")

    @property
    def as_root(self) -> bool:
        """Whether the command changes the box, or reads what only root may. For any other command no user is asked for
        a password in vain."""
        return self.argv[0] == "sudo" or _needs_root(self.argv)

    @property
    def fill_in(self) -> tuple[str, ...]:
        """The words in capitals that a person has to replace first: such a line cannot be pasted as it is."""
        return tuple(word for word in _FILL_IN if any(word in part.split("/") for part in self.argv))

    @cached_property
    def shown(self) -> str:
        """The command as one line for a shell."""
        return shlex.join(self.argv)


def opens_driver(argv: Sequence[str]) -> bool:
    """Return whether this command opens NVIDIA's driver: asks it, loads it or takes it out, or restarts what holds it.
    Reading of a log or of a unit's state does not."""
    program, *words = argv[1:] if argv[0] == "sudo" else argv
    if program in ("modprobe", "rmmod"):
        return any(word.startswith("nvidia") for word in words)
    if program == "tunecheck":
        return "--from" not in words and any(word in _VERBS for word in words[:1])
    if program == "ansible-playbook":
        tags = words[words.index("--tags") + 1:][:1] if "--tags" in words else []
        return any(tag in _TAGS for each in tags for tag in each.split(","))
    if program == "systemctl":
        return words[:1] != ["status"] and any(word.startswith(_OPEN) for word in words)
    return program.startswith(_OPEN)


def run(line: str, *words: str, where: Literal["box", "control"] = "box") -> Command:
    """Return a command. ``line`` is ours and is split at its spaces; each of ``words`` is one word, whatever is in
    it."""
    return _command((*line.split(), *words), where)


def typed(template: str, **values: str) -> tuple[str | Command, ...]:
    """Take apart our own sentence with its commands in back-ticks: ``see `lspci -tv`: ...``. A command is split as a
    shell would. ``{name}`` stands for a value, which may be a stranger's: in the sentence it is text whatever it holds,
    in a command it is (a part of) one word."""
    if not values:
        return _plain(template)
    return tuple(_filled(part, values) if isinstance(part, str) else _command(
        tuple(_filled(word, values) for word in part)) for part in _split(template))


def _command(words: tuple[str, ...], where: Literal["box", "control"] | None = None) -> Command:
    """Return a command as its user can paste it: with sudo where only root may do it."""
    where = where or ("control" if words[0].startswith("ansible-") else "box")
    return Command(("sudo", *words) if where == "box" and _needs_root(words) else words, where)


def _needs_root(argv: tuple[str, ...]) -> bool:
    known = _AS_ROOT.get(argv[0])
    # What judges texts needs nobody's rights; nvidia-smi nvlink has an -e of its own, which reads.
    if known is None or "--from" in argv or "nvlink" in argv:
        return False
    options = [word for word in argv[1:] if word.startswith("-")]
    return not known or any(word in known for word in argv[1:2]) or any(word.startswith(known) for word in options)


@lru_cache(1024)        # the templates are our own: a few hundred
def _plain(template: str) -> tuple[str | Command, ...]:
    return tuple(part if isinstance(part, str) else _command(part) for part in _split(template))


@lru_cache(1024)
def _split(template: str) -> tuple[str | tuple[str, ...], ...]:
    """Return the parts of a sentence: a text for the words, a tuple for each command."""
    parts = enumerate(template.split("`"))
    return tuple(tuple(shlex.split(part)) if number % 2 else part for number, part in parts if number % 2 or part)


def _filled(text: str, values: dict[str, str]) -> str:
    return _FIELD.sub(lambda found: values[found.group(1)], text) if values else text


def pieces(text: str, commands: Sequence[Command]) -> Iterator[tuple[str, Command | None]]:
    """Yield the text in order, with each command on its own. A command that the text does not hold as it is has been
    cut off or masked; it is left out."""
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
    """Return the same text and commands for other hosts: each play that has a limit (-l) is limited to these."""
    return _each_with(text, commands, "-l", lambda _: _limit(hosts))


def of_inventory(text: str, commands: Sequence[Command], path: str) -> tuple[str, tuple[Command, ...]]:
    """Return the same text and commands where the inventory is known: each play whose inventory a person would have to
    fill in is of this one."""
    return _each_with(text, commands, "-i", lambda given: path if given == _INVENTORY else given)


def tags_of(command: Command) -> tuple[str, ...]:
    """Return the tags of a play; none where it has no such option, or is no play."""
    argv = command.argv
    given = argv[argv.index("--tags") + 1:][:1] if command.where == "control" and "--tags" in argv else ()
    return tuple(tag for each in given for tag in each.split(","))


def tagged(text: str, commands: Sequence[Command], tags: Sequence[str]) -> tuple[str, tuple[Command, ...]]:
    """Return the same text and commands where each play that has tags has these, too."""
    return _each_with(text, commands, "--tags", lambda given: ",".join(dict.fromkeys((*given.split(","), *tags))))


def retagged(text: str, commands: Sequence[Command], tags: Sequence[str]) -> tuple[str, tuple[Command, ...]]:
    """Return the same text and commands where each play that has tags has these in their place."""
    return _each_with(text, commands, "--tags", lambda given: ",".join(tags))


def _each_with(text: str, commands: Sequence[Command], option: str,
               value: Callable[[str], str]) -> tuple[str, tuple[Command, ...]]:
    """Return both with another value of this option in each play that has it."""
    said, changed = [], []
    for part, each in pieces(text, commands):
        if each is not None and each.where == "control" and option in each.argv[:-1]:
            at = each.argv.index(option) + 1
            each = replace(each, argv=(*each.argv[:at], value(each.argv[at]), *each.argv[at + 1:]))
            part = each.shown
        said.append(part)
        changed += [each] if each is not None else []
    return "".join(said), tuple(changed)


def _limit(hosts: Sequence[str]) -> str:
    if len(hosts) == 1:
        return host(hosts[0])
    return ",".join(hosts) if len(hosts) <= _NAMED and all(host(name) == name for name in hosts) else _HOSTS


def host(name: str | None) -> str:
    """Return the name for Ansible's -l, or HOST where it is no name of a host."""
    return name if name and _HOST.fullmatch(name) and name not in _GROUPS else HOST


def packages(names: Iterable[str], most: int) -> list[str]:
    """Return those of ``names`` that are names of packages, at most ``most``."""
    return [name for name in names if _PACKAGE.fullmatch(name)][:most]


def release(name: str) -> str | None:
    """Return ``name`` if it is the release of a kernel, else None."""
    return name if _RELEASE.fullmatch(name) else None


def addresses(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are addresses of PCI devices."""
    return [name for name in names if _ADDRESS.fullmatch(name)]


def cpus(text: str) -> str | None:
    """Return ``text`` if it is a list of CPUs as the kernel writes it, else None."""
    return text if _CPUS.fullmatch(text) else None


def file(path: str) -> str | None:
    """Return ``path`` if it is a plain absolute path that leads nowhere else, else None."""
    return path if _FILE.fullmatch(path) and ".." not in path.split("/") else None
