"""UEFI firmware for the lab box: Debian's OVMF. The base image boots both ways, its ESP holds GRUB at the path for
removable disks.

Measured without KVM: OVMF takes 3 s until it starts GRUB."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.errors import LabError, NoMeansError

KINDS = ("bios", "uefi")
_CODE, _VARIABLES = Path("/usr/share/OVMF/OVMF_CODE_4M.fd"), Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
#: The machine's own copy, which the guest writes: boot entries, BootNext.
OWN_VARIABLES = "efivars.fd"


def check(firmware: str) -> None:
    """Raise before anything starts where this machine lacks that firmware."""
    if firmware not in KINDS:
        raise LabError(f"`{firmware}` is no firmware of the lab; expected one of {', '.join(KINDS)}")
    if firmware == "uefi" and not (_CODE.exists() and _VARIABLES.exists()):
        raise NoMeansError("a lab box with UEFI needs ovmf; run: sudo apt-get install ovmf")


def arguments(firmware: str, folder: Path) -> list[str]:
    """Return QEMU's arguments for it; a UEFI machine gets fresh variables in `folder`."""
    if firmware == "bios":
        return []
    shutil.copyfile(_VARIABLES, folder / OWN_VARIABLES)
    return ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={_CODE}",
            "-drive", f"if=pflash,unit=1,format=raw,file={OWN_VARIABLES}"]
