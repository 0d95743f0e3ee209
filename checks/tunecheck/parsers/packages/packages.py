"""The driver's packages: what dpkg-query and rpm list, and what keeps them from being upgraded.

Pure: texts in, values out, for any text."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Dict, Iterable, List, Optional, Set, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.bounds import MOST_GLOBS, MOST_PACKAGES, MOST_PATTERNS, few, name_of

__all__ = ["Globs", "Locks", "Package", "Spared", "apt_pins", "apt_settings", "blacklisted", "dpkg",
           "driver_version", "locked", "rpm", "settings"]

_MOST = 4096
_VERSION = regex(r"^(?:\d{1,3}:)?(\d{3}\.\d{1,4}(?:\.\d{1,4})?)(?![\d.])")
#: Parts of the driver: their versions are the driver's. Not: the container toolkit, settings, prime, Wayland, CUDA.
_DRIVER = regex(
    r"^(?:nvidia-(?:driver|dkms|kernel|open|utils|compute-utils|firmware|headless|fabricmanager|smi|imex|kmod)"
    r"|libnvidia-(?:compute|common|ml|cfg|decode|encode|extra|fbc|gl|nscq|nvsdm)"
    r"|libcuda1$|cuda-drivers|kmod-nvidia|akmod-nvidia|xorg-x11-drv-nvidia)(?![a-z])")
_SPARED = regex(r"^\^?((?:[\w+-]|\\?\.(?!\*))*)(\.\*|\*)?(\$?)$")
_NOT = regex(r"^nvidia-(?:kernel-(?:common|support)$|driver-(?:assistant|pinning))")


@dataclass(frozen=True)
class Package:
    """One installed package. ``version`` is as the package manager writes it; ``driver`` is the driver's version in it,
    for a part of the driver, else None."""

    name: str
    version: str
    held: bool

    @property
    def driver(self) -> Optional[str]:
        return driver_version(self.version) if _DRIVER.match(self.name) and not _NOT.match(self.name) else None


def driver_version(version: str) -> Optional[str]:
    """Return the driver's version in that of a package: ``595.71.05`` for ``1:595.71.05-0ubuntu0.24.04.1``. None where
    there is none."""
    found = _VERSION.match(version)
    return found.group(1) if found else None


def dpkg(text: str) -> Tuple[Package, ...]:
    """Parse lines of name, version, wanted state, state, between tabs. Only what is installed counts. ValueError for a
    name that no package has: what else the listing says is then nothing to go by."""
    found = []
    for line in _lines(text):
        cells = line.split("\t")
        if len(cells) == 4 and cells[3] in ("installed", "half-configured", "unpacked", "triggers-pending"):
            found.append(_package(cells[0], cells[1], cells[2] == "hold"))
    return tuple(found)


def rpm(text: str, locks: str) -> Tuple[Package, ...]:
    """Parse lines of name and version between tabs; ``locks`` are the lists of dnf's versionlock plugin. ValueError as
    of dpkg."""
    held = Locks(line.split("#")[0] for line in locks.splitlines())
    found = []
    for line in _lines(text):
        name, _, version = line.partition("\t")
        if version:
            found.append(_package(name, version, held.mean(name)))
    return tuple(found)


def _lines(text: str) -> List[str]:
    lines = text.splitlines()
    few("packages in one listing", len(lines), MOST_PACKAGES)
    return lines


def _package(name: str, version: str, held: bool) -> Package:
    return Package(name_of("package", name), name_of("package version", version), held)


class Locks:
    """Entries of versionlock.list (``nvidia-driver-3:595.71.05-1.el9.*``, ``name = "..."`` of dnf 5) and patterns of
    excludepkgs, looked at once: a name then costs the same however many there are. ValueError for more patterns with
    an asterisk than anybody has."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._names: Set[str] = set()
        globs = set()
        for entry in entries:
            pattern = re.sub(r'^name\s*=\s*"(.*)"$', r"\1", entry.strip()[:400])[:200]
            if pattern and not pattern.startswith(("!", "[")):
                self._names.update((pattern, re.sub(r"-(?:\d+:)?\d[^-]*-[^-]*$|-\d+:\d.*$", "", pattern)))
                if "*" in pattern:
                    globs.add(pattern)
        self._globs = Globs(globs)

    def mean(self, name: str) -> bool:
        return name in self._names or self._globs.match(name)


class Globs:
    """File name patterns, compiled into one. A pattern with five asterisks or more is left out: nobody writes one.
    ValueError for more than MOST_GLOBS."""

    def __init__(self, patterns: Iterable[str]) -> None:
        kept = sorted({pattern for pattern in patterns if pattern.count("*") < 5})
        few("patterns of packages", len(kept), MOST_GLOBS)
        self._match = regex("|".join("(?:%s)" % translate(pattern) for pattern in kept)).match if kept else None

    def match(self, name: str) -> bool:
        return self._match is not None and self._match(name) is not None


class Spared:
    """Entries of Unattended-Upgrade::Package-Blacklist: Python expressions that a package's name begins with. Of those
    only what lists of packages need is tried: whoever recorded the host wrote it. A name is looked up by its
    beginnings, however many entries there are."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._whole: Set[str] = set()
        self._starts: Set[str] = set()
        for pattern in patterns:
            plain = _SPARED.match(pattern[:200])
            if plain is not None:
                start = plain.group(1).replace("\\", "")
                (self._whole if plain.group(3) and not plain.group(2) else self._starts).add(start)

    def mean(self, name: str) -> bool:
        return name in self._whole or any(name[:end] in self._starts for end in range(len(name) + 1))


def apt_pins(text: str) -> List[Tuple[str, str, int]]:
    """Return the stanzas of apt_preferences(5) that pin a version of NVIDIA's packages: (packages, pin, priority)."""
    found = []
    for stanza in re.split(r"\n[ \t]*\n", text.replace("\r", "")):
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
    """Return the words of ``excludepkgs=`` and ``exclude=`` in dnf.conf."""
    found: List[str] = []
    for line in text.splitlines()[:_MOST]:
        name, mark, value = line.partition("=")
        if mark and name.strip() in ("excludepkgs", "exclude"):
            found += value.replace(",", " ").split()[:200]
    return found


def apt_settings(text: str) -> Tuple[Optional[bool], List[str]]:
    """Return what apt.conf.d says: whether unattended upgrades run (None: not said), and what they leave alone.
    ValueError for more patterns than anybody has."""
    text = re.sub(r"(?m)(?:^|\s)(?://|#(?!clear|include)).*$", "", text[:1 << 20])
    said = re.findall(r'APT::Periodic::Unattended-Upgrade\s+"(\d{1,6})"\s*;', text)
    spared = [word for block in re.findall(r"Unattended-Upgrade::Package-Blacklist\s*\{([^}]*)\}", text)
              for word in re.findall(r'"([^"\n]{1,200})"', block)]
    few("patterns of unattended-upgrades", len(spared), MOST_PATTERNS)
    return (said[-1] != "0" if said else None), spared


def blacklisted(pattern: str, name: str) -> bool:
    """Return whether one entry of Unattended-Upgrade::Package-Blacklist means the package."""
    return Spared([pattern]).mean(name)


def locked(pattern: str, name: str) -> bool:
    """Return whether one entry of versionlock.list or excludepkgs means the package."""
    return Locks([pattern]).mean(name)
