"""The tree of a built image as a folder, and programs inside of it: for what takes minutes without KVM.

Needs root: the tree holds root's files, and /proc, /dev and /tmp are mounted in it (in a mount namespace of the one
program, so that nothing stays mounted, whatever happens).
"""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import IO

from lab import needs, process, recipe
from lab.errors import LabError
from lab.grub_reads import volumes

MODES = "modes.txt"
_CORE_AT = 2**20
_ESP_AT = (1 + recipe.BIOS_MIB) * 2**20
ROOT_AT = (1 + recipe.BIOS_MIB + recipe.ESP_MIB) * 2**20
# $1: the tree, $2: a folder to see at /mnt or nothing; the rest is the program.
_ENTER = """set -e
root=$1 seen=$2; shift 2
# A mount point, as "/" is everywhere else: podman remounts it.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o size=3g,mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 run "$root/run"
[ -z "$seen" ] || mount --bind "$seen" "$root/mnt"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\\nexit 101\\n' >"$root/run/policy-rc.d"
chmod 755 "$root/run/policy-rc.d"
ln -sf /run/policy-rc.d "$root/usr/sbin/policy-rc.d"
exec chroot "$root" "$@"
"""


def modes(root: Path) -> str:
    """Return setuid, setgid and sticky modes of a tree, a line each: debugfs drops them when it unpacks."""
    found = []
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            mode = path.lstat().st_mode
            if mode & 0o7000 and not path.is_symlink():
                found.append(f"{mode & 0o7777:o} {path.relative_to(root)}\n")
    return "".join(found)


def unpack(image: Path, into: Path, log: IO[bytes]) -> None:
    """Write the root file system of an image into a folder (2.5 s; hard links become copies)."""
    into.mkdir(mode=0o755)
    source = f"{image}?offset={ROOT_AT}"
    argv = ["debugfs", "-R", f'rdump / "{into}"', source]
    if process.run(argv, log, needs.environment()) != 0 or not (into / "etc/passwd").exists():
        raise LabError(f"debugfs could not unpack {image}; its output is in {log.name}")
    for line in (image.parent / MODES).read_text().splitlines():
        mode, _, path = line.partition(" ")
        (into / path).chmod(int(mode, 8))


def pack(
    root: Path, base: Path, disk: Path, log: IO[bytes], esp: Path | None = None, core: Path | None = None,
    on: str = "",
) -> None:  # fmt: skip
    """Make a disk of a tree that came from the image ``base``: what is before its root partition (partition table,
    GRUB, ESP) is copied, so no VM has to install GRUB again. ``esp``: what takes the place of the ESP; ``core``: of
    GRUB's image for BIOS; ``on``: of the partition with ext4 (Layer.on)."""
    with open(base, "rb") as old, open(disk, "wb") as new:
        new.write(old.read(ROOT_AT))
        if esp is not None:
            new.seek(_ESP_AT)
            new.write(esp.read_bytes())
        if core is not None:
            new.seek(_CORE_AT)
            new.write(_placed(core.read_bytes()))
        new.truncate(recipe.DISK_MIB * 2**20)
        old.seek(-(2**20), os.SEEK_END)  # the second partition table
        new.seek(-(2**20), os.SEEK_END)
        new.write(old.read())
    if on == recipe.BTRFS.on:
        _put_btrfs(root, disk, log)
        return
    place = ROOT_AT, recipe.ROOT_MIB
    steps = [volumes.divide(disk, *place)] if on == volumes.MDRAID else []
    for argv in (*steps, recipe.make_root(root, disk, *volumes.inside(on, *place))):
        if process.run(argv, log, needs.environment()) != 0:
            raise LabError(f"{argv[0]} could not make {disk}; its output is in {log.name}")
    volumes.describe(on, disk, *place)


def _placed(core: bytes) -> bytes:
    """GRUB's image for BIOS as grub-install writes it: its first sector knows in which one of the disk it goes on. The
    boot sector of the base image starts it at the beginning of the BIOS boot partition."""
    if not 512 < len(core) <= recipe.BIOS_MIB * 2**20:
        raise LabError(f"GRUB's image for BIOS has {len(core)} bytes; expected at most {recipe.BIOS_MIB} MiB")
    return core[:500] + struct.pack("<Q", _CORE_AT // 512 + 1) + core[508:]


def _put_btrfs(root: Path, disk: Path, log: IO[bytes]) -> None:
    """mkfs.btrfs makes a whole file; what is not empty of it goes to the root partition's place."""
    file = disk.with_name("btrfs.img")
    with open(file, "wb") as new:
        new.truncate(recipe.ROOT_MIB * 2**20)
    if process.run(recipe.make_btrfs(root, file), log, needs.environment()) != 0:
        raise LabError(f"mkfs.btrfs could not make {file}; its output is in {log.name}")
    with open(file, "rb") as old, open(disk, "r+b") as new:
        at = 0
        while piece := old.read(2**20):
            if piece.strip(b"\0"):
                new.seek(ROOT_AT + at)
                new.write(piece)
            at += len(piece)
    file.unlink()


def enter(root: Path, argv: list[str], seen: Path | None = None, timeout: float = 900) -> tuple[int, str]:
    """Run a program in the tree and return exit code and output; ``seen`` is a folder that it finds at /mnt. No
    service is started (policy-rc.d), and everything it left running ends with it."""
    command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
               "sh", "-c", _ENTER, "sh", str(root), str(seen or ""), *argv]  # fmt: skip
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
           "HOME": "/root", **{k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}}  # fmt: skip
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=env, start_new_session=True, preexec_fn=process.tie_to_parent())  # fmt: skip
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(argv)} did not end within {timeout:.0f} s in the tree") from None
    finally:
        if child.poll() is None:
            process.stop_group(child)
        (root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)
    return child.returncode, output.decode(errors="replace")
