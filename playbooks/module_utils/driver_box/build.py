"""Build the driver's kernel module in a temporary folder, before any driver package is touched.

Found on 2026-11-21: Debian 13's nvidia-open-kernel-dkms 550.163.01-2 does not build against the kernel 6.12.117 of
trixie-security (pci_resize_resource has a fourth argument there), so a box that took both would have lost its GPUs."""

from __future__ import annotations

import glob
import os
import re

from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.kernel import build_log

from .base import DriverError
from .why import NoDriver

__all__ = ["dkms_argv", "dkms_name", "trial_build"]


def dkms_name(text):
    """Return (name, version) of a dkms.conf."""
    found = dict(re.findall(r"^PACKAGE_(NAME|VERSION)=[\"']?([^\"'\s]+)", text, re.MULTILINE))
    return found.get("NAME", ""), found.get("VERSION", "")


def dkms_argv(folder, sources, name, version, release):
    """Return the command that builds a module. Both trees are ours: DKMS of the box does not hear of it."""
    return ["dkms", "build", "--dkmstree", folder, "--sourcetree", sources, "-m", name, "-v", version, "-k", release]


def trial_build(manager, exact, releases, folder, look=None):
    """Build the module for every kernel of ``releases``. DriverError with the compiler's first error line."""
    # DKMS makes a signing key where it finds none, and Ubuntu's enrols it: not for a build that is thrown away.
    environment = {"mok_signing_key": folder + "/mok.key", "mok_certificate": folder + "/mok.pub", "TMPDIR": folder}
    sources = os.path.join(manager.download(exact, folder, look), "usr/src")
    configurations = sorted(glob.glob(sources + "/*/dkms.conf"))
    if not configurations:
        raise DriverError(
            NoDriver.NO_SOURCES,
            "%s %s holds no /usr/src/*/dkms.conf; expected a DKMS package. No driver package was touched."
            % exact)
    trees = os.path.join(folder, "dkms")
    os.makedirs(trees)
    for configuration in configurations:
        name, version = dkms_name(read_text(configuration))
        for release in releases:
            code, out, err = manager.run(dkms_argv(trees, sources, name, version, release), environment)
            if code != 0:
                logs = glob.glob("%s/%s/%s/**/make.log" % (trees, name, version), recursive=True)
                text = "\n".join(read_text(path) for path in sorted(logs, key=os.path.getmtime)[-1:])
                raise DriverError(
                    NoDriver.NOT_BUILT,
                    "%s %s does not build for the kernel %s (dkms exit %d): %s. Expected a module for the running and "
                    "the next kernel. Take a driver release that knows this kernel, or boot an older kernel first. "
                    "No driver package was touched."
                    % (exact.name, exact.version, release, code, build_log.first_error(text or out + err)))
