"""Plans the packages of a driver or container toolkit of one exact version on a box, and says what must not be done
there.

Pure planning: ``names`` says what to ask the package manager about, ``plan`` and ``toolkit_plan`` turn its answers into
one explicit set. Nothing is read or written here. Names and repositories: ``driver_packages``."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Optional, Tuple

from ...util.at_first_use import regex
from . import driver_refusals as refusals
from . import driver_sources as sources
from .driver_choice import choose, family_of, fill, flavour, leftovers, parts_of, there
from .driver_packages import TOOLKIT, Family, Part, Release
from .driver_types import Box, Exact, Pin, Plan, Repository, Want
from .package_versions import highest, upstream

__all__ = ["FIRST_BLACKWELL", "INSTALLED_GLOBS", "Box", "Exact", "Pin", "Plan", "Repository", "Want", "flavour",
           "names", "plan", "preflight", "toolkit_names", "toolkit_plan"]

#: For dpkg-query -W and rpm -qa: whatever may belong to a driver, a toolkit or their holds.
INSTALLED_GLOBS = ("*nvidia*", "cuda-drivers*", "libcuda1*", "libcudadebugger1", "libnv*", "nvlsm*", "infiniband-diags",
                   "linux-image-*", "linux-headers-*", "linux-generic*", "linux-virtual*", "linux-modules-*",
                   "kernel-devel*", "dkms", "gcc*", "make", "elfutils-libelf-devel")
#: unattended-upgrades matches from the beginning of a name. Package names have no character that needs a backslash.
_BLACKLIST = ("nvidia-", "libnvidia-", "libcuda", "libnvcuvid", "libnvoptix", "libnvsdm", "nvlsm", "cuda-drivers",
              "firmware-nvidia-", "linux-modules-nvidia-", "linux-objects-nvidia-", "linux-signatures-nvidia-",
              "xserver-xorg-video-nvidia")
_KERNELS = ("linux-image-", "linux-headers-", "linux-modules-")
_TOOLS = {"apt": ("dkms", "gcc", "make"), "dnf": ("dkms", "gcc", "make", "elfutils-libelf-devel")}
FIRST_BLACKWELL = 570    # CUDA 12.8, the first toolkit with Blackwell, needs >= 570.26 (its release notes)


def names(box: Box, want: Want) -> Tuple[str, ...]:
    """Return the packages whose available versions ``plan`` needs (apt-cache madison NAME..., dnf repoquery
    NAME...)."""
    release = refusals.release_of(box)
    family = family_of(release, want) if release else None
    if release is None or family is None or not want.version:
        return ()
    asked = [name for _, name in parts_of(family, box, want)]
    asked += [name for name, version in sorted(box.installed.items()) if refusals.driver_of(name, version)]
    asked += [*_TOOLS[release.manager], *(headers.name for _, headers in _headers(box, release))]
    return tuple(dict.fromkeys(asked))


def plan(box: Box, want: Want) -> Plan:
    """Return the plan for ``want``. ``install`` names the whole set, also what is installed at that version already: an
    explicit set is one transaction, and apt leaves alone what is there."""
    release = refusals.release_of(box)
    unplanned = tuple(refusals.unplanned(box, want))
    family = family_of(release, want) if release else None
    if unplanned or release is None or family is None:
        return Plan(version=want.version or "", problems=unplanned)
    version = want.version or ""
    parts = {name: part for part, name in parts_of(family, box, want)}
    chosen, missing = choose(family, box, want, release.manager)
    install = tuple(Exact(name, chosen[name]) for name in chosen)
    wanting = tuple(each for each in install if not there(box, each))
    remove = leftovers(box, chosen, want)
    repository, problems = sources.repository(release, box, want)
    prerequisites, lacking = _prerequisites(box, want, release)
    problems += _refusals(box, want, family)
    if missing:
        offered = any(box.available.get(name) for name in parts)
        problems += refusals.absent(box, want, missing, offered, family.components)
    problems += [*_kernel_problems(box, want, release, chosen), *lacking]
    if wanting or remove:
        problems += refusals.in_use(box, want)
    kernel_hold = _kernel_hold(box, version) if want.modules == "precompiled" and want.hold else ()
    apt = release.manager == "apt"
    return Plan(
        version=version, prerequisites=prerequisites, install=install, missing=wanting, remove=remove,
        dkms_package=_dkms(family, box, want, install), hold=tuple(chosen) if want.hold else (),
        kernel_hold=kernel_hold,
        pins=_pins(family, chosen, parts, version) if want.hold and apt else (),
        blacklist=(*_BLACKLIST, *(_KERNELS if kernel_hold else ()), *(f"{name}$" for name in kernel_hold))
        if want.hold and apt else (),
        versionlock=_locks(install) if want.hold and not apt else (), repository=repository,
        components=family.components, problems=tuple(problems), notes=tuple(_notes(box, want, parts, chosen, remove)))


def preflight(box: Box, want: Want) -> Tuple[str, ...]:
    """Return the refusals for which the driver's repository is not needed, so that they can be asked before it is
    configured. ``available`` may hold compilers and headers alone. They are a part of ``plan``'s problems."""
    release = refusals.release_of(box)
    unplanned = tuple(refusals.unplanned(box, want))
    family = family_of(release, want) if release else None
    if unplanned or release is None or family is None:
        return unplanned
    problems = [*sources.repository(release, box, want)[1], *_refusals(box, want, family)]
    if want.modules == "dkms":
        problems += [*_kernel_problems(box, want, release, {}), *_prerequisites(box, want, release)[1]]
    chosen, missing = choose(family, box, want, release.manager)
    wanting = [name for name in chosen if not there(box, Exact(name, chosen[name]))]
    if missing or wanting or leftovers(box, chosen, want):
        problems += refusals.in_use(box, want)
    return tuple(problems)


