"""A recording as a file, tunecheck/record/2: a zstd-compressed tar that `tar --zstd -tf` lists and people can read.

    manifest.json           schema, version of tunecheck, when, redacted or not, as root or not
    answers.json            names in directories, resolved links, refused reads with their reasons, the commands
    nvml.json               everything NVML said
    commands/01-dmesg.txt   what a command wrote (01-dmesg.stderr.txt: its messages)
    files/proc/cmdline      every file that was read, byte for byte

The same answers give the same bytes. Read in memory only, never unpacked to disk, and whatever no recording holds is
refused: it may come from a stranger.
"""

from __future__ import annotations

import io
import json
import re
import stat
import time
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import Flaw, Misuse, UsageError
from ..model.absence import Reason
from ..parsers.text import log_lines, ustar
from ..parsers.text.damage import Damage, DamagedError
from . import bundle_schema
from .absence_of_text import stored_reason
from .answers import Answers
from .base import Completed
from .own_files import how_to_give, own_document, zstd_head

__all__ = ["MAGIC", "is_recording", "load", "pack"]

MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_VERSION = 2
#: A bundle is kept below this by leaving out the middle of logs.
GOAL = 5 << 20
MAX_PACKED = 64 << 20
MAX_UNPACKED = 160 << 20
MAX_MEMBER = 17 << 20       # a host answers with at most 16 MiB, and a little for the marker in a log
MAX_MEMBERS = 50_000
#: What `zstd -19` uses at most. A frame may ask its reader for gigabytes.
_MAX_WINDOW = 8 << 20
_LEVEL = 9
_EXPECTED = "expected a file made with tunecheck record, or the text of an output such as sudo lspci -nnvvv"


def pack(answers: Answers, redacted: bool = False, created: float | None = None, root: bool | None = None,
         verb: str | None = None) -> bytes:
    """Return the content of a recording's file. ``created`` is in seconds since 1970, default now; ``root``: whether it
    was read as root; ``verb``: the verb that recorded it. UsageError where the recording would be too large."""
    import zstandard

    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))
    manifest = {"schema": f"tunecheck/record/{_VERSION}", "tunecheck": __version__, "created": when,
                "redacted": redacted, "root": root, **({"verb": verb} if verb else {})}
    most = log_lines.MAX_CHARS
    while True:
        content = ustar.pack([("manifest.json", _json(manifest)), *_members(answers, most)])
        if len(content) > MAX_UNPACKED:
            raise UsageError(f"the recording would be larger than {MAX_UNPACKED >> 20} MiB unpacked; nothing was saved",
                             Misuse.TOO_LARGE)
        packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(content)
        if len(packed) <= GOAL or most <= 2 * log_lines.HEAD:
            return packed
        most //= 2


def _members(answers: Answers, most: int) -> Iterator[tuple[str, bytes]]:
    runs: list[dict[str, Any]] = []
    outputs: list[tuple[str, bytes]] = []
    for number, (argv, done) in enumerate(sorted(answers.runs.items()), 1):
        if isinstance(done, Reason):
            runs.append({"argv": list(argv), "error": done, "absence": done.absence.value})
            continue
        name = f"commands/{number:02}-{re.sub(r'[^A-Za-z0-9]+', '-', ' '.join(argv))[:60].strip('-') or 'command'}"
        outputs.append((f"{name}.txt", _encoded(log_lines.without_middle(done.stdout, most))))
        if done.stderr:
            outputs.append((f"{name}.stderr.txt", _encoded(log_lines.without_middle(done.stderr, most))))
        runs.append({"argv": list(argv), "returncode": done.returncode, "stdout": f"{name}.txt",
                     "stderr": f"{name}.stderr.txt" if done.stderr else None})
    odd = {path: data for path, data in answers.reads.items() if not _is_member(path)}
    yield "answers.json", _json({
        "lists": answers.lists, "realpaths": answers.realpaths, "errors": answers.errors,
        "absences": {what: why.absence.value for what, why in answers.errors.items()}, "runs": runs,
        "reads": {path: b2a_base64(data, newline=False).decode() for path, data in odd.items()}})
    if answers.nvml is not None:
        yield "nvml.json", _json(answers.nvml)
    yield from outputs
    for path, data in sorted(answers.reads.items()):
        if path not in odd:
            yield f"files{path}", data


