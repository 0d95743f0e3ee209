#!/usr/bin/python
"""Ansible module: the packages of a container engine and of NVIDIA's container toolkit, in one transaction, held."""

from __future__ import annotations

DOCUMENTATION = r"""
module: runtime_packages
short_description: Install the engine where it is missing, and the container toolkit at one exact version, held
description:
  - The four packages of the toolkit go in as one explicit set; a mixture of versions runs containers without GPUs.
  - An engine that is there already is left as it is, whoever installed it.
  - Everything is simulated before the first write. A transaction that would move a kernel, a part of the driver or
    remove anything is refused, and so is any transaction while a running container would lose its GPUs by it.
options:
  state: {description: C(absent) takes files and holds away and leaves the packages., type: str,
    choices: [present, absent], default: present}
  engine: {description: Which one., type: str, choices: [podman, docker]}
  toolkit: {description: Exact release; empty to install none., type: str, default: ""}
  source: {description: Where it comes from., type: str, choices: [nvidia, mirror], default: nvidia}
  mirror: {description: Address of the mirror., type: str, default: ""}
  mirror_fingerprint: {description: Of the key that signs the mirror., type: str, default: ""}
  key: {description: "The repository's armored key, where the control node ships it.", type: str, default: ""}
  user: {description: Who runs containers without root; empty for root., type: str, default: ""}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
actions: {description: "What was done, or would be, in order.", type: list, returned: always}
notes: {description: Worth knowing and no refusal., type: list, returned: always}
code: {description: "Of a failure, its reason; C(other) for an error of the system.", type: str, returned: failure}
"""

import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError
from ansible.module_utils.driver_box import DriverError
from ansible.module_utils.refusal import code_of
from ansible.module_utils.runtime_box import absent, present, runtime_manager


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "engine": {"type": "str", "choices": ["podman", "docker"]},
            "toolkit": {"type": "str", "default": ""},
            "source": {"type": "str", "choices": ["nvidia", "mirror"], "default": "nvidia"},
            "mirror": {"type": "str", "default": ""},
            "mirror_fingerprint": {"type": "str", "default": ""},
            "key": {"type": "str", "default": "", "no_log": False},
            "user": {"type": "str", "default": ""},
        },
        required_if=[("state", "present", ["engine"])],
        supports_check_mode=True,
    )
    try:
        manager = runtime_manager(module)
        if module.params["state"] == "absent":
            result = absent(module, manager)
        else:
            with tempfile.TemporaryDirectory(prefix="tunecheck-runtime-", dir="/var/tmp") as folder:
                result = present(module, manager, folder)
    except (DriverError, BoxIOError) as error:
        module.fail_json(msg=str(error), code=code_of(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
