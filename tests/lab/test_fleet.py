"""Two boxes, one audited history: a box is changed by hand, named, put back by the roles; then one stands still.

The tests follow each other on two VMs. Nothing is asked of them but their snapshots."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.box import BIN, REPO, Box
from tests.lab.conftest import MakeBox

pytestmark = pytest.mark.long


class Fleet:
    """Both boxes behind one inventory, and one history."""

    def __init__(self, boxes: dict[str, Box], folder: Path) -> None:
        self.boxes, self.inventory, self.store = boxes, folder / "inventory", folder / "fleet.db"
        hosts = {}
        for name, box in boxes.items():
            made = json.loads((box.inventory / "hosts.yml").read_text())
            hosts[name] = made["all"]["hosts"]["lab"]
        self.inventory.mkdir()
        (self.inventory / "hosts.yml").write_text(json.dumps({"all": {"children": {"rack": {"hosts": hosts}}}}))
        everywhere = self.inventory / "group_vars"
        everywhere.mkdir()
        (everywhere / "all.yml").write_text((REPO / "inventory/lab/group_vars/all.yml").read_text())

    def tunecheck(self, *words: str, seconds: float = 400) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "TUNECHECK_STORE": str(self.store),
               "PYTHONPATH": str(REPO / "checks"), "ANSIBLE_CONFIG": str(REPO / "ansible.cfg"), "COLUMNS": "200"}
        return subprocess.run([sys.executable, "-m", "tunecheck", *words], cwd=REPO, env=env, timeout=seconds,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def audit(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.tunecheck("audit", "-i", str(self.inventory), "--json", *words)
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        print(f"audit: exit {done.returncode}\n{self.tunecheck('fleet').stdout}")
        return done.returncode, json.loads(done.stdout)

    def play(self, *words: str) -> None:
        env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1",
               "ANSIBLE_CONFIG": str(REPO / "ansible.cfg")}
        done = subprocess.run([str(BIN / "ansible-playbook"), "site.yml", "-i", str(self.inventory),
                               "-e", "provision_serial=100%", *words],
                              cwd=REPO, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr


@pytest.fixture(scope="module")
def fleet(shared_box: MakeBox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    boxes = {name: shared_box() for name in ("box1", "box2")}
    for name, box in boxes.items():
        box.ssh(f"hostname {name}; echo {name} >/etc/hostname")
    fleet = Fleet(boxes, folder)
    fleet.play()
    yield fleet


def drift(found: dict[str, Any], host: str) -> dict[str, dict[str, Any]]:
    return {cause["fact"]: cause for cause in found["causes"] if cause["counts"] and host in cause["hosts"]}


def test_two_proven_boxes_are_no_drift(fleet: Fleet) -> None:
    code, found = fleet.audit("--fail-on", "drift", "--fail-on", "fail")
    assert code == 0 and [host["status"] for host in found["hosts"]] == ["ok", "ok"], found["hosts"]
    # What was asked for and this kernel rejects is told every night, and is no drift.
    assert any(cause["standing"] and "noacs" in cause["text"] for cause in found["causes"]), found["causes"]
    code, found = fleet.audit("--fail-on", "drift")
    assert code == 0 and not any(cause["authority"] == "previous" and cause["counts"] for cause in found["causes"])


def test_what_a_hand_changed_is_named_with_before_after_and_since(fleet: Fleet) -> None:
    box = fleet.boxes["box2"]
    box.ssh("sed -i s/uvm_disable_hmm=1/uvm_disable_hmm=0/ /etc/modprobe.d/zz-tunecheck.conf; "
            "apt-mark hold linux-image-amd64; rm /etc/default/grub.d/zz-tunecheck.cfg; update-grub 2>&1")
    box.ssh("systemctl reboot", check=False)
    end = time.monotonic() + 60
    while box.machine.ssh("true", timeout=5).returncode == 0 and time.monotonic() < end:
        time.sleep(1)
    box.wait()
    code, found = fleet.audit("--fail-on", "drift")
    assert code == 1, found
    assert drift(found, "box1") == {}
    named = drift(found, "box2")
    cmdline = next(cause for cause in named.values() if "disable_acs_redir" in json.dumps(cause["before"]))
    assert "disable_acs_redir" not in json.dumps(cmdline["value"]) and not cmdline["intended"], cmdline
    assert (cmdline["since"]["after"], cmdline["since"]["seen"]) == (2, 3)
    text = json.dumps(named)
    assert "uvm_disable_hmm" in text and "held.linux-image-amd64" in text and "acs-persistence" in text, sorted(named)
    held = named["held.linux-image-amd64"]
    assert (held["before"], held["value"]) == ("no", "held")
    said = fleet.tunecheck("blame", "held.linux-image-amd64", "--host", "box2").stdout
    assert "#2..#3" in said and "out of band" in said, said
    assert "held.linux-image-amd64" in fleet.tunecheck("drift", "--host", "box2").stdout


def test_after_the_roles_it_is_clean_and_the_history_has_both(fleet: Fleet) -> None:
    fleet.boxes["box2"].ssh("apt-mark unhold linux-image-amd64")
    fleet.play("-l", "box2")
    code, found = fleet.audit("--fail-on", "drift", "--fail-on", "fail")
    assert code == 0 and drift(found, "box2") == {}, drift(found, "box2")
    said = fleet.tunecheck("history", "--host", "box2", "--fact", "held.linux-image-amd64").stdout
    assert "#2..#3" in said and "#3..#4" in said, said


def test_a_box_that_stands_still_is_unknown_and_the_audit_ends_in_time(fleet: Fleet) -> None:
    state = fleet.boxes["box2"].machine.state()
    assert state is not None
    os.kill(state.pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        code, found = fleet.audit("--timeout", "60s", "--fail-on", "drift")
        assert time.monotonic() - begin < 150
    finally:
        os.kill(state.pid, signal.SIGCONT)
    status = {host["host"]: host["status"] for host in found["hosts"]}
    assert code == 3 and status["box1"] == "ok" and status["box2"] in ("unreachable", "timeout"), status
    assert drift(found, "box2") == {}
