#!/usr/bin/python
"""Ansible module: hand the box over to a served model, or back to the one before where it is not accepted."""

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_service
short_description: Install, start and accept the inference unit; the former recipe comes back where it is not accepted
description:
  - Writes recipe, units and API key, starts the unit and waits. The unit is up only after preflight, gate and
    acceptance (its ExecStartPre and ExecStartPost).
  - What was accepted before is kept and brought back when the new one fails; the module fails in either case.
  - A daemon-reload is refused while another container would lose its GPUs by it (see C(guarded_units)).
options:
  state: {description: Whether it should be there., type: str, choices: [present, absent], default: present}
  recipe: {description: Text of the frozen recipe., type: str, default: ""}
  unit: {description: Text of tunecheck-inference.service., type: str, default: ""}
  units: {description: Further units as name to text., type: dict, default: {}}
  secret: {description: "How the engine reads its key: file (name) and line (with {key}).", type: dict, default: {}}
  key: {description: The API key; left out to keep or to make one., type: str}
  enabled: {description: Whether it starts at boot., type: bool, default: true}
attributes:
  check_mode: {support: full}
  diff_mode: {support: full, details: Never of the key.}
author: [tunecheck]
"""
RETURN = r"""
done: {description: "What changed, or would change, as sentences.", type: list, returned: always}
"""

from ansible.module_utils import inference_box as box
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError

ARGUMENTS = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "recipe": {"type": "str", "default": ""},
    "unit": {"type": "str", "default": ""},
    "units": {"type": "dict", "default": {}},
    "secret": {"type": "dict", "default": {}, "no_log": False},
    "key": {"type": "str", "no_log": True},
    "enabled": {"type": "bool", "default": True},
}


def present(module, service, done):
    """Serve what is wanted. The module fails with the reason and what serves instead."""
    given = module.params
    key = box.key_of(given["key"])
    module.no_log_values.add(key)       # a key that was made or kept; an engine may print it
    want = box.files(given["recipe"], given["unit"], given["units"], given["secret"], key)
    differs = box.differing(want)
    mark, accepted, was = box.mark(want), box.accepted(), service.state()
    up = was["ActiveState"] == "active" and accepted == mark
    if was["ActiveState"] == "activating" and accepted == mark and not differs:
        # After a boot: what was accepted is being loaded. A restart would only cost those minutes again.
        up = module.check_mode or service.wait() is None
    done += ["%s: written" % path for path in differs]
    if not service.booted or up:
        enable = given["enabled"] != (was["UnitFileState"] == "enabled")
        done += ["%s: %s" % (box.UNIT, "enabled" if given["enabled"] else "disabled")] if enable else []
        if not module.check_mode:
            box.write(want, differs)
            service.enable(given["enabled"], enable)
        return
    done.append("%s: %s" % (box.UNIT, "restarted" if was["ActiveState"] == "active" else "started"))
    if module.check_mode:
        return
    before = box.keep(accepted, mark)
    service.guard()
    service.stop()
    box.write(want, differs)
    reason = service.start()
    if reason is None:
        box.accept(mark)
        service.enable(given["enabled"], True)
        return
    service.stop()
    if before is None:
        service.enable(False, accepted != mark)
        module.fail_json(msg="%s is not accepted, and does not serve: %s" % (box.name(given["recipe"]), reason),
                         done=done, changed=True)
    box.write(before, list(before))
    again = service.start()
    module.fail_json(done=done, changed=True, msg="%s is not accepted: %s. Rolled back to %s, which %s" % (
        box.name(given["recipe"]), reason, box.name(before[box.RECIPE][0]),
        "serves again." if again is None else "does not start either: %s" % again))


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    service, done = box.Service(module), []
    diff = []
    try:
        if module.params["state"] == "absent":
            done += box.remove_all(service, module.check_mode)
        else:
            missing = [name for name in ("recipe", "unit", "secret") if not module.params[name]]
            if missing:
                module.fail_json(msg="%s: expected with state present" % ", ".join(missing), done=[])
            diff = box.shown(module.params["recipe"], module.params["unit"], module.params["units"])
            present(module, service, done)
    except (BoxIOError, ValueError, OSError) as error:
        module.fail_json(msg=str(error), done=done)
    module.exit_json(changed=bool(done), done=done, diff=diff if done else [])


if __name__ == "__main__":
    main()
