"""EFI variables: of the Boot Loader Interface, by which a boot loader says that it booted this system, and which entry
systemd-boot takes; and the firmware's own boot entries. Read-only."""

from __future__ import annotations

import fnmatch
import os
import re
import struct

from ansible.module_utils.box_io import read_text

__all__ = ["VARS", "Entry", "boot_next", "boot_order", "booted_by_systemd_boot", "default_of", "entries",
           "one_shot_known", "secure_boot", "variable"]

#: systemd's vendor GUID for loader variables.
_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
#: The specification's own, of Boot0000, BootNext, BootOrder and SecureBoot.
_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
VARS = "/sys/firmware/efi/efivars/"
#: EFI_LOADER_FEATURE_ENTRY_ONESHOT.
_ONE_SHOT = 1 << 3


def _raw(name, guid=_GUID):
    """Return an EFI variable behind its four attribute bytes; empty where there is none."""
    try:
        with open(VARS + name + "-" + guid, "rb") as handle:
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


class Entry:
    """A boot entry of the firmware (EFI_LOAD_OPTION): its number ("0003"), label, the file that it starts, on which
    partition of its disk, and the text that it hands over."""

    def __init__(self, number, label="", file="", partition=0, line="", active=False):
        self.number = number
        self.label = label
        self.file = file
        self.partition = partition
        self.line = line
        self.active = active


def entries():
    """Return the firmware's boot entries, by their numbers."""
    try:
        names = sorted(os.listdir(VARS))
    except OSError:
        return []
    found = [re.match("Boot([0-9A-F]{4})-%s$" % _GLOBAL, name) for name in names]
    return [_entry(each.group(1), _raw("Boot" + each.group(1), _GLOBAL)) for each in found if each]


def boot_next():
    """Return the number of the entry that the firmware boots once; "" where it boots the first one of its order."""
    raw = _raw("BootNext", _GLOBAL)
    return "%04X" % struct.unpack("<H", raw[:2]) if len(raw) >= 2 else ""


def boot_order():
    """Return the order in which the firmware tries its entries, as bytes to compare."""
    return _raw("BootOrder", _GLOBAL)


def secure_boot():
    """Return whether the firmware starts only what it trusts."""
    return _raw("SecureBoot", _GLOBAL)[:1] == b"\x01"


def _entry(number, raw):
    # Attributes, length of the device paths, label up to its NUL, device paths, what is handed over.
    if len(raw) < 8:
        return Entry(number)
    attributes, length = struct.unpack_from("<IH", raw)
    start = 6 + _end(raw[6:]) + 2
    paths, data = raw[start:start + length], raw[start + length:]
    found = Entry(number, _text(raw[6:]), line=_text(data), active=bool(attributes & 1))
    while len(paths) >= 4:
        kind, size = paths[:2], struct.unpack_from("<H", paths, 2)[0]
        if kind == b"\x04\x01" and len(paths) >= 8:        # a partition
            found.partition = struct.unpack_from("<I", paths, 4)[0]
        elif kind == b"\x04\x04":                          # a file
            found.file += _text(paths[4:size])
        if kind[:1] == b"\x7f" or size < 4:
            break
        paths = paths[size:]
    return found


def _text(raw):
    """Return UTF-16 up to its first NUL."""
    return raw[:_end(raw)].decode("utf-16-le", "replace")


def _end(raw):
    return next((at for at in range(0, len(raw) - 1, 2) if raw[at:at + 2] == b"\0\0"), len(raw) // 2 * 2)
