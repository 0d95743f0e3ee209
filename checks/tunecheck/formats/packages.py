"""The driver's packages: what dpkg-query and rpm list, and what keeps them from being upgraded.

Pure: texts in, values out, for any text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Dict, List, Optional, Tuple

__all__ = ["Package", "apt_pins", "apt_settings", "dpkg", "driver_version", "locked", "rpm", "settings",
           "spares"]

_MOST = 4096
_VERSION = re.compile(r"^(?:\d{1,3}:)?(\d{3}\.\d{1,4}(?:\.\d{1,4})?)(?![\d.])")
#: Parts of the driver: their versions are the driver's. Not: the container toolkit, settings, prime, Wayland, CUDA.
_DRIVER = re.compile(
    r"^(?:nvidia-(?:driver|dkms|kernel|open|utils|compute-utils|firmware|headless|fabricmanager|smi|imex|kmod)"
    r"|libnvidia-(?:compute|common|ml|cfg|decode|encode|extra|fbc|gl|nscq|nvsdm)"
    r"|libcuda1$|cuda-drivers|kmod-nvidia|akmod-nvidia|xorg-x11-drv-nvidia)(?![a-z])")
_NOT = re.compile(r"^nvidia-(?:kernel-(?:common|support)$|driver-(?:assistant|pinning))")


@dataclass(frozen=True)
class Package:
    """``version`` as the package manager writes it; ``driver`` the driver's in it, for a part of the driver."""

    name: str
    version: str
    held: bool

    @property
    def driver(self) -> Optional[str]:
        return driver_version(self.version) if _DRIVER.match(self.name) and not _NOT.match(self.name) else None


def driver_version(version: str) -> Optional[str]:
    """``1:595.71.05-0ubuntu0.24.04.1`` -> ``595.71.05``."""
    found = _VERSION.match(version)
    return found.group(1) if found else None


def dpkg(text: str) -> Tuple[Package, ...]:
    """Lines of name, version, wanted state, state, between tabs; only what is installed."""
    found = []
    for line in text.splitlines()[:_MOST]:
        cells = line.split("\t")
        if len(cells) == 4 and cells[3] in ("installed", "half-configured", "unpacked", "triggers-pending"):
            found.append(Package(cells[0][:120], cells[1][:120], cells[2] == "hold"))
    return tuple(found)


def rpm(text: str, locks: str) -> Tuple[Package, ...]:
    """Lines of name and version between tabs; ``locks``: the lists of dnf's versionlock plugin."""
    patterns = [line.split("#")[0].strip() for line in locks.splitlines()[:_MOST]]
    found = []
    for line in text.splitlines()[:_MOST]:
        name, _, version = line.partition("\t")
        if version:
            found.append(Package(name[:120], version[:120], any(locked(each, name[:120]) for each in patterns if each)))
    return tuple(found)


def locked(pattern: str, name: str) -> bool:
    """Whether an entry of versionlock.list (``nvidia-driver-3:595.71.05-1.el9.*``, ``name = "..."`` of dnf 5) or a
    pattern of excludepkgs means the package."""
    pattern = re.sub(r'^name\s*=\s*"(.*)"$', r"\1", pattern.strip())[:200]
    if pattern.startswith(("!", "[")) or not pattern:
        return False
    bare = re.sub(r"-(?:\d+:)?\d[^-]*-[^-]*$|-\d+:\d.*$", "", pattern)
    return name in (pattern, bare) or ("*" in pattern and pattern.count("*") < 5 and fnmatchcase(name, pattern))


def apt_pins(text: str) -> List[Tuple[str, str, int]]:
    """Stanzas of apt_preferences(5) that pin a version of NVIDIA's packages: (packages, pin, priority)."""
    found = []
    for stanza in re.split(r"\n[ \t]*\n", text.replace("\r", ""))[:_MOST]:
        fields: Dict[str, str] = {}
        for line in stanza.splitlines()[:50]:
            name, mark, value = line.partition(":")
            if mark and not line.startswith("#"):
                fields.setdefault(name.strip().lower(), value.strip()[:400])
        packages, pin = fields.get("package", ""), fields.get("pin", "")
        number = re.match(r"^(-?\d{1,6})$", fields.get("pin-priority", ""))
        if number and "version" in pin and re.search(r"nvidia|cuda-drivers|libcuda", packages):
            found.append((packages, pin, int(number.group(1))))
    return found


def settings(text: str) -> List[str]:
    """Words of ``excludepkgs=`` and ``exclude=`` in dnf.conf."""
    found: List[str] = []
    for line in text.splitlines()[:_MOST]:
        name, mark, value = line.partition("=")
        if mark and name.strip() in ("excludepkgs", "exclude"):
            found += value.replace(",", " ").split()[:200]
    return found


def apt_settings(text: str) -> Tuple[Optional[bool], List[str]]:
    """Of apt.conf.d: whether unattended upgrades run (None: not said), and what they leave alone."""
    text = re.sub(r"(?m)(?:^|\s)(?://|#(?!clear|include)).*$", "", text[:1 << 20])
    said = re.findall(r'APT::Periodic::Unattended-Upgrade\s+"(\d{1,6})"\s*;', text)
    spared = [word for block in re.findall(r"Unattended-Upgrade::Package-Blacklist\s*\{([^}]*)\}", text)
              for word in re.findall(r'"([^"\n]{1,200})"', block)]
    return (said[-1] != "0" if said else None), spared[:200]


def spares(pattern: str, name: str) -> bool:
    """Whether an entry of Unattended-Upgrade::Package-Blacklist means the package: a Python expression that its name
    begins with. Of those only what lists of packages need is tried: whoever recorded the host wrote it."""
    plain = re.match(r"^\^?((?:[\w+-]|\\?\.(?!\*))*)(\.\*|\*)?(\$?)$", pattern[:200])
    if plain is None:
        return False
    start = plain.group(1).replace("\\", "")
    return name == start if plain.group(3) and not plain.group(2) else name.startswith(start)
