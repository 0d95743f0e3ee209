"""Coverage-guided fuzzing of the bundle reader: any bytes are read or refused with a ValueError, in bounded memory.

Not part of `make test` and no dependency of the project. From the repository:

    python3 -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris click zstandard
    PYTHONPATH=checks:. /tmp/fuzz/bin/python tests/fuzz/fuzz_bundle.py -max_total_time=600 -rss_limit_mb=1024 CORPUS

CORPUS is a folder for what it finds; it starts with a small bundle. The first byte of an input says what the rest is:
the file itself, the tar inside (the compression would hide it from the fuzzer; its checksums are put right), or the
contents of the members, parted by two bytes (so that the JSON in them is reached).
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    import tunecheck.host.bundle
    import tunecheck.host.bundle_schema
    import tunecheck.parsers.text.ustar

import zstandard

from tunecheck.host import Completed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.recording import Answers

_SEED = Answers(
    reads={"/proc/cmdline": b"ro\n", "/odd/../x": b"odd"}, lists={"/sys": ["a"]}, realpaths={"/a": "/b"},
    errors={"read /n": reason_of_text("no permission")}, nvml={"driver": "595.71.05"},
    runs={("dmesg",): Completed(("dmesg",), 0, "a line\n", "oops"), ("x",): "timed out"})
_NAMES = ("manifest.json", "answers.json", "nvml.json", "commands/01-dmesg.txt", "commands/01-dmesg.stderr.txt",
          "files/proc/cmdline")
_MARK = b"\xff\xfe"


def _repaired(content: bytes) -> bytes:
    blocks = [bytearray(content[at:at + 512]) for at in range(0, len(content), 512)]
    for block in blocks:
        if len(block) == 512 and block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
    return b"".join(blocks)


def one(data: bytes) -> None:
    """One input."""
    kind, rest = (data[0] % 3, data[1:]) if data else (0, b"")
    if kind == 1:
        rest = zstandard.compress(_repaired(rest))
    elif kind == 2:
        rest = zstandard.compress(tunecheck.parsers.text.ustar.pack(zip(_NAMES, rest.split(_MARK), strict=False)))
    try:
        found = tunecheck.host.bundle.unpack(rest)
    except ValueError:
        return
    found.host().close()


def main() -> None:
    """Put the seed into the corpus and run."""
    for folder in (Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")):
        folder.mkdir(parents=True, exist_ok=True)
        packed = tunecheck.host.bundle.pack(_SEED, created=0)
        tar = zstandard.decompress(packed)
        (folder / "seed-packed").write_bytes(b"\0" + packed[:40])
        (folder / "seed-tar").write_bytes(b"\1" + tar)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            found = [archive.extractfile(name) for name in _NAMES]
            (folder / "seed-members").write_bytes(b"\2" + _MARK.join(item.read() for item in found if item))
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
