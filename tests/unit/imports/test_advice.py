"""What cannot be used says what to give in its place."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_PLAIN = ("00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Device 153a\n"
          "06:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)\n")


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        content = tarfile.TarInfo("box/cmdline.txt")
        content.size = 13
        archive.addfile(content, io.BytesIO(b"ro iommu=pt x"))
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["tgz", "tar"])
def test_a_tar_archive_is_to_be_unpacked(tmp_path: Path, pack: object) -> None:
    (tmp_path / "box.tgz").write_bytes(pack(_tar()))  # type: ignore[operator]
    for path in (tmp_path / "box.tgz", tmp_path):
        with pytest.raises(UsageError, match=r"box\.tgz is a tar archive; unpack it first \(tar xf\)"):
            load_import(str(path))


def test_lspci_without_details_tells_which_gpus_there_are_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(_PLAIN)
    door = load_import(str(tmp_path / "lspci.txt"))
    assert "this lspci is a list without details, which may be a part of one" in door.summary()
    snapshot = gather(door, None, True)
    assert [device.bdf for device in snapshot.topology.devices] == ["0000:06:00.0"]
    assert snapshot.topology.devices[0].chain.value is None
    findings = judge(Case(snapshot), "preflight")
    assert [each.text for each in findings if each.outcome == "pass"] == []


def test_it_is_used_beside_other_texts(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(_PLAIN)
    (tmp_path / "cmdline").write_text("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n")
    assert "lspci (lspci.txt)" in load_import(str(tmp_path)).summary()
