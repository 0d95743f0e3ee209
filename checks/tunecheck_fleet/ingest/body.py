"""A request's body: bounded in size before and after decompression, and in time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

from .limits import Limits, Refusal, Why

__all__ = ["arrived", "unpacked"]

#: zstd's window is memory that a frame of a few bytes can ask for.
_WINDOW = 8 << 20
_BLOCK = 64 << 10


async def arrived(stream: AsyncIterator[bytes], length: str | None, limits: Limits) -> bytes:
    """The bytes as they were sent. Refusal for too many or too slow ones."""
    if length is not None and (not length.isdecimal() or int(length[:20]) > limits.packed):
        raise _too_large(limits.packed, "as sent")
    content = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for block in stream:
                content += block
                if len(content) > limits.packed:
                    raise _too_large(limits.packed, "as sent")
    except TimeoutError:
        raise Refusal(408, Why.TOO_SLOW, f"the body did not arrive within {limits.seconds:g} s") from None
    return bytes(content)


def unpacked(content: bytes, encoding: str, limits: Limits) -> bytes:
    """``encoding``: the Content-Encoding. Stops at the limit: a bomb is never held whole."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        found = content
    elif name == "gzip":
        found = _gzip(content, limits.unpacked)
    elif name == "zstd":
        found = _zstd(content, limits.unpacked)
    else:
        raise Refusal(415, Why.ENCODING, "Content-Encoding: expected zstd, gzip or none")
    if len(found) > limits.unpacked:
        raise _too_large(limits.unpacked, "unpacked")
    return found


def _too_large(most: int, how: str) -> Refusal:
    return Refusal(413, Why.TOO_LARGE, f"the body is larger than {most} bytes {how}; no snapshot of tunecheck is")


def _gzip(content: bytes, most: int) -> bytes:
    reader = zlib.decompressobj(wbits=31)
    try:
        found = reader.decompress(content, most + 1)
    except zlib.error:
        raise Refusal(422, Why.NOT_PACKED, "the body is not gzip, as its Content-Encoding says") from None
    if len(found) <= most and (not reader.eof or reader.unused_data):
        raise Refusal(422, Why.NOT_PACKED, "the body is not one whole gzip member")
    return found


def _zstd(content: bytes, most: int) -> bytes:
    import zstandard

    try:
        # A reader, and not one call per block: four bytes of a frame can stand for 128 KiB.
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(content) as reader:
            found = bytearray()
            while len(found) <= most and (block := reader.read(_BLOCK)):
                found += block
    except zstandard.ZstdError:
        raise Refusal(422, Why.NOT_PACKED,
                      "the body is not zstd, as its Content-Encoding says, or needs a larger window") from None
    return bytes(found)
