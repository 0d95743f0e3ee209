"""The parts of a driver on one box, and the package version of each. Pure."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Optional, Tuple

from . import driver_refusals as refusals
from .driver_packages import FAMILIES, Family, Part, Release
from .driver_types import Box, Exact, Want
from .package_versions import highest, ordered, upstream

__all__ = ["choose", "family_of", "fill", "flavour", "leftovers", "parts_of", "there"]


def flavour(box: Box) -> str:
    """Return Ubuntu's kernel flavour, as its metapackages end: generic, or generic-hwe-24.04 where that one is
    installed. "" where the kernel's release has none."""
    plain = box.kernel.split("-", 2)[2] if box.kernel.count("-") >= 2 else ""
    hwe = sorted(name for name in box.installed if re.match(r"^linux-image-%s-hwe-[0-9.]+$" % re.escape(plain), name))
    return hwe[0][len("linux-image-"):] if plain and hwe else plain


def family_of(release: Release, want: Want) -> Optional[Family]:
    """Return the family of packages for a source, or None where there is none. A mirror carries NVIDIA's names."""
    return FAMILIES.get(release.distribution if want.source == "distribution" else release.nvidia)


def parts_of(family: Family, box: Box, want: Want) -> Iterator[Tuple[Part, str]]:
    """Yield the parts that this box needs, with their names filled in."""
    version = want.version or ""
    branch = int(version.partition(".")[0] or "0")
    for part in family.parts:
        if not part.branches[0] <= branch <= part.branches[1] or (part.machines and box.arch not in part.machines):
            continue
        if part.on not in ("always", want.modules) and not (part.on == "nvswitch" and box.nvswitch):
            continue
        if part.name.startswith("nvidia-driver-pinning") and not want.hold:
            continue
        for kernel in dict.fromkeys((box.kernel, box.next_kernel) if "{kernel}" in part.name else (box.kernel,)):
            yield part, fill(part.name, box, version, kernel)


def fill(name: str, box: Box, version: str, kernel: str = "") -> str:
    """Return a name of the table with branch, version, kernel and flavour filled in for this box."""
    return name.format(branch=version.partition(".")[0], version=version, kernel=kernel, flavour=flavour(box))


def choose(family: Family, box: Box, want: Want, manager: str) -> Tuple[
        Dict[str, str], Dict[str, Optional[Tuple[str, ...]]]]:
    """Return {name: version}, and {required package that lacks the version: versions offered, None where any would do}.
    Of several package versions of one release the one that most required parts have is taken, then the newest: Debian's
    parts depend on each other at one revision. What is installed counts as offered: repositories drop old releases."""
    fitting: Dict[str, List[str]] = {}
    spare: Dict[str, List[str]] = {}
    chosen: Dict[str, str] = {}
    missing: Dict[str, Optional[Tuple[str, ...]]] = {}
    for part, name in parts_of(family, box, want):
        offered = _offered(name, box)
        if part.follows == "own":
            if offered:
                chosen[name] = box.installed.get(name, "")
            elif not part.optional and "{kernel}" not in part.name:
                missing[name] = None
            continue
        found = [each for each in offered if upstream(each) == want.version]
        if found:
            (spare if part.optional else fitting)[name] = found
            chosen[name] = ""
        elif not part.optional:
            missing[name] = tuple(offered)
    for name, version in sorted(box.installed.items()):
        # A part that somebody added (an encoder library) goes along, where it can.
        if name not in chosen and refusals.driver_of(name, version) and _keeps(name, box):
            found = [each for each in _offered(name, box) if upstream(each) == want.version]
            if found:
                spare[name], chosen[name] = found, ""
    ranked = _ranked(fitting, manager)
    for name, versions in fitting.items():
        chosen[name] = next(each for each in ranked if each in versions)
    used = [each for each in ranked if each in {chosen[name] for name in fitting}]
    for name, versions in spare.items():
        if name.startswith("nvidia-driver-pinning"):
            chosen[name] = highest(versions, manager)
        elif set(versions) & set(used):
            chosen[name] = next(each for each in used if each in versions)
        else:
            del chosen[name]
    return chosen, missing


def _ranked(fitting: Dict[str, List[str]], manager: str) -> List[str]:
    """Return the package versions, that of most parts first, and the newer of equals before the older."""
    counts: Dict[str, int] = {}
    for version in (each for versions in fitting.values() for each in versions):
        counts[version] = counts.get(version, 0) + 1
    newest_first = ordered(counts, manager)[::-1]
    return sorted(newest_first, key=lambda version: -counts[version])


def _offered(name: str, box: Box) -> Tuple[str, ...]:
    installed = box.installed.get(name)
    return tuple(dict.fromkeys((*box.available.get(name, ()), *((installed,) if installed else ()))))


def _keeps(name: str, box: Box) -> bool:
    """Return whether a package may stay. It may not where it conflicts with the open modules, or belongs to NVSwitch on
    a box without one."""
    closed = re.match(r"^(?:nvidia-kernel-dkms|nvidia-dkms|nvidia-dkms-[0-9]+(?:-server)?|nvidia-kernel-source"
                      r"|nvidia-kernel-source-[0-9]+(?:-server)?|kmod-nvidia-latest-dkms|nvidia-tesla.*)$", name)
    fabric = re.match(r"^nvidia-fabric-?manager|^cuda-drivers-fabricmanager", name)
    return not (closed or name.startswith("nvidia-driver-pinning") or (fabric and not box.nvswitch))


def leftovers(box: Box, chosen: Dict[str, str], want: Want) -> Tuple[str, ...]:
    """Return the installed parts that would be left at another version, or that do not belong on this box."""
    return tuple(name for name, installed in sorted(box.installed.items())
                 if name not in chosen and _in_the_way(name, installed, box, want))


def _in_the_way(name: str, installed: str, box: Box, want: Want) -> bool:
    if name.startswith("nvidia-driver-pinning"):
        return True
    if re.match(r"^linux-(?:modules|objects)-nvidia-", name):
        # Modules of the same branch for other kernels stay: they are the way back to those.
        same = re.match(r"^linux-(?:modules|objects)-nvidia-%s-" % (want.version or "").partition(".")[0], name)
        return want.modules == "dkms" or not same or (name.startswith("linux-modules") and "-server-open-" not in name)
    driver = refusals.driver_of(name, installed)
    return driver is not None and (driver != want.version or not _keeps(name, box))


def there(box: Box, package: Exact) -> bool:
    """Return whether the package is installed, at its version where one is asked for."""
    installed = box.installed.get(package.name)
    return installed is not None and package.version in ("", installed)
