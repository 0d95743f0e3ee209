"""Boot Loader Specification type 1 entries (/loader/entries/*.conf): systemd-boot, and GRUB on Enterprise Linux."""

from __future__ import annotations

import re

from ...util.at_first_use import regex

__all__ = ["initrds", "kernel", "options", "release", "retitle", "with_options"]

_LINUX = regex(r"^linux[ \t]+(\S+)", re.MULTILINE)
_INITRD = regex(r"^initrd[ \t]+(.*)$", re.MULTILINE)
_FILE = regex(r"/(?:vmlinu[xz]|Image|kernel)-(\d[^/]*)$|/(\d[^/]*)/linux$")
_OPTIONS = regex(r"^options[ \t]+(.*)$", re.MULTILINE)


def options(text: str) -> str:
    """The command line of an entry; several ``options`` lines are joined, as the specification says."""
    return " ".join(part.strip() for part in _OPTIONS.findall(text))


def with_options(text: str, line: str) -> str:
    """The entry with its command line replaced by ``line``."""
    kept = [row for row in text.splitlines() if not row.startswith("options")]
    return "\n".join([*kept, "options " + line]) + "\n"


def kernel(text: str) -> str:
    """The path of the kernel that an entry starts; empty where it names none."""
    found = _LINUX.search(text)
    return found.group(1) if found else ""


def initrds(text: str) -> list[str]:
    """The files that an entry loads beside its kernel, in order; variables of GRUB left out."""
    return [word for row in _INITRD.findall(text) for word in row.split() if not word.startswith("$")]


def release(path: str) -> str:
    """``/boot/vmlinuz-6.12.1`` and ``/<machine id>/6.12.1/linux`` -> ``6.12.1``; ``/vmlinuz`` and ``vmlinuz-linux``
    tell nothing."""
    found = _FILE.search("/" + path)
    return (found.group(1) or found.group(2)) if found else ""


def retitle(text: str, title: str) -> str:
    """The entry under another title, and without the version and sort key that would rank it among its kind."""
    kept = [row for row in text.splitlines() if not re.match(r"^(title|version|sort-key)\b", row)]
    return "\n".join(["title " + title, *kept]) + "\n"
