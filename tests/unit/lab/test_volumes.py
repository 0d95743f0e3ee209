"""What the lab writes of LVM and mdraid by hand is what util-linux takes for them, checksums included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab.grub_reads import volumes

from lab import needs

_AT, _MIB = 3 * volumes.MIB, 41


def blkid(disk: Path, at: int) -> dict[str, str]:
    out = subprocess.run(["blkid", "-p", "-o", "export", "-O", str(at), str(disk)], check=True, capture_output=True,
                         text=True, env=needs.environment()).stdout  # fmt: skip
    return dict(line.split("=", 1) for line in out.splitlines())


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A disk whose root partition has something at the beginning of the file system."""
    disk = tmp_path / "disk.img"
    with open(disk, "wb") as file:
        file.truncate(_AT + (_MIB + 1) * volumes.MIB)
    return disk


def put(disk: Path, at: int, text: bytes) -> None:
    with open(disk, "r+b") as file:
        file.seek(at)
        file.write(text)


def test_a_physical_volume_is_one(disk: Path) -> None:
    begin, mib = volumes.inside(volumes.LVM, _AT, _MIB)
    put(disk, begin, b"root")
    volumes.describe(volumes.LVM, disk, _AT, _MIB)
    assert blkid(disk, _AT)["TYPE"] == "LVM2_member"
    raw = disk.read_bytes()
    assert raw[begin:begin + 4] == b"root" and mib == 40
    assert b"extent_count = 10\n" in raw[_AT:begin]


def test_a_mirror_has_two_equal_halves(disk: Path) -> None:
    begin, mib = volumes.inside(volumes.MDRAID, _AT, _MIB)
    put(disk, begin, b"root")
    put(disk, begin + (mib - 1) * volumes.MIB, b"end")
    volumes.describe(volumes.MDRAID, disk, _AT, _MIB)
    step = volumes.member_mib(_MIB) * volumes.MIB
    members = [blkid(disk, _AT + number * step) for number in range(volumes.MEMBERS)]
    assert {(each["TYPE"], each["VERSION"]) for each in members} == {("linux_raid_member", "1.2")}
    assert len({each["UUID"] for each in members}) == 1 and len({each["UUID_SUB"] for each in members}) == 2
    raw = disk.read_bytes()
    assert raw[begin:begin + mib * volumes.MIB] == raw[begin + step:begin + step + mib * volumes.MIB]
    assert mib == 19


def test_what_was_written_to_the_first_member_comes_to_the_others(disk: Path) -> None:
    begin, mib = volumes.inside(volumes.MDRAID, _AT, _MIB)
    put(disk, begin, b"root")
    volumes.describe(volumes.MDRAID, disk, _AT, _MIB)
    put(disk, begin, bytes(4))      # what was there is gone
    put(disk, begin + volumes.MIB, b"journal")
    before = disk.read_bytes()
    volumes.mirror(disk, _AT, _MIB)
    raw, step = disk.read_bytes(), volumes.member_mib(_MIB) * volumes.MIB
    assert raw[:begin + step] == before[:begin + step]
    assert raw[begin + step:begin + step + mib * volumes.MIB] == raw[begin:begin + mib * volumes.MIB]


def test_the_names_are_those_that_the_images_scripts_write() -> None:
    lab = Path(volumes.__file__).parent
    identity = ":".join(volumes.ARRAY_ID.hex()[at:at + 8] for at in range(0, 32, 8))
    assert f"UUID={identity}'" in (lab / "mdraid.sh").read_text()
    assert "/dev/mapper/lab-root".replace("/", r"\/") in (lab / "lvm.sh").read_text()


def test_a_partition_is_left_as_it_is(disk: Path) -> None:
    before = disk.read_bytes()
    assert volumes.inside("", _AT, _MIB) == (_AT, _MIB)
    volumes.describe("", disk, _AT, _MIB)
    assert disk.read_bytes() == before
