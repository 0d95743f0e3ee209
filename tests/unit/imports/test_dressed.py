"""Every output that an import takes is the same output as people carry it around: with the blanks of a web page, an
empty line behind each, line numbers, in an archive."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.imports import smi_texts
from tests.unit.imports.twice import TWICE
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported import files
from tunecheck.host.imported.machine import load_import
from tunecheck.host.source import open_source
from tunecheck.parsers.nvidia.smi_tree import is_flat, tree
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

Dress = Callable[[str], bytes]


def _tar(text: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folder = tarfile.TarInfo("box")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("box/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        member = tarfile.TarInfo("box/text.txt")
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _zip_of_gzip(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("box/text.gz", gzip.compress(text.encode()))
    return buffer.getvalue()


def _every_second(text: str) -> str:
    """A browser keeps a run of blanks apart with every second one."""
    return text.replace("  ", " \u00a0")


DRESSES: dict[str, Dress] = {
    "no-break blanks": lambda text: text.replace(" ", "\u00a0").encode(),
    "every second blank": lambda text: _every_second(text).encode(),
    "narrow blanks and joiners": lambda text: text.replace(" ", "\u202f\u200b").encode(),
    "an empty line behind each": lambda text: text.rstrip("\n").replace("\n", "\n\n").encode() + b"\n\n",
    "grep -n": lambda text: "".join(f"{number}:{line}\n" for number, line in enumerate(text.splitlines(), 1)).encode(),
    "tar": _tar,
    "tgz": lambda text: gzip.compress(_tar(text)),
    "zip of gzip": _zip_of_gzip,
}


def judged(path: Path, content: bytes) -> list[tuple[str, ...]]:
    path.mkdir()
    (path / "text.txt").write_bytes(content)
    case = Case(gather(load_import(str(path)), None, True))
    return [(each.id, each.code, each.subject, each.outcome, each.observed) for each in judge(case, "preflight")]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("kind", TWICE)
def test_it_is_judged_as_the_plain_output(kind: str, dress: str, tmp_path: Path) -> None:
    bad = TWICE[kind][1]
    if dress == "grep -n" and bad.count("\n") == 1:
        pytest.skip("one line with a number in front may be anything")
    assert judged(tmp_path / "dressed", DRESSES[dress](bad)) == judged(tmp_path / "plain", bad.encode())


#: How somebody packs one text, and gives that file.
PACKED: dict[str, Dress] = {
    "gz": lambda text: gzip.compress(text.encode()), "xz": lambda text: lzma.compress(text.encode()), "tar": _tar,
    "tgz": lambda text: gzip.compress(_tar(text)), "zip": _zip_of_gzip,
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("kind", TWICE)
def test_a_packed_text_is_judged_as_the_plain_one(kind: str, packing: str, tmp_path: Path) -> None:
    """A kernel log begins with "[" and bandwidth tests write JSON: neither makes it a recording."""
    bad, plain, packed = TWICE[kind][1], tmp_path / "text.txt", tmp_path / "text.packed"
    plain.write_text(bad)
    packed.write_bytes(PACKED[packing](bad))
    said = [[(each.id, each.code, each.subject, each.outcome, each.observed) for each in
             judge(Case(gather(open_source(str(path))[0], None, True)), "preflight")] for path in (plain, packed)]
    assert said[0] == said[1]


def test_a_report_that_a_terminal_broke_at_its_width_is_joined() -> None:
    text = smi_texts.TEXT.replace(": HMM", ": HMM has been deprecated here")
    wide = max(map(len, text.split("\n")))
    for width in range(wide - 12, wide + 2):
        broken = "\n".join(line[begin:begin + width] for line in text.split("\n")
                           for begin in range(0, max(1, len(line)), width))
        assert tree(broken).gpus == tree(text).gpus, width


def test_a_report_without_the_blanks_in_front_is_told_apart(tmp_path: Path) -> None:
    flat = "\n".join(line.strip() for line in smi_texts.TEXT.split("\n"))
    assert is_flat(flat) and not is_flat(smi_texts.TEXT) and not is_flat(smi_texts.XML)
    (tmp_path / "q.txt").write_text(flat)
    assert load_import(str(tmp_path)).holes


@pytest.mark.parametrize(("text", "give"), [
    ("GPU0\t X \tPIX\tSYS\t0-31\t0\tN/A\nGPU1\tPIX\t X \tSYS\t0-31\t0\tN/A\n", "nvidia-smi topo -m"),
    (smi_texts.TEXT.partition("    PCI\n")[2].partition("\nGPU ")[0], "nvidia-smi -q"),
    ("index, name, pcie.link.width.current\n0, NVIDIA H200, 8\n", "nvidia-smi -q"),
    ("| Diagnostic                | Result                    |\n| PCIe          | Fail             |\n", "dmesg"),
    ("$ dcgmi health -g 0 -c\n| Overall Health            | Failure            |\n", "dmesg"),
], ids=["topo without its head", "-q without its head", "list", "dcgmi diag", "dcgmi health"])
def test_what_cannot_be_judged_is_named_alone_and_beside_another_output(text: str, give: str, tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text(text)
    with refused(Damage.TOO_LITTLE, "0.txt", give):
        load_import(str(tmp_path))
    (tmp_path / "1.txt").write_text(TWICE["lscpu"][0])
    assert any("0.txt" in hole and give in hole for hole in load_import(str(tmp_path)).holes)


@pytest.mark.parametrize("kind", ["lscpu", "nvidia-smi", "topo"])
def test_what_is_not_judged_is_named_in_the_same_text(kind: str, tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("index, name, pcie.link.width.current\n0, NVIDIA H200, 8\n" + TWICE[kind][0])
    assert any("nvidia-smi -q" in hole for hole in load_import(str(tmp_path)).holes)


def test_many_packed_files_in_an_archive_are_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is small enough, and unpacked they are not."""
    monkeypatch.setattr(files, "MAX_UNPACKED", 8 << 20)
    unpacked = list[int]()
    real = files.unpack
    monkeypatch.setattr(files, "unpack", lambda *given: (unpacked.append(1), real(*given))[1])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(40):
            archive.writestr(f"{number}.gz", gzip.compress(bytes(3 << 20)))
    (tmp_path / "all.zip").write_bytes(buffer.getvalue())
    with refused(Damage.TOO_LARGE, "all.zip"):
        load_import(str(tmp_path / "all.zip"))
    assert len(unpacked) <= 3, "it ends as soon as they are too large together"


def test_a_tar_that_is_cut_or_damaged_is_refused(tmp_path: Path) -> None:
    whole = _tar(TWICE["lscpu"][0] * 40)
    for number, content in enumerate((whole[:2600], whole[:1024] + b"\1" * 512 + whole[1536:], whole[:1024])):
        (tmp_path / f"{number}.tar").write_bytes(content)
        with pytest.raises(UsageError) as told:
            load_import(str(tmp_path / f"{number}.tar"))
        assert told.value.flaw in (Damage.CUT_SHORT, Damage.PACKING)
