"""Packed texts of an import: xz, bzip2, zip and tar, unpacked in memory up to a bound. gzip is unpacked in files.py."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from ...errors import UsageError
from ...parsers.text.damage import Damage

__all__ = ["BZIP2", "XZ", "ZSTD", "NoText", "is_archive", "members", "nul_words", "unpack"]

#: Refuses (file, size so far, most, packed size).
Bounded = Callable[[str, int, int, int], None]

XZ, ZIP, BZIP2, ZSTD = b"\xfd7zXZ\x00", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd"
_MAX_MEMBERS = 2000
_PART = 1 << 20
#: Of memory for xz' dictionary; xz -9 takes 65 MiB.
_MEMORY = 128 << 20


class NoText(str):
    """What is said of a file that is not text at all."""

    __slots__ = ()


def is_archive(content: bytes) -> bool:
    """Return whether it is a zip or a tar, which hold files."""
    return content.startswith(ZIP) or content[257:262] == b"ustar"


def unpack(file: str, content: bytes, most: int, bounded: Bounded) -> bytes:
    """Unpack xz or bzip2. ``bounded`` refuses (file, size so far, most, packed size). UsageError where it is damaged or
    too large. Nothing is written."""
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
    return bytes(result)


def members(file: str, content: bytes, most: int, bounded: Bounded) -> list[tuple[str, bytes]]:
    """Return the files in an archive, each with its name without folders. UsageError where it is damaged, encrypted or
    too large. Nothing is written."""
    return _zip(file, content, most, bounded) if content.startswith(ZIP) else _tar(file, content, most)


def _tar(file: str, content: bytes, most: int) -> list[tuple[str, bytes]]:
    """Links, devices and files with holes are left out: what they hold is not in the archive."""
    import tarfile

    result: list[tuple[str, bytes]] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for number, info in enumerate(archive):
                _few(file, number + 1)
                stream = archive.extractfile(info) if info.isreg() and not info.issparse() else None
                if stream is None:
                    continue
                data = stream.read(most + 1)
                if len(data) != info.size:
                    raise UsageError(f"{file}: cut short; expected a whole tar archive: copy it again",
                                     Damage.CUT_SHORT)
                result.append((_leaf(info.name), data))
            # tarfile takes a damaged header, or none, for the end, which is a block of zeros.
            if content[archive.offset:archive.offset + tarfile.BLOCKSIZE] != bytes(tarfile.BLOCKSIZE):
                raise tarfile.ReadError
    except (tarfile.TarError, OSError, EOFError, ValueError, IndexError, ArithmeticError):
        raise UsageError(f"{file}: damaged tar archive; copy it again, or unpack it and give the folder",
                         Damage.PACKING) from None
    return result


def _few(file: str, many: int) -> None:
    if many > _MAX_MEMBERS:
        raise UsageError(f"{file}: holds {many} files or more; expected the outputs of one machine, at most "
                         f"{_MAX_MEMBERS}", Damage.TOO_MANY)


def _leaf(name: str) -> str:
    name = name.rpartition("/")[2]
    return name if name.isprintable() and name else "a file in it"


def _zip(file: str, content: bytes, most: int, bounded: Bounded) -> list[tuple[str, bytes]]:
    import zipfile

    result: list[tuple[str, bytes]] = []
    size = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _few(file, len(infos))
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
                result.append((_leaf(info.filename), bytes(part)))
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
