"""What is in the image. Its digest names the image, so a changed recipe builds a new one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

SUITE = "trixie"
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
BIOS_MIB, ESP_MIB, DISK_MIB = 1, 64, 4096
ROOT_MIB = DISK_MIB - 1 - BIOS_MIB - ESP_MIB - 1  # 1 MiB for each of the two partition tables

_HERE = Path(__file__).resolve().parent
CUSTOMISE = _HERE / "customise.sh"
SEAL = _HERE / "seal.sh"


def environment() -> dict[str, str]:
    """Return the variables that customise.sh reads."""
    return {
        "LAB_ROOT_UUID": ROOT_UUID,
        "LAB_ESP_UUID": f"{ESP_ID[:4]}-{ESP_ID[4:]}",
        "LAB_MAC": MAC,
        "LAB_SEAL": str(SEAL),
    }


def digest() -> str:
    """Return the first 12 hex digits of the digest over everything that decides the image's content."""
    facts = [SUITE, PACKAGES, ROOT_UUID, ESP_ID, MAC, BIOS_MIB, ESP_MIB, DISK_MIB]
    content = json.dumps(facts).encode() + CUSTOMISE.read_bytes() + SEAL.read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]
