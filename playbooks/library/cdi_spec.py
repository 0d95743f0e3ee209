#!/usr/bin/python
"""Ansible module: the CDI specification of the GPUs, as nvidia-ctk would write it now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cdi_spec
short_description: Keep the CDI specification of NVIDIA's GPUs true, and compare its driver with the loaded module
description:
  - Asks C(nvidia-ctk cdi generate) what the specification would be, and has it written anew where devices, device files
    or the driver's version differ. What only orders the text otherwise is no difference.
  - The toolkit's own units write it to /var/run/cdi (since 1.18); older toolkits have none, then the units of the role
    write it to /etc/cdi.
  - Two files that define the same GPUs in one folder are refused, because engines refuse them.
  - With I(state=absent), the specification that the role's own units wrote is removed; the toolkit's stays.
options:
  engine: {description: Which one reads it., type: str, choices: [podman, docker]}
  state: {description: Whether it should be there., type: str, choices: [present, absent], default: present}
  user: {description: Who must be able to read it; left out for root., type: str}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
writer: {description: "Unit that writes it: nvidia-cdi-refresh or tunecheck-cdi.", type: str, returned: always}
driver: {description: "Driver releases that the specification is made for.", type: list, returned: always}
devices: {description: Names of its devices., type: list, returned: always}
notes: {description: "What an operator should know, as sentences.", type: list, returned: always}
code: {description: "Of a failure, its reason.", type: str, returned: failure}
"""

import glob
import os
import platform
import re
import shutil
from enum import Enum

from ansible.module_utils import bounded, engine_files
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.driver_box.kernels import module_version
from ansible.module_utils.tunecheck.parsers.containers import cdi

CTK = "/usr/bin/nvidia-ctk"
KIND = "nvidia.com/gpu"
#: Where each of the two units writes.
WRITERS = {"nvidia-cdi-refresh": "/var/run/cdi/nvidia.yaml", "tunecheck-cdi": "/etc/cdi/nvidia.yaml"}
UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
         "/lib/systemd/system")
#: Says that /etc/cdi/nvidia.yaml is ours; tunecheck-cdi.service makes it too.
MARK = "/var/lib/tunecheck/cdi.written"
#: nvidia-smi takes 45 s where the GPU's firmware is dead; more would only hold up the play.
SECONDS = 90
AGAIN = "Run: nvidia-ctk cdi generate, read what it says, and run the play again"


class NoCdi(Enum):
    """Why containers would get no GPU by CDI, or a stale one."""

    ENGINE_TOO_OLD = "engine-too-old"
    NO_TOOLKIT = "no-toolkit"
    #: Another file defines the same GPUs.
    RIVAL = "rival"
    NOT_WRITTEN = "not-written"
    #: The unit ran, and the file is not what would be generated now.
    STALE = "stale"
    NOT_GENERATED = "not-generated"
    #: The user of rootless containers cannot read the file.
    HIDDEN = "hidden"


def writer():
    """Return the name of the unit that writes the specification: the toolkit's own where it brings one, else the
    role's."""
    theirs = any(os.path.exists(folder + "/nvidia-cdi-refresh.service") for folder in UNITS)
    return "nvidia-cdi-refresh" if theirs else "tunecheck-cdi"


def parsed(text):
    """Return the specification of this text, None where it is none."""
    try:
        return cdi.parse(text) if text.strip() else None
    except ValueError:
        return None


def same(one, other):
    """Return whether two specifications give containers the same. Pure."""
    if one is None or other is None:
        return one is other
    return all(sorted(getattr(one, part)) == sorted(getattr(other, part)) for part in ("devices", "paths", "drivers")) \
        and one.kind == other.kind


def loaded():
    """Return the release of the loaded driver; "" where none is loaded."""
    found = re.search(r"\s(\d{3}\.\d{2,3}(?:\.\d{2})?)\s", read_text("/proc/driver/nvidia/version"))
    return found[1] if found else read_text("/sys/module/nvidia/version").strip()


def rivals(path):
    """Return other files in the same folder that define GPUs."""
    found = []
    for other in sorted(glob.glob(os.path.dirname(path) + "/*")):
        spec = parsed(read_text(other)) if other.endswith((".yaml", ".json")) and other != path else None
        if spec is not None and spec.kind == KIND:
            found.append(other)
    return found


def generated():
    """Return (specification, its text, "") as nvidia-ctk would write it now; or (None, "", why not)."""
    code, out, err = bounded.run([CTK, "cdi", "generate"], SECONDS)
    spec = parsed(out)
    if code == 0 and spec is not None:
        return spec, out, ""
    words = [line.strip() for line in err.splitlines() if line.strip()]
    return None, "", words[-1][-300:] if words else "it wrote no specification (exit %s)" % code


