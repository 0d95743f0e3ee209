"""Driver changes that need a reboot to take effect."""

from __future__ import annotations

import os

from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

from .kernels import loaded_version, module_version
from .reads import nvidia_functions

__all__ = ["nouveau_there", "waiting"]


def nouveau_there(module, releases):
    """Return whether a nouveau module exists that could take the GPUs."""
    return any(module_version(module, release, "nouveau") for release in dict.fromkeys(releases))


def _newer_than_boot(module, release):
    """Return whether the module file was put there after this boot."""
    boot = [int(line.split()[1]) for line in read_text("/proc/stat").splitlines() if line.startswith("btime ")]
    for name in modprobe.file_names("nvidia"):
        code, out, _err = module.run_command(["modinfo", "-k", release, "-F", "filename", name])
        path = out.strip()
        if code == 0:
            return bool(boot and os.path.exists(path) and os.stat(path).st_ctime > boot[0])
    return False


def waiting(module, release, version, to_come=False):
    """Return sentences about what needs a reboot; empty where the running system has what is installed. ``version``:
    the installed driver's, or the one that a run outside check mode would install (``to_come``)."""
    loaded = loaded_version(read_text)
    if loaded:
        say = "the loaded nvidia module is %s; %s is installed" % (loaded, version or "none of it")
        return [] if loaded == version else [say]
    if not version or not any(kind.startswith("0x03") for kind, _device in nvidia_functions()):
        return []
    if os.path.isdir("/sys/module/nouveau"):
        return ["nouveau drives the GPUs; nvidia %s is installed" % version]
    if to_come:
        return ["nvidia %s would be installed" % version]
    # A driver that does not load although it was there at boot is no case for another reboot.
    return ["nvidia %s was installed after this boot" % version] if _newer_than_boot(module, release) else []
