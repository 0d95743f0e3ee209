"""Limits of what a host may say, and what counts as a name. No honest host comes near them; what goes beyond is refused
with an error that names it.

A parser whose input may come from a stranger takes its limits from here, so that what tunecheck writes it also
reads.
"""

from __future__ import annotations

import json
from typing import Any, Union

from ...util.at_first_use import regex
from .damage import Damage, DamagedError

__all__ = [
    "MOST_GLOBS",
    "MOST_GPUS",
    "MOST_ITEMS",
    "MOST_PACKAGES",
    "MOST_PATTERNS",
    "MOST_PCI",
    "NAMES",
    "few",
    "host_name",
    "json_of",
    "name_of",
    "release_of",
]

#: Today's largest has 16 in one box; 64 gives 2,016 pairs.
MOST_GPUS = 64
#: PCI functions with all virtual ones; packages of a listing that was asked for by name.
MOST_PCI = MOST_PACKAGES = 4096
#: Entries of Unattended-Upgrade::Package-Blacklist; globs in apt's pins.
MOST_PATTERNS, MOST_GLOBS = 200, 512
#: Items of any other list or table of facts.
MOST_ITEMS = 16384
#: Values in one JSON document, counted by its commas; and how many of them are lists, and objects. The snapshot of
#: eight GPUs behind 40 ports has 9,000 commas, a whole recording 40,000. Python needs 60 to 230 bytes for each.
_COMMAS, _LISTS, _OBJECTS = 600_000, 300_000, 100_000

NAMES = {
    # Linux takes any bytes; sethostname(2) leaves the rest to DNS. "(none)" is the kernel's own before it is set.
    "host": regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\(none\)"),
    # deb-control(5), rpm's NAME; with dpkg's ":arch".
    "package": regex(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,119}(?::[a-z0-9-]{1,32})?"),
    "package version": regex(r"[A-Za-z0-9+.:~^_-]{0,120}"),
    # uname(2): 64 bytes.
    "kernel": regex(r"[A-Za-z0-9][A-Za-z0-9+._~-]{0,119}|"),
    # systemd.unit(5).
    "unit": regex(r"[A-Za-z0-9:_.\\@-]{1,255}"),
    "GPU": regex(r"[ -~]{1,128}"),
}


def name_of(kind: str, value: str) -> str:
    """Return ``value`` unchanged. DamagedError where it is no name of this ``kind``, which is a key of NAMES."""
    if NAMES[kind].fullmatch(value):
        return value
    raise DamagedError(Damage.BAD_NAME, "%r is not the name of a %s" % (value[:60], kind))


def host_name(value: str) -> str:
    return name_of("host", value)


def release_of(value: str) -> str:
    """Return ``value`` unchanged. ValueError where it is no release of a kernel."""
    return name_of("kernel", value)


def few(what: str, many: int, most: int) -> None:
    """Raise DamagedError where there are more than ``most``. ``what`` names the things that are counted."""
    if many > most:
        raise DamagedError(Damage.TOO_MANY, "%d %s; tunecheck takes at most %d" % (many, what, most))


def json_of(content: Union[bytes, str], most: int, what: str = "it") -> Any:
    """Return the document in ``content``. DamagedError where it is larger than ``most`` bytes, holds more values than
    any of ours, or is not JSON. The values are counted before the first is made: three bytes of text (``[],``) become
    64 of memory."""
    if len(content) > most:
        raise DamagedError(Damage.TOO_LARGE, "%s is larger than %d MiB" % (what, most >> 20))
    text: Any = content
    for mark, limit in ((",", _COMMAS), ("[", _LISTS), ("{", _OBJECTS)):
        if len(content) > limit and text.count(mark if isinstance(text, str) else mark.encode()) > limit:
            raise DamagedError(Damage.TOO_MANY, "%s holds more than %d values" % (what, limit))
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise DamagedError(Damage.NOT_JSON, "%s is not JSON, or cut short" % what) from None
