"""Whether this boot ran what the default entry will boot: the same kernel, and the same files of kernel and initrd.

"No proof, no commit" is a promise about files: a kernel that was installed after the trial booted, or an initrd that
was made again since, has never run with these words. What a boot loader read is not kept anywhere, so this asks two
witnesses: the sums that were noted before the reboot, and change times: a file that was last changed before this boot
began is the one that was read (utimensat(2) sets no change time). FAT keeps no change time, so on the partition that
systemd-boot reads a noted sum is asked first. A boot that ran copies is proven by sums alone."""

from __future__ import annotations

import hashlib
import json
import os
import platform

from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import bls, trial

from .why import Unproven

__all__ = ["MEMORY", "changed", "forget", "kernel_before", "note", "unproven"]

MEMORY = trial.MEMORY
_CHUNK = 1 << 20
_AGAIN = "run the play again: it stages a trial of what is there now"


def unproven(kernel, initrds, root="", release=None, booted=None, own="", promotes=False, copies=False):
    """Return why this boot does not prove the default entry, a Refusal; "" where it does. ``kernel``, ``initrds``:
    as the entry names them; ``root``: where the entry's file system is mounted, where that is known; ``release``,
    ``booted``: of the running kernel, and when it began, in seconds since 1970. ``own``: the initramfs of its own that
    this boot ran; the commit puts it in the place of the default entry's (``promotes``), or has done so. ``copies``:
    this boot ran copies of the files, made when they were noted."""
    release = release or platform.release()
    booted = _booted() if booted is None else booted
    told = bls.release(kernel)
    if told and told != release:
        return Refusal(
            Unproven.OTHER_KERNEL,
            "the default entry would boot kernel %s, and this boot proves %s; expected the same kernel; %s, or "
            "remove the kernel that was installed meanwhile" % (told, release, _AGAIN))
    noted = _kept("files")
    promoted = False
    for name in (kernel, *initrds):
        path = boot_file(name, root)
        if not path:
            return Refusal(
                Unproven.NO_FILE,
                "the file %s that the default entry boots was not found; expected it below %s, so that it can be "
                "compared with what this boot ran; run update-grub or its like and look at its output"
                % (name or "of the kernel", root or "/boot"))
        about = os.stat(path)
        summed_first = copies or (root and path in noted)
        if not summed_first and booted is not None and max(about.st_ctime, about.st_mtime) <= booted:
            continue
        is_now = _sum(path)
        if own and noted.get(own) == is_now:
            promoted = True
        elif noted.get(path) != is_now:
            return Refusal(
                Unproven.WRITTEN_SINCE,
                "%s was written since this boot began, so no boot has proven it; expected the file that was "
                "booted; %s" % (path, _AGAIN))
    if not own or promoted:
        return ""
    if not promotes:
        return Refusal(
            Unproven.OWN_INITRAMFS,
            "this boot ran an initramfs of its own (%s), for module parameters that this run does not commit; "
            "expected a run with them: leave --tags out, or add modules" % own)
    if not os.path.isfile(own) or noted.get(own) != _sum(own):
        return Refusal(
            Unproven.OWN_CHANGED,
            "%s is not the initramfs that this boot ran; expected the file that was noted when it was staged; %s"
            % (own, _AGAIN))
    return ""


def note(kernel, initrds, root="", trial_id="", before=None, own=""):
    """Write down what the trial will boot: when it is staged, and again right before the reboot. The note holds the
    sums of its files, ``own`` among them, its id, this boot's id, and ``before``: the sysctls of this boot that a
    commit gives back."""
    sums = {path: _sum(path) for path in (own, *(boot_file(name, root) for name in (kernel, *initrds))) if path}
    document = {"schema": trial.MEMORY_SCHEMA, "files": sums, "trial_id": trial_id, "kernel": before or {},
                "boot_id": read_text("/proc/sys/kernel/random/boot_id").strip()}
    write_text(MEMORY, json.dumps(document, indent=2, sort_keys=True) + "\n")


def changed(files):
    """Return the first of ``files`` that is not what note() wrote down, "" where all are."""
    noted = _kept("files")
    return next((path for path in files if noted.get(path) != _sum(path)), "")


def kernel_before():
    """Return the {sysctl: value} that note() kept in the boot that staged the trial; empty where there is no note."""
    return {name: value for name, value in _kept("kernel").items() if isinstance(value, str) and value.isdigit()}


def forget():
    """Remove the note, after the commit or when the trial was given up."""
    remove(MEMORY)


def boot_file(name, root=""):
    """Return the file that a boot loader's path means, "" where there is none. GRUB counts from the partition that
    /boot is on, or from its subvolume's top; systemd-boot from the top of the partition with the entries."""
    bare = name[name.index(")") + 1:] if name.startswith("(") and ")" in name else name
    if not bare:
        return ""
    places = [root + bare] if root else [bare, "/boot" + bare, "/boot/" + os.path.basename(bare)]
    return next((path for path in places if os.path.isfile(path)), "")


def _booted():
    lines = [line.split() for line in read_text("/proc/stat").splitlines() if line.startswith("btime ")]
    return int(lines[0][1]) if lines else None


def _kept(part):
    try:
        document = json.loads(read_text(MEMORY, "{}"))
    except (OSError, ValueError):
        return {}
    found = document.get(part) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _sum(path):
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as handle:
            for chunk in iter(lambda: handle.read(_CHUNK), b""):
                digest.update(chunk)
    except OSError as error:
        raise BoxIOError("could not read %s: %s" % (path, error.strerror or error)) from error
    return "sha256:" + digest.hexdigest()
