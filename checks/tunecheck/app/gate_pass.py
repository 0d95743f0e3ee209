"""The pass that `tunecheck preflight --pass` leaves for the gate."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Misuse, UsageError

if TYPE_CHECKING:
    from ..model.finding import Finding
    from ..spec.frozen import Frozen

__all__ = ["forget_pass", "leave_pass", "passing"]


def passing(pass_file: str | None, full: bool) -> Callable[[Sequence[Finding], int, Frozen | None], list[str]]:
    """Take away an older pass before anything is looked at. The function that is returned leaves the new one, and
    returns notes about it. Without ``pass_file`` nothing is done."""
    if pass_file is None:
        return lambda *_: []
    forget_pass(pass_file)
    return lambda findings, code, frozen: [leave_pass(pass_file, findings, code, frozen, full)]


def leave_pass(path: str, findings: Sequence[Finding], exit_code: int, frozen: Frozen | None, full: bool) -> str:
    """Write the pass of this preflight, and return the note for the report."""
    from .. import __version__
    from ..gate import passed
    from ..gate.state import state
    from ..host.live import LiveHost

    door = LiveHost()
    try:
        found = passed.from_findings(findings, exit_code, frozen.digest if frozen else "", state(door), full,
                                     __version__)
    finally:
        door.close()
    passed.write(path, found)
    if exit_code == 0 and frozen is None:
        return f"{path}: the gate stays closed, no specification says how this box has to be"
    return f"pass: {path}" if exit_code == 0 else f"{path}: the gate stays closed"


def _only_root(path: str) -> None:
    """Refuse the usual place where this user may not write in it. UsageError with the command that may."""
    from ..gate import passed

    folder = Path(path).parent
    nearest = folder if folder.exists() else folder.parent      # /run, where none was left in this boot
    if path == passed.PATH and os.geteuid() and not os.access(nearest, os.W_OK):
        raise UsageError(f"{path}: only root may leave the pass there; run: sudo tunecheck preflight --pass",
                         Misuse.UNWRITABLE)


def forget_pass(path: str) -> None:
    """Remove an older pass at the start of a new preflight, however that ends. UsageError for a place where no pass
    could be left afterwards."""
    from ..gate import passed
    from ..util.interrupt import held
    from ..util.left_behind import removed
    from ..util.whole_file import check_writable

    _only_root(path)
    passed.make_own_folder(path)
    check_writable(path)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):    # a device node, a FIFO, a link: not ours to take away
            raise UsageError(f"{path}: is no regular file, so it cannot hold a pass; give a file, or leave FILE out "
                             f"for {passed.PATH}", Misuse.UNWRITABLE)
        with held():
            Path(path).unlink()
            removed.append(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"{path}: cannot be replaced ({error.strerror}); run preflight --pass as root",
                         Misuse.UNWRITABLE) from None
