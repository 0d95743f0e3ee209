#!/usr/bin/python
"""Ansible module: write down what the plays did to this box. The receipt explains, it is never evidence."""

from __future__ import annotations

DOCUMENTATION = r"""
module: box_receipt
short_description: Update /var/lib/tunecheck/receipt.json
options:
  state:
    description: Where the box's boot configuration stands; left out to keep it.
    type: str
    choices: [clean, staged, trial, committed, reverted]
  note: {description: One sentence for the history., type: str, required: true}
  spec_digest: {description: Digest of the applied specification., type: str, required: true}
  git_revision: {description: Revision of the roles., type: str, default: unknown}
  trial_id: {description: Id of the trial, if any., type: str, default: ""}
  tokens: {description: The owned kernel parameters., type: list, elements: str, default: []}
  acs:
    description: "ACS control registers as found, {bdf: 0x001d}; kept only the first time."
    type: dict
    default: {}
attributes:
  check_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
receipt: {description: The receipt as it now is., type: dict, returned: always}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.receipt import load, now, remember, save

STATES = ["clean", "staged", "trial", "committed", "reverted"]
#: Enough to see a year of changes; the file stays small.
KEEP = 50


def updated(receipt, params, boot_id, at):
    """Return the next receipt. Pure."""
    new = {"schema": "tunecheck/receipt/1", "state": "clean", "before": None, "history": [], **receipt}
    new.update(spec_digest=params["spec_digest"], git_revision=params["git_revision"], boot_id=boot_id,
               trial_id=params["trial_id"] or None, tokens=params["tokens"], state=params["state"] or new["state"])
    if params["acs"]:
        new = remember(new, "acs", params["acs"], boot_id, at)
    entry = {"at": at, "state": new["state"], "note": params["note"]}
    new["history"] = [*new["history"], entry][-KEEP:]
    return new


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": STATES},
            "note": {"type": "str", "required": True},
            "spec_digest": {"type": "str", "required": True},
            "git_revision": {"type": "str", "default": "unknown"},
            "trial_id": {"type": "str", "default": ""},
            "tokens": {"type": "list", "elements": "str", "default": []},
            "acs": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    boot_id = read_text("/proc/sys/kernel/random/boot_id").strip()
    try:
        new = updated(load(), module.params, boot_id, now())
        if not module.check_mode:
            save(new)
    except BoxIOError as error:
        module.fail_json(msg=str(error))
    # A diary entry is not a change of the box.
    module.exit_json(changed=False, receipt=new)


if __name__ == "__main__":
    main()
