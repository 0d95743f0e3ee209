"""Snapshots that were carried here as files, for fleets that no control node reaches: HOST.json or GROUP/HOST.json."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from tunecheck.errors import Misuse, UsageError
from tunecheck.facts.snapshot_file import MAX_BYTES
from tunecheck.parsers.text.bounds import NAMES
from tunecheck.util.at_first_use import dataclass
from tunecheck.util.text import some

from .model import Answer, Status
from .scope import UNGROUPED
from .snapshot_age import misfit

__all__ = ["MAX_AGE_S", "Folder"]

#: Days: a file that is older says nothing about today's box.
MAX_AGE_S = 7 * 86400.0
_NAMED, _LOOKED_AT, _LOOKED_INTO = 5, 10_000, 50
#: Every snapshot has it, of whatever version, damaged or not.
_SNAPSHOT = re.compile(rb'"schema"\s{0,8}:\s{0,8}"tunecheck/snapshot/')
#: Of a folder that nobody may look into, no host is known by name; "/" is in no host's.
_ALL = "/*"
#: Every ext4 file system has one, for root alone.
_NOBODYS = ("lost+found",)
#: How `tunecheck record` names what it writes, and how deep in a folder a file is looked for.
_RECORDING, _DEEPEST = ".tar.zst", 2
#: Endings of files from which a snapshot is made here.
_SOURCES = (_RECORDING, ".txt", ".log", ".log.gz")


@dataclass(frozen=True)
class Folder:
    """``files``: host -> (group, its file). A host without a file was asked and said nothing: those of ``absent`` (host
    -> group), which the audit before had. ``outside``: those (host -> group) whose file lies in no group's folder any
    more. ``ignored``: files that lie there and are no snapshot by their names.
    ``closed``: folder in it that cannot be looked into -> why. ``max_age``: seconds; an older snapshot counts as
    incomplete."""

    path: str
    files: Mapping[str, tuple[str, Path]]
    max_age: float = MAX_AGE_S
    ignored: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    outside: tuple[tuple[str, str], ...] = ()
    closed: Mapping[str, OSError] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str, max_age: float = MAX_AGE_S) -> Folder:
        """UsageError where there is nothing to read, or two files are for one host."""
        root = Path(path)
        try:
            listed, closed = _listing(root)
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"--from {path}: is no folder; {_how('FOLDER')}", Misuse.NOT_THERE) from None
        except OSError as error:
            raise UsageError(f"--from {path}: cannot be read ({error.strerror}); expected a folder that the "
                             "user who runs the audit may read", Misuse.UNREADABLE) from None
        found: dict[str, tuple[str, Path]] = {}
        for group, file in listed:
            if file.stem in found:
                raise UsageError(f"--from {path}: both {found[file.stem][1]} and {file} are for host {file.stem}; "
                                 "take one away", Misuse.AMBIGUOUS)
            found[file.stem] = (group, file)
        if not found and not closed:
            how = _of_recordings(path, _ignored(root, set())) or _how(path)
            raise UsageError(f"--from {path}: holds no snapshot; {how}", Misuse.EMPTY)
        return cls(path, found, max_age, tuple(_ignored(root, {file for _, file in found.values()})), closed=closed)

    def with_absent(self, before: Iterable[tuple[str, str]]) -> Folder:
        """Ask also for those of ``before`` (host, group) that have no file here any more."""
        known = sorted(before)
        return replace(
            self, absent=tuple((host, group) for host, group in known
                               if host not in self.files and not host.endswith(_ALL)),
            outside=tuple((host, group) for host, group in known if group != UNGROUPED
                          and host in self.files and self.files[host][0] == UNGROUPED))

    def refuse_others(self) -> None:
        """UsageError where the files are whole, and none of the first is a snapshot: another folder was meant. One that
        is empty or unreadable may be a host's, and its audit says so."""
        for _, file in itertools.islice(self.files.values(), _LOOKED_INTO):
            try:
                content = _content(file)
            except (OSError, ValueError):
                return
            if not content.strip() or _SNAPSHOT.search(content):
                return
        if self.files and not self.closed:
            named = _listed(str(file) for _, file in self.files.values())
            how = _of_recordings(self.path, self.ignored) or _how(self.path)
            raise UsageError(f"--from {self.path}: holds no snapshot, only other files: {named}; {how}; no audit was "
                             "begun", Misuse.EMPTY)

    def asked(self) -> tuple[tuple[str, str], ...]:
        """A closed folder of which no host is known by name counts as one host, or nothing would tell of its boxes."""
        known = {group for _, group in self.absent}
        unknown = [(f"{name}{_ALL}", name) for name in self.closed if name not in known]
        return tuple(sorted([*((host, group) for host, (group, _) in self.files.items()), *self.absent, *unknown]))

    def notes(self, asked: Collection[str] = ()) -> list[str]:
        """What an operator has to know of the folder beside its snapshots. ``asked``: every host that is asked, to name
        the files of others."""
        notes = []
        if asked and (strange := sorted(set(self.files) - set(asked))):
            notes.append(f"{self.path} holds files of {len(strange)} host{'s' * (len(strange) > 1)} that the inventory "
                         f"has not, which are left out: {_listed(strange)}")
        if self.closed:
            many = len(self.closed)
            named = [f"{name} ({error.strerror})" for name, error in sorted(self.closed.items())]
            notes.append(f"{many} folder{'s' * (many > 1)} in {self.path} cannot be read: {_listed(named)}; which "
                         f"boxes are in {'them' if many > 1 else 'it'} cannot be told")
        if self.absent:
            many = len(self.absent)
            notes.append(f"{many} host{'s' * (many > 1)} of the last audit {'are' if many > 1 else 'is'} not in "
                         f"{self.path}: {_listed([host for host, _ in self.absent])}; counted as missing (--gone HOST: "
                         "it is gone for good)")
        for group in sorted({group for _, group in self.outside}):
            names = [host for host, its in self.outside if its == group]
            many = len(names)
            place = Path(self.path, group)
            notes.append(f"{_listed(names)} {'were' if many > 1 else 'was'} in {place} in the last audit, and "
                         f"{'lie' if many > 1 else 'lies'} in {self.path} itself now: of no group, and compared with "
                         f"no host of {group}; where {'they are' if many > 1 else 'it is'} of {group} still, put the "
                         f"file{'s' * (many > 1)} into {place}")
        if unread := list(itertools.filterfalse(self._was_made_one, self.ignored)):
            many = len(unread)
            notes.append(f"{many} file{'s' * (many > 1)} in {self.path} {'are' if many > 1 else 'is'} not read: "
                         f"{_listed(unread)}; {_of_recordings(self.path, unread) or _how(self.path)}")
        return notes

    def _was_made_one(self, name: str) -> bool:
        """Whether the snapshot beside this file, or beside the folder that it lies in, is read: it was made of it."""
        read = {str(file.relative_to(self.path).with_suffix("")) for _, file in self.files.values()}
        stems = {name.removesuffix(ending) for ending in _SOURCES if name.endswith(ending)}
        folders = {str(each) for each in Path(name).parents if not any(one.startswith(f"{each}/") for one in read)}
        return bool(read & (stems | folders))

    def answers(self, wanted: Mapping[str, str]) -> Iterator[Answer]:
        """One for each of the hosts ``wanted`` (host -> group)."""
        for host, group in wanted.items():
            if host not in self.files:
                yield self._without(host, group)
                continue
            file = self.files[host][1]
            if not _named(host):
                yield Answer(host, group, "garbled", reason=f"{file}: {host[:60]!r} is not the name of a host; "
                             "expected letters, digits, dots, dashes and underscores; rename the file to HOST.json")
                continue
            try:
                content = _content(file)
            except OSError as error:
                # Nothing is wrong with what it says, only nobody has heard it.
                yield Answer(host, group, _status(error), reason=f"{file} cannot be read ({error.strerror})")
            except ValueError as error:
                yield Answer(host, group, "garbled", reason=f"{file}: {error}")
            else:
                old = misfit(content, self.max_age)
                yield Answer(host, group, "partial" if old else "ok", content, old.text if old else "")

    def _without(self, host: str, group: str) -> Answer:
        """A host that has no file here; where it may be in a folder that cannot be looked into, that is why."""
        if self.closed:
            name = group if group in self.closed else min(self.closed)
            error = self.closed[name]
            why = f"{Path(self.path, name)} cannot be read ({error.strerror})"
            return Answer(host, group, _status(error), reason=why if host.endswith(_ALL) else
                          f"no file {host}.json in {self.path}, and {why}")
        if host.endswith(_ALL):
            return Answer(host, group, "unreachable",
                          reason=f"{Path(self.path, group)} could not be read when this audit began")
        before = "; it was in the last audit" if (host, group) in self.absent else ""
        return Answer(host, group, "unreachable", reason=f"no file {host}.json in {self.path}{before}")


