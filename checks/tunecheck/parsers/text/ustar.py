"""The plain tar of a recording (POSIX ustar): the same content gives the same bytes, and nothing read is trusted.

A recording holds regular files and nothing else, so everything that makes tar dangerous is refused instead of
handled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Optional

from .damage import Damage, DamagedError

__all__ = ["fits", "members", "pack"]

_BLOCK = 512
_OTHER_KIND = Damage.OTHER_KIND, "neither a file nor a directory"
_KINDS = {b"1": (Damage.HARD_LINK, "a hard link"), b"2": (Damage.LINK, "a symbolic link"),
          b"3": (Damage.DEVICE, "a device"), b"4": (Damage.DEVICE, "a device"), b"6": (Damage.FIFO, "a FIFO")}


def fits(name: str) -> bool:
    """Return whether a member can have this name: a clean relative path, short enough for ustar."""
    return _clean(name) and _split(name.encode("utf-8", "surrogatepass")) is not None


def pack(content: Iterable["tuple[str, bytes]"]) -> bytes:
    """Return the archive with these members in this order. Everything else in it is constant. Names must fit()."""
    parts = []
    for name, data in content:
        parts += [_header(name, len(data)), data, b"\0" * (-len(data) % _BLOCK)]
    return b"".join([*parts, b"\0" * (2 * _BLOCK)])


def _header(name: str, size: int) -> bytes:
    split = _split(name.encode())
    if split is None:
        raise ValueError("%r is too long for a member of a tar" % name)
    prefix, leaf = split
    header = b"".join((
        leaf.ljust(100, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size, b"%011o\0" % 0,
        b" " * 8, b"0", b"\0" * 100, b"ustar\x0000", b"\0" * 64, b"0000000\0", b"0000000\0",
        prefix.ljust(155, b"\0"), b"\0" * 12))
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def _split(name: bytes) -> "Optional[tuple[bytes, bytes]]":
    """Return prefix and name as ustar keeps them. None where the path has no place to part it."""
    if len(name) <= 100:
        return b"", name
    at = name.find(b"/", len(name) - 101)
    return (name[:at], name[at + 1:]) if 0 < at <= 155 else None


def members(read: Callable[[int], bytes], most: int, largest: int) -> Iterator["tuple[str, bytes]"]:
    """Yield name and content of every file. ``read`` gives as many bytes as asked for, fewer only at the end.
    ValueError for anything that a recording never holds, more than ``most`` members, or one larger than ``largest``
    bytes."""
    for _ in range(most + 1):
        header = _exactly(read, _BLOCK)
        if not header.strip(b"\0"):
            return
        name, size, kind = _parse(header)
        # What `tar` itself puts in between when people repack a recording by hand.
        folder = kind == b"5" and size == 0
        if kind not in (b"0", b"\0") and not folder:
            damage, what = _KINDS.get(kind, _OTHER_KIND)
            raise DamagedError(damage, "member %s is %s, which no recording holds" % (_shown(name), what))
        if not _clean(name.rstrip("/") if folder else name):
            raise DamagedError(Damage.BAD_NAME, "member name %s is not a clean relative path" % _shown(name))
        if size > largest:
            raise DamagedError(Damage.TOO_LARGE, "member %s is larger than %d MiB" % (_shown(name), largest >> 20))
        content = _exactly(read, size)
        _exactly(read, -size % _BLOCK)
        if not folder:
            yield name, content
    raise DamagedError(Damage.TOO_MANY, "more than %d members" % most)


def _parse(header: bytes) -> "tuple[str, int, bytes]":
    if header[257:262] != b"ustar":
        raise DamagedError(Damage.NOT_TAR, "not a tar inside, or damaged")
    if _octal(header[148:156]) != sum(header[:148]) + 8 * 32 + sum(header[156:]):
        raise DamagedError(Damage.HEADER, "a header of its tar is damaged")
    prefix = header[345:500].partition(b"\0")[0] if header[262:263] == b"\0" else b""
    leaf = header[:100].partition(b"\0")[0]
    try:
        return (prefix + b"/" + leaf if prefix else leaf).decode("utf-8"), _octal(header[124:136]), header[156:157]
    except UnicodeDecodeError:
        raise DamagedError(Damage.BAD_NAME, "a member name is not UTF-8") from None


def _octal(field: bytes) -> int:
    digits = field.strip(b"\0 ")
    if not digits or digits.strip(b"01234567"):
        raise DamagedError(Damage.HEADER, "a number in a header of its tar is damaged")
    return int(digits, 8)


def _clean(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return all(part not in ("", ".", "..") for part in name.split("/")) and name.isprintable()


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) != size:
        raise DamagedError(Damage.CUT_SHORT, "cut short")
    return data


def _shown(name: str) -> str:
    return ascii(name[:120])
