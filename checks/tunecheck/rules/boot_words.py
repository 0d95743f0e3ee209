"""How words get onto the kernel command line by hand."""

from __future__ import annotations

from .finding import Remedy

__all__ = ["add", "remove"]

_THEN = "run `sudo update-grub` (Fedora and Rocky: grubby --update-kernel=ALL), reboot"


def add(words: str) -> Remedy:
    """These words, as the specification has them."""
    return Remedy.typed("put {words} into GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, " + _THEN, (), True,
                        words=words)


def remove(words: str) -> Remedy:
    """These words, whoever put them there."""
    return Remedy.typed("take {words} out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, " + _THEN, (), True,
                        words=words)