def _named(host: str) -> bool:
    """Whether a box can be called so: what a snapshot may call itself, and not the kernel's own "(none)"."""
    return host != "(none)" and NAMES["host"].fullmatch(host) is not None


def _content(file: Path) -> bytes:
    """ValueError where it is no snapshot by its size or kind."""
    # Without O_NONBLOCK a FIFO would make us wait for ever.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is no file but a folder, pipe or device")
        if found.st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def _status(error: OSError) -> Status:
    return "refused" if isinstance(error, PermissionError) else "unreachable"


def _listing(root: Path) -> tuple[list[tuple[str, Path]], dict[str, OSError]]:
    """(group, file) of everything that is a snapshot by its name, and the folders that cannot be looked into. glob()
    would pass over those without a word."""
    files, closed = [], {}
    for entry in _entries(root):
        if entry.name.endswith(".json"):
            files.append((UNGROUPED, Path(entry.path)))
        try:
            inner = _entries(Path(entry.path)) if entry.is_dir() else []
        except OSError as error:
            # What is a snapshot by its name is asked for, and then says itself that it cannot be read.
            if entry.name not in _NOBODYS and not entry.name.endswith(".json"):
                closed[entry.name] = error
        else:
            files += [(entry.name, Path(each.path)) for each in inner if each.name.endswith(".json")]
    return sorted(files, key=lambda each: each[1]), closed


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """By name, without hidden ones, which are nobody's snapshot."""
    with os.scandir(folder) as entries:
        return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)


