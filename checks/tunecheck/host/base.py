"""The questions that a host can be asked, and the one error that says that it gave no answer."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..errors import ProbeError
from ..model.absence import Absence, Reason
from ..util.at_first_use import dataclass

__all__ = ["Completed", "Host", "Unreadable", "doubt", "posts"]

class Unreadable(ProbeError):  # noqa: N818 - the word every report uses
    """A path or command gave no answer. ``absence`` is the code, ``reason`` a text that fits behind a colon: "not
    present", "no permission", "timed out after 5 s", "not recorded", "is a directory", ..."""

    def __init__(self, path: str, why: Reason | Absence) -> None:
        self.path = path
        self.reason = why if isinstance(why, Reason) else Reason(why)
        self.absence = self.reason.absence
        super().__init__(f"{path}: {self.reason}")


@dataclass(frozen=True)
class Completed:
    """A command that ended by itself. Output is decoded as UTF-8, undecodable bytes replaced."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def doubt(host: object, path: str) -> str:
    """Return why what this host answers about ``path`` may be less than there is ("lspci is cut short at
    0000:84:00.0"); "" for a whole answer. Only imports have such doubts (``doubts``, by path): a machine answers wholly
    or not at all. Each part of a configuration space has its own: "/sys/bus/pci/devices/0000:02:00.0/config acs"."""
    doubts = getattr(host, "doubts", {})
    return str(doubts.get(path, ""))


def posts(host: object, kind: str) -> tuple[str, ...] | None:
    """Return the outputs of a tool that an import holds ("nccl-tests", ...), of which no file of a machine speaks. None
    where this is no import: a machine is asked itself."""
    found = getattr(host, "posts", None)
    return None if found is None else tuple(post.text for post in found.get(kind, ()))


@runtime_checkable
class Host(Protocol):
    """A machine that can be asked. Reads and commands raise Unreadable where there is no answer, and none of them waits
    without a bound."""

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file, at most 16 MiB."""
        ...

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""
        ...

    def realpath(self, path: str) -> str:
        """Return the path with every symbolic link resolved. Unreadable where nothing is there."""
        ...

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        """Run a command to its end, at most ``deadline`` seconds. A non-zero exit is not an error."""
        ...

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        """Return everything NVML says, asked in a child: {"driver": "595.71.05", "library": "13.595.71.05", "errors":
        {}, "gpus": [{"bdf": "0000:06:00.0", "index": 0, "values": {key: value}, "errors": {key: "NOT_SUPPORTED"}}],
        "pairs": [{"a": bdf, "b": bdf, "values": {"ancestor": 10, "p2p_read": 0, "p2p_write": 0}, "errors": {}}]},
        ordered pairs in both directions, "p2p_nvlink" too where both boards have NVLinks up. What a crash or the
        deadline cut off is under "errors" of its GPU; a board without an address ("gpu 1": "GPU_IS_LOST") under those
        of the document. Unreadable where NVML gave nothing at all ("not present", "DRIVER_NOT_LOADED", "killed by
        signal 11", "timed out after 10 s")."""
        ...

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Say that these commands (and the NVML document) will be asked for soon. They may be started now. What was
        started and is never asked for ends with ``close``."""
        ...

    def close(self) -> None:
        """End every child process."""
        ...
