"""The reasons why a driver must not be changed on a box: sentences that say what is wrong, what was expected, how to
mend it. Pure, judged before the first write."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from ...util.at_first_use import regex
from .driver_packages import RELEASES, Release
from .driver_types import Box, Want
from .package_versions import ordered, upstream

__all__ = ["absent", "driver_of", "headers_name", "in_use", "kernels", "mirrorless", "mixed", "release_of",
           "secure_boot", "unplanned"]

_EL = {"rhel", "rocky", "almalinux", "centos"}
#: nvidia-settings and the like have versions of their own; the container toolkit's are 1.x.
_PART = regex(r"^(?:nvidia-|libnvidia-|libcuda1$|libcudadebugger1$|libnvcuvid1$|libnvsdm|cuda-drivers|"
              r"firmware-nvidia-gsp|kmod-nvidia|xserver-xorg-video-nvidia|lib(?:egl|glx|gles)-nvidia)")
_OWN = regex(r"^nvidia-(?:settings|xconfig|modprobe|persistenced|prime|driver-assistant|driver-pinning|"
             r"cuda-toolkit|fs)")
_DRIVER = regex(r"^[0-9]{3}\.[0-9]{1,4}(?:\.[0-9]{1,4})?$")


def release_of(box: Box) -> Optional[Release]:
    """Return the entry for the box's distribution and release. None where nothing here is known of them."""
    name = box.distribution.lower()
    release = box.release.partition(".")[0] if name in _EL else box.release
    return RELEASES.get(("el" if name in _EL else name, release))


def driver_of(name: str, version: str) -> Optional[str]:
    """Return the driver's version in the version of a package. None where the package is no part of the driver."""
    found = upstream(version)
    return found if _PART.match(name) and not _OWN.match(name) and _DRIVER.match(found) else None


def unplanned(box: Box, want: Want) -> Iterator[str]:
    """Yield the reasons why nothing can be planned at all."""
    known = release_of(box)
    if known is None:
        yield ("no driver packages are known for %s %s; expected one of %s; set driver.source to leave and install the "
               "driver by hand" % (box.distribution or "an unknown distribution", box.release, _releases()))
        return
    if box.arch not in ("x86_64", "aarch64"):
        yield ("no driver packages are known for machine %s; expected x86_64 or aarch64; set driver.source to leave"
               % (box.arch or "type unknown"))
    elif want.source == "nvidia" and box.arch not in known.machines:
        yield ("NVIDIA's repository %s was seen for %s only, not for %s; set driver.source to mirror or leave"
               % (known.path, ", ".join(known.machines), box.arch))
    if want.source not in ("nvidia", "distribution", "mirror"):
        yield "driver.source is %s; expected nvidia, distribution or mirror" % (want.source or "empty")
    if want.modules not in ("dkms", "precompiled"):
        yield "driver.modules is %s; expected dkms or precompiled" % (want.modules or "empty")
    if not want.version:
        yield ("driver.version is not set; expected an exact release such as 595.71.05: what is not said cannot be "
               "held; set driver.version, or driver.source to leave")
    elif not _DRIVER.match(want.version):
        yield "driver.version is %s; expected an exact release such as 595.71.05" % want.version
    yield from mirrorless(want)
    if not box.next_kernel:
        yield ("which kernel boots next could not be told; expected one, because the module must be there for it; look "
               "at the boot loader's default entry")
    if want.source == "distribution" and not known.distribution:
        yield ("%s %s has no driver packages of its own that are known here; set driver.source to nvidia or mirror"
               % (box.distribution, box.release))
    elif want.modules == "precompiled" and not (known.distribution == "ubuntu" and want.source == "distribution"):
        yield ("precompiled open modules are known from Ubuntu's own repository only (signed by Canonical); %s from "
               "source %s has none; set driver.modules to dkms" % (box.distribution, want.source))


def mirrorless(want: Want) -> Iterator[str]:
    """Yield what a mirror lacks: its address, or the fingerprint of its key."""
    if want.source == "mirror":
        if not want.mirror:
            yield ("driver.source is mirror, but driver.mirror is not set; expected https://... or file:///folder; set "
                   "driver.mirror")
        if not want.mirror_fingerprint:
            yield ("driver.source is mirror, but driver.mirror_fingerprint is not set; expected the 40 hex digits of "
                   "the key that signs it (gpg --show-keys); set driver.mirror_fingerprint")


def absent(box: Box, want: Want, missing: Dict[str, Optional[Tuple[str, ...]]], offered: bool,
           components: Tuple[str, ...]) -> Iterator[str]:
    """Yield what is not offered. ``missing``: required packages without the wanted version, and the versions that are
    offered, None where any would do; ``offered``: whether any package of the set is."""
    if not offered:
        first = sorted(missing)[:4]
        where = "with the components %s" % " ".join(components) if components else "and refresh the package lists"
        yield ("none of the driver's packages is offered to %s; expected %s; enable the repository %s"
               % (box.distribution, ", ".join(first) + ", ...", where))
        return
    manager = "apt" if box.distribution.lower() in ("debian", "ubuntu") else "dnf"
    alike: Dict[str, List[str]] = {}
    near = ""
    for name, versions in sorted(missing.items(), key=lambda each: each[0]):
        if versions is None:
            yield ("%s belongs to the driver's packages on this box, but is not offered; expected any version of it; "
                   "enable a repository that has it" % name)
        else:
            alike.setdefault(", ".join(ordered(versions, manager)[-5:]) or "not at all", []).append(name)
            near = near or _nearest(want.version or "", [upstream(each) for each in versions], manager)
    for there, names in alike.items():
        yield ("driver.version is %s, but it is not offered for %s (offered: %s); expected %s of every part; set "
               "driver.version to a release that is offered for all%s, or driver.source to a repository that has it"
               % (want.version, ", ".join(names), there, want.version, " (nearest: %s)" % near if near else ""))