def _ignored(root: Path, read: set[Path]) -> Iterator[str]:
    """Files below the folder that are not read, and deeper folders that could not be; hidden ones are nobody's."""
    seen = 0
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unread.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _LOOKED_AT:
                return
            if not name.startswith(".") and Path(folder, name) not in read:
                yield str(Path(folder, name).relative_to(root))
    for error in unread:
        place = Path(error.filename).relative_to(root)
        if len(place.parts) > 1:        # else it is one of those that are closed
            yield f"{place}/ ({error.strerror})"


def _how(folder: str) -> str:
    """What a folder has to hold, and how that is made, of whatever there is of a box."""
    return ("expected HOST.json or GROUP/HOST.json, each made on its box by: sudo tunecheck snapshot --json HOST.json; "
            "or here, of the outputs or the recording (PATH) of a box, by: tunecheck snapshot --from PATH --json "
            f"{shlex.quote(str(Path(folder, 'HOST.json')))}")


def _of_recordings(folder: str, names: Iterable[str]) -> str:
    """How the recordings among these files become snapshots that are read here, with the name of the first; "": there
    is none among them."""
    found = [name for name in names if name.endswith(_RECORDING) and len(Path(name).parts) <= _DEEPEST]
    if not found:
        return ""
    first = str(Path(folder, found[0]))
    target = f"{first.removesuffix(_RECORDING)}.json"
    more = f", and the same for {len(found) - 1} more" if len(found) > 1 else ""
    return (f"{found[0]} is a recording, and a snapshot is read; make it: "
            f"tunecheck snapshot --from {shlex.quote(first)} --json {shlex.quote(target)}{more}")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return some(names, _NAMED)
