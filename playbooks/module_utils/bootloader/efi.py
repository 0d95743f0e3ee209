"""EFI variables of the Boot Loader Interface, by which a boot loader says that it booted this system, and which entry
systemd-boot takes. Read-only."""

from __future__ import annotations

import fnmatch
import os

from ansible.module_utils.box_io import read_text

__all__ = ["VARS", "booted_by_systemd_boot", "default_of", "one_shot_known", "variable"]

#: systemd's vendor GUID for loader variables.
_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
VARS = "/sys/firmware/efi/efivars/"
#: EFI_LOADER_FEATURE_ENTRY_ONESHOT.
_ONE_SHOT = 1 << 3


def _raw(name):
    """Return an EFI loader variable behind its four attribute bytes; empty where there is none."""
    try:
        with open(VARS + name + "-" + _GUID, "rb") as handle:
            return handle.read()[4:]
    except OSError:
        return b""


def variable(name):
    """Return an EFI loader variable's text; "" where there is none."""
    return _raw(name).decode("utf-16-le", "replace").rstrip("\x00")


def booted_by_systemd_boot():
    """Return whether this boot came through systemd-boot. A box that was moved to it often keeps its old grub.cfg,
    which then boots nothing."""
    return variable("LoaderInfo").startswith("systemd-boot")


def one_shot_known():
    """Return whether the boot loader that booted this system obeys LoaderEntryOneShot."""
    return bool(int.from_bytes(_raw("LoaderFeatures")[:8], "little") & _ONE_SHOT)


def default_of(entries, esp):
    """Return (the entry that systemd-boot takes where no one-shot is set, whether a setting names it). ``entries``: of
    `bootctl list`, in its order, which is systemd-boot's; ``esp``: where loader/loader.conf is. None where there is no
    entry. The order of the questions is systemd-boot's; bootctl itself answers with the one-shot where one is set."""
    efi, saved = variable("LoaderEntryDefault"), variable("LoaderEntryLastBooted")
    for asked in (efi, _setting(read_text(os.path.join(esp, "loader/loader.conf")), "default")):
        pattern = saved if asked == "@saved" else asked
        for entry in entries if pattern else ():
            if fnmatch.fnmatchcase(entry.get("id", "").lower(), pattern.lower()):
                return entry, True
    return next((entry for entry in entries if entry.get("type") != "auto"), None), False


def _setting(text, name):
    """Return the value of a line of loader.conf, the last one's; "" where there is none."""
    found = [line.split(None, 1) for line in text.splitlines() if line.split()[:1] == [name]]
    return found[-1][1].strip() if found and len(found[-1]) == 2 else ""
