#!/usr/bin/python
"""Ansible module: the NVIDIA driver of one exact version, in one transaction and held, or what was there before."""

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_packages
short_description: Install, hold and prove one exact driver, or return to the packages in the receipt
description:
  - Reads the box, plans the explicit set of packages, and refuses with all problems at once before the first write.
  - The repository is looked at in a temporary folder first, so that check mode and refusals are true.
  - Where DKMS builds the modules, they are built in a temporary folder for the running and the next kernel before any
    driver package is touched.
  - One transaction, then holds; afterwards package, module, firmware and library must have one version.
  - What a killed run left half done is ended by the next one.
options:
  state: {description: C(absent) returns to the receipt's packages., type: str, choices: [present, absent],
    default: present}
  version: {description: Exact release., type: str, default: ""}
  source: {description: Where the packages come from., type: str, choices: [nvidia, distribution, mirror],
    default: distribution}
  mirror: {description: Address of the mirror., type: str, default: ""}
  mirror_fingerprint: {description: Of the key that signs the mirror., type: str, default: ""}
  key: {description: "The repository's armored key, where the control node ships it.", type: str, default: ""}
  modules: {description: How the kernel modules come., type: str, choices: [dkms, precompiled], default: dkms}
  hold: {description: Hold the packages., type: bool, default: true}
  drain: {description: Stop the inference unit before a change., type: bool, default: false}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
version: {description: The installed driver., type: str, returned: always}
actions: {description: "What was done, or would be, in order.", type: list, returned: always}
notes: {description: Worth knowing and no refusal., type: list, returned: always}
pending: {description: "What waits for a reboot, as sentences.", type: list, returned: always}
pending_reboot: {description: Whether a reboot would end that., type: bool, returned: always}
kernels: {description: The running and the next kernel., type: list, returned: always}
nouveau: {description: Whether a nouveau module exists for one of them., type: bool, returned: always}
code: {description: "Of a failure, its reason; C(other) for an error of the system.", type: str, returned: failure}
"""

import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError
from ansible.module_utils.driver_box import DriverError, absent, manager_for, present, touched
from ansible.module_utils.refusal import code_of


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "version": {"type": "str", "default": ""},
            "source": {"type": "str", "choices": ["nvidia", "distribution", "mirror"], "default": "distribution"},
            "mirror": {"type": "str", "default": ""},
            "mirror_fingerprint": {"type": "str", "default": ""},
            "key": {"type": "str", "default": "", "no_log": False},
            "modules": {"type": "str", "choices": ["dkms", "precompiled"], "default": "dkms"},
            "hold": {"type": "bool", "default": True},
            "drain": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    run = present if module.params["state"] == "present" else absent
    try:
        if run is absent and not touched():
            module.exit_json(changed=False, version="", actions=[], notes=[], pending=[], pending_reboot=False,
                             kernels=[], nouveau=False, diff=[])
        # /var/tmp: a trial build needs more than a small /tmp holds.
        with tempfile.TemporaryDirectory(prefix="tunecheck-driver-", dir="/var/tmp") as folder:
            result = run(module, manager_for(module), folder)
    except (DriverError, BoxIOError) as error:
        module.fail_json(msg=str(error), code=code_of(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
