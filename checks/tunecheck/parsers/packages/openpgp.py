"""Fingerprints of the keys in an OpenPGP key file, armored or binary. Pure; for any bytes.

Read here instead of by gpg, because Debian 13 and minimal images come without it (apt verifies with sqv there)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Iterator, Tuple

__all__ = ["fingerprints"]

_MOST = 1 << 20
_ARMOR = re.compile(rb"-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(?:[!-9;-~]+:[^\n]*\n)*\r?\n(.*?)"
                    rb"-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL)
_PUBLIC_KEY = 6     # RFC 4880 section 4.3: the packet of a primary key


def fingerprints(content: bytes) -> Tuple[str, ...]:
    """Return the fingerprint of every primary key, 40 (or 64) hex digits in capitals. ValueError where the file is not
    a key file: apt would trust every key in it, so one that is not understood as a whole is not trusted at all."""
    blocks = [_dearmored(body) for body in _ARMOR.findall(content[:_MOST])]
    if not blocks:
        if b"-----BEGIN" in content[:_MOST] or content[:1] < b"\x80":
            raise ValueError("it holds no OpenPGP public key")
        blocks = [content[:_MOST]]
    found = [_fingerprint(body) for block in blocks for tag, body in _packets(block) if tag == _PUBLIC_KEY]
    if not found:
        raise ValueError("it holds no OpenPGP public key")
    return tuple(found)


def _dearmored(body: bytes) -> bytes:
    lines = [line.strip() for line in body.splitlines()]
    try:
        # The line that starts with = is a checksum.
        return base64.b64decode(b"".join(line for line in lines if not line.startswith(b"=")), validate=True)
    except binascii.Error as error:
        raise ValueError("its armor is damaged (%s)" % error) from error


def _packets(data: bytes) -> Iterator[Tuple[int, bytes]]:
    at = 0
    while at < len(data):
        head, at = data[at], at + 1
        if not head & 0x80:
            raise ValueError("it is damaged: no packet starts at byte %d" % (at - 1))
        if head & 0x40:
            tag, (length, at) = head & 0x3F, _new_length(data, at)
        else:
            tag, size = (head >> 2) & 0x0F, (1, 2, 4, 0)[head & 3]
            length = int.from_bytes(data[at:at + size], "big") if size else len(data) - at
            at += size
        if at + length > len(data):
            raise ValueError("it is cut off")
        yield tag, data[at:at + length]
        at += length


def _new_length(data: bytes, at: int) -> Tuple[int, int]:
    first = data[at] if at < len(data) else 255
    if first < 192:
        return first, at + 1
    if first < 224:
        return ((first - 192) << 8) + int.from_bytes(data[at + 1:at + 2], "big") + 192, at + 2
    if first == 255:
        return int.from_bytes(data[at + 1:at + 5], "big"), at + 5
    raise ValueError("it has a packet of partial length, which no key has")


def _fingerprint(body: bytes) -> str:
    if body[:1] == b"\x04":     # RFC 4880 section 12.2
        return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()
    if body[:1] == b"\x06":     # RFC 9580 section 5.5.4.3
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    raise ValueError("it holds a key of version %d; expected 4 or 6" % (body[0] if body else 0))
