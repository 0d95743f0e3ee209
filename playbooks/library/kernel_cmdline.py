#!/usr/bin/python
"""Ansible module: this project's tokens on the kernel command line, booted on trial first."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_cmdline
short_description: Own a set of kernel parameters, with a one-shot trial boot
description:
  - Owns tokens, not the line. Parameters that somebody else set are never changed.
  - What has to be done is read from the generated boot configuration and from /proc/cmdline on every run, so a step
    that failed or was interrupted is taken up again.
options:
  state:
    description:
      - C(staged) makes the parameters ready for the next boot, as a trial where I(trial) is set.
      - C(noted) keeps the sums of the kernel and initrd that a staged trial will boot; right before the reboot.
      - C(committed) makes them the default entry's; the running kernel must have them, and must be the one that the
        default entry boots, with the kernel and initrd files that this boot began with.
      - C(given_up) takes a staged trial away and leaves the default entry alone. A trial boot that runs keeps running
        until its guard ends it.
      - C(held) puts the deadline of the trial boot that runs off, once, while a play works on the box.
      - C(absent) takes every trace away.
    type: str
    choices: [staged, noted, committed, given_up, held, absent]
    required: true
  tokens: {description: The parameters to own., type: list, elements: str, default: []}
  modules:
    description:
      - C({module: {parameter: value}}), module parameters that a trial boot proves. They ride on the trial entry's
        command line, and where the initramfs must hold them, the trial loads one of its own. The commit writes
        modprobe.d and puts that initramfs in the place of the default entry's.
    type: dict
    default: {}
  trial: {description: Boot a change once before it becomes the default., type: bool, default: true}
  panic_seconds: {description: Reboot after a panic of the trial boot in this many seconds., type: int, default: 30}
  confirm_seconds:
    description: A trial boot that is not committed within this many seconds of its start reboots into the old entry.
    type: int
    default: 1200
  reason:
    description: With C(given_up), how the trial ended; kept for the reports of the next boots.
    type: str
    choices: [not_proven, did_not_come_up]
    default: did_not_come_up
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
phase:
  description: What this box is in. C(settled), C(staged) (a trial waits for the reboot), C(trial) (a trial is
    running and waits for its verdict), C(pending) (the default entry has it, the running kernel does not).
  type: str
  returned: always
pending_reboot: {description: Whether only a reboot is missing., type: bool, returned: always}
trial_id: {description: Id of the trial that is staged or running., type: str, returned: always}
tokens: {description: The owned tokens, merged., type: list, returned: always}
trial_parameters: {description: Module parameters that only the trial's line has., type: list, returned: always}
bootloader: {description: The boot loader driven., type: str, returned: always}
one_shot: {description: "What boots a trial here just once, in words.", type: str, returned: always}
one_shot_code:
  description: The same as next-entry, loader-entry, boot-next or kexec; empty without a boot loader.
  type: str
  returned: always
by_kexec: {description: Whether this boot is a trial that kexec started., type: bool, returned: always}
watchdog:
  description: >-
    The hardware watchdog that ends a hang of the trial, as {code, device, identity}; code is usable, in_use, software,
    none or unknown.
  type: dict
  returned: always
returns_in:
  description: Seconds after which this trial boot ends by itself unless it is committed; -1 where nothing ends it.
  type: int
  returned: always
code:
  description: Of a failure, its reason (playbooks/module_utils/bootloader/why.py); C(other) for an error of the system.
  type: str
  returned: failure
against:
  description: What contradicts the parameters, as {token, where, declared}, where that is the reason of a failure.
  type: list
  returned: failure
left: {description: "What a commit leaves as it is until the next boot, as sentences.", type: list, returned: always}
"""

from ansible.module_utils import module_options, trial_confirmation, trial_hang, trial_initrd
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bootloader import BootloaderError, detect
from ansible.module_utils.box_io import BoxIOError
from ansible.module_utils.refusal import code_of
from ansible.module_utils.trial_boot import steps
from ansible.module_utils.trial_boot.situation import Situation
from ansible.module_utils.tunecheck.parsers.kernel import bls, modprobe


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "required": True,
                      "choices": ["staged", "noted", "committed", "given_up", "held", "absent"]},
            "tokens": {"type": "list", "elements": "str", "default": []},
            "modules": {"type": "dict", "default": {}},
            "trial": {"type": "bool", "default": True},
            "panic_seconds": {"type": "int", "default": 30},
            "confirm_seconds": {"type": "int", "default": 1200},
            "reason": {"type": "str", "choices": ["not_proven", "did_not_come_up"], "default": "did_not_come_up"},
        },
        supports_check_mode=True,
    )
    state, left = module.params["state"], []
    try:
        modules = module.params["modules"]
        asked = [] if state == "absent" else module.params["tokens"]
        try:
            loader = detect(module, asked)
        except BootloaderError:
            if asked or modules:
                raise
            # A container, or a box that boots from outside: nothing is asked of a boot loader, and nothing is there.
            module.exit_json(changed=False, phase="settled", pending_reboot=False, trial_id="", tokens=[],
                             trial_parameters=[], bootloader="none", one_shot="", one_shot_code="", by_kexec=False,
                             watchdog=trial_hang.watchdog(), returns_in=-1,
                             left=[], diff=[])
        options = module_options.Options(module, modules, bls.release(loader.kernel())) if modules else None
        now = Situation(loader, asked,
                        module.params["confirm_seconds"], module.params["panic_seconds"], options)
        before = loader.rendered(now.configured, loader.retired()) if now.configured else ""
        after = loader.rendered(now.tokens, now.retired) if now.tokens or now.retired else ""
        if state == "staged":
            phase, changed = steps.run_staged(module, loader, now)
        elif state == "committed":
            phase, changed, left = steps.run_committed(module, loader, now)
        elif state == "noted":
            phase, changed, after = "staged" if now.staged else "settled", False, before
            if now.staged and not module.check_mode:
                steps.note_again(loader, now)
        elif state == "held":
            phase, changed, after = "trial" if now.running_trial else "settled", False, before
            if now.running_trial and not module.check_mode:
                trial_confirmation.hold()
        elif state == "given_up":
            phase, changed, after = "settled", steps.run_given_up(module, loader, now), before
        else:
            guarded = bool(now.running_trial and not trial_confirmation.confirmed())
            changed = bool(now.configured or loader.retired() or now.staged or guarded)
            phase = "settled" if now.effective else "pending"
            if changed and not module.check_mode:
                loader.remove()
                trial_initrd.forget()
                # The guard goes with everything else; whoever removes decides when the box reboots.
                left = steps.confirm(now)
    except (BootloaderError, BoxIOError, OSError, ValueError) as error:
        module.fail_json(msg=str(error), code=code_of(error))
    one_shot = loader.one_shot()
    module.exit_json(
        changed=changed,
        phase=phase,
        pending_reboot=phase in ("staged", "pending"),
        trial_id=now.trial_id if phase == "staged" else (now.running_trial or ""),
        tokens=now.tokens,
        trial_parameters=now.trial_parameters,
        bootloader=loader.name,
        one_shot=one_shot.words,
        one_shot_code=one_shot.value,
        by_kexec=now.by_kexec,
        watchdog=trial_hang.watchdog(),
        returns_in=steps.returns_in(now.running),
        left=left,
        diff=[{"before_header": loader.config_path, "after_header": loader.config_path,
               "before": before, "after": after if changed else before},
              *([{"before_header": modprobe.CONF, "after_header": modprobe.CONF, "before": now.options.before,
                  "after": now.options.after}] if now.options and changed else [])],
    )


if __name__ == "__main__":
    main()
