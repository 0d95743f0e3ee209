"""Snapshots that were carried here as files, for fleets that no control node reaches: HOST.json or GROUP/HOST.json."""

from __future__ import annotations

import calendar
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UsageError
from ..facts.stored import MAX_BYTES
from .model import Answer

__all__ = ["MAX_AGE_S", "Folder"]

#: Days: a file that is older says nothing about today's box.
MAX_AGE_S = 7 * 86400.0
_DAY = 86400.0
_NAMED, _LOOKED_AT = 5, 10_000
_HOW = "expected HOST.json or GROUP/HOST.json, each made on its box by: sudo tunecheck snapshot --json HOST.json"


@dataclass(frozen=True)
class Folder:
    """``files``: host -> (group, its file). A host without a file was asked and said nothing: those of ``absent`` (host
    -> group), which the audit before had. ``ignored``: files that lie there and are no snapshot by their names.
    ``max_age``: seconds; an older snapshot counts as incomplete."""

    path: str
    files: Mapping[str, tuple[str, Path]]
    max_age: float = MAX_AGE_S
    ignored: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str, max_age: float = MAX_AGE_S) -> Folder:
        """UsageError where there is nothing to read, or two files are for one host."""
        root = Path(path)
        if not root.is_dir():
            raise UsageError(f"--from {path}: is no folder; {_HOW}")
        found: dict[str, tuple[str, Path]] = {}
        try:
            for file in sorted([*root.glob("*.json"), *root.glob("*/*.json")]):
                group = "ungrouped" if file.parent == root else file.parent.name
                if file.stem in found:
                    raise UsageError(f"--from {path}: both {found[file.stem][1]} and {file} are for host {file.stem}; "
                                     "take one away")
                found[file.stem] = (group, file)
        except OSError as error:
            raise UsageError(f"--from {path}: cannot be read ({error.strerror})") from None
        if not found:
            raise UsageError(f"--from {path}: holds no snapshot; {_HOW}")
        return cls(path, found, max_age, tuple(_ignored(root, {file for _, file in found.values()})))

    def with_absent(self, before: Iterable[tuple[str, str]]) -> Folder:
        """Ask also for those of ``before`` (host, group) that have no file here any more."""
        return replace(self, absent=tuple(sorted((host, group) for host, group in before if host not in self.files)))

    def asked(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted([*((host, group) for host, (group, _) in self.files.items()), *self.absent]))

    def notes(self, asked: Collection[str] = ()) -> list[str]:
        """What an operator has to know of the folder beside its snapshots. ``asked``: every host that is asked, to name
        the files of others."""
        notes = []
        if asked and (strange := sorted(set(self.files) - set(asked))):
            notes.append(f"{self.path} holds files of {len(strange)} host{'s' * (len(strange) > 1)} that the inventory "
                         f"has not, which are left out: {_listed(strange)}")
        if self.absent:
            many = len(self.absent)
            notes.append(f"{many} host{'s' * (many > 1)} of the last audit {'are' if many > 1 else 'is'} not in "
                         f"{self.path}: {_listed([host for host, _ in self.absent])}; counted as missing (--gone HOST: "
                         "it is gone for good)")
        if self.ignored:
            many = len(self.ignored)
            notes.append(f"{many} file{'s' * (many > 1)} in {self.path} {'are' if many > 1 else 'is'} not read: "
                         f"{_listed(self.ignored)}; {_HOW}; of a recording: "
                         "tunecheck snapshot --from HOST.tar.zst --json HOST.json")
        return notes

    def answers(self, wanted: Mapping[str, str]) -> Iterator[Answer]:
        """One for each of the hosts ``wanted`` (host -> group)."""
        for host, group in wanted.items():
            if host not in self.files:
                before = "; it was in the last audit" if (host, group) in self.absent else ""
                yield Answer(host, group, "unreachable", reason=f"no file {host}.json in {self.path}{before}")
                continue
            file = self.files[host][1]
            try:
                if file.stat().st_size > MAX_BYTES:
                    raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
                content = file.read_bytes()
            except OSError as error:
                # Nothing is wrong with what it says, only nobody has heard it.
                yield Answer(host, group, "refused" if isinstance(error, PermissionError) else "unreachable",
                             reason=f"{file} cannot be read ({error.strerror})")
            except ValueError as error:
                yield Answer(host, group, "garbled", reason=f"{file}: {error}")
            else:
                old = _old(content, self.max_age)
                yield Answer(host, group, "partial" if old else "ok", content, old)


def _old(content: bytes, max_age: float) -> str:
    """Why the snapshot's time does not fit; nothing where it does, or where it is no snapshot."""
    try:
        said = json.loads(content)["created"]
        age = time.time() - calendar.timegm(time.strptime(said, "%Y-%m-%dT%H:%M:%SZ"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return ""
    if age > max_age:
        return f"snapshot of {said[:10]}: {_long(age)} old"
    return f"snapshot of {said[:10]}: {_long(-age)} ahead of this machine's clock" if age < -_DAY else ""


def _long(seconds: float) -> str:
    for size, unit in ((365.25 * _DAY, "year"), (_DAY, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.0f} s"


def _ignored(root: Path, read: set[Path]) -> Iterator[str]:
    """Files below the folder that are not read; hidden ones are nobody's snapshot."""
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _LOOKED_AT:
                return
            if not name.startswith(".") and Path(folder, name) not in read:
                yield str(Path(folder, name).relative_to(root))


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
