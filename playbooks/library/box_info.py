#!/usr/bin/python
"""Ansible module: the few facts that the roles decide by, read in one step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: box_info
short_description: Boot id, running kernel, Python, installed tunecheck, receipt and GPU users of a box
description: [Read-only. One module run in place of fact gathering.]
options:
  pci_ids: {description: "What counts as an accelerator, as vendor:device.", type: list, elements: str, default: []}
  applied:
    description: "Digest of the specification: a box whose receipt says that it is applied is not asked for room."
    type: str
    default: ""
  asked_of_boot_loader:
    description: "Kernel parameters that the specification asks for; without any no boot loader is needed."
    type: list
    elements: str
    default: []
  acs_by_setpci:
    description: Whether the specification keeps ACS redirect off by register writes alone.
    type: bool
    default: false
  work:
    description: "What the roles are to do that needs programs: modules, driver (module_utils/programs.py)."
    type: list
    elements: str
    default: []
attributes:
  check_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
boot_id: {description: This boot's id., type: str, returned: always}
kernel: {description: The running kernel's release., type: str, returned: always}
machine: {description: CPU architecture., type: str, returned: always}
python: {description: "Newest suitable interpreter as {path, version}, or empty.", type: dict, returned: always}
installed: {description: Digest of the installed tunecheck, or empty., type: str, returned: always}
receipt: {description: The receipt, or empty., type: dict, returned: always}
trial: {description: Id of the trial that this boot is, or empty., type: str, returned: always}
trial_open: {description: Whether this boot is a trial that nobody has committed., type: bool, returned: always}
files:
  description: >-
    What stands at the paths of this project's own files (playbooks/module_utils/own_files.py), for M(box_files).
  type: dict
  returned: always
trial_ended:
  description: >-
    How the last trial boot ended without a commit, as {trial_id, reason, at}, with empty texts where none did. The
    reason is not_confirmed, not_proven or did_not_come_up.
  type: dict
  returned: always
identity: {description: "What DMI calls this machine, as {serials, uuid}.", type: dict, returned: always}
busy: {description: Processes that hold a GPU and units that serve., type: list, returned: always}
gpus: {description: PCI addresses of the accelerators; empty without pci_ids., type: list, returned: always}
trial_refused:
  description: Why this box cannot boot an entry just once, or empty. It matters where a run would stage a trial.
  type: str
  returned: always
refusals:
  description: >-
    What speaks against a run before its first write, each a sentence or empty. boot_loader: none can be driven;
    room, boot_room: too little on a file system; boards: other GPUs than the specification is about; lockdown: the
    kernel refuses the register writes that the specification asks for; programs: one that drives the boot loader is not
    installed; module_programs: one that the work on modules or the driver needs is not.
  type: dict
  returned: always
"""

import os
import platform

from ansible.module_utils import own_files, preconditions, programs, trial_confirmation
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bootloader import BootloaderError, detect
from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.gpu_users import SERVING_UNIT, gpu_users, serving
from ansible.module_utils.receipt import load
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

#: The checker needs 3.11; Enterprise Linux 9 and Ubuntu 22.04 carry newer ones beside an older python3.
CANDIDATES = ["/usr/bin/python3"] + ["/usr/bin/python3.%d" % minor for minor in (14, 13, 12, 11)]
MINIMUM = (3, 11)
STAMP = "/opt/tunecheck/.digest"


def suitable_python(module):
    """Return the first interpreter of at least MINIMUM, as {path, version}; {} where there is none."""
    for path in CANDIDATES:
        if not os.path.exists(path):
            continue
        code, out, _err = module.run_command([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        version = out.strip()
        if code == 0 and tuple(int(part) for part in version.split(".")) >= MINIMUM:
            return {"path": path, "version": version}
    return {}


def identity():
    """Return what the machine calls itself, as {serials, uuid}: the numbers of system, board and chassis, in this order
    and each once, and ""s or none where there is no DMI. A board's words for "no number" are still among them."""
    def said(name):
        try:
            return " ".join(read_text("/sys/class/dmi/id/" + name).split())[:128]
        except OSError:
            return ""

    numbers = [said(name) for name in ("product_serial", "board_serial", "chassis_serial")]
    return {"serials": list(dict.fromkeys(number for number in numbers if number)), "uuid": said("product_uuid")}


def boot_loader(module):
    """Return (why no boot loader can be driven, why it can boot no trial, which of its programs the box lacks), in the
    words in which the role kernel_cmdline would refuse later; "" where it can, or where nothing is asked of one."""
    asked = module.params["asked_of_boot_loader"]
    if not asked:
        return "", "", ""
    try:
        loader = detect(module, asked)
    except (BootloaderError, BoxIOError, OSError, ValueError) as error:
        return str(error), "", ""
    if missing := programs.lacking(module, loader.programs):
        return "", "", missing
    try:
        return "", loader.trial_refusal() or "", ""
    except (BootloaderError, BoxIOError, OSError, ValueError) as error:
        return "", str(error), ""


def main():
    module = AnsibleModule(argument_spec={"pci_ids": {"type": "list", "elements": "str", "default": []},
                                          "applied": {"type": "str", "default": ""},
                                          "asked_of_boot_loader": {"type": "list", "elements": "str", "default": []},
                                          "acs_by_setpci": {"type": "bool", "default": False},
                                          "work": {"type": "list", "elements": "str", "default": []}},
                           supports_check_mode=True)
    try:
        receipt = load()
    except BoxIOError as error:
        module.fail_json(msg=str(error))
    pci_ids, applied = module.params["pci_ids"], module.params["applied"]
    known = bool(applied) and receipt.get("spec_digest") == applied
    boot_id = read_text("/proc/sys/kernel/random/boot_id").strip()
    trial = cmdline.trial_id(cmdline.tokenize(read_text("/proc/cmdline"))) or ""
    ended = trial_confirmation.ended(boot_id, trial)
    busy = [user.text for user in gpu_users()]
    if serving(module):
        busy.append(SERVING_UNIT)
    no_loader, no_trial, no_program = boot_loader(module)
    asked = [name for work in module.params["work"] for name in programs.needed(work)]
    module.exit_json(
        changed=False,
        boot_id=boot_id,
        kernel=platform.release(),
        machine=platform.machine(),
        python=suitable_python(module),
        installed=read_text(STAMP).strip(),
        receipt=receipt,
        trial=trial,
        trial_open=bool(trial and not trial_confirmation.confirmed()),
        files=own_files.look(),
        trial_ended={"trial_id": ended.trial_id, "reason": ended.reason, "at": ended.at},
        identity=identity(),
        busy=busy,
        gpus=preconditions.accelerators(pci_ids),
        trial_refused=no_trial,
        refusals={"boot_loader": no_loader, "programs": no_program,
                  "module_programs": programs.lacking(module, asked), "boards": preconditions.boards(pci_ids),
                  "room": "" if known or not applied else preconditions.room(),
                  "boot_room": "" if known or not applied else preconditions.boot_room(),
                  "lockdown": preconditions.register_writes(preconditions.lockdown())
                  if module.params["acs_by_setpci"] else ""},
    )


if __name__ == "__main__":
    main()
