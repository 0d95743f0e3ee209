"""What the role boot_trial does when a box does not come back from its reboot.

The BMC's emulator and the QEMU behind it are real; the box is this one, with modules that answer as a box that hangs
until it is reset. Ansible never reboots over a local connection: that failure stands for the reboot that nobody came
back from."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.bmc.conftest import SERIAL, Bmc
from tests.bmc.plays import play, said

RESET = "RESET host-qmp-system-reset"
_MODULE = """from ansible.module_utils.basic import AnsibleModule
import json, os
module = AnsibleModule({{name: {{"type": "raw"}} for name in {options}}}, supports_check_mode=True)
back = os.path.exists({flag!r})
{body}
"""
_BODIES = {
    "ping": ("['data']", "module.exit_json(ping='pong') if back else module.fail_json(msg='it hangs')"),
    "box_info": ("[]", "module.exit_json(busy=[], boot_id='two' if back else 'one', trial='', identity={identity!r},"
                       " trial_ended={{'trial_id': '', 'reason': '', 'at': ''}})"),
    "kernel_cmdline": ("['state', 'tokens', 'modules', 'reason']", "module.exit_json(changed=False)"),
    "box_receipt": ("['state', 'note', 'spec_digest', 'git_revision', 'trial_id', 'tokens', 'acs']",
                    "open({receipt!r}, 'a').write(module.params['state'] + ': ' + module.params['note'] + chr(10))\n"
                    "module.exit_json(changed=False)"),
}
pytestmark = pytest.mark.usefixtures("quiet")


@contextmanager
def comes_back(bmc: Bmc, flag: Path, at_all: bool) -> Iterator[list[str]]:
    """The box answers again as soon as QEMU was reset; yields QEMU's events."""
    seen: list[str] = []
    ended = threading.Event()

    def listen() -> None:
        while not ended.wait(0.2):
            seen.extend(bmc.guest.events())
            if at_all and RESET in seen:
                flag.touch()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def reboot(tmp_path: Path, bmc: Bmc, policy: str) -> subprocess.CompletedProcess[str]:
    identity = {"serials": [SERIAL], "uuid": ""}
    (tmp_path / "library").mkdir()
    for name, (options, body) in _BODIES.items():
        body = body.format(identity=identity, receipt=str(tmp_path / "receipt"))
        (tmp_path / f"library/{name}.py").write_text(
            _MODULE.format(options=options, flag=str(tmp_path / "back"), body=body))
    spec = {"boot": {"reboot": "auto", "reboot_when_busy": False, "timeout_seconds": 4}}
    (tmp_path / "play.yml").write_text(json.dumps([{
        "hosts": "all", "gather_facts": False, "become": False, "vars": {
            "kernel_cmdline_trial_id": "abc", "kernel_cmdline_merged": ["a"], "pcie_acs_registers": {},
            "boot_trial_on_trial": True, "boot_trial_waiting": [], "boot_trial_confirm_seconds": 1,
            "boot_trial_power_cycle": policy, "boot_trial__bmc_box": identity,
            "box_spec_frozen": {"digest": "d", "spec": spec}},
        "tasks": [{"include_role": {"name": "boot_trial", "tasks_from": "bmc"}},
                  {"include_role": {"name": "boot_trial", "tasks_from": "reboot"}}]}]))
    return play(tmp_path, bmc, playbook=str(tmp_path / "play.yml"), ansible_connection="local",
                ansible_python_interpreter=sys.executable)


def test_a_box_that_hangs_in_its_trial_is_back_on_the_old_entry(quiet: Bmc, tmp_path: Path) -> None:
    with comes_back(quiet, tmp_path / "back", at_all=True) as events:
        done = reboot(tmp_path, quiet, "auto")
    assert done.returncode == 2 and events == [RESET], done.stdout
    assert "on its old boot entry (boot two), because it hung and this play power-cycled it: the BMC" in said(done)
    assert (tmp_path / "receipt").read_text().splitlines()[-1] == (
        "reverted: the trial boot did not come up; power-cycled through the BMC, the old entry booted")


def test_a_box_that_does_not_come_back_from_the_power_cycle_either(quiet: Bmc, tmp_path: Path) -> None:
    with comes_back(quiet, tmp_path / "back", at_all=False) as events:
        done = reboot(tmp_path, quiet, "auto")
    assert done.returncode == 2 and events == [RESET], done.stdout
    assert "ForceRestart. It did not come back within 4 s of that either." in said(done)


@pytest.mark.parametrize("policy", ["never", "confirm"])
def test_the_command_is_said_where_nobody_allowed_it(quiet: Bmc, tmp_path: Path, policy: str) -> None:
    with comes_back(quiet, tmp_path / "back", at_all=True) as events:
        done = reboot(tmp_path, quiet, policy)
    assert done.returncode == 2 and events == [], done.stdout
    command = f"ansible-playbook playbooks/power_cycle.yml -i {tmp_path}/hosts.json -l box"
    assert f"{command} -e power_cycle_confirm={SERIAL} Console:" in said(done)
