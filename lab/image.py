"""Builds the disk image: mmdebstrap -> mke2fs -d -> one sealing boot that runs grub-install inside the VM.

No loop device and no mount, but root: mmdebstrap makes device nodes, and mke2fs reads root's files.
Measured without KVM on 2 busy cores: mmdebstrap 68 s, disk 3 s, sealing boot 41 s; 422 MiB on disk.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lab import engine, needs, paths, process, qemu, recipe, tree
from lab import layer as layers
from lab.errors import LabError
from lab.grub_reads import volumes
from lab.progress import progress, started

DISK = "base.img"
BUILDING = ".build-"
_SEALED = b"LAB-SEALED"


def path(suite: str = "") -> Path:
    """Return where the image of the present recipe is (or will be); ``suite``: Debian's release, else recipe.SUITE."""
    return paths.images() / recipe.digest(suite) / DISK


def build(layer: recipe.Layer | None = None, suite: str = "") -> Path:
    """Return the base image of ``suite``, built if it is not there yet; ``layer``: and that one on the image of
    recipe.SUITE (`layer.build` calls this). Nothing half-built stays, whatever happens."""
    if path(suite).exists() and (layer is None or layers.path(layer).exists()):
        return path(suite)
    needs.check(needs.BUILD)
    paths.images().mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        _build_with_sudo(layer.name if layer else suite)
        return path(suite)
    with _lock():
        _sweep()
        if not path(suite).exists():
            _build_as_root(suite or recipe.SUITE)
        if layer is not None and not layers.path(layer).exists():
            layers.build_as_root(layer)
    return path(suite)


def _build_with_sudo(name: str) -> None:
    """Run this build under sudo. Our end of its stdin stays open: when we end, however, it cleans up and ends."""
    if shutil.which("sudo") is None:
        raise LabError(f"building the image needs root and there is no sudo; run as root: {paths.typed('build')}")
    keep = {k: v for k, v in os.environ.items() if k.startswith("LAB_") or k.lower().endswith("_proxy")}
    keep |= {"TUNECHECK_LAB": str(paths.root()), "LAB_STARTED": started(), "PYTHONPATH": str(paths.REPO)}
    if name == recipe.SERVING.name:
        keep[engine.PACKAGE] = str(engine.package())
    keep |= {"LAB_OWNER": f"{os.getuid()}:{os.getgid()}"}
    argv = ["sudo", "--", "env", *(f"{k}={v}" for k, v in keep.items())]
    # The system's Python, without bytecode: root leaves no files in the checkout.
    wanted = [name] if name else []
    child = subprocess.Popen([*argv, "python3", "-B", "-m", "lab", "build", *wanted, "--tie-stdin"],
                             stdin=subprocess.PIPE)  # fmt: skip
    try:
        if child.wait() != 0:
            raise LabError("the image could not be built (see above)")
    except KeyboardInterrupt:
        assert child.stdin is not None
        child.stdin.close()
        child.wait(timeout=60)
        raise


