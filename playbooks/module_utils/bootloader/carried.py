"""A command line that reaches the kernel without GRUB: handed over by the firmware, or by kexec."""

from __future__ import annotations

import re

from ansible.module_utils.refusal import Refusal

from .why import Why

__all__ = ["by_hand", "refusal"]

#: GRUB's own variable for a splash screen, empty on a server.
_OF_GRUB = ("$vt_handoff", "${vt_handoff}")
_BARE = re.compile(r"[!-~]+$")
_BAD = re.compile(r"[\"'`$\\]")


def by_hand(tokens):
    """Return ``tokens`` as the kernel gets them: without what only GRUB understands."""
    return [token for token in tokens if token not in _OF_GRUB]


def refusal(tokens):
    """Return why these tokens cannot be handed over without GRUB, or None."""
    for token in by_hand(tokens):
        if _BAD.search(token) or not _BARE.match(token):
            return Refusal(
                Why.CHARACTER,
                "the kernel parameter %r holds a character that only GRUB can hand over (white space, quotes, $, `, \\ "
                "or not ASCII)" % token)
    return None
