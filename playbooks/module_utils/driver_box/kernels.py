"""The kernels that must have the driver: the running one, and the one that the next boot starts."""

from __future__ import annotations

import os
import platform

from ansible.module_utils import programs
from ansible.module_utils.bootloader import BootloaderError, detect
from ansible.module_utils.tunecheck.parsers.kernel import bls, modprobe

__all__ = ["loaded_version", "module_version", "next_kernel", "with_headers"]


def next_kernel(module):
    """Return the release that the boot loader's default entry starts, else the one that /vmlinuz links to, else the
    running one: a system without a boot loader of its own boots what it is given."""
    try:
        file = detect(module).kernel()
    except (BootloaderError, OSError, ValueError):
        file = ""
    for path in (file, os.path.realpath("/boot" + file), os.path.realpath("/boot/vmlinuz"),
                 os.path.realpath("/vmlinuz")):
        release = bls.release(path)
        if release:
            return release
    return platform.release()


def with_headers(releases):
    """Return those of the releases whose headers are there."""
    return tuple(release for release in releases if os.path.isdir("/lib/modules/%s/build/" % release))


def module_version(module, release, name="nvidia"):
    """Return the version of a module installed for a kernel, "" where there is none; "unknown" where it states none."""
    modinfo = programs.path(module, "modinfo")
    for file in modprobe.file_names(name):
        code, out, _err = module.run_command([modinfo, "-k", release, file], environ_update={"LC_ALL": "C"})
        if code == 0:
            fields = dict(line.split(":", 1) for line in out.splitlines() if ":" in line)
            return fields.get("version", "unknown").strip()
    return ""


def loaded_version(read_text):
    """Return the loaded nvidia module's version, "" where none is loaded."""
    return read_text("/sys/module/nvidia/version").strip()
