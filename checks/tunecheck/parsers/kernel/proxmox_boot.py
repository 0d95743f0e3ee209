"""What proxmox-boot-tool reads on a box: which partitions it keeps alike, and the command line of their entries."""

from __future__ import annotations

import re

from ...util.at_first_use import regex

__all__ = ["CMDLINE", "LIST", "kept", "line"]

#: A line for each partition, the UUID of its FAT file system; `proxmox-boot-tool init` adds it.
LIST = "/etc/kernel/proxmox-boot-uuids"
CMDLINE = "/etc/kernel/cmdline"
_UUID = regex(r"^[ \t]*([0-9a-fA-F]{4}-[0-9a-fA-F]{4})[ \t]*$", re.MULTILINE)


def kept(text: str) -> list[str]:
    """Return the UUIDs in the text of LIST; none where the box does not use the tool."""
    return _UUID.findall(text)


def line(text: str) -> str:
    """Return the command line in the text of CMDLINE: the tool reads the first line and nothing else, and knows no
    comments."""
    return text.partition("\n")[0].strip()
