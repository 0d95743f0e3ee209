"""A trial's own initramfs: made beside the one that boots by default, loaded by the trial entry alone, and put in that
one's place by the commit, so that what becomes the default is the very file that was booted.

A power cut at any point leaves the default one whole: it is written by one rename, and only by promote()."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from ansible.module_utils import initramfs
from ansible.module_utils.box_io import BoxIOError, read_text, remove, rename_over, write_text
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

__all__ = ["OWN", "commit_options", "forget", "make", "promote", "usable"]

#: Named by the trial, not by a kernel: nothing that looks for kernels and their initramfs takes it for one.
OWN = "/boot/tunecheck-trial.img"
#: What update-initramfs runs behind its own rename.
_HOOKS = "/etc/initramfs/post-update.d"
_UNTOUCHED = "Nothing that boots by default was changed. Mend the cause and run the play again."
#: In a mount namespace of its own, with another folder in the place of modprobe.d. unshare is of util-linux.
_BESIDE = ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
           'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh"]


def make(module, text, release):
    """Make OWN for the kernel ``release``, as if modprobe.d held ``text``. BoxIOError where that fails."""
    tools = initramfs.tools(release)
    beside, modprobe_d = OWN + ".new", os.path.dirname(modprobe.CONF)
    work = tempfile.mkdtemp(prefix="tunecheck-")
    try:
        folder = os.path.join(work, "modprobe.d")
        if os.path.isdir(modprobe_d):
            shutil.copytree(modprobe_d, folder, symlinks=True)
        os.makedirs(folder, exist_ok=True)
        os.makedirs(modprobe_d, exist_ok=True)
        write_text(os.path.join(folder, os.path.basename(modprobe.CONF)), text)
        argv = [*_BESIDE, folder, modprobe_d, *tools.make(beside, release)]
        code, out, err = module.run_command(argv, environ_update={"LC_ALL": "C"})
        if code != 0 or not os.path.exists(beside):
            raise BoxIOError("making the initramfs of the trial failed (%s, exit %d): %s. %s" % (
                " ".join(argv[len(_BESIDE) + 2:]), code, (err or out).strip()[-400:] or "no output", _UNTOUCHED))
        # Of the mode that the default one has; its place is taken by this file.
        rename_over(beside, OWN, like=tools.image)
    except OSError as error:
        raise BoxIOError("making the initramfs of the trial failed: %s. %s" % (error, _UNTOUCHED)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        with contextlib.suppress(BoxIOError):
            remove(beside)


def usable(image):
    """Return whether OWN is there and not older than ``image``, which somebody may have made again since."""
    try:
        return os.stat(OWN).st_mtime >= os.stat(image).st_mtime
    except OSError:
        return False


def promote(module, image, release, hooks=True):
    """Put OWN in the place of ``image``, which the default entry loads. Nothing happens where that was done already.
    ``hooks``: run what has to run behind a new initramfs."""
    if not os.path.exists(OWN):
        return
    rename_over(OWN, image)
    if hooks and os.path.isdir(_HOOKS):
        code, out, err = module.run_command(["/usr/bin/run-parts", "--arg=" + release, "--arg=" + image, _HOOKS])
        if code != 0:
            raise BoxIOError("a hook of %s failed behind the commit of %s (exit %d): %s. Mend it and run the play "
                             "again." % (_HOOKS, image, code, (err or out).strip()[-400:]))


def forget():
    """Remove OWN; its entry is gone by now."""
    remove(OWN)
    remove(OWN + ".new")


def commit_options(text, conf=""):
    """Write modprobe.d's file, or take it away where ``text`` is empty; also what has dracut take it into an
    initramfs."""
    conf = conf or modprobe.CONF
    if text and text != read_text(conf):
        write_text(conf, text)
    elif not text:
        remove(conf)
    initramfs.keep_options()
