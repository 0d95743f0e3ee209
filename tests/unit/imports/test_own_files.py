"""What tunecheck wrote and cannot read where it was given: packed, in a folder, in an archive, on standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from tests.unit.imports.samples import lab

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.answers import Answers, RecordedHost
from tunecheck.host.bundle import pack

_RECORDING = pack(Answers({"/proc/cmdline": b"ro quiet\n"}))
_SNAPSHOT = packed(Stored(gather(RecordedHost({}), None, True), None))


def _tar(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _zip(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def _refused(*arguments: str, given: bytes = b"") -> str:
    done = subprocess.run([sys.executable, "-m", "tunecheck", "topo", "--from", *arguments], input=given,
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode()


_PACKED = {"gz": gzip.compress(_SNAPSHOT), "xz": lzma.compress(_SNAPSHOT), "bz2": bz2.compress(_SNAPSHOT),
           "zst": zstandard.compress(_SNAPSHOT), "tar": _tar("s.json", _SNAPSHOT), "zip": _zip("s.json", _SNAPSHOT),
           "tgz": gzip.compress(_tar("s.json", _SNAPSHOT))}


@pytest.mark.parametrize("form", _PACKED)
def test_a_packed_snapshot_is_told_the_command_that_unpacks_it(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"s.json.{form}"
    file.write_bytes(_PACKED[form])
    said = _refused(str(file))
    assert "is a snapshot of tunecheck, packed" in said or f"{file}: a snapshot of tunecheck, packed" in said
    command = re.search(rf"unpack it first: ((\w+)(?: -xf)? {re.escape(str(file))}(?: > snapshot.json)?)[;,]", said)
    assert command, said
    if command[2] in ("zcat", "xzcat", "bzcat") and form != "tgz":
        subprocess.run(command[1], shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "snapshot.json").read_bytes() == _SNAPSHOT


def test_in_a_folder_both_are_named_with_their_path(tmp_path: Path) -> None:
    (tmp_path / "box.tar.zst").write_bytes(_RECORDING)
    said = _refused(str(tmp_path))
    assert f"a recording of tunecheck, which is given by itself: --from {tmp_path}/box.tar.zst" in said
    (tmp_path / "box.tar.zst").rename(tmp_path.parent / "box.tar.zst")
    (tmp_path / "s.json").write_bytes(_SNAPSHOT)
    said = _refused(str(tmp_path))
    assert f"a snapshot of tunecheck, which is given by itself: --from {tmp_path}/s.json" in said


def test_a_snapshot_beside_texts_is_named_and_the_texts_are_judged(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(_SNAPSHOT)
    (tmp_path / "lspci.txt").write_text(lab("acs-iommu"))
    done = subprocess.run([sys.executable, "-m", "tunecheck", "topo", "--from", str(tmp_path)], capture_output=True,
                          text=True, check=False)
    assert "GPU0" in done.stdout
    said = " ".join(done.stderr.split())
    assert f"a snapshot of tunecheck, which is given by itself: --from {tmp_path}/s.json" in said


@pytest.mark.parametrize(("content", "kind"), [
    (_RECORDING, "recording"), (_SNAPSHOT, "snapshot"), (gzip.compress(_SNAPSHOT), "snapshot")],
    ids=["recording", "snapshot", "packed snapshot"])
def test_on_standard_input_both_are_told_to_be_given_as_a_file(content: bytes, kind: str) -> None:
    said = _refused("-", given=content)
    assert f"a {kind} of tunecheck, which is read from a file; save it" in said


def test_a_recording_in_an_archive_or_without_its_zstd_is_one(tmp_path: Path) -> None:
    file = tmp_path / "given"
    for content in (_tar("box.tar.zst", _RECORDING), _zip("box.tar.zst", _RECORDING)):
        file.write_bytes(content)
        assert "box.tar.zst in it is a recording of tunecheck; unpack the archive" in _refused(str(file))
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(_RECORDING)) as stream:
        file.write_bytes(stream.read())
    assert f"pack it again: zstd {file} -o box.tar.zst" in _refused(str(file))


def test_a_text_packed_with_zstd_is_told_how_to_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "a b.zst").write_bytes(zstandard.compress(lab("acs-iommu").encode()))
    assert f"zstdcat '{tmp_path}/a b.zst' > text.txt" in _refused(str(tmp_path))
