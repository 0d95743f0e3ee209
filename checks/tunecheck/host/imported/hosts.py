"""Finds texts of two machines where only the machine's name tells: in front of the lines, in prompts, in the lines of a
system's log."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ...util.at_first_use import regex
from ...util.text import some

if TYPE_CHECKING:
    from ...parsers.nvidia.nccl_log import NcclHost
    from .posts import Post

__all__ = ["by_file", "in_log", "of_nccl", "two"]

#: Syslog and journalctl: "Nov 20 04:11:02 box kernel: ", "2026-11-20T04:11:02.1+00:00 box kernel: "; the journal's own
#: forms.
_FIELD = regex(r"^(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{4}-\d\d-\d\d[T ][\d:.,]{8,20}"
               r"(?:Z|[+-]\d\d:?\d\d)?) ([^\s:\[\]]{1,253}) kernel(?:\[\d{1,9}\])?: |"
               r"\"_HOSTNAME\" ?: ?\"([^\"\n]{1,253})\"|^ {0,4}_HOSTNAME=(\S{1,253})$", re.MULTILINE)
_CLOCK = regex(r"\d\d:\d\d:\d\d")
#: What a system is called before it knows its name.
_NOBODY = frozenset(("localhost", "localhost.localdomain", "(none)", "unknown", "fedora", "archlinux", "debian",
                     "ubuntu", "rocky", "almalinux", "linux", "buildroot", "nixos"))
#: The names of containers: they run on the machine whose other outputs are beside theirs.
_CONTAINER = regex(r"[0-9a-f]{12}\Z|.{1,200}-[0-9a-f]{7,10}-[a-z0-9]{5}\Z")
#: A boot names itself within this much: what it was called before counts for nothing.
_BOOTING_S = 120
_MOST = 200_000
#: A name in fewer lines may be a torn one; so many are compared.
_FEW, _NAMES = 3, 200
#: So many files are named of one machine, or of a folder.
_FILES = 8


def in_log(text: str) -> list[str]:
    """Return the machines that the lines of a kernel log name, in order. One that changed its name while it booted has
    the later name."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for found in islice(_FIELD.finditer(text), _MOST):
        name = next(each for each in found.groups() if each)
        first.setdefault(name, found.start())
        last[name] = found.start()
    names = [name for name in first if name.lower() not in _NOBODY]
    if len(names) == 2 and last[names[0]] < first[names[1]] and _booting(text, first, last, names):
        return names[1:]
    return names


def _booting(text: str, first: dict[str, int], last: dict[str, int], names: list[str]) -> bool:
    """Return whether the lines with the first name are the beginning of a boot that goes on with the other name."""
    head, rest = text[:first[names[1]]], text[first[names[1]]:]
    if "Linux version " not in head[first[names[0]]:][:4000] or "Linux version " in rest:
        return False
    begin, end = (_CLOCK.search(text, places[names[0]], places[names[0]] + 80) for places in (first, last))
    return begin is not None and end is not None and (_seconds(end[0]) - _seconds(begin[0])) % 86400 <= _BOOTING_S


def _seconds(clock: str) -> int:
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def two(named: Mapping[str, Collection[str]], logged: Mapping[str, Collection[str]]) -> str | None:
    """Return a sentence where two machines are among those that tools ``named`` in front of lines, or among those of
    prompts and logs. Both are names of their own: ansible may call by its address what calls itself gpu3. Both map a
    name to the files that it stands in."""
    for names in (named, logged):
        apart = next(_apart([name for name in names if name and not _CONTAINER.match(name)
                             and name.lower() not in _NOBODY]), None)
        if apart:
            return f"the machines {_both(apart, names)} are named in them"
    return None


def of_nccl(posts: Iterable[Post]) -> str | None:
    """Return a sentence where logs of NCCL are of two machines and not of one job. That is told by the ids of
    communicators, by how many machines a job has, or by its ranks; else texts of their own are of machines of their
    own."""
    from ...parsers.nvidia.nccl_log import hosts_of  # start-up time

    known: dict[str, NcclHost] = {}
    files: dict[str, set[str]] = {}
    for post in posts:
        for name in hosts_of(post.text, known):
            files.setdefault(name, set()).add(post.origin)
    names = [name for name in known if not (_CONTAINER.match(name) or name.lower() in _NOBODY or _torn(name, known))]
    for one, other in _apart(names):
        if not _one_job(known[one], known[other], not files[one].isdisjoint(files[other])):
            return f"the machines {_both((one, other), files)} are named in logs of NCCL that are not of one job"
    return None


def by_file(origins: Mapping[str, Iterable[str]]) -> str:
    """Return the end of a sentence that says in which file what was recognised (kind -> files): ``; its files: a.txt
    (lspci), b.txt (kernel log, lspci)``. "" of one file."""
    files: dict[str, list[str]] = {}
    for kind, names in origins.items():
        for name in dict.fromkeys(names):
            files.setdefault(name, []).append(kind)
    return "; its files: " + some([f"{_shown(name)} ({', '.join(kinds)})" for name, kinds in sorted(files.items())],
                                  _FILES) if len(files) > 1 else ""


def _torn(name: str, known: Mapping[str, NcclHost]) -> bool:
    """Return whether a name is another one that lost its beginning, or has a part of the line before in front: ranks
    write at the same time, and a log may be cut."""
    few = known[name].lines < _FEW
    return few and any(known[other].lines > known[name].lines and (name.endswith(other) or other.endswith(name))
                       for other in islice(known, _NAMES) if other != name)


def _one_job(one: NcclHost, other: NcclHost, together: bool) -> bool:
    most, least = max(one.machines, other.machines), min(one.machines, other.machines)
    if one.ids & other.ids:
        return True
    if most > 1:
        return least != 1 or together
    if most == 1:
        return False
    ranks = one.size == other.size and bool(one.ranks and other.ranks) and one.ranks.isdisjoint(other.ranks)
    return together or ranks


def _apart(names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names[1:]:
        if not _same(names[0].lower(), name.lower()):
            yield names[0], name


def _same(one: str, other: str) -> bool:
    """Return whether two names are of one machine: one may have the domain and the other not."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _both(names: tuple[str, str], files: Mapping[str, Collection[str]]) -> str:
    """Return two machines as text: "gpu03 (a.txt) and inf12 (b.txt, c.txt)"; without the files where one file, or the
    same files, name both."""
    apart = set(files[names[0]]) != set(files[names[1]])
    return " and ".join(f"{_shown(name)} ({some([_shown(file) for file in sorted(files[name])], _FILES)})"
                        if apart else _shown(name) for name in names)


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:80])
