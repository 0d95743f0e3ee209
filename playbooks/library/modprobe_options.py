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
  trial:
    description:
      - Whether parameters that a boot has to prove are left to a trial boot (module kernel_cmdline, I(modules)); then
        nothing is written here.
    type: bool
    default: false
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
deferred: {description: Whether the parameters wait for a trial boot; nothing is written., type: bool, returned: always}
note: {description: "Why no trial boot proves them, as a sentence.", type: str, returned: always}
pending: {description: "Parameters whose live value differs, as sentences.", type: list, returned: always}
pending_reboot: {description: Whether a reboot would make them live., type: bool, returned: always}
initramfs_rebuilt: {description: Whether the initramfs was or would be rebuilt., type: bool, returned: always}
code: {description: "Of a failure, its reason; C(other) for an error of the system.", type: str, returned: failure}
not_loaded: {description: Managed modules that are not loaded now., type: list, returned: always}
"""

import platform

from ansible.module_utils import initramfs, module_options
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bootloader import BootloaderError, Why, detect
from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.module_options import known_parameters, live, stale_image
from ansible.module_utils.refusal import Refusal, code_of
from ansible.module_utils.trial_initrd import OWN, commit_options
from ansible.module_utils.tunecheck.parsers.kernel import bls, modprobe

UNCHANGED = "The old initramfs is still in place and boots. Mend the cause and run the play again."


def for_the_trial(module, modules):
    """Return (whether these parameters wait for a trial boot, why they are written at once although a trial is wanted:
    a Refusal, or ""). A trial proves what is added or changed of a module that can be loaded. What is only taken away
    cannot be tried by a command line."""
    try:
        loader = detect(module)
    except BootloaderError:
        return False, Refusal(
            Why.NO_LOADER,
            "module parameters are written at once, without a trial boot: this box has no boot loader that could take "
            "them")
    options = module_options.Options(module, modules, bls.release(loader.kernel()))
    if not (options.changed or (options.rebuild and not options.removed)):
        return False, ""
    if not options.rebuild and not options.installed(module):
        return False, ""
    image = initramfs.tools(options.release).image if options.rebuild else ""
    refusal = loader.trial_refusal(image)
    if not refusal and image and loader.own_initrd(image, OWN) is None:
        refusal = Refusal(
            Why.OTHER_INITRAMFS, "%s loads no initramfs %s beside which another could lie" % (loader.name, image))
    if not refusal and any(char in token for token in options.tokens for char in "$`"):
        refusal = Refusal(
            Why.CHARACTER, "a value with $ or a back-tick cannot stand on the command line of a boot entry")
    if refusal and options.needs_boot():
        return False, Refusal(
            refusal.why,
            "module parameters are written at once, without a trial boot: %s. The old boot entry has them too"
            % refusal)
    return not refusal, ""


def refuse_unknown(module, modules):
    """Fail where an installed module does not know a parameter: the kernel would only log it."""
    for name in sorted(modules):
        known = known_parameters(module, name)
        if known is None:
            continue    # not installed (yet): the driver role brings it
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
            "trial": {"type": "bool", "default": False},
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
    rebuild, deferred, note = None, False, ""
    try:
        if module.params["trial"] and modules and conf == modprobe.CONF:
            deferred, note = for_the_trial(module, modules)
        if before != after and not module.check_mode and not deferred:
            commit_options(after, conf)
        if managed and not deferred:
            rebuild = stale_image(module, managed, after, conf)
        if rebuild and not module.check_mode:
            initramfs.keep_options()
            code, out, err = module.run_command(rebuild)
            if code != 0:
                module.fail_json(msg="%s failed (exit %d): %s. %s" % (
                    " ".join(rebuild), code, (err or out).strip()[-400:], UNCHANGED))
    except (BootloaderError, BoxIOError, OSError, ValueError) as error:
        module.fail_json(msg=str(error), code=code_of(error))
    pending, not_loaded = live(modules)
    pending, after = ([], before) if deferred else (pending, after)     # the trial waits for them, not a mere reboot
    module.exit_json(
        changed=before != after or rebuild is not None,
        deferred=deferred,
        note=note,
        pending=pending,
        pending_reboot=bool(pending),
        initramfs_rebuilt=rebuild is not None,
        not_loaded=not_loaded,
        diff={"before_header": conf, "after_header": conf, "before": before, "after": after},
    )


if __name__ == "__main__":
    main()
