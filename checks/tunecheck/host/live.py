"""The machine this process runs on."""

from __future__ import annotations

import contextlib
import os
import posixpath
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..model.absence import Absence
from ..parsers.pci.bdf import BDF
from .base import Completed, Unreadable
from .reader import Reader

if TYPE_CHECKING:
    from .child import Child
    from .command import Command
    from .nvml_reader import NvmlChild

__all__ = ["LiveHost"]

#: Either is there exactly while the NVIDIA driver is loaded. Without it nothing asks NVML or nvidia-smi: they load it.
_DRIVER = ("/proc/driver/nvidia/version", "/sys/module/nvidia")
_BOARDS = "/sys/bus/pci/drivers/nvidia"
#: What was started ahead has run a while when it is collected: its deadline counts from its start, but so many
#: seconds are left in any case, since a full pipe may have held it up.
_AT_LEAST = 2.0


class LiveHost:
    """Reads through one child process, commands in their own session; neither is ever waited for without a bound.

    ``read_deadline`` is in seconds. A directory in which one read timed out is not tried again: eight hung GPUs with
    ten attributes each must not cost eighty deadlines."""

    #: Children that are not reaped yet: in state D, or on their way out. NVML's takes 15 ms to leave the driver, which
    #: nobody needs to wait for; the next close of any LiveHost takes note of its end.
    _left: ClassVar[list[Child]] = []

    def __init__(self, read_deadline: float = 5.0) -> None:
        self._deadline = read_deadline
        self._reader: Reader | None = None
        self._hung: set[str] = set()
        self._commands: dict[tuple[str, ...], Command] = {}
        self._nvml: NvmlChild | None = None

    def read_bytes(self, path: str) -> bytes:
        return self._ask(b"r", path)

    def list(self, path: str) -> list[str]:
        answer = self._ask(b"l", path)
        return [os.fsdecode(name) for name in answer.split(b"\0")] if answer else []

    def realpath(self, path: str) -> str:
        return os.fsdecode(self._ask(b"p", path))

    def close(self) -> None:
        """End every child. What was started ahead and never asked for is killed."""
        while self._commands:
            self._commands.popitem()[1].close()
        if self._nvml is not None:
            self._nvml.close()
            self._left.append(self._nvml)
            self._nvml = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._left[:] = [child for child in self._left if not child.reaped()]

    def _ask(self, operation: bytes, path: str) -> bytes:
        folder = posixpath.dirname(path)
        if folder in self._hung:
            raise Unreadable(path, Absence.TIMED_OUT.because(
                "not read: an earlier read in this directory timed out"))
        if self._reader is None:
            self._reader = Reader()
        try:
            return self._reader.ask(operation, path, self._deadline)
        except TimeoutError:
            self._hung.add(folder)
            raise Unreadable(path, Absence.TIMED_OUT.because(
                f"timed out after {self._deadline:g} s{self._abandon()}")) from None
        except ChildProcessError:
            self._abandon()
            raise Unreadable(path, Absence.CUT_OFF.because("the process that was reading it got killed")) from None

    def _abandon(self) -> str:
        reader, self._reader = self._reader, None
        if reader is None:
            return ""
        self._left.append(reader)
        return reader.abandon()

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        """Run a command as Host.run does. For a command that was started ahead ``deadline`` counts from its start, but
        it has two seconds from now in any case."""
        from .command import Command  # only where a command is really run: start-up time

        command = self._commands.pop(argv, None) or Command(argv)
        return command.completed(deadline, _until(command.started, deadline))

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        """Return the document as Host.nvml does. ``deadline`` counts as in run."""
        if self._nvml is None:
            self._start_nvml()
        child, self._nvml = self._nvml, None
        assert child is not None
        try:
            return child.document(deadline, _until(child.started, deadline), self._boards)
        finally:
            child.close()
            self._left.append(child)

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Start the commands now; ``run`` and ``nvml`` collect them. What is never collected is killed by ``close``."""
        if nvml and self._nvml is None:
            with contextlib.suppress(Unreadable):
                self._start_nvml()
        if argvs:
            from .command import Command

            for argv in argvs:
                if argv not in self._commands:
                    self._commands[argv] = Command(argv)

    def _start_nvml(self) -> None:
        for path in _DRIVER:
            try:
                self.realpath(path)
                break
            except Unreadable as error:
                if error.absence is not Absence.NOT_PRESENT:
                    raise Unreadable("NVML", Absence.NOT_READ.because(
                        f"not asked: whether the driver is loaded is unknown: {error}")) from None
        else:
            raise Unreadable("NVML", Absence.NO_DRIVER.because("not present: the NVIDIA driver is not loaded"))
        from .nvml_reader import NvmlChild

        self._nvml = NvmlChild()

    def _boards(self) -> Sequence[str]:
        """Return the addresses of every GPU that the driver has. The list is empty where that cannot be told."""
        try:
            return [name for name in self.list(_BOARDS) if BDF.match(name)]
        except Unreadable:
            return []


def _until(started: float, deadline: float) -> float:
    return max(started + deadline, time.monotonic() + min(deadline, _AT_LEAST))