@contextmanager
def _lock() -> Iterator[None]:
    with open(paths.images() / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another build runs here; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep() -> None:
    """Remove what a killed build left: we hold the lock, so no build is running."""
    for left in paths.images().glob(f"{BUILDING}*"):
        remove(left)


def remove(folder: Path) -> None:
    """Remove a build folder, unless something is still mounted below it."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(f"{folder}/")), reverse=True):
        if subprocess.run(["umount", "--lazy", mount]).returncode != 0:
            raise LabError(f"{mount} is still mounted; unmount it and remove {folder}")
    shutil.rmtree(folder, ignore_errors=True)


def with_journal(folder: Path, base: Path | None = None, on: str = "") -> Path:
    """Return a copy of the image ``base`` (default: the base image) in ``folder`` whose root file system, ext4 in the
    root partition or ``on`` what stands there (Layer.on), has a journal, as on a box: the image's own would not survive
    a power cut."""
    copy, place = folder / DISK, (tree.ROOT_AT, recipe.ROOT_MIB)
    subprocess.run(["cp", "--sparse=always", str(base or path()), str(copy)], check=True)
    subprocess.run(["tune2fs", "-O", "has_journal", f"{copy}?offset={volumes.inside(on, *place)[0]}"], check=True,
                   env=needs.environment(), stdout=subprocess.DEVNULL)
    if on == volumes.MDRAID:
        volumes.mirror(copy, *place)
    return copy


def _build_as_root(suite: str) -> None:
    work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=paths.images()))
    keep_log = paths.images() / "build.log"
    try:
        work.chmod(0o755)
        with open(work / "build.log", "wb") as log:
            try:
                _debian(work, log, suite)
                _disk(work, log)
                try:
                    _seal(work)
                except LabError as error:
                    # Seen twice in a day on a busy machine without KVM; a second boot of a fresh disk went well.
                    progress(f"{error}\nonce more, on a fresh disk")
                    _disk(work, log)
                    _seal(work)
            except LabError:
                shutil.copy(work / "build.log", keep_log)
                raise
        (work / tree.MODES).write_text(tree.modes(work / "root"))
        shutil.rmtree(work / "root")
        for name in ("vmlinuz", "initrd.img", "console.log", qemu.LOG):
            (work / name).unlink(missing_ok=True)
        own(work)
        work.rename(path(suite).parent)
        keep_log.unlink(missing_ok=True)
        _prune()
        progress(f"image ready: {path(suite).stat().st_blocks * 512 // 2**20} MiB on disk")
    finally:
        if work.exists():
            remove(work)


def _prune() -> None:
    """Remove the images of older recipes, unless a machine's disk still rests on one."""
    used = {name for disk in paths.root().glob("*/disk.qcow2") for name in _backing(disk)}
    recipes = {recipe.digest(), recipe.digest(recipe.OLDER_SUITE),
               *(recipe.layer_digest(one) for one in recipe.LAYERS.values())}
    for old in paths.images().iterdir():
        if old.is_dir() and old.name not in recipes | used:
            shutil.rmtree(old)


def _backing(disk: Path) -> list[str]:
    # The backing file's name stands in the first cluster of a qcow2 file.
    with open(disk, "rb") as file:
        return re.findall(r"images/([0-9a-f]{12})/", file.read(65536).decode("ascii", "ignore"))


def _debian(work: Path, log: IO[bytes], suite: str) -> None:
    progress(f"image: Debian {suite} with mmdebstrap (downloads about 190 MB)")
    mirror = os.environ.get("LAB_MIRROR")
    _tool(log, [
        "mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(recipe.PACKAGES)}",
        '--aptopt=Acquire::Retries "3"', '--aptopt=Acquire::Languages "none"',
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude=/usr/share/{d}/*" for d in ("man", "doc", "locale")),
        f"--customize-hook={recipe.CUSTOMISE}", suite, str(work / "root"), *([mirror] if mirror else []),
    ])  # fmt: skip


def _disk(work: Path, log: IO[bytes]) -> None:
    progress("image: disk")
    disk, root = str(work / DISK), work / "root"
    version = next((root / "lib/modules").iterdir()).name
    shutil.copy(root / f"boot/vmlinuz-{version}", work / "vmlinuz")
    shutil.copy(root / f"boot/initrd.img-{version}", work / "initrd.img")
    with open(disk, "wb") as file:
        file.truncate(recipe.DISK_MIB * 2**20)
    _tool(log, ["sgdisk", "-a", "2048", f"-n1:2048:+{recipe.BIOS_MIB}M", "-t1:ef02",
                f"-n2:0:+{recipe.ESP_MIB}M", "-t2:ef00", "-n3:0:0", "-t3:8304", "-c3:root", disk])  # fmt: skip
    _tool(log, recipe.make_esp(Path(disk), 1 + recipe.BIOS_MIB))
    _tool(log, recipe.make_root(root, Path(disk)))


def _seal(work: Path) -> None:
    progress("image: sealing boot, GRUB is installed inside the VM")
    append = f"root=UUID={recipe.ROOT_UUID} rw {recipe.KERNEL} panic=-1 init=/root/seal.sh"
    argv = qemu.command(
        disk=f"file={DISK},format=raw", console="console.log", marker="tunecheck-seal",
        extra=["-no-reboot", "-kernel", "vmlinuz", "-initrd", "initrd.img", "-append", append],
    )  # fmt: skip
    child = qemu.start(work, argv, tie=True)
    try:
        child.wait(timeout=qemu.boot_timeout())
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.stop_group(child)
    if _SEALED not in (work / "console.log").read_bytes():
        with open(work / "build.log", "ab") as log:
            log.write(b"\nsealing boot failed; its console:\n" + (work / "console.log").read_bytes())
        raise LabError(
            f"the image's sealing boot did not install GRUB; its console ended with:\n"
            f"{qemu.tail(work / 'console.log')}\nthe whole log: {paths.images() / 'build.log'}"
        )


def _tool(log: IO[bytes], argv: list[str]) -> None:
    env = {**needs.environment(), **recipe.environment()}
    log.write(f"\n$ {' '.join(argv)}\n".encode())
    log.flush()
    if process.run(argv, log, env) != 0:
        raise LabError(
            f"building the image failed in {argv[0]}; its output ended with:\n{qemu.tail(Path(log.name))}\n"
            f"the whole log: {paths.images() / 'build.log'}"
            + ("\nno network? LAB_MIRROR=<url> names another Debian mirror" if argv[0] == "mmdebstrap" else "")
        )


def own(folder: Path) -> None:
    """Give the image to the user who asked for it through sudo."""
    if owner := os.environ.get("LAB_OWNER"):
        uid, gid = map(int, owner.split(":"))
        for item in (folder, *folder.iterdir(), paths.images() / ".lock"):
            os.chown(item, uid, gid)
