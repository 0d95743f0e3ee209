"""Snapshots that were carried here as files, for fleets that no control node reaches: HOST.json or GROUP/HOST.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..facts.stored import MAX_BYTES
from .model import Answer

__all__ = ["Folder"]

_HOW = "expected HOST.json or GROUP/HOST.json, each made on its box by: sudo tunecheck snapshot --json HOST.json"


@dataclass(frozen=True)
class Folder:
    """``files``: host -> (group, its file). A host without a file was asked and said nothing."""

    path: str
    files: Mapping[str, tuple[str, Path]]

    @classmethod
    def read(cls, path: str) -> Folder:
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
        return cls(path, found)

    def asked(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((host, group) for host, (group, _) in self.files.items()))

    def answers(self, wanted: Mapping[str, str]) -> Iterator[Answer]:
        """One for each of the hosts ``wanted`` (host -> group)."""
        for host, group in wanted.items():
            if host not in self.files:
                yield Answer(host, group, "unreachable", reason=f"no file {host}.json in {self.path}")
                continue
            file = self.files[host][1]
            try:
                if file.stat().st_size > MAX_BYTES:
                    raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
                content = file.read_bytes()
            except OSError as error:
                yield Answer(host, group, "garbled", reason=f"{file} cannot be read ({error.strerror})")
            except ValueError as error:
                yield Answer(host, group, "garbled", reason=f"{file}: {error}")
            else:
                yield Answer(host, group, "ok", content)
