"""The texts of an import: a folder's files, a gzip'd bug report, one text file. Read only, and never without a bound.

What is given may come from a stranger: links and special files are left out, gzip is unpacked no further than
MAX_UNPACKED, and nothing is ever written.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from functools import cache

from ...errors import Flaw, Misuse, UsageError
from ...model.absence import Reason
from ...parsers.nvidia import bug_report
from ...parsers.text.damage import Damage
from ...parsers.text.log_lines import LEFT_OUT
from ...parsers.text.pasted import clean
from ...parsers.text.repeats import shortened
from ...util.at_first_use import dataclass
from ...util.typed_path import typed_path
from . import packed as imported_packed
from .dressings import sections
from .folders import below
from .kinds import is_result
from .line_ends import mended
from .prompts import ASKED, AT, unprompted
from .seams import parts as seams

__all__ = ["GIVE", "GZIP", "STANDARD_INPUT", "Piece", "pieces", "standard_input", "unpack"]

#: What `--from` calls standard input.
STANDARD_INPUT = "-"
#: What to do where there is nothing to read.
GIVE = ("give the output of a command, for example: sudo lspci -nnvvv > lspci.txt; then: tunecheck preflight --from "
        "lspci.txt")

GZIP = b"\x1f\x8b"
#: Bug reports of eight GPUs are 5 to 20 MiB.
MAX_UNPACKED = 64 * 1024 * 1024
MAX_FILES = 2000
#: Logs pack 10 to 50 times; a machine's worth of zeros behind `lspci -xxxx` no more than 150.
MAX_RATIO = 300
_LESS = "Of a long journal give the kernel's messages of one boot: journalctl -k -b"
_SMALL = 16 * 1024 * 1024       # below this the ratio does not matter
_PART = 64 * 1024

_NUL = re.compile(rb"\0+")
_PAGE = "<!DOCTYPE html>"


@dataclass(frozen=True)
class Piece:
    """One text of an import. ``origin`` is the file it came from; ``title`` the command above it, if any; ``path`` and
    ``absent`` as in bug_report.Section; ``machine`` is the one that a tool named in front of the lines, ``prompt`` the
    one in the prompt above them."""

    origin: str
    title: str
    text: str
    path: str | None = None
    absent: Reason | None = None
    doubt: str = ""
    machine: str = ""
    prompt: str = ""


def pieces(path: str) -> Iterator[Piece]:
    """Yield every text in a folder (not in folders below it), file or standard input ("-"). UsageError where that
    cannot be read. ``doubt`` of a piece says what is wrong with the file it is from."""
    left = MAX_UNPACKED
    for origin, file in _files(path):
        for name, content in _content(origin, file, left):
            left -= len(content)
            if left < 0:
                raise _too_large(file)
            utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
            doubt = "" if utf16 else imported_packed.nul_words(name, content)
            if doubt and not isinstance(doubt, imported_packed.NoText):
                # What was there is lost: a log with a hole is not a whole one.
                content = _NUL.sub(f"\n{LEFT_OUT}\n".encode(), content)
            yield from _split(name, _text(content), doubt)


@cache
def standard_input() -> bytes:
    """Return all of standard input, read once. UsageError where there is none, or it is empty or too large. On a
    terminal the user is told to paste the output."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("--from -: there is no standard input", Misuse.LEFT_OUT)
    if sys.stdin.isatty():
        sys.stderr.write("tunecheck: paste the output, then Ctrl-D on a line of its own\n")
        sys.stderr.flush()
    content = sys.stdin.buffer.read(MAX_UNPACKED + 1)
    if len(content) > MAX_UNPACKED:
        raise UsageError(f"--from -: more than {MAX_UNPACKED >> 20} MiB; expected pasted text. {_LESS}",
                         Damage.TOO_LARGE)
    if not content.strip():
        raise UsageError("--from -: standard input is empty; give the output of a command, for example: nvidia-smi "
                         "topo -m | tunecheck topo --from -", Damage.EMPTY)
    return content


