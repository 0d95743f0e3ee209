"""What a line of a report tells: its addresses, numbers and names, without the words between them."""

from __future__ import annotations

import re

__all__ = ["told"]

#: A drawn branch, an address, a figure with its unit or mark, or one of the few names without a digit.
_TOLD = re.compile(r"[├└│─|*]+|[\w:.+-]*\d[\w:.%*-]*|\?|\b(?:PIX|PXB|PHB|NODE|SYS|ACS|NCCL)\b|[>\u2192]")


def told(line: str) -> str:
    """``GPU0 0000:03:00.0: x16 Gen5, 1 port above`` is ``GPU0 0000:03:00.0 x16 Gen5 1``."""
    return " ".join(each.rstrip(".:") for each in _TOLD.findall(line))
