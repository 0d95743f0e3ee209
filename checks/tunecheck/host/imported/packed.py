"""Packed texts of an import: xz, zip and bzip2, unpacked in memory up to a bound. gzip is unpacked in files.py."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from ...errors import UsageError
from ...parsers.text.damage import Damage

__all__ = ["BZIP2", "XZ", "ZIP", "ZSTD", "NoText", "members", "nul_words"]

XZ, ZIP, BZIP2, ZSTD = b"\xfd7zXZ\x00", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd"
_MAX_MEMBERS = 2000
_PART = 1 << 20
#: Of memory for xz' dictionary; xz -9 takes 65 MiB.
_MEMORY = 128 << 20


class NoText(str):
    """What is said of a file that is not text at all."""

    __slots__ = ()


def members(name: str, file: str, content: bytes, most: int, bounded: Callable[[str, int, int, int], None]
            ) -> list[tuple[str, bytes]]:
    """Return what is packed in ``content``, by name. ``bounded`` refuses (file, size so far, most, packed size).
    UsageError where it is damaged, encrypted or too large. Nothing is written."""
    if content.startswith(ZIP):
        return _zip(file, content, most, bounded)
    import bz2
    import lzma

    unpacker: Any = (lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY) if content.startswith(XZ)
                     else bz2.BZ2Decompressor())
    result = bytearray()
    try:
        result += unpacker.decompress(content, _PART)
        while not unpacker.eof:
            bounded(file, len(result), most, len(content))
            if unpacker.needs_input:
                raise UsageError(f"{file}: cut short; expected a whole packed file: copy it again", Damage.CUT_SHORT)
            result += unpacker.decompress(b"", _PART)
        bounded(file, len(result), most, len(content))
    except (lzma.LZMAError, OSError, EOFError, MemoryError):
        raise UsageError(f"{file}: damaged, or packed in a way that cannot be read; copy it again, or unpack it "
                         "first", Damage.PACKING) from None
    return [(name, bytes(result))]


def _zip(file: str, content: bytes, most: int, bounded: Callable[[str, int, int, int], None]
         ) -> list[tuple[str, bytes]]:
    import zipfile

    result: list[tuple[str, bytes]] = []
    size = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if len(infos) > _MAX_MEMBERS:
                raise UsageError(f"{file}: holds {len(infos)} files; expected the outputs of one machine, at most "
                                 f"{_MAX_MEMBERS}", Damage.TOO_MANY)
            for info in infos:
                if info.flag_bits & 1:
                    raise UsageError(f"{file}: {info.filename[:80]!r} in it is encrypted; unpack it first",
                                     Damage.PACKING)
                part = bytearray()
                # What the directory says of sizes is not trusted: the content is counted.
                with archive.open(info) as stream:
                    while more := stream.read(_PART):
                        part += more
                        bounded(file, size + len(part), most, len(content))
                size += len(part)
                name = info.filename.rpartition("/")[2]
                result.append((name if name.isprintable() and name else "a file in it", bytes(part)))
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError, RuntimeError, IndexError,
            ArithmeticError):
        raise UsageError(f"{file}: damaged zip; copy it again, or unpack it and give the folder",
                             Damage.PACKING) from None
    except Exception as error:      # zlib.error and lzma.LZMAError have no common parent
        if type(error).__name__ in ("error", "LZMAError"):
            raise UsageError(f"{file}: damaged zip; copy it again, or unpack it and give the folder",
                             Damage.PACKING) from None
        raise
    return result


def nul_words(origin: str, content: bytes) -> str:
    """Return what to say of a text with zero bytes in it, "" for one without."""
    count = content.count(0)
    if not count:
        return ""
    if count * 20 > len(content):
        return NoText(f"{origin} is no text ({count} of its {len(content)} bytes are zero)")
    return (f"{origin} holds {count} zero byte{'' if count == 1 else 's'}, as after a crash while it was written; they "
            "were left out")
