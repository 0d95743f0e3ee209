"""Boot Loader Specification type 1 entries (/loader/entries/*.conf): systemd-boot, and GRUB on Enterprise Linux."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...util.at_first_use import regex

__all__ = ["edited", "initrds", "kernel", "line", "options", "release", "retitle", "with_initrd", "with_options"]

_LINUX = regex(r"^linux[ \t]+(\S+)", re.MULTILINE)
_INITRD = regex(r"^initrd[ \t]+(.*)$", re.MULTILINE)
_FILE = regex(r"/(?:vmlinu[xz]|Image|kernel)-(\d[^/]*)$|/(\d[^/]*)/linux$")
_OPTIONS = regex(r"^options[ \t]+(.*)$", re.MULTILINE)


def options(text: str) -> str:
    """Return the command line of an entry. Several ``options`` lines are joined, as the specification says."""
    return " ".join(part.strip() for part in _OPTIONS.findall(text))


def with_options(text: str, line: str) -> str:
    """Return the text of the entry with its command line replaced by ``line``."""
    kept = [row for row in text.splitlines() if not row.startswith("options")]
    return "\n".join([*kept, "options " + line]) + "\n"


def line(text: str) -> str:
    """Return the command line in the text of /etc/kernel/cmdline, whose comments kernel-install leaves out."""
    return " ".join(row.strip() for row in text.splitlines() if _holds(row, ""))


def edited(text: str, remove: Sequence[str], add: Sequence[str], key: str = "") -> str:
    """Return the text of an entry (``key``: "options") or of /etc/kernel/cmdline without one of each of ``remove``,
    from the right, and with ``add`` behind. Everything else stays byte for byte, so that the same words taken away
    again leave the text that was there before."""
    rows = text.splitlines(keepends=True)
    held = [index for index, row in enumerate(rows) if _holds(row, key)]
    for token in reversed(remove):
        for index in reversed(held):
            shorter = _without(rows[index], token)
            if shorter != rows[index]:
                rows[index] = shorter
                break
    if add and held:
        row = rows[held[-1]].rstrip("\n")
        rows[held[-1]] = (row + " " if row.strip() else "") + " ".join(add) + rows[held[-1]][len(row):]
    elif add:
        rows.append(" ".join([*([key] if key else []), *add]) + "\n")
    return "".join(row for index, row in enumerate(rows) if index not in held or row.strip() != key)


def _holds(row: str, key: str) -> bool:
    """Return whether a row has words of the command line."""
    words = row.split(None, 1)
    return bool(words) and (words[0] == key if key else not words[0].startswith("#"))


def _without(row: str, token: str) -> str:
    """Return the row without the last ``token`` and the one blank before it."""
    found = list(re.finditer(r"(?:^|(?<=\s)|[ \t])%s(?=\s|$)" % re.escape(token), row))
    return row[:found[-1].start()] + row[found[-1].end():] if found else row


def kernel(text: str) -> str:
    """Return the path of the kernel that an entry starts, or "" where it names none."""
    found = _LINUX.search(text)
    return found.group(1) if found else ""


def initrds(text: str) -> list[str]:
    """Return the files that an entry loads beside its kernel, in order. Variables of GRUB are left out."""
    return [word for row in _INITRD.findall(text) for word in row.split() if not word.startswith("$")]


def with_initrd(text: str, old: str, new: str) -> str:
    """Return the text of the entry with the file ``new`` loaded in the place of ``old``. ValueError where it does not
    load ``old``."""
    if old not in initrds(text):
        raise ValueError("the default entry does not load %s; expected a line 'initrd ...' with it" % old)
    return "\n".join(" ".join(new if word == old else word for word in row.split()) if row.startswith("initrd") else row
                     for row in text.splitlines()) + "\n"


def release(path: str) -> str:
    """Return the release in the path of a kernel: ``6.12.1`` for ``/boot/vmlinuz-6.12.1`` and ``/<machine
    id>/6.12.1/linux``. "" where the path tells none, as ``/vmlinuz`` and ``vmlinuz-linux`` do."""
    found = _FILE.search("/" + path)
    return (found.group(1) or found.group(2)) if found else ""


def retitle(text: str, title: str) -> str:
    """Return the text of the entry under another title, without the version and sort key that would rank it among its
    kind."""
    kept = [row for row in text.splitlines() if not re.match(r"^(title|version|sort-key)\b", row)]
    return "\n".join(["title " + title, *kept]) + "\n"
