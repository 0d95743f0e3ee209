#!/usr/bin/python
"""Ansible module: kernel module parameters in modprobe.d, in the initramfs where the module is, and live."""

from __future__ import annotations

DOCUMENTATION = r"""
module: modprobe_options
short_description: Own kernel module parameters and say what is still missing for them to be live
description:
  - Writes /etc/modprobe.d/zz-tunecheck.conf as a whole; with I(file=nouveau) zz-tunecheck-nouveau.conf.
  - Rebuilds the initramfs only when a managed module is in it and the options in there differ, so a rebuild that failed
    is repeated by the next run.
options:
  modules: {description: "{module: {parameter: value}}.", type: dict, default: {}}
  blacklist: {description: Modules that must not load by themselves., type: list, elements: str, default: []}
  file: {description: Which of our files., type: str, choices: [options, nouveau], default: options}
  state: {description: C(absent) removes the file., type: str, choices: [present, absent], default: present}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
pending: {description: "Parameters whose live value differs, as sentences.", type: list, returned: always}
pending_reboot: {description: Whether a reboot would make them live., type: bool, returned: always}
initramfs_rebuilt: {description: Whether the initramfs was or would be rebuilt., type: bool, returned: always}
not_loaded: {description: Managed modules that are not loaded now., type: list, returned: always}
"""

import os
import platform
import shutil
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, read_text, remove, write_text
from ansible.module_utils.tunecheck.parsers.kernel import modprobe

UNCHANGED = "The old initramfs is still in place and boots. Mend the cause and run the play again."


def image_tools():
    """(image, list command, rebuild command) for this distribution, or None where there is neither."""
    kernel = platform.release()
    if os.path.exists("/usr/sbin/update-initramfs"):
        return "/boot/initrd.img-" + kernel, "lsinitramfs", ["/usr/sbin/update-initramfs", "-u", "-k", kernel]
    if os.path.exists("/usr/bin/dracut"):
        return "/boot/initramfs-%s.img" % kernel, "lsinitrd", ["/usr/bin/dracut", "--force", "--kver", kernel]
    return None


def modules_in(listing):
    """Normalised names of the modules that an initramfs listing shows."""
    names = (line.split()[-1].rsplit("/", 1)[-1] for line in listing.splitlines() if ".ko" in line)
    return {modprobe.normalise_module(name.split(".ko", 1)[0]) for name in names}


def image_text(module, image, conf):
    """Our options file as it lies in the initramfs; None where it is not in there."""
    folder = tempfile.mkdtemp(prefix="tunecheck-")
    try:
        if os.path.exists("/usr/bin/unmkinitramfs"):
            module.run_command(["/usr/bin/unmkinitramfs", image, folder], check_rc=True)
            for base, _dirs, files in os.walk(folder):
                if base.endswith("/etc/modprobe.d") and os.path.basename(conf) in files:
                    return read_text(os.path.join(base, os.path.basename(conf)))
            return None
        code, out, _err = module.run_command(["/usr/bin/lsinitrd", "-f", conf[1:], image])
        return out if code == 0 and out else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stale_image(module, wanted, text, conf):
    """The rebuild command when the initramfs holds a managed module but other options for it; else None."""
    tools = image_tools()
    if tools is None or not os.path.exists(tools[0]):
        return None
    image, lister, rebuild = tools
    _code, listing, _err = module.run_command([lister, image], check_rc=True)
    inside = modules_in(listing) & {modprobe.normalise_module(name) for name in wanted}
    inner = (image_text(module, image, conf) or "") if inside else ""
    have, want = modprobe.parse_options(inner), modprobe.parse_options(text)
    differs = any(have.get(name) != want.get(name) for name in inside)
    return rebuild if differs or (modprobe.blacklisted(inner) ^ modprobe.blacklisted(text)) & inside else None


def live(modules):
    """(sentences about differing live values, modules not loaded). Reads sysfs, for nvidia.ko the driver's own list."""
    pending, not_loaded = [], []
    listing = read_text(modprobe.NVIDIA_PARAMS)
    for name in sorted(modules):
        base = "/sys/module/" + modprobe.normalise_module(name)
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
            if have is not None and not modprobe.same_value(value, have):
                pending.append("%s is %s; expected %s" % (path, have, value))
    return pending, not_loaded


def refuse_unknown(module, modules):
    """Fail where an installed module does not know a parameter: the kernel would only log it."""
    for name in sorted(modules):
        asked = (module.run_command(["/sbin/modinfo", "-F", "parm", file]) for file in modprobe.file_names(name))
        out = next((out for code, out, _err in asked if code == 0), None)
        if out is None:
            continue    # not installed (yet): the driver role brings it
        known = {line.split(":", 1)[0] for line in out.splitlines()}
        for parameter in sorted(modules[name]):
            if parameter not in known:
                module.fail_json(msg="box_spec.modules.%s.%s: the module of kernel %s has no such parameter; it knows "
                                 "%s. Nothing was written." % (name, parameter, platform.release(),
                                                          ", ".join(sorted(known)) or "none"))


def main():
    module = AnsibleModule(
        argument_spec={
            "modules": {"type": "dict", "default": {}},
            "blacklist": {"type": "list", "elements": "str", "default": []},
            "file": {"type": "str", "choices": ["options", "nouveau"], "default": "options"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    modules = module.params["modules"] if module.params["state"] == "present" else {}
    refuse_unknown(module, modules)
    conf = modprobe.NOUVEAU_CONF if module.params["file"] == "nouveau" else modprobe.CONF
    banned = module.params["blacklist"] if module.params["state"] == "present" else []
    before = read_text(conf)
    after = modprobe.render_blacklist(banned) if banned else modprobe.render_options(modules) if modules else ""
    managed = set(modprobe.parse_options(before)) | set(modules) | modprobe.blacklisted(before) | set(banned)
    rebuild = None
    try:
        if before != after and not module.check_mode:
            if after:
                write_text(conf, after)
            else:
                remove(conf)
        if managed:
            rebuild = stale_image(module, managed, after, conf)
        if rebuild and not module.check_mode:
            code, out, err = module.run_command(rebuild)
            if code != 0:
                module.fail_json(msg="%s failed (exit %d): %s. %s" % (
                    " ".join(rebuild), code, (err or out).strip()[-400:], UNCHANGED))
    except BoxIOError as error:
        module.fail_json(msg=str(error))
    pending, not_loaded = live(modules)
    module.exit_json(
        changed=before != after or rebuild is not None,
        pending=pending,
        pending_reboot=bool(pending),
        initramfs_rebuilt=rebuild is not None,
        not_loaded=not_loaded,
        diff={"before_header": conf, "after_header": conf, "before": before, "after": after},
    )


if __name__ == "__main__":
    main()
