"""A trial is a transaction: module parameters and an initramfs of its own stay the trial's until the commit. One VM for
each program that makes an initramfs, in this order; virtio_blk, whose parameter it is, loads in the initramfs and has
the root disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.box import Box, end_tree, until
from tests.lab.conftest import MakeBox

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "acs,cmdline,modules")
OWN = "/boot/tunecheck-trial.img"
IMAGE = "/boot/initrd.img-$(uname -r)"
LIVE = "cat /sys/module/virtio_blk/parameters/queue_depth"
# What the old entry boots: kernel, initramfs, its whole text in grub.cfg, and what modprobe reads.
OLD = f"sha256sum /boot/vmlinuz-$(uname -r) {IMAGE} /boot/grub/grub.cfg /etc/modprobe.d/* /etc/default/grub.d/*"
# The same, and the initramfs by what is in it: its archive has the time of its making.
ALL = ("sha256sum /boot/vmlinuz-* /boot/grub/grub.cfg /etc/modprobe.d/* /etc/default/grub.d/*; ls /boot /etc/grub.d; "
       f"unmkinitramfs {IMAGE} /tmp/unpacked && cd /tmp/unpacked && find . -type f | sort | xargs -d '\\n' sha256sum | "
       "grep -v -e '/var/cache/ldconfig/' -e /dracut/build-parameter.txt; rm -r /tmp/unpacked")
#: What makes the default initramfs anew.
MAKERS = {"initramfs-tools": "update-initramfs -u", "dracut": f"dracut --force {IMAGE} $(uname -r)"}
#: Making an initramfs took 4 min without KVM on a busy machine, and a play that stages one 14 min.
SECONDS = 1800
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=MAKERS)
def lab(request: pytest.FixtureRequest, shared_box: MakeBox) -> Iterator[Box]:
    """The box that these tests work on."""
    image = {"base": request.getfixturevalue("dracut_image")} if request.param == "dracut" else {}
    box = shared_box(layout="switch", **image)
    # The image's own was made in a chroot, where the hook for fsck finds no file system.
    box.ssh(MAKERS[request.param], timeout=SECONDS)
    box.first = box.ssh(ALL, timeout=600)  # type: ignore[attr-defined]
    # QEMU's emulated kernel may panic at power-on, and boot once more.
    box.extra = boots(box, 0) - 1  # type: ignore[attr-defined]
    yield box


def spec(depth: int | str) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs"]}, "modules": {"virtio_blk": {"queue_depth": depth}}}


def boots(box: Box, extra: int | None = None) -> int:
    """How often it booted, the boot of the fixture included, and no boot before that."""
    before: int = box.extra if extra is None else extra  # type: ignore[attr-defined]
    return box.boots() - before


def receipt(box: Box) -> dict[str, Any]:
    return json.loads(box.ssh("cat /var/lib/tunecheck/receipt.json"))  # type: ignore[no-any-return]


def digest(box: Box, path: str) -> str:
    return box.ssh(f"sha256sum {path}").split()[0]


def test_a_good_trial_commits_the_initramfs_that_it_booted(lab: Box) -> None:
    lab.set_spec(spec(64))
    before, image, live = lab.ssh("cat /etc/modprobe.d/* | sha256sum"), digest(lab, IMAGE), lab.ssh(LIVE).strip()
    assert live == "0"
    with lab.popen(*TRIAL, playbook=PLAY, start_new_session=True) as play:
        try:
            until(lambda: lab.armed() or play.poll() is not None, "the play never staged the trial", seconds=SECONDS)
            assert lab.ssh("cat /etc/modprobe.d/* | sha256sum") == before and digest(lab, IMAGE) == image
            own = digest(lab, OWN)
            text, _ = play.communicate(timeout=SECONDS)
        except BaseException:
            end_tree(play.pid)
            raise
    assert play.returncode == 0, text
    assert own != image and boots(lab) == 2
    line = lab.cmdline()
    assert "virtio_blk.queue_depth=64" in line and "tunecheck.initramfs=tunecheck-trial.img" in line
    assert lab.ssh(LIVE).strip() == "64" and receipt(lab)["state"] == "committed"
    assert digest(lab, IMAGE) == own, "what boots by default is the file that was booted"
    assert "options virtio-blk queue_depth=64" in lab.ssh("cat /etc/modprobe.d/zz-tunecheck.conf")
    assert "virtio_blk" not in lab.ssh("cat /boot/grub/grub.cfg")
    assert lab.ssh(f"ls {OWN}; true") == ""


def test_the_second_run_changes_nothing(lab: Box) -> None:
    again = lab.playbook(*TRIAL, playbook=PLAY, timeout=SECONDS)
    assert again.rc == 0 and "changed=0 " in again.stdout and boots(lab) == 2, again


def test_a_parameter_that_breaks_the_initramfs_returns_by_itself(lab: Box) -> None:
    """The module does not load with it, so that the trial has no root disk. Nothing that the old entry boots was
    touched, at no moment: its files have the same digests before, while the trial was staged, and after."""
    before, console = lab.ssh(OLD), len(lab.console())
    lab.set_spec(spec("none"))
    run = lab.playbook(*TRIAL, playbook=PLAY, timeout=SECONDS)
    assert run.rc != 0 and "came back on its old boot entry" in " ".join(run.stdout.split()), run
    assert "virtio_blk.queue_depth=none" in run.stdout
    assert "`none' invalid for parameter `queue_depth'" in lab.console()[console:]
    assert boots(lab) == 4, "the trial and the way back"
    assert lab.ssh(OLD) == before and lab.ssh(f"ls {OWN}; true") == ""
    assert lab.ssh(LIVE).strip() == "64", "the value that was committed, without a command line"
    assert "virtio_blk" not in " ".join(lab.cmdline()) and receipt(lab)["state"] == "reverted"


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    run = lab.playbook(playbook="playbooks/rollback.yml", timeout=SECONDS)
    assert run.rc == 0, run
    assert lab.ssh(ALL, timeout=600) == lab.first  # type: ignore[attr-defined]
    assert lab.ssh(LIVE).strip() == "0"
