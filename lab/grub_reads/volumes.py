"""What a root file system may stand on in place of its partition: a logical volume (LVM), a mirror (mdraid RAID1).

Written here by its format on disk: lvm2 and mdadm want a kernel with device mapper and md to make one, and images are
made without one. The box's own lvm2, mdadm and GRUB read it, or it does not boot.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

LVM, MDRAID = "lvm", "mdraid"
MIB = 2**20
#: In front of the file system, for what describes the volume.
HEAD_MIB = 1
_SECTOR, _EXTENT_MIB = 512, 4
_GROUP = "lab"
_PV_ID, _VG_ID, _LV_ID = ("abcdef-0123-4567-89ab-cdef-0123-lab0" + last for last in ("pv", "vg", "lv"))
MEMBERS = 2
ARRAY_ID = bytes.fromhex("1ab00001aaaabbbbccccddddeeeeffff")


def inside(on: str, at: int, mib: int) -> tuple[int, int]:
    """Return where the file system begins, in bytes, and its MiB, of a root partition ``at`` with ``mib``."""
    if on == LVM:
        return at + HEAD_MIB * MIB, (mib - HEAD_MIB) // _EXTENT_MIB * _EXTENT_MIB
    if on == MDRAID:
        return at + HEAD_MIB * MIB, member_mib(mib) - HEAD_MIB
    return at, mib


def member_mib(mib: int) -> int:
    """Return the MiB of each partition of a mirror that shares ``mib``."""
    return mib // MEMBERS


def divide(disk: Path, at: int, mib: int) -> list[str]:
    """Return the sgdisk argv that makes of the root partition the members of a mirror."""
    size = member_mib(mib)
    return ["sgdisk", "-a", "2048", "-d3", f"-n3:{at // _SECTOR}:+{size}M", "-t3:fd00", f"-n4:0:+{size}M", "-t4:fd00",
            str(disk)]  # fmt: skip


def describe(on: str, disk: Path, at: int, mib: int) -> None:
    """Write what describes the volume around the file system, and a mirror's second half."""
    with open(disk, "r+b") as file:
        if on == LVM:
            file.seek(at)
            file.write(_physical_volume(mib))
        elif on == MDRAID:
            size = member_mib(mib)
            for number in range(MEMBERS):
                file.seek(at + number * size * MIB + 8 * _SECTOR)       # metadata 1.2: 4 KiB from the start
                file.write(_superblock(number, size))
    if on == MDRAID:
        mirror(disk, at, mib)


def mirror(disk: Path, at: int, mib: int) -> None:
    """Make the other members of the array hold what the first one holds."""
    size = member_mib(mib) * MIB
    begin, length = inside(MDRAID, at, mib)
    with open(disk, "r+b") as file:
        for offset in range(0, length * MIB, MIB):
            file.seek(begin + offset)
            piece = file.read(MIB)
            for number in range(1, MEMBERS):
                file.seek(begin + number * size + offset)
                if file.read(MIB) != piece:
                    file.seek(begin + number * size + offset)
                    file.write(piece)


def _lvm_sum(raw: bytes) -> int:
    """LVM's CRC-32, which begins with a number of its own and is not inverted at the end."""
    return zlib.crc32(raw, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def _physical_volume(mib: int) -> bytes:
    """The first MiB of a physical volume: label, header of the metadata area, metadata (lvm2's lib/format_text)."""
    area, text_at = 4096, 512
    areas = (HEAD_MIB * MIB, 0, 0, 0, area, HEAD_MIB * MIB - area, 0, 0)     # of data, of metadata; each list ends in 0
    header = struct.pack("<32sQ8Q", _PV_ID.replace("-", "").encode(), mib * MIB, *areas)
    header += struct.pack("<IIQQ", 2, 1, 0, 0)  # the extension: in use, no area of a boot loader
    label = (struct.pack("<I8s", 32, b"LVM2 001") + header).ljust(_SECTOR - 20, b"\0")
    text = _metadata(mib).encode() + b"\0"
    about = struct.pack("<16sIQQ", b" LVM2 x[5A%r0N*>", 1, area, HEAD_MIB * MIB - area)
    about = (about + struct.pack("<QQII", text_at, len(text), _lvm_sum(text), 0)).ljust(_SECTOR - 4, b"\0")
    head = bytes(_SECTOR) + struct.pack("<8sQI", b"LABELONE", 1, _lvm_sum(label)) + label
    return head.ljust(area, b"\0") + struct.pack("<I", _lvm_sum(about)) + about + text


def _metadata(mib: int) -> str:
    extents = (mib - HEAD_MIB) // _EXTENT_MIB
    return f"""{_GROUP} {{
id = "{_VG_ID}"
seqno = 1
format = "lvm2"
status = ["RESIZEABLE", "READ", "WRITE"]
flags = []
extent_size = {_EXTENT_MIB * MIB // _SECTOR}
max_lv = 0
max_pv = 0
metadata_copies = 0
physical_volumes {{
pv0 {{
id = "{_PV_ID}"
device = "/dev/vda3"
status = ["ALLOCATABLE"]
flags = []
dev_size = {mib * MIB // _SECTOR}
pe_start = {HEAD_MIB * MIB // _SECTOR}
pe_count = {extents}
}}
}}
logical_volumes {{
root {{
id = "{_LV_ID}"
status = ["READ", "WRITE", "VISIBLE"]
flags = []
creation_host = "lab"
creation_time = 1
segment_count = 1
segment1 {{
start_extent = 0
extent_count = {extents}
type = "striped"
stripe_count = 1
stripes = ["pv0", 0]
}}
}}
}}
}}
contents = "Text Format Volume Group"
version = 1
description = ""
creation_host = "lab"
creation_time = 1
"""


def _superblock(number: int, mib: int) -> bytes:
    """md's superblock 1.2 of one member of ``mib``, in sync (struct mdp_superblock_1 of the kernel's md_p.h)."""
    data, size = HEAD_MIB * MIB // _SECTOR, (mib - HEAD_MIB) * MIB // _SECTOR
    array = struct.pack("<IIII16s32sQIIQIII", 0xA92B4EFC, 1, 0, 0, ARRAY_ID, b"lab:0", 1, 1, 0, size, 0, MEMBERS, 0)
    own = struct.pack("<QQQQII16sBBHI", data, size, 8, 0, number, 0, bytes([number + 1]) * 16, 0, 0, 0, 0)
    state = struct.pack("<QQQ", 1, 1, 2**64 - 1)                            # time, events, where a resync would go on
    roles = struct.pack("<" + "H" * MEMBERS, *range(MEMBERS))
    head, tail = array.ljust(128, b"\0") + own + state, struct.pack("<I", MEMBERS) + bytes(32) + roles
    total = sum(struct.unpack("<" + "I" * ((len(head) + 4 + len(tail)) // 4), head + bytes(4) + tail))
    return head + struct.pack("<I", ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF) + tail
