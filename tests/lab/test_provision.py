"""One box from nothing to proven, then everything that may go wrong on a settled box, then rolled back.

The tests of this file follow each other on one VM (25 s a boot under emulation), in this order.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.lab.box import BIN, REPO, Box, end_tree, until
from tests.lab.conftest import MakeBox

from lab import access, qmp

PORTS = ("0000:02:00.0", "0000:02:01.0")
NO_BOOT = {"boot": {"trial": False, "reboot": "never"}}


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox) -> Iterator[Box]:
    """The box that this file works on."""
    box = shared_box(layout="switch")
    # A foreign file that overwrites what came before it, as hosters install them. Ours is read after it.
    box.ssh("echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"lab.foreign=1\"' >/etc/default/grub.d/99-x.cfg; update-grub 2>&1")
    box.first_boot = box.boot_id()  # type: ignore[attr-defined]
    box.first_grub = box.ssh("cat /boot/grub/grub.cfg")  # type: ignore[attr-defined]
    for port in PORTS:
        assert box.ssh(f"setpci -s {port} ECAP_ACS+6.w").strip() == "001d", "the kernel should have turned ACS on"
    yield box


def recap(text: str) -> str:
    return next(line for line in reversed(text.splitlines()) if "changed=" in line)


def test_the_inventory_of_init_is_complete_and_check_mode_writes_nothing(lab: Box, tmp_path: Path) -> None:
    """The box is read over ssh; the play plans with what was written, edited in no other line than those to change.
    Its cards are stand-ins, which only the profile `lab` takes for accelerators."""
    written, ssh = tmp_path / "box1", {"ANSIBLE_SSH_COMMON_ARGS": f'-F "{lab.machine.folder / access.CONFIG}"'}
    init = subprocess.run([sys.executable, "-m", "tunecheck", "init", lab.machine.name, "-o", written],
                          cwd=REPO, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, **ssh, "PYTHONPATH": str(REPO / "checks")})
    assert init.returncode == 0 and "an inventory for lab," in init.stdout, init.stdout + init.stderr
    assert "GPUs: 0" in init.stdout and "boot loader: GRUB" in init.stdout and "2 lines to complete" in init.stdout
    group = written / "group_vars/inference.yml"
    right = {"profile": "lab", "count": "2"}
    group.write_text("\n".join(re.sub(r"(\w+): .*# CHANGE.*", lambda at: f"{at[1]}: {right[at[1]]}", line)
                               for line in group.read_text().splitlines()))
    run = lab.playbook("-i", str(written), "--check", "--diff", playbook="playbooks/provision.yml", env=ssh)
    assert run.rc == 0, run
    assert "+GRUB_CMDLINE_LINUX_DEFAULT" in run.stdout and "reboot pending" not in run.stdout
    assert "plan for lab (--check: nothing was written)" in run.stdout and "would reboot: once, on trial" in run.stdout
    assert "GPUs: 2 of 2 found" in run.stdout
    left = lab.ssh("ls -d /etc/tunecheck /opt/tunecheck /var/lib/tunecheck /etc/modprobe.d/zz-tunecheck.conf; true")
    assert left == "" and lab.ssh("cat /boot/grub/grub.cfg") == lab.first_grub  # type: ignore[attr-defined]


def test_the_first_run_boots_once_and_proves_the_box(lab: Box) -> None:
    run = lab.playbook()
    assert run.rc == 0, run
    assert lab.boot_id() != lab.first_boot  # type: ignore[attr-defined]
    assert lab.boots() == 2, "exactly one reboot"
    line = lab.ssh("cat /proc/cmdline")
    assert "noacs" in line and "disable_acs_redir=" in line
    assert "lab.foreign=1" in line, "the foreign 99-x.cfg keeps its parameter"
    for port in PORTS:
        assert int(lab.ssh(f"setpci -s {port} ECAP_ACS+6.w"), 16) & 0x2C == 0
    assert "this kernel rejects it" in run.stdout and "it was 0x001d before provisioning" in run.stdout
    assert "\\n" not in run.stdout.split("TASK [preflight : Show the report]")[1].split("TASK")[0]


def test_the_report_as_json(lab: Box) -> None:
    report = lab.report()
    assert report["schema"] == "tunecheck/report/1" and report["exit_code"] == 0
    assert [accelerator["bdf"] for accelerator in report["accelerators"]] == ["0000:03:00.0", "0000:04:00.0"]
    assert [pair["relation"] for pair in report["pairs"]] == ["PIX"]
    found = {(finding["id"], finding["subject"]): finding for finding in report["findings"]}
    for port in PORTS:
        finding = found["acs-redirect", port]
        assert finding["outcome"] == "pass" and finding["layer"] == "behaviour"
        assert "0x001d" in str(finding["evidence"]) + finding["message"]
    assert found["cmdline-rejected", "pci=noacs"]["outcome"] == "warn"


def test_a_recording_is_judged_as_the_live_box(lab: Box, tmp_path: Path) -> None:
    """On the box and on this machine; a snapshot of it too. Without names, and nothing else lost."""
    lab.ssh("cd /tmp && rm -f box.tar.zst raw.tar.zst; "
            "tunecheck preflight --json live.json --record box.tar.zst >/dev/null; "
            "tunecheck preflight --json replay.json --from box.tar.zst >/dev/null; "
            "tunecheck snapshot --from box.tar.zst >snapshot.json; "
            "tunecheck preflight --json snapped.json --from snapshot.json >/dev/null; "
            "tunecheck record -o raw.tar.zst --raw")
    name = lab.ssh("hostname").strip()

    def named(text: str) -> list[Any]:
        """The findings, with the host's name where the bundle has its stand-in."""
        found: list[Any] = json.loads(text.replace("host-1", name))["findings"]
        return found

    live, replay, snapped = (named(lab.ssh(f"cat /tmp/{run}.json")) for run in ("live", "replay", "snapped"))
    assert len(live) > 40 and replay == live and snapped == live
    for kind in ("box", "raw"):
        packed = base64.b64decode(lab.ssh(f"base64 /tmp/{kind}.tar.zst"))
        (tmp_path / kind).write_bytes(packed)
        assert len(packed) < 5 << 20
    here = subprocess.run([sys.executable, "-m", "tunecheck", "preflight", "--json", "--from", str(tmp_path / "box")],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(REPO / "checks")})
    assert named(here.stdout) == live, here.stderr
    boot = lab.ssh("cat /proc/sys/kernel/random/boot_id").strip().encode()
    plain = {kind: zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / kind).read_bytes())
             for kind in ("box", "raw")}
    assert boot in plain["raw"] and boot not in plain["box"]
    assert json.loads(here.stdout)["host"] != name