def _too_large(file: str) -> UsageError:
    return UsageError(f"{file}: too large; an import is at most {MAX_UNPACKED >> 20} MiB in all. {_LESS}",
                      Damage.TOO_LARGE)


def _files(path: str) -> list[tuple[str, str]]:
    if path == STANDARD_INPUT:
        return [("standard input", path)]
    if not os.path.isdir(path):  # noqa: PTH112 - `path` is echoed as given
        return [(path.rpartition("/")[2], path)]
    try:
        # A name with control characters would reach the terminal with the report.
        names = sorted(entry.name for entry in os.scandir(path)
                       if entry.is_file(follow_symlinks=False) and entry.name.isprintable())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Flaw.UNREAD) from None
    if not names:
        raise UsageError(f"{path}: there is no file in this folder (links are not read); {below(path) or GIVE}",
                         Damage.EMPTY)
    if len(names) > MAX_FILES:
        raise UsageError(f"{path}: holds {len(names)} files; expected a folder with the outputs of one machine, at "
                         f"most {MAX_FILES}", Damage.TOO_MANY)
    return [(name, f"{path}/{name}") for name in names]


def _content(origin: str, file: str, left: int) -> list[tuple[str, bytes]]:
    """Return the content of a regular file, or what is packed in it, with the names of the texts."""
    content = standard_input() if file == STANDARD_INPUT else _read(file, left)
    if content.startswith(GZIP):
        content = unpack(file, content, left)
    if content.startswith((imported_packed.XZ, imported_packed.BZIP2)):
        content = imported_packed.unpack(file, content, left, _bounded)
    if imported_packed.is_archive(content):
        return list(_members(file, content, left))
    if content.startswith(imported_packed.ZSTD):
        raise _of_zstd(file, content)
    return [(origin, content)]


def _of_zstd(file: str, content: bytes) -> UsageError:
    """Return the error for a file that is packed with zstd: a recording, which is read elsewhere, or a text."""
    from ..own_files import is_packed_recording  # start-up time

    named = typed_path("box.tar.zst" if file == STANDARD_INPUT else file)
    if not is_packed_recording(content):
        unpack_it = f"zstdcat {typed_path(file)} > text.txt" if file != STANDARD_INPUT else "zstdcat"
        return UsageError(f"{file}: packed with zstd, and no recording of tunecheck; unpack it first: {unpack_it}",
                          Damage.PACKING)
    if file == STANDARD_INPUT:
        return UsageError(f"--from -: a recording of tunecheck, which is read from a file; save it and give that: "
                          f"--from {named}", Damage.PACKING)
    return UsageError(f"{file}: a recording of tunecheck, which is given by itself: --from {named}", Damage.PACKING)


