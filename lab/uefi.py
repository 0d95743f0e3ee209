"""UEFI firmware for the lab box: Debian's OVMF. The base image boots both ways, its ESP holds GRUB at the path for
removable disks; with Secure Boot the firmware has Microsoft's keys, and starts only what they signed.

Measured without KVM: OVMF takes 3 s until it starts GRUB."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.errors import LabError, NoMeansError

KINDS = ("bios", "uefi", "secure-boot")
_FILES = {kind: tuple(Path(f"/usr/share/OVMF/OVMF_{part}_4M{keys}.fd") for part in ("CODE", "VARS"))
          for kind, keys in (("uefi", ""), ("secure-boot", ".ms"))}  # fmt: skip
#: Only firmware in System Management Mode may write the variables, so that the guest can't switch Secure Boot off.
_GUARDED = ["-machine", "smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"]
#: The machine's own copy, which the guest writes: boot entries, BootNext.
OWN_VARIABLES = "efivars.fd"


def check(firmware: str) -> None:
    """Raise before anything starts where this machine lacks that firmware."""
    if firmware not in KINDS:
        raise LabError(f"`{firmware}` is no firmware of the lab; expected one of {', '.join(KINDS)}")
    if not all(path.exists() for path in _FILES.get(firmware, ())):
        raise NoMeansError("a lab box with UEFI needs ovmf; run: sudo apt-get install ovmf")


def arguments(firmware: str, folder: Path) -> list[str]:
    """Return QEMU's arguments for it; a UEFI machine gets fresh variables in `folder`."""
    if firmware == "bios":
        return []
    code, variables = _FILES[firmware]
    shutil.copyfile(variables, folder / OWN_VARIABLES)
    return ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={code}",
            "-drive", f"if=pflash,unit=1,format=raw,file={OWN_VARIABLES}",
            *(_GUARDED if firmware == "secure-boot" else [])]
