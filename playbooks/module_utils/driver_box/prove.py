"""What must be true after the transaction, layer by layer."""

from __future__ import annotations

import glob
import os

from .kernels import module_version

__all__ = ["kernel_changes", "library_version", "shortfalls"]

_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")


def library_version(name):
    """Return the version in the name of the file behind the library's link, "" where there is no such library."""
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return os.path.realpath(path).partition(".so.")[2]
    return ""


def shortfalls(module, installed, exact, version, kernels):
    """Return sentences that each name the layer: package, module, firmware, library. Empty when all are of the
    version."""
    said = ["package: %s is %s; expected %s" % (each.name, installed.get(each.name, "not installed"), each.version)
            for each in exact if each.version and installed.get(each.name) != each.version]
    for release in kernels:
        have = module_version(module, release)
        if have != version:
            said.append("module: the kernel %s has nvidia %s; expected %s (dkms status; dkms autoinstall -k %s)" % (
                release, have or "not at all", version, release))
    if not glob.glob("/lib/firmware/nvidia/%s/*" % version):
        said.append("firmware: /lib/firmware/nvidia/%s is not there; the open modules need the GSP firmware of "
                    "their own version" % version)
    for name in _LIBRARIES:
        have = library_version(name)
        if have != version and (have or name == _LIBRARIES[0]):
            said.append("library: %s is %s; expected %s" % (name, have or "not installed", version))
    return said


def kernel_changes(before, after):
    """Return the kernel packages that came, went or changed their version between two {name: version}."""
    return ["%s %s -> %s" % (name, before.get(name, "absent"), after.get(name, "absent"))
            for name in sorted(set(before) | set(after)) if before.get(name) != after.get(name)]