def _members(file: str, content: bytes, left: int) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive; a report in it is packed as nvidia-bug-report.sh left it. All of them together are
    no larger than ``left``, unpacked."""
    for name, part in imported_packed.members(file, content, left, _bounded):
        if part.startswith(GZIP):
            part = unpack(f"{file}: {name}", part, left)
        if part.startswith(imported_packed.ZSTD) or name == "manifest.json":
            _no_recording(file, name, part)
        left -= len(part)
        if left < 0:
            raise _too_large(file)
        yield name, part


def _no_recording(file: str, name: str, part: bytes) -> None:
    """Refuse an archive with a recording in it, and a recording that lacks its zstd."""
    from ..own_files import is_packed_recording, own_document  # start-up time

    quoted = typed_path(file)
    if part.startswith(imported_packed.ZSTD) and is_packed_recording(part):
        raise UsageError(f"{file}: {name} in it is a recording of tunecheck; unpack the archive and give the recording "
                         "by itself: --from box.tar.zst", Damage.PACKING)
    if name == "manifest.json" and "recording" in own_document(part[:4096].decode("latin-1")):
        raise UsageError(f"{file}: a recording of tunecheck that was unpacked; give the one that it was made from, or "
                         f"pack it again: zstd {quoted} -o box.tar.zst; then give --from box.tar.zst", Damage.PACKING)


def _read(file: str, left: int) -> bytes:
    try:
        # Without O_NONBLOCK a FIFO that took the file's place would make us wait for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{file}: not a file; expected text, or an nvidia-bug-report.log.gz",
                                 Damage.NOT_A_FILE)
            if status.st_size > left:
                raise _too_large(file)
            # Not left + 1: that much memory would be set aside.
            return stream.read(min(left, status.st_size + _PART) + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})", Flaw.UNREAD) from None


def unpack(file: str, packed: bytes, most: int) -> bytes:
    """Unpack gzip, every member of it. UsageError for more than ``most`` bytes, an absurd ratio, or damage."""
    result = bytearray()
    unpacker = zlib.decompressobj(31)
    try:
        # In small parts: what is left over of one is copied.
        for begin in range(0, len(packed), _PART):
            data = packed[begin:begin + _PART]
            while data:
                if unpacker.eof:
                    if not data.startswith(GZIP[:1]):        # padding behind the last member
                        return bytes(result)
                    unpacker = zlib.decompressobj(31)
                result += unpacker.decompress(data, _PART)
                _bounded(file, len(result), most, len(packed))
                data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        while not unpacker.eof and (part := unpacker.decompress(b"", _PART)):
            result += part
            _bounded(file, len(result), most, len(packed))
    except zlib.error:
        raise UsageError(f"{file}: damaged gzip; copy it again", Damage.PACKING) from None
    if not unpacker.eof:
        raise UsageError(f"{file}: cut short; expected a whole gzip file: copy it again", Damage.CUT_SHORT)
    return bytes(result)


def _bounded(file: str, size: int, most: int, packed: int) -> None:
    if size > most:
        raise UsageError(f"{file}: more than {most >> 20} MiB unpacked; no bug report is that large", Damage.TOO_LARGE)
    if size > max(_SMALL, MAX_RATIO * packed):
        raise UsageError(f"{file}: unpacks to more than {MAX_RATIO} times its size; no bug report does",
                         Damage.TOO_LARGE)


def _text(content: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        if content.startswith(mark):        # saved by an editor or PowerShell
            return content[len(mark):].decode(encoding, "replace")
    return content.decode("utf-8", "replace")


def _split(origin: str, text: str, doubt: str = "") -> Iterator[Piece]:
    text = text.replace("\r\n", "\n")
    if bug_report.START in text[:4096]:
        for section in bug_report.sections(unprompted(text)):
            yield Piece(origin, section.title, section.text, section.path, section.absent, doubt)
        return
    ends = mended(clean(text))
    text, doubt = ends.text, doubt or ends.doubt
    if text.lstrip().startswith(_PAGE) and is_result(text):
        # A page of ours explains words of the kernel and of tools: none of its lines begins an output, or names a
        # machine.
        yield Piece(origin, "", text, doubt=doubt)
        return
    bare = unprompted(text)
    for machine, body in sections(bare if bare.strip() else text):
        yield from _prompted(origin, shortened(body), doubt, machine)


def _prompted(origin: str, text: str, doubt: str, machine: str) -> Iterator[Piece]:
    """Yield what stands below each prompt, and in it each output."""
    prompts = list(ASKED.finditer(text))
    before = text[:prompts[0].start()] if prompts else text
    if before.strip() or not prompts:
        for title, body in seams(before):
            yield Piece(origin, title, unprompted(body), doubt=doubt, machine=machine)
    for prompt, following in zip(prompts, [*prompts[1:], None], strict=False):
        asked = prompt.group().strip()[:200]
        at = AT.match(asked)
        for named, body in sections(text[prompt.end():following.start() if following else len(text)]):
            for number, (title, part) in enumerate(seams(body)):
                yield Piece(origin, title if number else asked, unprompted(part), doubt=doubt,
                            machine=named or machine, prompt=at[1] if at else "")
