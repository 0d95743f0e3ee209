"""What a host can be asked, and the one way in which it fails to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..errors import ProbeError

__all__ = ["Completed", "Host", "Unreadable"]


class Unreadable(ProbeError):  # noqa: N818 - the word every report uses
    """A path or command gave no answer. ``reason`` fits behind a colon: "not present", "no permission",
    "timed out after 5 s", "not recorded", "is a directory", ..."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True)
class Completed:
    """A command that ended by itself. Output is decoded as UTF-8, undecodable bytes replaced."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


@runtime_checkable
class Host(Protocol):
    """Reads and commands; each raises Unreadable, and none of them waits without a bound."""

    def read_bytes(self, path: str) -> bytes:
        """The content of a file, at most 16 MiB."""
        ...

    def list(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        ...

    def realpath(self, path: str) -> str:
        """The path with every symbolic link resolved; Unreadable where nothing is there."""
        ...

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        """Run a command to its end, at most ``deadline`` seconds. A non-zero exit is not an error."""
        ...

    def close(self) -> None:
        """Let go of every child."""
        ...