def toolkit_names(box: Box) -> Tuple[str, ...]:
    """Return the packages of the container toolkit. The tuple is empty on a distribution that is not known here."""
    return tuple(part.name for part in TOOLKIT.parts) if refusals.release_of(box) else ()


def toolkit_plan(box: Box, version: str, source: str, hold: bool = True, mirror: Optional[str] = None,
                 mirror_fingerprint: Optional[str] = None) -> Plan:
    """Return the plan for the container toolkit's packages, all at one version. ``source``: nvidia or mirror."""
    release = refusals.release_of(box)
    want = Want(version, source, mirror=mirror, mirror_fingerprint=mirror_fingerprint)
    if release is None:
        return Plan(version=version, problems=("no container toolkit is known for %s %s; set runtime.toolkit to null "
                                              "and install it by hand" % (box.distribution, box.release),))
    chosen: Dict[str, str] = {}
    problems = list(refusals.mirrorless(want))
    for part in TOOLKIT.parts:
        offered = box.available.get(part.name, ())
        fitting = [each for each in offered if upstream(each) == version]
        if fitting:
            chosen[part.name] = highest(fitting, release.manager)
        else:
            problems.append("runtime.toolkit is %s, but %s is offered as: %s; expected all four packages at one "
                            "version; set runtime.toolkit to one that is offered"
                            % (version, part.name, ", ".join(offered[:5]) or "not at all"))
    install = tuple(Exact(name, each) for name, each in chosen.items())
    apt = release.manager == "apt"
    return Plan(
        version=version, install=install, missing=tuple(each for each in install if not there(box, each)),
        hold=tuple(chosen) if hold else (), pins=_pins(TOOLKIT, chosen, {}, version) if hold and apt else (),
        blacklist=("nvidia-container-", "libnvidia-container") if hold and apt else (),
        versionlock=_locks(install) if hold and not apt else (),
        repository=sources.mirror(release, box, want) if source == "mirror" else sources.toolkit(release, box),
        problems=tuple(problems))


def _refusals(box: Box, want: Want, family: Family) -> List[str]:
    """Return what the box itself refuses, whatever is offered."""
    problems = [*refusals.secure_boot(box, want), *refusals.mixed(box, want)]
    if box.nvswitch and not any(part.on == "nvswitch" for part in family.parts):
        problems.append("this box has NVSwitch, and %s %s has no fabric manager of its own; expected one of the "
                        "driver's version; set driver.source to nvidia or mirror" % (box.distribution, box.release))
    return problems


def _dkms(family: Family, box: Box, want: Want, install: Tuple[Exact, ...]) -> Optional[Exact]:
    known = fill(family.dkms, box, want.version or "").split() if want.modules == "dkms" else []
    return next((each for each in install if each.name in known), None)


def _headers(box: Box, release: Release) -> List[Tuple[str, Exact]]:
    """Return (kernel, package) for the running and the next kernel, where their headers are not there."""
    wanting = [kernel for kernel in dict.fromkeys((box.kernel, box.next_kernel)) if kernel not in box.headers]
    if release.manager == "apt":
        return [(kernel, Exact("linux-headers-%s" % kernel, "")) for kernel in wanting]
    bare = regex(r"\.%s$" % re.escape(box.arch))
    return [(kernel, Exact("kernel-devel", bare.sub("", kernel))) for kernel in wanting]


