"""Photos of a running machine: what a power cut at that moment would leave of it.

Disk and firmware variables are copied while the machine stands still. QEMU has written all that the guest gave out by
then (`stop` drains, and writes its own tables too), and nothing of what the guest still held back: a copy is what a
disk has on it behind a cut. Measured without KVM: one to three seconds each.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lab import qmp, uefi

__all__ = ["DISK", "drop", "put_back", "take"]

DISK = "disk.qcow2"
_PARTS = (DISK, uefi.OWN_VARIABLES)


def _kept(folder: Path, name: str, part: str) -> Path:
    return folder / f"photo-{name}-{part}"


def take(folder: Path, name: str) -> None:
    """Keep the state of the machine in ``folder`` under ``name``, until it is down."""
    qmp.ask(folder, "stop")
    try:
        for part in _PARTS:
            if (folder / part).exists():
                shutil.copyfile(folder / part, _kept(folder, name, part))
    finally:
        qmp.ask(folder, "cont")


def put_back(folder: Path, name: str) -> None:
    """Give a machine that is off the state of a photo, which stays. FileNotFoundError where there is no such photo."""
    for part in _PARTS:
        if (folder / part).exists():
            shutil.copyfile(_kept(folder, name, part), folder / part)


def drop(folder: Path, name: str) -> None:
    """Forget a photo."""
    for part in _PARTS:
        _kept(folder, name, part).unlink(missing_ok=True)