def test_the_second_run_changes_nothing(lab: Box) -> None:
    before = lab.boot_id()
    run = lab.playbook()
    assert run.rc == 0 and "changed=0" in recap(run.stdout), run
    assert lab.boot_id() == before


def test_testinfra_sees_the_same(lab: Box) -> None:
    """By ssh: without KVM each look through Ansible costs 5 s more. One test is asked that way, as operators do."""
    with tempfile.TemporaryDirectory(prefix="tc-ti-") as short:
        config = Path(short) / "config"
        config.write_text(f"Host *\nControlPath {short}/m\nInclude {lab.machine.folder / access.CONFIG}\n")
        by_ssh = f"ssh://{lab.machine.name}?ssh_config={config}&sudo=True"
        for tests, *hosts in (("tests/testinfra", f"--hosts={by_ssh}"),
                              ("tests/testinfra/test_lab_box.py::test_the_running_kernel_has_the_tokens",
                               "--hosts=ansible://all", f"--ansible-inventory={lab.inventory}")):
            argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, *hosts]
            found = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}    # it calls ansible-inventory
            done = subprocess.run(argv, cwd=REPO, env=found, capture_output=True, text=True, timeout=300, check=False)
            text = done.stdout + done.stderr
            assert done.returncode == 0 and " passed" in text and "skipped" not in text, text


def test_without_root_acs_is_unknown(lab: Box) -> None:
    text = lab.ssh("/usr/local/sbin/tunecheck topo; echo exit $?", user="nosudo")
    assert "exit 3" in text and "UNKNOWN" in text and "no permission" in text


def test_sudo_refused_is_said_plainly(lab: Box) -> None:
    run = lab.playbook("-e", "ansible_user=nosudo")
    assert run.rc != 0 and "sudo" in run.stdout.lower(), run
    assert "changed=0" in recap(run.stdout)


def test_a_failed_update_grub_heals_on_the_next_run(lab: Box) -> None:
    lab.set_spec({**NO_BOOT, "kernel": {"cmdline": ["pci=noacs", "tunecheck_lab.a=1"]}})
    before = lab.ssh("cat /boot/grub/grub.cfg")
    lab.ssh("mv /usr/sbin/update-grub /root/; printf '#!/bin/sh\\necho no room >&2; exit 1\\n' >/usr/sbin/update-grub; "
            "chmod +x /usr/sbin/update-grub")
    try:
        run = lab.playbook("--tags", "cmdline", playbook="playbooks/provision.yml")
        assert run.rc != 0 and "grub.cfg.tunecheck failed" in run.stdout and "no room" in run.stdout, run
        assert lab.ssh("cat /boot/grub/grub.cfg") == before
    finally:
        lab.ssh("mv /root/update-grub /usr/sbin/update-grub")
    run = lab.playbook("--tags", "cmdline", playbook="playbooks/provision.yml")
    assert run.rc == 0 and "reboot pending" in run.stdout, run
    assert "tunecheck_lab.a=1" in lab.ssh("cat /boot/grub/grub.cfg")
    pending = lab.ssh("tunecheck host; echo exit $?")
    assert "exit 1" in pending and "reboot pending" in pending