def _offers(box: Box, package: Exact) -> bool:
    offered = box.available.get(package.name, ())
    return package.version in offered if package.version else bool(offered)


def _kernel_problems(box: Box, want: Want, release: Release, chosen: Dict[str, str]) -> List[str]:
    headers = {kernel: _offers(box, package) for kernel, package in _headers(box, release)}
    modules: Dict[str, bool] = {}
    if want.modules == "precompiled":
        stem = "linux-modules-nvidia-%s-server-open-" % (want.version or "").partition(".")[0]
        modules = {kernel: stem + kernel in chosen for kernel in dict.fromkeys((box.kernel, box.next_kernel))}
    return list(refusals.kernels(box, want, headers, modules))


def _prerequisites(box: Box, want: Want, release: Release) -> Tuple[Tuple[Exact, ...], List[str]]:
    """Return compiler, dkms and headers that are not there, and sentences about tools that are not offered either."""
    if want.modules != "dkms":
        return (), []
    tools = [Exact(name, "") for name in _TOOLS[release.manager] if name not in box.installed]
    lacking = ["DKMS needs %s, which is neither installed nor offered; expected it from %s; enable that repository"
               % (each.name, "EPEL" if each.name == "dkms" and release.manager == "dnf" else "the distribution")
               for each in tools if not _offers(box, each)]
    return (*tools, *(package for _, package in _headers(box, release) if _offers(box, package))), lacking


def _kernel_hold(box: Box, version: str) -> Tuple[str, ...]:
    """Return the metapackages that would bring another kernel or its module package. They are held together, as a new
    kernel has to wait for its module package."""
    kind, modules = flavour(box), "linux-modules-nvidia-%s-server-open-" % version.partition(".")[0]
    known = ["linux-" + kind, "linux-image-" + kind, "linux-headers-" + kind]
    return (*(name for name in known if name in box.installed), modules + kind)


def _pins(family: Family, chosen: Dict[str, str], parts: Dict[str, Part], version: str) -> Tuple[Pin, ...]:
    """Return pins for the chosen packages at their versions and no other, and for the rest of the family at what fits
    them. apt takes the first stanza that fits a version (apt_preferences(5); tried with apt 2.6 on 2026-11-21). 1001:
    apt would go back."""
    by_version: Dict[str, List[str]] = {}
    for name, each in chosen.items():
        if each and (name not in parts or parts[name].follows == "driver"):
            by_version.setdefault(each, []).append(name)
    if not by_version:
        return ()
    every = tuple(name for group in by_version.values() for name in group)
    rest = next(iter(by_version)) if len(by_version) == 1 else version + "-*"
    return (*(Pin(tuple(group), each, 1001) for each, group in by_version.items()), Pin(every, "*", -1),
            Pin(family.globs, rest, 990), Pin(family.globs, "*", -1))


def _locks(install: Tuple[Exact, ...]) -> Tuple[str, ...]:
    """Return the lines of dnf's versionlock plugin: name-epoch:version-release.*"""
    return tuple("%s-%s.*" % each for each in install if each.version)


def _notes(box: Box, want: Want, parts: Dict[str, Part], chosen: Dict[str, str], remove: Tuple[str, ...]) \
        -> Iterator[str]:
    version = want.version or ""
    if int(version.partition(".")[0]) < FIRST_BLACKWELL:
        yield "driver %s knows no Blackwell GPU: those need %d or newer" % (version, FIRST_BLACKWELL)
    others = {refusals.driver_of(name, each) for name, each in box.installed.items()} - {None}
    if len(others) > 1 and version in others:
        yield "parts of %s are installed beside %s: an interrupted change, mended by this one" % (
            ", ".join(sorted(str(each) for each in others - {version})), version)
    if box.secure_boot is None and want.modules == "dkms":
        yield "whether Secure Boot is on could not be read; where it is, an unsigned module will not load"
    if any(re.match(r"^nvidia-fabric-?manager", name) for name in remove) and not box.nvswitch:
        yield "fabric manager is removed: this box has no NVSwitch"
    for name, part in parts.items():
        if not part.verified and name in chosen:
            yield "the name %s was found in no listing of this repository; it is taken because it is offered" % name
        elif not part.verified and part.on == "nvswitch":
            yield "%s is not offered; a box with NVLink 5 switches (HGX B200) needs it" % name
    if want.modules == "precompiled":
        yield ("which driver the module packages carry is in their dependencies, not in their names: apt refuses a "
               "mixture, and modinfo tells after the installation")
