"""A batch of boxes that reboot: real ssh, the real role boot_trial, fewer forks than boxes. Nothing here is measured in
seconds: a box comes back only when all were asked, so a play that holds a fork for each box never gets there."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.rollout.boxes import COMES, LOST, OLD_ENTRY, STAYS, UNPROVEN, Boxes, settled
from tests.ssh_server import SSHD

pytestmark = pytest.mark.skipif(SSHD is None, reason="sshd is not installed")
#: What ssh runs to reach a box whose port is not to be seen from the control node.
THROUGH = """import os, socket, sys, threading
box = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def back():
    while part := box.recv(65536):
        os.write(1, part)
    os._exit(0)
threading.Thread(target=back).start()
while part := os.read(0, 65536):
    box.sendall(part)
os._exit(0)
"""


def _failed(text: str) -> set[str]:
    return set(re.findall(r"(\w+) : ok=\d+ changed=\d+ unreachable=\d+ failed=[1-9]", text))


def test_a_box_that_is_down_holds_no_fork_and_no_other_box(tmp_path: Path) -> None:
    kinds = [LOST, COMES, UNPROVEN, OLD_ENTRY, STAYS, COMES, COMES]
    boxes = Boxes(tmp_path, kinds, down=3)
    lost, first, unproven, old, stays, through, last = boxes.boxes
    for box in boxes.boxes:
        box.waits_for = boxes.boxes
    (tmp_path / "through.py").write_text(THROUGH)
    play = {"hosts": "all", "gather_facts": False, "become": False, "tasks": [{"block": [
        {"import_role": {"name": "boot_trial"}}], "rescue": [{"fail": {"msg": "FAILED {{ inventory_hostname }}"}}]}]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    # Long enough for the slowest machine to ask all of them; without a trial the lost ones are given up soon behind it.
    boxes.say(settled(100, 101), **{box.name: settled(100, 101, on_trial=False) for box in (lost, stays)}, **{
        through.name: {"ansible_ssh_extra_args": f"-o ProxyCommand='{sys.executable} {tmp_path}/through.py %h %p'"}})
    with boxes.running():
        code, text = boxes.run("--forks", "2", "-v")
    assert code == 2 and _failed(text) == {box.name for box in (lost, unproven, old, stays)}, text
    unseen = re.findall(r"changed: \[(\w+)\] => at: \S+ changed: true door: \[\]", text)
    assert unseen == [through.name], "its port is not to be looked at, and it was waited for all the same"
    for box in (first, through, last):
        assert box.log()[-1][1] == "receipt: committed" and box.at("held") < box.at("proved") < box.at("committed")
    assert "the box did not come back within 100 s Power-cycle it." in text
    assert "trial boot failed: the box came back on its old boot entry" in text
    assert [said for _, said in old.log()][-2:] == ["given_up", "receipt: reverted"]
    assert "not committed (state: reverted). - effective layer, fail: redirects" in text
    assert [said for _, said in unproven.log()][-2:] == ["given_up", "receipt: reverted"]
    assert f"the boot id is still {(stays.folder / 'boot_id').read_text()}: the box did not reboot." in text
    # Proven while the play still waited for those that were away.
    assert text.index("Make the proven boot the default") < text.index("no new boot within 100 s")


def test_a_request_that_ansible_repeats_reboots_no_box_twice(tmp_path: Path) -> None:
    """Its connection breaks as the box goes down, and the box is in its trial boot when Ansible tries again."""
    boxes = Boxes(tmp_path, [COMES], down=0.3)
    box, = boxes.boxes
    box.write("slow", "")
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": False,
                                                    "tasks": [{"import_role": {"name": "boot_trial"}}]}]))
    boxes.say({**settled(100, 101), "ansible_ssh_retries": 5})
    with boxes.running():
        code, text = boxes.run("-vv")
    assert "ssh_retry: attempt: 1" in text, "Ansible did not repeat it: this test shows nothing"
    assert [said for _, said in box.log()].count("requested") == 1, box.log()
    assert code == 0, text
