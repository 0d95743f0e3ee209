"""A box with Secure Boot: Microsoft's keys in the firmware, Debian's signed shim and GRUB, its signed kernel, which is
locked down. One VM, in this order. What the kernel refuses is refused for real; no MOK is enrolled, as nobody is at the
console."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.packages import standin_packages as standins
from lab.packages.apt_repo import Repository
from tests.lab import grub_cell as cell
from tests.lab.box import Box
from tests.lab.conftest import MakeBox

from lab import access

DRIVER = "595.58.03"
MIRROR = "/srv/mirror"
LEFT = "ls -d /etc/tunecheck /opt/tunecheck /var/lib/tunecheck/receipt.json; true"
REFUSED_WRITES = "journalctl -b -k -o cat | grep -c 'direct PCI access is restricted'; true"
# The signature, then its length, stand behind the module.
UNSIGNED = """
module=$(modinfo -n dummy); cp $module /tmp/; cd /tmp; xz -df dummy.ko.xz 2>/dev/null
python3 - <<'F'
signed, end, _ = open("/tmp/dummy.ko", "rb").read().rpartition(b"~Module signature appended~\\n")
assert end
open("/tmp/unsigned.ko", "wb").write(signed[:-12 - int.from_bytes(signed[-4:], "big")])
F
insmod /tmp/unsigned.ko 2>&1; lsmod | grep -c ^dummy; insmod /tmp/dummy.ko && lsmod | grep -c ^dummy; rmmod dummy"""
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, secure_boot_image: Path) -> Iterator[Box]:
    """The box that this file works on."""
    box = shared_box(layout="switch", firmware="secure-boot", base=secure_boot_image)
    box.first = cell.files(box)  # type: ignore[attr-defined]
    yield box


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    made = Repository(tmp_path_factory.mktemp("apt") / "mirror")
    made.publish(standins.driver(DRIVER))
    yield made
    made.close()


def said(text: str) -> str:
    return " ".join(text.split())


def test_the_kernel_is_locked_down(lab: Box) -> None:
    assert "SecureBoot enabled" in lab.ssh("mokutil --sb-state")
    assert "[integrity]" in lab.ssh("cat /sys/kernel/security/lockdown")
    lab.ssh(f"setpci -s {cell.PORTS[0]} ECAP_ACS+6.w=0; true")
    assert cell.acs(lab) == ["001d", "001d"] and lab.ssh(REFUSED_WRITES).strip() != "0"
    refused, count, loaded = lab.ssh(UNSIGNED).splitlines()[-3:]
    assert "insmod" in refused and count == "0" and loaded == "1", "unsigned: refused; Debian's: loads"


def test_setpci_alone_is_refused_before_the_first_write(lab: Box) -> None:
    lab.set_spec(cell.spec(acs={"mechanism": "setpci"}))
    run = lab.playbook(playbook=cell.PLAY, timeout=cell.SECONDS)
    assert run.rc != 0, run
    assert "Nothing was written: kernel lockdown (integrity) refuses writes to PCI configuration space" in said(
        run.stdout), run
    assert lab.ssh(LEFT) == ""


def test_the_plan_says_that_the_command_line_alone_keeps_redirect_off(lab: Box) -> None:
    lab.set_spec(cell.spec())
    run = lab.playbook("--check", playbook=cell.PLAY, timeout=cell.SECONDS)
    plan = said(run.stdout.partition("plan for lab")[2])
    assert run.rc == 0 and "kernel lockdown: integrity; no PCI register is written, the command line alone" in plan, run
    assert "would reboot: once, on trial" in plan and "one-shot that clears redirect" not in plan
    assert lab.ssh(LEFT) == ""


def test_a_good_trial_commits_by_the_command_line_alone(lab: Box) -> None:
    text = said(cell.a_good_trial_commits(lab, cell.spec()))
    assert "tunecheck-acs.service is not installed" in text
    assert lab.ssh("ls /etc/systemd/system/tunecheck-acs.service /etc/udev/rules.d/90-tunecheck-acs.rules; true") == ""
    assert lab.ssh(REFUSED_WRITES).strip() == "0", "nobody tried it in this boot"
    assert lab.ssh("systemctl --failed --no-legend") == ""


def test_a_second_run_changes_nothing(lab: Box) -> None:
    cell.a_second_run_changes_nothing(lab)
    found = {each["id"]: each for each in lab.report()["findings"] if each["id"] in ("kernel-lockdown", "acs-redirect")}
    assert found["kernel-lockdown"]["code"] == "locked-down" and found["acs-redirect"]["outcome"] == "pass"


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    cell.a_panic_returns_by_itself(lab, cell.spec("rdinit=/nonexistent", "init=/nonexistent"))


def test_a_driver_that_dkms_would_build_is_refused_with_the_steps_that_enrol_its_key(
        lab: Box, repository: Repository) -> None:
    """Before the first package moves, and before any reboot: each state of the key has its own next step."""
    pack = subprocess.run(["tar", "c", "-C", str(repository.folder), "."], capture_output=True, check=True).stdout
    argv = access.command(lab.machine.folder, lab.machine.name, f"mkdir {MIRROR} && tar x -C {MIRROR}")
    subprocess.run(argv, input=pack, check=True, timeout=600)
    wanted: dict[str, Any] = cell.spec(driver={
        "version": DRIVER, "source": "mirror", "mirror": f"file://{MIRROR}",
        "mirror_fingerprint": repository.fingerprint})
    lab.set_spec(wanted)
    begun = lab.boots()
    packages = lab.ssh("sha256sum /var/lib/dpkg/status; dkms status; mokutil --list-new; true")

    def refused() -> str:
        run = lab.playbook("--tags", "driver", playbook=cell.PLAY, timeout=cell.SECONDS)
        assert run.rc != 0 and lab.boots() == begun, run
        return said(run.stdout)

    text = refused()
    assert "the key that DKMS signs modules with is not there yet" in text and "run: dkms generate_mok;" in text, text
    assert lab.ssh("sha256sum /var/lib/dpkg/status; dkms status; mokutil --list-new; true") == packages
    lab.ssh("dkms generate_mok", timeout=600)
    text = refused()
    assert "is not enrolled" in text and "run: mokutil --import /var/lib/dkms/mok.pub" in text, text
    lab.ssh("mokutil --generate-hash=secret >/tmp/hash; mokutil --import /var/lib/dkms/mok.pub --hash-file /tmp/hash",
            timeout=300)
    text = refused()
    assert "waits for its confirmation on the console" in text and "choose Enroll MOK on the console" in text, text
    lab.ssh("mokutil --revoke-import; rm -r /var/lib/dkms/mok.*", timeout=300)


def test_where_grub_cannot_write_a_trial_is_refused_before_the_first_write(lab: Box) -> None:
    written = "sha256sum /etc/tunecheck/spec.json /etc/default/grub.d/* /var/lib/tunecheck/receipt.json"
    before = lab.ssh(written)
    lab.set_spec(cell.spec("tunecheck_lab.x=1"))
    lab.ssh("cp -a /boot/grub /root/kept && mount -t tmpfs tmpfs /boot/grub && cp -a /root/kept/. /boot/grub/")
    try:
        run = lab.playbook(*cell.TRIAL, playbook=cell.PLAY, timeout=cell.SECONDS)
        assert run.rc != 0 and lab.ssh(written) == before, run
        assert "a trial boot is not possible here: /boot/grub is on tmpfs (tmpfs), which GRUB cannot write" in said(
            run.stdout), run
    finally:
        lab.ssh("umount /boot/grub; rm -r /root/kept")


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    cell.rollback_restores_every_boot_file(lab, lab.first)  # type: ignore[attr-defined]
