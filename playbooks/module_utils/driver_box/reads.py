"""What the planner needs to know about the box. Read only."""

from __future__ import annotations

import glob
import os
import platform

from ansible.module_utils.box_io import read_text
from ansible.module_utils.gpu_users import SERVING_UNIT, gpu_users, serving
from ansible.module_utils.tunecheck.parsers.packages.driver_set import INSTALLED_GLOBS, Box

from .kernels import next_kernel, with_headers

__all__ = ["os_release", "read_box"]

#: UEFI specification, global variable GUID.
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: The certificate that DKMS signs with: Ubuntu's, Debian's and Enterprise Linux's (dkms 3.2.2, prepare_mok).
_CERTIFICATES = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub")
#: What mokutil --test-key says, and Box.key.
_ANSWERS = (("already enrolled", "enrolled"), ("enrollment request", "waits"), ("not enrolled", "not_enrolled"))
_DKMS = "/usr/sbin/dkms"
#: As DKMS itself does it (prepare_signing).
_BY_OPENSSL = ("openssl req -new -x509 -nodes -days 36500 -subj '/CN=DKMS module signing key' -newkey rsa:2048 "
               "-keyout /var/lib/dkms/mok.key -outform DER -out /var/lib/dkms/mok.pub")
#: HGX B200: its NVSwitches are no PCI functions; eight of these boards are the sign.
_HGX_BOARDS = {"0x2901"}


def os_release(text):
    """Return the fields of os-release."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, value in pairs}


def secure_boot():
    """Return whether Secure Boot is on; None where the variable cannot be read. Four bytes of attributes come first."""
    if not os.path.isdir("/sys/firmware/efi"):
        return False
    try:
        with open(_SECURE_BOOT, "rb") as handle:
            content = handle.read()
    except FileNotFoundError:
        return False if os.path.isdir(os.path.dirname(_SECURE_BOOT)) else None
    except OSError:
        return None
    return content[4:5] == b"\x01"


def signing_key(module):
    """Return the state of the key that DKMS signs with, as Box.key has it."""
    program = module.get_bin_path("mokutil")
    path = next((each for each in _CERTIFICATES if os.path.exists(each)), None)
    if not program or not (path or os.path.exists(_DKMS)):
        return "untested"
    if not path:
        return "missing"
    _code, out, err = module.run_command([program, "--test-key", path], environ_update={"LC_ALL": "C"})
    # Its exit code has meant both over the years; the words have not changed.
    answer = out + err
    return next((state for words, state in _ANSWERS if words in answer), "untested")


def makes_key(ubuntu):
    """Return the command that makes a missing key. Debian 12's DKMS (3.0.10) makes one only while it builds."""
    if ubuntu:
        return "update-secureboot-policy --new-key"
    return "dkms generate_mok" if "generate_mok" in read_text(_DKMS) else _BY_OPENSSL


def nvidia_functions():
    """Return (class, device id) of NVIDIA's PCI functions, as sysfs prints them."""
    folders = (os.path.dirname(path) for path in glob.glob("/sys/bus/pci/devices/*/vendor")
               if read_text(path).strip() == "0x10de")
    return [(read_text(folder + "/class").strip(), read_text(folder + "/device").strip()) for folder in folders]


def nvswitch(functions):
    """Return whether NVSwitches are in this machine: bridges of NVIDIA's, or the eight boards of an HGX."""
    return (any(kind.startswith("0x0680") for kind, _device in functions)
            or sum(device in _HGX_BOARDS for _kind, device in functions) >= 8)


def read_box(module, manager, draining):
    """Return the Box without ``available``. ``draining``: the inference unit and its processes do not count as
    users."""
    release = os_release(read_text("/etc/os-release"))
    kernel, after = platform.release(), next_kernel(module)
    users = [user.text for user in gpu_users() if not (draining and user.of_unit)]
    if serving(module) and not draining:
        users.append(SERVING_UNIT)
    return Box(
        distribution=release.get("ID", ""), release=release.get("VERSION_ID", ""), arch=platform.machine(),
        kernel=kernel, next_kernel=after, secure_boot=secure_boot(), key=signing_key(module),
        makes_key=makes_key(release.get("ID", "") == "ubuntu"),
        nvswitch=nvswitch(nvidia_functions()), headers=with_headers((kernel, after)),
        installed=manager.installed(INSTALLED_GLOBS), gpu_users=tuple(users), held=tuple(manager.held()))
