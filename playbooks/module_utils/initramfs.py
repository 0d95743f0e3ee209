"""The initramfs that a box boots by default, and the programs of its distribution that make and read it.

On Debian 13 with dracut (106-6) the packages were looked at in the lab: initramfs-tools goes, and update-initramfs with
it, but initramfs-tools-core stays, with mkinitramfs, lsinitramfs and unmkinitramfs. So only update-initramfs tells that
initramfs-tools makes the initramfs. dracut's is /boot/initrd.img-KERNEL there (/etc/kernel/postinst.d/dracut), and
/boot/initramfs-KERNEL.img on Fedora and Rocky. Without hostonly="yes", as Debian installs it, dracut leaves
/etc/modprobe.d out (its module kernel-modules), so it is told to take our files: by an option, and for its later runs
by DROPIN."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile

from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

__all__ = ["DRACUT", "DROPIN", "Dracut", "InitramfsTools", "keep_options", "made_by_dracut", "tools"]

DRACUT = "/usr/bin/dracut"
DROPIN = "/etc/dracut.conf.d/zz-tunecheck.conf"
_UPDATE = "/usr/sbin/update-initramfs"
_BOOT = "/boot/"
#: Of dracut, the one that is there; the last is what dracut itself names it.
_DRACUT_NAMES = ("initrd.img-%s", "initramfs-%s.img")


class InitramfsTools:
    """As on Debian and Ubuntu. ``image``: the initramfs of the default entry; ``rebuild``: makes it again."""

    programs = ("lsinitramfs", "unmkinitramfs", "mkinitramfs")

    def __init__(self, release):
        self.image = _BOOT + "initrd.img-" + release
        self.rebuild = [_UPDATE, "-u", "-k", release]
        self.lister = "lsinitramfs"

    def make(self, target, release):
        """Return the command that makes another initramfs."""
        return ["/usr/sbin/mkinitramfs", "-o", target, release]

    def text(self, module, image, path):
        """Return the file ``path`` as it lies in ``image``; None where it is not in there."""
        folder = tempfile.mkdtemp(prefix="tunecheck-")
        try:
            module.run_command(["/usr/bin/unmkinitramfs", image, folder], check_rc=True)
            name = os.path.basename(path)
            for base, _folders, files in os.walk(folder):
                if base.endswith(os.path.dirname(path)) and name in files:
                    return read_text(os.path.join(base, name))
            return None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Dracut:
    """As on Fedora and Rocky, and on Debian and Ubuntu where dracut took the place of initramfs-tools."""

    programs = ("lsinitrd",)

    def __init__(self, release):
        names = [_BOOT + name % release for name in _DRACUT_NAMES]
        self.image = next((name for name in names if os.path.exists(name)), names[-1])
        # With the file's name: left to itself dracut may take the other one.
        self.rebuild = self.make(self.image, release)
        self.lister = "lsinitrd"

    def make(self, target, release):
        """As InitramfsTools.make()."""
        return [DRACUT, "--force", "--install-optional", " ".join(_files()), target, release]

    def text(self, module, image, path):
        """As InitramfsTools.text()."""
        code, out, _err = module.run_command(["/usr/bin/lsinitrd", "-f", path[1:], image])
        return out if code == 0 and out else None


def made_by_dracut():
    """Return whether dracut makes the initramfs of this box. Newer packages of dracut bring an update-initramfs: a
    script that calls dracut."""
    return os.path.exists(DRACUT) and (not os.path.exists(_UPDATE) or "dracut" in read_text(_UPDATE))


def keep_options():
    """Have dracut take our files in modprobe.d into every initramfs that it makes from now on, also that of a new
    kernel, as long as there is one of them. Elsewhere nothing is written."""
    kept = made_by_dracut() and any(os.path.exists(path) for path in _files())
    text = 'install_optional_items+=" %s "\n' % " ".join(_files()) if kept else ""
    if text and text != read_text(DROPIN):
        write_text(DROPIN, text)
    elif not text:
        remove(DROPIN)


def _files():
    return modprobe.CONF, modprobe.NOUVEAU_CONF


def tools(release=""):
    """Return what makes the initramfs of a kernel (that which runs), or None where it is neither of the two."""
    release = release or platform.release()
    if made_by_dracut():
        return Dracut(release)
    return InitramfsTools(release) if os.path.exists(_UPDATE) else None