def _is_member(path: str) -> bool:
    return path.startswith("/") and ustar.fits(f"files{path}")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def load(path: str) -> Answers:
    """Read a recording, also one of the first format. UsageError says what is wrong with it."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):        # a FIFO would make us wait for ever
            raise UsageError(f"{path}: not a file; {_EXPECTED}", Damage.NOT_A_FILE)
        if status.st_size > MAX_PACKED:
            raise UsageError(f"{path}: larger than {MAX_PACKED >> 20} MiB; no recording of tunecheck is",
                             Damage.TOO_LARGE)
        with open(path, "rb") as stream:
            packed = stream.read(MAX_PACKED + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Flaw.UNREAD) from None
    try:
        return unpack(packed)
    except bundle_schema.OtherVersionError as error:
        raise UsageError(f"{path}: {error}", error.damage) from None
    except ValueError as error:
        damage = getattr(error, "damage", None)
        document = own_document(zstd_head(packed).decode("latin-1")) if damage is Damage.NOT_TAR else ""
        if document:
            raise UsageError(f"{path}: {how_to_give(path, '', document)}", damage) from None
        text = ("; a text that is packed with zstd has to be unpacked first: zstd -d"
                if damage is Damage.NOT_TAR and packed.startswith(MAGIC) else "")
        raise UsageError(f"{path}: not a usable recording: {error}; {_EXPECTED}{text}", damage) from None


def is_recording(path: str) -> bool:
    """Return whether a usable recording is there."""
    try:
        load(path)
    except UsageError:
        return False
    return True


def unpack(packed: bytes) -> Answers:
    """Return the answers in a recording's content. ValueError says what is wrong with it. Memory and time are
    bounded."""
    if packed.startswith(MAGIC):
        return _answers(_contents(packed))
    if packed.startswith(_GZIP):
        from .bundle_1 import unpack as unpack_1

        return unpack_1(packed)
    if not packed:
        raise DamagedError(Damage.EMPTY, "it is empty")
    raise DamagedError(Damage.NOT_PACKED, "neither zstd nor gzip")


def _contents(packed: bytes) -> dict[str, bytes]:
    """Return every member of the archive by its name. ValueError says what is wrong with it."""
    import zstandard

    found: dict[str, bytes] = {}
    window = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    try:
        with window.stream_reader(io.BytesIO(packed)) as stream:
            read = _bounded(stream.read)
            for name, data in ustar.members(read, MAX_MEMBERS, MAX_MEMBER):
                if name in found:
                    raise DamagedError(Damage.TWICE, f"member {name[:120]!r} is there twice")
                found[name] = data
                if name == "manifest.json":     # before anything that a newer version may have changed
                    _check_manifest(data)
            if read(1 << 16).strip(b"\0"):
                raise DamagedError(Damage.MORE_BEHIND, "something follows after its end")
    except zstandard.ZstdError:
        raise DamagedError(Damage.PACKING, "damaged, or packed in a way that no recording is") from None
    return found


def _bounded(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    left = MAX_UNPACKED

    def bounded(size: int) -> bytes:
        nonlocal left
        left -= size
        if left < 0:
            raise DamagedError(Damage.TOO_LARGE, f"larger than {MAX_UNPACKED >> 20} MiB unpacked")
        data = read(size)
        while len(data) < size and (more := read(size - len(data))):
            data += more
        return data

    return bounded


def _check_manifest(data: bytes) -> None:
    manifest = bundle_schema.parse(data, "manifest.json")
    if not isinstance(manifest, dict):
        raise DamagedError(Damage.NO_TABLE, "manifest.json holds no table")
    bundle_schema.check_schema(manifest, _VERSION)
    kinds = {"tunecheck": str, "created": str, "redacted": bool, "root": (bool, type(None))}
    for key, kind in kinds.items():
        if not isinstance(manifest.get(key), kind):  # type: ignore[arg-type]
            raise DamagedError(Damage.WRONG_TYPE, f"{key} in manifest.json is missing or of the wrong type")


def _answers(found: dict[str, bytes]) -> Answers:
    for needed in ("manifest.json", "answers.json"):
        if needed not in found:
            raise DamagedError(Damage.NO_MEMBER, f"it holds no {needed}")
    document = bundle_schema.parse(found.pop("answers.json"), "answers.json")
    if not isinstance(document, dict):
        raise DamagedError(Damage.NO_TABLE, "answers.json holds no table")
    nvml = {"nvml": bundle_schema.parse(found.pop("nvml.json"), "nvml.json")} if "nvml.json" in found else {}
    runs = _runs(document, found)
    reads = bundle_schema.contents(document)
    verb = bundle_schema.parse(found["manifest.json"], "manifest.json").get("verb")
    for name, data in found.items():
        if name.startswith("files/"):
            if reads.setdefault(name[5:], data) is not data:
                raise DamagedError(Damage.TWICE, f"{name[5:125]!r} is there twice")
        elif name != "manifest.json":
            raise DamagedError(Damage.UNKNOWN_MEMBER, f"unknown member {name[:120]!r}")
    return Answers(reads, bundle_schema.lists(document), bundle_schema.texts(document, "realpaths"),
                   bundle_schema.reasons(document), runs, bundle_schema.table(nvml, "nvml"),
                   verb if isinstance(verb, str) else "")


def _runs(document: dict[str, Any], found: dict[str, bytes]) -> dict[tuple[str, ...], Completed | Reason]:
    """Return what each command wrote, or why there is nothing. Its outputs are taken out of ``found``."""
    result: dict[tuple[str, ...], Completed | Reason] = {}
    for number, (argv, run) in enumerate(bundle_schema.commands(document)):
        code, error = run.get("returncode"), run.get("error")
        texts = []
        for name in (run.get("stdout"), run.get("stderr")):
            if isinstance(name, str) and name.startswith("commands/") and name in found:
                texts.append(found.pop(name).decode("utf-8", "replace"))
            elif name is not None:
                raise DamagedError(Damage.NO_OUTPUT, f"runs[{number}] names an output that is not there")
        if isinstance(error, str) and not texts:
            result[argv] = stored_reason(error, run.get("absence"))
        elif type(code) is int and run.get("stdout") is not None:
            result[argv] = Completed(argv, code, texts[0], texts[1] if len(texts) > 1 else "")
        else:
            raise DamagedError(Damage.NO_RESULT, f"runs[{number}] has neither a result nor an error")
    return result
