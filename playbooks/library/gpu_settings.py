#!/usr/bin/python
"""Ansible module: NVIDIA's persistence daemon, and what set_gpu.py sets on the GPUs, now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_settings
short_description: Enable or disable nvidia-persistenced and run the script that sets the GPUs
description:
  - The unit nvidia-persistenced.service of the driver's packages is enabled and started, or disabled and stopped. One
    that cannot be enabled (Ubuntu's is static) is left to tunecheck-gpu.service, which wants it.
  - Asks the script first what differs, and runs it only then.
  - A box without a driver, and one whose driver does not answer, is no failure; I(skipped_reason) says why. A value
    that a board does not take is one.
options:
  persistence: {description: Whether the daemon should run; left out or null to leave it as it is., type: bool}
  python: {description: Interpreter that has tunecheck and nvidia-ml-py., type: path, required: true}
  script: {description: Path of set_gpu.py on this box; empty to set nothing., type: str, default: ""}
attributes:
  check_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
said: {description: What the script says of each GPU., type: list, elements: str, returned: always}
skipped_reason: {description: Why there was nothing to set or no answer, or empty., type: str, returned: always}
"""

import os

from ansible.module_utils.basic import AnsibleModule

UNIT = "nvidia-persistenced.service"
DRIVER = "/proc/driver/nvidia/version"
DIFFERS = 10


def daemon_steps(state, persistence, driver):
    """Return the systemctl verbs that bring the persistence daemon's unit to the wanted state. ``state`` holds
    LoadState, UnitFileState and ActiveState."""
    running = state.get("ActiveState") in ("active", "activating")
    if state.get("LoadState") != "loaded":
        return []
    if persistence:
        enable = ["enable"] if state.get("UnitFileState") == "disabled" else []
        # It needs the driver, and fails without one.
        return enable + (["start"] if driver and not running else [])
    # A static one is started by udev with persistence mode off: nothing to take away.
    return (["disable"] + (["stop"] if running else [])) if state.get("UnitFileState") == "enabled" else []


def daemon(module, persistence):
    """Bring the persistence daemon to the wanted state; return (changed, why there is nothing to do)."""
    if persistence is None:
        return False, ""
    code, out, err = module.run_command(["systemctl", "show", "-p", "LoadState", "-p", "UnitFileState", "-p",
                                         "ActiveState", UNIT])
    if code != 0:
        return False, "systemd does not answer: %s" % (err or out).strip()[-200:]
    state = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    if persistence and state.get("LoadState") == "masked":
        module.fail_json(msg="%s is masked, so persistence mode would not outlast a reboot. Run: systemctl unmask %s"
                         % (UNIT, UNIT))
    if state.get("LoadState") != "loaded":
        return False, "%s is not installed (it comes with the driver's packages)" % UNIT if persistence else ""
    steps = daemon_steps(state, persistence, os.path.exists(DRIVER))
    for verb in steps if not module.check_mode else ():
        code, out, err = module.run_command(["systemctl", verb, UNIT])
        if code != 0:
            module.warn("systemctl %s %s failed: %s. See journalctl -u %s; preflight judges persistence mode."
                        % (verb, UNIT, (err or out).strip()[-300:], UNIT))
    return bool(steps), ""


def gpus(module, argv):
    """Ask set_gpu.py what differs, and let it set that; return (changed, lines, why nothing was set)."""
    if not os.path.exists(argv[0]) or not os.path.exists(argv[1]):
        return module.check_mode, [], "%s is not installed yet" % argv[1]
    code, out, err = module.run_command([*argv, "--check"])
    if code == DIFFERS and not module.check_mode:
        code, out, err = module.run_command(argv)
        changed = True
    else:
        changed = code == DIFFERS
    lines = [line for line in (out + err).splitlines() if line.strip()]
    if code == 1:
        module.fail_json(msg="%s Change box_spec.gpu, or look at the GPU (tunecheck host)." % "; ".join(lines),
                         said=lines, changed=changed)
    if code not in (0, DIFFERS):
        module.warn("the GPUs could not be set now: %s. tunecheck-gpu.service tries again at the next boot; preflight "
                    "judges the effect." % "; ".join(lines))
        return changed, lines, "; ".join(lines)
    return changed, lines, next((line for line in lines if line.startswith("skip: ")), "")[len("skip: "):]


def main():
    module = AnsibleModule(
        argument_spec={
            "persistence": {"type": "bool"},
            "python": {"type": "path", "required": True},
            "script": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    changed, reason = daemon(module, module.params["persistence"])
    lines = []
    if module.params["script"]:
        more, lines, why = gpus(module, [module.params["python"], module.params["script"]])
        changed, reason = changed or more, "; ".join(each for each in (reason, why) if each)
    module.exit_json(changed=changed, said=lines, skipped_reason=reason)


if __name__ == "__main__":
    main()