def refresh(module, unit, path):
    """Let the specification be written: by the unit where systemd runs, else directly. The module fails where that
    fails."""
    if os.path.isdir("/run/systemd/system"):
        code, _out, err = bounded.run(["systemctl", "restart", unit + ".service"], SECONDS + 30)
    else:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        write_text(MARK, "")
        code, _out, err = bounded.run([CTK, "cdi", "generate", "--output=" + path], SECONDS)
    if code != 0:
        module.fail_json(code=NoCdi.NOT_WRITTEN.value,
                         msg="%s could not be written: %s. %s." % (path, err.strip()[-300:] or "exit %s" % code, AGAIN))


def take_away(module):
    """Remove what the role's units wrote; return whether there was anything. Beside the toolkit's own unit it would go
    stale."""
    if not os.path.exists(MARK):
        return False
    if not module.check_mode:
        remove(WRITERS["tunecheck-cdi"])
        remove(MARK)
    return True


def unreadable(path, user):
    """Return a sentence where a user without privileges cannot read the file, else ""."""
    folder = os.path.dirname(path)
    if not user or not os.path.exists(path):
        return ""
    if os.stat(folder).st_mode & 0o005 != 0o005 or not os.stat(path).st_mode & 0o004:
        return ("%s cannot be read by %s (runtime.user); expected o+rx on %s and o+r on the file: chmod o+rx %s; "
                "chmod o+r %s" % (path, user, folder, folder, path))
    return ""


def main():
    module = AnsibleModule(
        argument_spec={
            "engine": {"type": "str", "choices": ["podman", "docker"]},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "user": {"type": "str"},
        },
        required_if=[("state", "present", ["engine"])],
        supports_check_mode=True,
    )
    unit, notes = writer(), []
    path = WRITERS[unit]
    stale = take_away(module) if unit != "tunecheck-cdi" or module.params["state"] == "absent" else False
    if module.params["state"] == "absent":
        module.exit_json(changed=stale, writer=unit, driver=[], devices=[], notes=[])
    engine = module.params["engine"]
    program = shutil.which({"podman": "podman", "docker": "dockerd"}[engine])
    old = engine_files.too_old(engine, module.run_command([program, "--version"])[1] if program else "")
    if old:
        module.fail_json(code=NoCdi.ENGINE_TOO_OLD.value, msg=old + ".")
    if not os.path.exists(CTK):
        if not module.check_mode:
            module.fail_json(code=NoCdi.NO_TOOLKIT.value,
                             msg="%s is not there, so no container can get a GPU; expected the package "
                             "nvidia-container-toolkit-base. Set box_spec.runtime.toolkit to a release, or install it."
                             % CTK)
        module.exit_json(changed=True, writer=unit, driver=[], devices=[],
                         notes=["the toolkit would come first; %s is written after it" % path])
    others = rivals(path)
    if others:
        module.fail_json(code=NoCdi.RIVAL.value,
                         msg="%s and %s define the same GPUs, and engines refuse a device that two files of one folder "
                         "define. Remove %s and run the play again." % (path, others[0], others[0]))
    before = read_text(path)
    now = parsed(before)
    want, after, why = generated()
    outdated = want is not None and not same(now, want)
    changed = outdated or stale
    if outdated and not module.check_mode:
        refresh(module, unit, path)
        after = read_text(path)
        now = parsed(after)
        if not same(now, want):
            module.fail_json(code=NoCdi.STALE.value,
                             msg="%s.service ran, and %s is still not what nvidia-ctk generates. Look at: "
                             "journalctl -u %s -n 30" % (unit, path, unit))
    running = loaded()
    modinfo = shutil.which("modinfo", path="/sbin:/usr/sbin:/usr/bin:/bin")
    installed = module_version(module, platform.release()) if want is None and running and modinfo else ""
    if want is None and running and installed in ("", running):
        module.fail_json(code=NoCdi.NOT_GENERATED.value,
                         msg="nvidia-ctk cdi generate failed with driver %s loaded: %s. %s." % (running, why, AGAIN))
    if want is None:
        later = "driver %s is loaded and %s is installed: %s is written at the next boot" % (running, installed, path)
        notes.append(later if running else "no driver is loaded (%s); %s is written when it is" % (why, path))
    hidden = unreadable(path, module.params["user"])
    if hidden:
        module.fail_json(code=NoCdi.HIDDEN.value, msg=hidden + ".")
    drivers = list((want or now).drivers) if want or now else []
    if running and drivers and drivers != [running]:
        notes.append("the CDI specification is made for driver %s, and %s is loaded: reboot before containers start"
                     % (", ".join(drivers), running))
    module.exit_json(changed=changed, writer=unit, driver=drivers, notes=notes,
                     devices=list((want or now).devices) if want or now else [],
                     diff={"before_header": path, "after_header": path, "before": before if outdated else "",
                           "after": after if outdated else ""})


if __name__ == "__main__":
    main()
