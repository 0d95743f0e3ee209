"""Action plugin: look at a box's power through its BMC, or power-cycle it. On the control node only.

A child does it: a BMC that hangs or floods cannot take Ansible with it, and the password is in no file and no argument
list. It never fails: the tasks behind it ask its code."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from ansible.plugins.action import ActionBase

_CHECKS = os.path.join(os.path.dirname(__file__), "..", "..", "checks")
#: For the child's start, and for the 60 s in which a system may go off.
_MORE = {"checked": 15, "cycled": 75}
_TEXTS = ("address", "ca_file", "confirmed", "fingerprint", "password", "serial", "system", "user", "uuid")


class ActionModule(ActionBase):
    """``state``: checked or cycled; the rest is tunecheck_fleet.bmc.model.Request."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset((*_TEXTS, "state", "seconds", "serials", "unattended", "up"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        given, state = self._task.args, self._task.args["state"]
        asked = {name: str(given.get(name) or "") for name in _TEXTS}
        asked.update({name: bool(given.get(name)) for name in ("unattended", "up")})
        asked.update(state=state, seconds=float(given.get("seconds") or 60),
                     serials=[str(each) for each in given.get("serials") or ()])
        if state == "cycled" and self._task.check_mode:
            raise ValueError("a power cycle is no matter of check mode")
        answer = self._answer(asked, asked["seconds"] + _MORE[state])
        # A message must not hold what a foreign answer echoes.
        if asked["password"]:
            answer["sentence"] = answer["sentence"].replace(asked["password"], "***")
        if not answer["sentence"].endswith((".", "?")):
            answer["sentence"] += "."
        result.update(answer, changed=answer["sent"])
        return result

    @staticmethod
    def _answer(asked, seconds):
        environment = {**{name: value for name, value in os.environ.items() if name != "TUNECHECK_BMC_PASSWORD"},
                       "PYTHONPATH": _CHECKS}
        try:
            done = subprocess.run([sys.executable, "-m", "tunecheck_fleet.bmc"], input=json.dumps(asked), text=True,
                                  env=environment, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            cycled = asked["state"] == "cycled"
            said = "the BMC %s did not come to an end within %d s%s. Log in to its page; where that hangs, restart " \
                   "the BMC (ipmitool mc reset cold)"
            said %= (asked["address"], seconds, ", and may have done it" if cycled else "")
            return {"code": "unsure" if cycled else "hanging", "usable": False, "sent": cycled, "sentence": said}
        try:
            return json.loads(done.stdout)
        except ValueError:
            lines = done.stderr.strip().splitlines()
            return {"code": "not_redfish", "usable": False, "sent": False, "sentence": (
                "asking the BMC %s ended with exit code %d: %s" % (asked["address"], done.returncode,
                                                                   lines[-1][:200] if lines else "no output"))}
