"""What is in the image. Its digest names the image, so a changed recipe builds a new one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import standin_gpus

SUITE = "trixie"
#: Debian's release before, with Linux 6.1, GRUB 2.06 and systemd 252: a base image of its own, without layers.
OLDER_SUITE = "bookworm"
# The generic kernel: Debian's cloud kernel lacks the IOMMU drivers.
PACKAGES = (
    "systemd-sysv", "udev", "dbus", "kmod", "initramfs-tools", "linux-image-amd64", "lz4",
    "grub-pc-bin", "grub-efi-amd64-bin", "grub2-common",
    "openssh-server", "iproute2", "sudo", "python3", "pciutils", "procps", "linux-cpupower", "ca-certificates",
)  # fmt: skip
# Fixed ids, so that fstab and the kernel command line never change between builds.
ROOT_UUID = "11111111-2222-4333-8444-555555555555"
ESP_ID = "0BADCAFE"
MAC = "52:54:00:00:00:01"
# Words of every kernel here. no_timer_check: without KVM the IO-APIC timer test panics once in a while at boot. From
# mitigations=off on: what Debian's kernel does against attackers. Without KVM that is a tenth of a boot and a sixth of
# other work (QEMU's CPU time on 2 busy cores, 2026-11-26: boot 95.2 -> 84.4 s, the same commands 88.5 -> 75.1 s).
KERNEL = ("console=ttyS0 no_timer_check fsck.mode=skip mitigations=off init_on_alloc=0 hardened_usercopy=off "
          "randomize_kstack_offset=off")  # fmt: skip
BIOS_MIB, ESP_MIB, DISK_MIB = 1, 64, 4096
ROOT_MIB = DISK_MIB - 1 - BIOS_MIB - ESP_MIB - 1  # 1 MiB for each of the two partition tables

_HERE = Path(__file__).resolve().parent
CUSTOMISE = _HERE / "customise.sh"
SEAL = _HERE / "seal.sh"
BYTECODE = _HERE / "guest/zip_bytecode.py"
FORMAT = 2  # of the image's folder: 2 has modes.txt


@dataclass(frozen=True)
class Layer:
    """More packages on the base image; ``script`` runs in its tree. ``{release}`` in a name is the kernel's;
    ``download`` is in MB."""

    name: str
    packages: tuple[str, ...]
    script: Path
    download: int
    #: What the layer is also made of, and versions: counted in its digest.
    files: tuple[Path, ...] = ()
    versions: Sequence[str] = ()
    #: What the root file system, with /boot, is on where GRUB can't write it; "": a partition with ext4.
    on: str = ""


#: What tests/lab/test_driver.py needs: DKMS with compiler and headers, containers, unattended upgrades.
DRIVERS = Layer(
    "drivers",
    ("dkms", "gcc", "libc6-dev", "make", "linux-headers-{release}", "gnupg", "podman", "crun", "skopeo",
     "unattended-upgrades", "mokutil", "uidmap"),
    _HERE / "drivers.sh", 140,
)  # fmt: skip
#: What the demo needs: podman, an engine's image as an archive, its model (engine.py), stand-in GPUs.
SERVING = Layer(
    "serving", ("podman", "crun", "nftables", "curl"), _HERE / "serving.sh", 165,
    (_HERE / "engine.py", _HERE / "engine/llama_server.py", _HERE / "engine/llama-server",
     _HERE.parent / "tests/fixtures/engine/tiny.gguf", *standin_gpus.FILES),
    tuple(re.findall(r'"xllamacpp==([^"]+)"', (_HERE.parent / "pyproject.toml").read_text())),
)
#: A UEFI box that boots by systemd-boot, without GRUB; mtools write its ESP.
SYSTEMD_BOOT = Layer("systemd-boot", ("systemd-boot", "mtools"), _HERE / "systemd_boot.sh", 2)
#: A box whose boot partitions proxmox-boot-tool keeps.
PROXMOX_BOOT = Layer("proxmox-boot", ("systemd-boot", "mtools"), _HERE / "proxmox_boot.sh", 2,
                     (_HERE / "standins/proxmox-boot-tool",))
#: A box whose initramfs dracut makes, with GRUB as on the base image.
DRACUT = Layer("dracut", ("dracut",), _HERE / "dracut.sh", 3)
#: A box with the newest kernel that Debian has for its release.
BACKPORTS = Layer("backports", ("linux-image-amd64",), _HERE / "backports.sh", 105)
#: A box whose GRUB does as Ubuntu's does.
UBUNTU_GRUB = Layer("ubuntu-grub", (), _HERE / "ubuntu_grub.sh", 0)
#: A box with Secure Boot: Debian's signed shim, GRUB and kernel, with DKMS as on a box that builds its driver.
SECURE_BOOT = Layer("secure-boot", (*DRIVERS.packages, "shim-signed", "grub-efi-amd64-signed", "mtools"),
                    _HERE / "secure_boot.sh", 145, (DRIVERS.script,))


def _grub_reads(on: str, packages: tuple[str, ...], download: int, name: str = "") -> Layer:
    """A box whose GRUB reads its root file system, with /boot, and cannot write it."""
    here = _HERE / "grub_reads"
    return Layer(name or on, (*packages, "efibootmgr", "mtools"), here / f"{on}.sh", download,
                 (here / "grub_reads.sh", *([] if on == "btrfs" else [here / "volumes.py"])), on=on)


BTRFS = _grub_reads("btrfs", ("btrfs-progs",), 2)
LVM = _grub_reads("lvm", ("lvm2",), 4)
MDRAID = _grub_reads("mdraid", ("mdadm",), 2)
#: A box that can boot a trial by kexec alone, where its firmware is a BIOS.
LVM_KEXEC = _grub_reads("lvm", ("lvm2", "kexec-tools"), 5, "lvm-kexec")
LAYERS = {layer.name: layer
          for layer in (DRIVERS, SERVING, SYSTEMD_BOOT, PROXMOX_BOOT, SECURE_BOOT, DRACUT, BACKPORTS, UBUNTU_GRUB,
                        BTRFS, LVM, LVM_KEXEC, MDRAID)}


def environment() -> dict[str, str]:
    """Return the variables that customise.sh reads."""
    return {
        "LAB_ROOT_UUID": ROOT_UUID,
        "LAB_ESP_UUID": f"{ESP_ID[:4]}-{ESP_ID[4:]}",
        "LAB_MAC": MAC,
        "LAB_SEAL": str(SEAL),
        "LAB_BYTECODE": str(BYTECODE),
        "LAB_KERNEL": KERNEL,
    }


def digest(suite: str = "") -> str:
    """Return the first 12 hex digits of the digest over everything that decides the content of the image of ``suite``
    (default: SUITE)."""
    facts = [FORMAT, suite or SUITE, PACKAGES, ROOT_UUID, ESP_ID, MAC, KERNEL, BIOS_MIB, ESP_MIB, DISK_MIB]
    content = json.dumps(facts).encode() + CUSTOMISE.read_bytes() + SEAL.read_bytes() + BYTECODE.read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


def layer_digest(layer: Layer) -> str:
    """Return the same of a layer: another base image makes another layer."""
    content = json.dumps([digest(), layer.name, layer.packages, *layer.versions]).encode() + layer.script.read_bytes()
    content += b"".join(hashlib.sha256(path.read_bytes()).digest() for path in layer.files)
    return hashlib.sha256(content).hexdigest()[:12]


def make_esp(disk: Path, at_mib: int = 0) -> list[str]:
    """Return the mkfs.vfat argv that makes an empty ESP, ``at_mib`` from the start of a disk or a file of its own."""
    return ["mkfs.vfat", "-F", "16", "-s", "4", "-i", ESP_ID, "-n", "ESP", "--offset", str(at_mib * 2048), str(disk),
            str(ESP_MIB * 1024)]  # fmt: skip


def make_root(root: Path, disk: Path, at: int = (1 + BIOS_MIB + ESP_MIB) * 2**20, mib: int = ROOT_MIB) -> list[str]:
    """Return the mke2fs argv that makes a file system of a tree, ``at`` bytes from the start of a disk: in its root
    partition."""
    # Without a journal: the overlays are thrown away, and GRUB writes grubenv on it all the same.
    return ["mke2fs", "-q", "-t", "ext4", "-L", "root", "-U", ROOT_UUID, "-m", "0", "-O", "^has_journal",
            "-E", f"offset={at},lazy_itable_init=0,nodiscard", "-d", str(root), str(disk),
            f"{mib * 1024}k"]  # fmt: skip


def make_btrfs(root: Path, file: Path) -> list[str]:
    """Return the mkfs.btrfs argv that makes ``file``, as large as the root partition, of a tree."""
    return ["mkfs.btrfs", "-q", "-L", "root", "-U", ROOT_UUID, "--rootdir", str(root), str(file)]
