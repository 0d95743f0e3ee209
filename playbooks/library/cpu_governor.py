#!/usr/bin/python
"""Ansible module: the CPU frequency governor and energy preference of every policy, now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cpu_governor
short_description: Set the governor and energy_performance_preference of every cpufreq policy
description:
  - Writes only what differs and reads back what it wrote.
  - Where the kernel has no cpufreq driver (most virtual machines) nothing is changed and I(skipped_reason) says so.
options:
  governor: {description: The governor., type: str, required: true}
  epp: {description: The energy preference; empty to leave it., type: str, default: ""}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
skipped_reason: {description: Why there was nothing to set, or empty., type: str, returned: always}
policies: {description: How many policies there are., type: int, returned: always}
driver: {description: The cpufreq driver., type: str, returned: always}
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import read_text

POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"


def set_value(module, path, want, allowed_path):
    """Write one attribute if it differs. Return whether it differed. The module fails where the value is not offered,
    cannot be written or does not stay."""
    if read_text(path).strip() == want:
        return False
    allowed = read_text(allowed_path).split()
    if allowed and want not in allowed:
        module.fail_json(msg="%s does not offer %r; it offers %s. Set box_spec.cpu to one of these, or to leave."
                         % (path, want, ", ".join(allowed)))
    if not module.check_mode:
        try:
            with open(path, "w", encoding="ascii") as handle:
                handle.write(want)
        except OSError as error:
            module.fail_json(msg="writing %r to %s failed: %s. The firmware or another tool (tuned or "
                             "power-profiles-daemon) may own it." % (want, path, error.strerror))
        if read_text(path).strip() != want:
            module.fail_json(msg="%s reads %r after %r was written; another tool sets it back."
                             % (path, read_text(path).strip(), want))
    return True


def main():
    module = AnsibleModule(
        argument_spec={"governor": {"type": "str", "required": True}, "epp": {"type": "str", "default": ""}},
        supports_check_mode=True,
    )
    governor, epp = module.params["governor"], module.params["epp"]
    policies = sorted(glob.glob(POLICIES))
    before = ["%s: %s" % (path, read_text(path + "/scaling_governor").strip()) for path in policies]
    changed = False
    for path in policies:
        changed |= set_value(module, path + "/scaling_governor", governor, path + "/scaling_available_governors")
        preference = path + "/energy_performance_preference"
        if epp and os.path.exists(preference):
            changed |= set_value(module, preference, epp, path + "/energy_performance_available_preferences")
    reason = "" if policies else "this kernel has no cpufreq driver (a virtual machine, or disabled in the firmware)"
    module.exit_json(
        changed=changed,
        skipped_reason=reason,
        policies=len(policies),
        driver=read_text(policies[0] + "/scaling_driver").strip() if policies else "",
        diff={"before": "\n".join(before) + "\n",
              "after": "\n".join("%s: %s" % (path, governor) for path in policies) + "\n"} if changed else {},
    )


if __name__ == "__main__":
    main()