@pytest.mark.long      # tests/roles has it over the module itself
def test_a_foreign_file_that_overwrites_ours_is_named(lab: Box) -> None:
    try:
        lab.ssh("echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"lab.foreign=2\"' >/etc/default/grub.d/zzz-x.cfg")
        lab.set_spec({**NO_BOOT, "kernel": {"cmdline": ["pci=noacs", "tunecheck_lab.c=1"]}})
        run = lab.playbook("--tags", "cmdline", playbook="playbooks/provision.yml")
        assert run.rc != 0 and "/etc/default/grub.d/zzz-x.cfg" in run.stdout, run
    finally:
        lab.ssh("rm -f /etc/default/grub.d/zzz-x.cfg")


@pytest.mark.long      # tests/roles has it over the module itself
def test_a_full_disk_leaves_the_old_configuration(lab: Box) -> None:
    lab.set_spec({**NO_BOOT, "kernel": {"cmdline": ["pci=noacs", "tunecheck_lab.d=1"]}})
    before = lab.ssh("cat /boot/grub/grub.cfg")
    lab.ssh("set -e; cp -a /etc/default/grub.d /root/; mount -t tmpfs -o size=8k tmpfs /etc/default/grub.d; "
            "cp /root/grub.d/* /etc/default/grub.d/; "
            "dd if=/dev/zero of=/etc/default/grub.d/fill bs=4096 2>/dev/null || true; "
            "cp -a /etc/default/grub.d /root/then")
    try:
        run = lab.playbook("--tags", "cmdline", playbook="playbooks/provision.yml")
        assert run.rc != 0 and "No space left on device" in run.stdout, run
        assert lab.ssh("diff -r /root/then /etc/default/grub.d && echo same").strip() == "same"
        assert lab.ssh("cat /boot/grub/grub.cfg") == before
    finally:
        lab.ssh("umount /etc/default/grub.d; rm -rf /root/grub.d /root/then")


def test_the_bits_are_cleared_again_after_a_bus_error(lab: Box) -> None:
    """QEMU injects a fatal error; the kernel resets the link and says so, and udev starts the unit."""
    lab.ssh("setpci -s 02:00.0 ECAP_ACS+6.w=001d")
    qmp.ask(lab.machine.folder, "human-monitor-command", **{"command-line": "pcie_aer_inject_error dn0 DLP"})
    until(lambda: not int(lab.ssh("setpci -s 02:00.0 ECAP_ACS+6.w"), 16) & 0x2C,
          lambda: lab.ssh("dmesg | tail; systemctl status tunecheck-acs; true"))
    assert "0000:02:00.0: ACSCtl 0x001d -> 0x0011" in lab.ssh("journalctl -b -u tunecheck-acs")


def test_the_second_of_two_plays_refuses(lab: Box) -> None:
    lab.set_spec({})
    with lab.popen("--tags", "cmdline", playbook="playbooks/provision.yml") as first:
        try:
            until(lambda: "process" in lab.ssh("cat /var/lib/tunecheck/provision.lock 2>/dev/null; true")
                  or first.poll() is not None, "the first play never took the lock")
            assert first.poll() is None
            second = lab.playbook("--tags", "cmdline", playbook="playbooks/provision.yml")
            assert second.rc != 0 and "another play works on this box" in second.stdout, second
            assert f"process {first.pid}" in second.stdout
            text, _ = first.communicate(timeout=900)
        finally:
            end_tree(first.pid)
        assert first.returncode == 0, text
    assert lab.ssh("ls /var/lib/tunecheck/provision.lock 2>/dev/null; true") == ""


def test_rollback_removes_everything_and_restores_the_boot(lab: Box) -> None:
    before = lab.boot_id()
    run = lab.playbook(playbook="playbooks/rollback.yml")
    assert run.rc == 0, run
    assert lab.boot_id() != before
    assert lab.ssh("cat /boot/grub/grub.cfg") == lab.first_grub  # type: ignore[attr-defined]
    assert "noacs" not in lab.ssh("cat /proc/cmdline")
    assert lab.ssh(f"setpci -s {PORTS[0]} ECAP_ACS+6.w").strip() == "001d"
    left = lab.ssh("find / -xdev -iname '*tunecheck*' -not -path '/proc/*' -not -path '/root/*'")
    assert "tunecheck" not in left, left
