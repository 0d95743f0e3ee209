"""Kernel module parameters on a box: in modprobe.d, in the initramfs, live. Read-only.

Options says which parameters differ and whether a boot has to prove the difference; the writing is in
modprobe_options.py (at once) and in trial_initrd.py and kernel_cmdline.py (by a trial)."""

from __future__ import annotations

import os
import platform

from ansible.module_utils import initramfs, programs
from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

__all__ = ["Options", "installed", "known_parameters", "live", "stale_image"]

_SYSTEM = "/sys/module/"


class Options:
    """The declared parameters compared with what the box has. ``release``: the kernel whose initramfs counts."""

    def __init__(self, module, modules, release=""):
        self.modules = modules
        self.release = release or platform.release()
        self.before = read_text(modprobe.CONF)
        self.after = modprobe.render_options(modules) if modules else ""
        self.tokens = modprobe.tokens(modules)
        have, want = modprobe.parse_options(self.before), modprobe.parse_options(self.after)
        #: What modprobe.d lacks or has otherwise; another comment in the file is no difference.
        changed = {name: {key: value for key, value in values.items() if have.get(name, {}).get(key) != value}
                   for name, values in want.items()}
        self.changed = {name: values for name, values in changed.items() if values}
        self.removed = any(key not in want.get(name, {}) for name, values in have.items() for key in values)
        managed = set(have) | set(want)
        self.rebuild = stale_image(module, managed, self.after, modprobe.CONF, self.release) if managed else None

    @property
    def differs(self):
        return bool(self.changed or self.removed or self.rebuild or self.before != self.after)

    def needs_boot(self):
        """Return whether something of it shows, or can break something, at the next boot only: a loaded module that
        does not have its value or does not show it, or an initramfs with a managed module and other options."""
        if self.rebuild:
            return True
        for name, values in self.changed.items():
            if os.path.isdir(_SYSTEM + name):
                differing, _absent, shown = _live({name: values})
                if differing or len(shown) < len(values):
                    return True
        return False

    def installed(self, module):
        """Return whether a module whose options change can be loaded at all."""
        return any(os.path.isdir(_SYSTEM + name) or installed(module, name) for name in self.changed)


def modules_in(listing):
    """Return the normalised names of the modules that an initramfs listing shows."""
    names = (line.split()[-1].rsplit("/", 1)[-1] for line in listing.splitlines() if ".ko" in line)
    return {modprobe.normalise_module(name.split(".ko", 1)[0]) for name in names}


def stale_image(module, wanted, text, conf, release=""):
    """Return the rebuild command when the initramfs holds a managed module but other options for it; else None."""
    tools = initramfs.tools(release)
    if tools is None or not os.path.exists(tools.image):
        return None
    _code, listing, _err = module.run_command([tools.lister, tools.image], check_rc=True)
    inside = modules_in(listing) & {modprobe.normalise_module(name) for name in wanted}
    inner = (tools.text(module, tools.image, conf) or "") if inside else ""
    have, want = modprobe.parse_options(inner), modprobe.parse_options(text)
    differs = any(have.get(name) != want.get(name) for name in inside)
    return tools.rebuild if differs or (modprobe.blacklisted(inner) ^ modprobe.blacklisted(text)) & inside else None


def live(modules):
    """Return (sentences about differing live values, modules not loaded). Reads sysfs, for nvidia.ko the driver's own
    list."""
    return _live(modules)[:2]


def _live(modules):
    pending, not_loaded, shown = [], [], []
    listing = read_text(modprobe.NVIDIA_PARAMS)
    for name in sorted(modules):
        base = _SYSTEM + modprobe.normalise_module(name)
        if not os.path.isdir(base):
            not_loaded.append(name)
            continue
        for parameter, value in sorted(modules[name].items()):
            path = "%s/parameters/%s" % (base, parameter)
            have = modprobe.nvidia_shows(listing, parameter) if base.endswith("/nvidia") else None
            if have is not None:
                path = "%s: %s" % (modprobe.NVIDIA_PARAMS, parameter)
            elif os.path.exists(path):
                have = read_text(path).strip()
            if have is not None:
                shown.append((name, parameter))
                if not modprobe.same_value(value, have):
                    pending.append("%s is %s; expected %s" % (path, have, value))
    return pending, not_loaded, shown


def installed(module, name):
    """Return whether this kernel has the module's file."""
    return known_parameters(module, name) is not None


def known_parameters(module, name):
    """Return the parameters that the installed module knows; None where it is not installed."""
    modinfo = programs.path(module, "modinfo")
    asked = (module.run_command([modinfo, "-F", "parm", file]) for file in modprobe.file_names(name))
    out = next((out for code, out, _err in asked if code == 0), None)
    return None if out is None else {line.split(":", 1)[0] for line in out.splitlines()}