def _nearest(wanted: str, offered: List[str], manager: str) -> str:
    known = ordered(set(each for each in offered if _DRIVER.match(each)), manager)
    same = [each for each in known if each.partition(".")[0] == wanted.partition(".")[0]]
    below = [each for each in same or known if ordered([each, wanted], manager)[0] == each]
    pool = same or known
    return (below[-1] if below else pool[0]) if pool else ""


def kernels(box: Box, want: Want, offered_headers: Dict[str, bool], modules: Dict[str, bool]) -> Iterator[str]:
    """Yield the kernels that would get no module. ``offered_headers``: for each kernel whose headers are not there,
    whether they are offered; ``modules``: for each kernel, whether its precompiled module package is offered."""
    for kernel, offered in offered_headers.items():
        if want.modules == "dkms" and not offered:
            yield ("the headers of the %s kernel %s are neither installed nor offered, so DKMS would build no module "
                   "for it; expected %s; %s" % (_role(box, kernel), kernel, headers_name(box, kernel),
                                                _headers_remedy(box, kernel)))
    for kernel, offered in modules.items():
        if not offered:
            yield ("there is no precompiled module for the %s kernel %s; expected "
                   "linux-modules-nvidia-%s-server-open-%s; boot a kernel that has one, or set driver.modules to dkms"
                   % (_role(box, kernel), kernel, (want.version or "").partition(".")[0], kernel))


def headers_name(box: Box, kernel: str) -> str:
    """Return the package with the headers of a kernel: linux-headers-<release> on Debian and Ubuntu,
    kernel-devel-<release> on EL."""
    return ("linux-headers-%s" if box.distribution.lower() in ("debian", "ubuntu") else "kernel-devel-%s") % kernel


def _role(box: Box, kernel: str) -> str:
    return "running" if kernel == box.kernel else "next"


def _headers_remedy(box: Box, kernel: str) -> str:
    if kernel == box.kernel and box.next_kernel != box.kernel:
        return "reboot into %s first, then run the play again" % box.next_kernel
    return "install a kernel whose headers are offered, reboot, then run the play again"


#: Where DKMS keeps the certificate of the key that it signs with: Ubuntu's own place, and everybody else's.
_UBUNTU_KEY, _KEY = "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"
_ENROL = ("mokutil --import {path} (it asks for a new password); reboot, choose Enroll MOK on the console, give that "
          "password")
_KEY_STATES = {
    "waits": ("waits for its confirmation on the console",
              "reboot, choose Enroll MOK on the console, give the password of its import"),
    "not_enrolled": ("is not enrolled", "run: " + _ENROL),
    "missing": ("is not there yet", "run: {makes}; " + _ENROL),
    "untested": ("could not be tested", "run: {install} dkms mokutil"),
}


def secure_boot(box: Box, want: Want) -> Iterator[str]:
    """Yield a refusal where the kernel would refuse a module built on the box, with the steps that enrol its key."""
    if box.secure_boot and want.modules == "dkms" and box.key != "enrolled":
        system = box.distribution.lower()
        state, steps = _KEY_STATES[box.key]
        told = steps.format(path=_UBUNTU_KEY if system == "ubuntu" else _KEY, makes=box.makes_key,
                            install="apt-get install" if system in ("debian", "ubuntu") else "dnf install")
        yield ("Secure Boot is on and the key that DKMS signs modules with %s, so the kernel would refuse the module; "
               "expected an enrolled key; %s; then run this play again%s. Or switch Secure Boot off" % (
                   state, told, ". Or use Ubuntu's signed modules (driver.source distribution, driver.modules "
                   "precompiled)" if system == "ubuntu" else ""))


def in_use(box: Box, want: Want) -> Iterator[str]:
    """Yield a refusal where processes use the GPUs: the driver can't be changed under a running process."""
    if box.gpu_users and not want.drain:
        yield ("the GPUs are in use: %s; expected none while the driver changes; stop them, or set driver.drain to "
               "true where it is the inference unit alone" % "; ".join(box.gpu_users[:5]))


def mixed(box: Box, want: Want) -> Iterator[str]:
    """Yield a refusal where parts of two drivers are installed, neither of them the wanted one. With the wanted one
    among them it is an interrupted transaction, which the same transaction mends."""
    found: Dict[str, List[str]] = {}
    for name, version in sorted(box.installed.items()):
        driver = driver_of(name, version)
        if driver:
            found.setdefault(driver, []).append(name)
    if len(found) > 1 and want.version not in found:
        parts = "; ".join("%s (%s)" % (driver, ", ".join(names[:3])) for driver, names in sorted(found.items()))
        yield ("packages of %d drivers are installed: %s; expected one; bring the box back to one of them by hand "
               "(apt-get remove, dnf remove), then run the play again" % (len(found), parts))


def _releases() -> str:
    return ", ".join("%s %s" % key for key in sorted(RELEASES))
