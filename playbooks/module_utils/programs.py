"""The programs that the roles run on a box, and the package that each is in: the one table of them. A box without one
is refused before the first write, with the package to install. Read-only."""

from __future__ import annotations

import os
from enum import Enum

from ansible.module_utils import initramfs
from ansible.module_utils.refusal import Refusal

__all__ = ["PACKAGES", "Lacking", "absent", "lacking", "needed", "path"]

#: Where systems put what only root runs, beside the PATH of the connection.
_FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
_APT, _DNF = "/usr/bin/apt-get", "/usr/bin/dnf"
#: program -> (package on Debian and Ubuntu, package on Enterprise Linux and Fedora); "" where the family has no such
#: program.
PACKAGES = {
    "bootctl": ("systemd-boot", "systemd-udev"),
    "cpio": ("cpio", "cpio"),
    "dracut": ("dracut", "dracut"),
    "grub-editenv": ("grub-common", ""),
    "grub2-editenv": ("", "grub2-tools-minimal"),
    "grub2-reboot": ("", "grub2-tools"),
    "grubby": ("", "grubby"),
    "kernel-install": ("systemd", "systemd-udev"),
    "lsinitramfs": ("initramfs-tools", ""),
    "lsinitrd": ("dracut", "dracut"),
    "mkinitramfs": ("initramfs-tools", ""),
    "modinfo": ("kmod", "kmod"),
    "modprobe": ("kmod", "kmod"),
    "rpm2cpio": ("rpm2cpio", "rpm"),
    "run-parts": ("debianutils", "crontabs"),
    "unmkinitramfs": ("initramfs-tools", ""),
    "unshare": ("util-linux", "util-linux"),
    "update-grub": ("grub2-common", ""),
}


class Lacking(Enum):
    """Why a box is refused."""

    NO_PROGRAM = "no-program"


def path(module, name):
    """Return the path of a program. The module fails, with the package that has it, where it is not installed."""
    found = _find(module, name)
    if found is None:
        module.fail_json(msg="Nothing was written: %s" % _refusal([name]), code=Lacking.NO_PROGRAM.value)
    return found


def absent(program):
    """Return what a box lacks without this program, given by its path: "no /usr/sbin/grubby (package grubby)"."""
    package = _package(os.path.basename(program))
    return "no %s%s" % (program, " (package %s)" % package if package else "")


def needed(work):
    """Return the programs that the roles run for this work: "modules" (module parameters), or "driver" (packages)."""
    tools = initramfs.tools()
    inside = () if tools is None else tools.programs
    return {
        "modules": ("modinfo", "modprobe", *inside, *(("unshare",) if inside else ())),
        # What lies in a package is looked at before it is installed; dpkg-deb needs no help for that.
        "driver": ("modinfo", "modprobe", *inside, *(("rpm2cpio", "cpio") if _family() else ())),
    }[work]


def lacking(module, names):
    """Return a Refusal about those of these programs that are not installed, else ""."""
    missing = [name for name in dict.fromkeys(names) if _find(module, name) is None]
    return _refusal(missing) if missing else ""


def _refusal(names):
    packages = list(dict.fromkeys(filter(None, map(_package, names))))
    how = "Install %s (sudo %s install %s)" % (
        "the package " + packages[0] if len(packages) == 1 else "the packages " + ", ".join(packages),
        ("apt-get", "dnf")[_family()], " ".join(packages)) if packages else "Install it"
    return Refusal(Lacking.NO_PROGRAM, "%s %s not installed on this box, and what the specification asks for needs %s. "
                   "%s and run the play again" % (", ".join(names), "is" if len(names) == 1 else "are",
                                                  "it" if len(names) == 1 else "them", how))


def _find(module, name):
    return module.get_bin_path(name, False, _FOLDERS)


def _package(name):
    return PACKAGES.get(name, ("", ""))[_family()]


def _family():
    """Return the column of PACKAGES: 0 where apt is, 1 where dnf is."""
    return int(not os.path.exists(_APT) and os.path.exists(_DNF))
