"""A UEFI box that boots by systemd-boot: the trial is an entry of its own, booted once by an EFI variable. One VM, in
this order. GRUB's files are on it, too, as on a box that was moved; they boot nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.boot_files import SYSTEMD_BOOT as ALL
from tests.lab.boot_files import SYSTEMD_BOOT_ARMED as ARMED
from tests.lab.box import Box, end_tree, until
from tests.lab.conftest import LayerImage, MakeBox

from lab import recipe

PLAY = "playbooks/provision.yml"
TRIAL = ("--tags", "cmdline")
ENTRIES = "/boot/efi/loader/entries"
# A box without KVM that is asked all the time has no time for the play.
WAIT_ARMED = f"sleep 3; {ARMED}"
SECONDS = 1800
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, uefi_image: LayerImage) -> Iterator[Box]:
    """The box that this file works on."""
    box = shared_box(layout="switch", firmware="uefi", base=uefi_image(recipe.SYSTEMD_BOOT))
    box.first = box.ssh(ALL)  # type: ignore[attr-defined]
    yield box


def spec(*tokens: str) -> dict[str, Any]:
    return {"kernel": {"cmdline": ["pci=noacs", *tokens]}}


def options(entry: str) -> list[str]:
    return next(line.split()[1:] for line in entry.splitlines() if line.startswith("options"))


def receipt(box: Box) -> dict[str, Any]:
    return json.loads(box.ssh("cat /var/lib/tunecheck/receipt.json"))  # type: ignore[no-any-return]


def test_what_cannot_be_had_is_refused_before_the_first_write(lab: Box) -> None:
    """An ESP that has no room for the trial's entry; in check mode, too."""
    lab.ssh("head -c 60M /dev/zero >/boot/efi/full; sync", check=False)
    before = lab.ssh(ALL)
    lab.set_spec(spec())
    run = lab.playbook(*TRIAL, "--check", playbook=PLAY, timeout=SECONDS)
    said = " ".join(run.stdout.split())
    assert run.rc != 0 and "/boot/efi has 0 KiB free; expected 128 KiB for the trial's entry" in said, run
    assert "Nothing was written" in said and lab.ssh(ALL) == before
    lab.ssh("rm /boot/efi/full")


def test_a_good_trial_commits(lab: Box) -> None:
    """site.yml as a whole. The default entry is what it was until the trial has proven itself."""
    entry = lab.ssh(f"cat {ENTRIES}/*.conf")
    with lab.popen(start_new_session=True) as play:
        try:
            until(lambda: "LoaderEntryOneShot" in lab.ssh(WAIT_ARMED) or play.poll() is not None,
                  "the play never staged the trial", seconds=SECONDS)
            assert lab.ssh(f"cat $(ls {ENTRIES}/*.conf | grep -v tunecheck)") == entry
            assert "tunecheck.trial=" in lab.ssh(f"cat {ENTRIES}/tunecheck-trial.conf")
            text, _ = play.communicate(timeout=SECONDS)
        except BaseException:
            end_tree(play.pid)
            raise
    assert play.returncode == 0, text
    assert lab.boots() == 2 and "tunecheck.trial=" in lab.ssh("cat /proc/cmdline")
    assert receipt(lab)["state"] == "committed"
    added = options(lab.ssh(f"cat {ENTRIES}/*.conf"))[len(options(entry)):]
    assert "disable_acs_redir" in " ".join(added) and not [word for word in added if word.startswith("tunecheck.")]
    assert lab.ssh("cat /etc/kernel/cmdline").split()[-len(added):] == added, "for the next kernel"
    assert lab.ssh(ARMED) == "" and lab.ssh(f"ls {ENTRIES} | wc -l").strip() == "1"


def test_a_second_run_changes_nothing(lab: Box) -> None:
    before = lab.ssh(ALL)
    run = lab.playbook(timeout=SECONDS)
    assert run.rc == 0 and "changed=0 " in run.stdout and lab.boots() == 2, run
    assert lab.ssh(ALL) == before


def test_a_panic_returns_to_the_old_entry_by_itself(lab: Box) -> None:
    before = lab.ssh(ALL)
    lab.set_spec(spec("rdinit=/nonexistent", "init=/nonexistent"))
    run = lab.playbook(*TRIAL, playbook=PLAY, timeout=SECONDS)
    assert run.rc != 0 and "came back on its old boot entry" in " ".join(run.stdout.split()), run
    assert "Kernel panic" in lab.console() and lab.boots() == 4, "the trial and the way back"
    line = lab.ssh("cat /proc/cmdline")
    assert "nonexistent" not in line and "tunecheck.trial" not in line and "disable_acs_redir" in line
    assert receipt(lab)["state"] == "reverted" and lab.ssh(ALL) == before and lab.ssh(ARMED) == ""


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    run = lab.playbook(playbook="playbooks/rollback.yml", timeout=SECONDS)
    assert run.rc == 0, run
    assert lab.ssh(ALL) == lab.first  # type: ignore[attr-defined]


def test_a_trial_with_an_initramfs_of_its_own_commits_what_it_booted(lab: Box) -> None:
    """virtio_blk has the root disk, so its parameter must be in the initramfs. The trial's lies on the ESP, too."""
    kernel, image = "$(ls -d /boot/efi/*/$(uname -r))", "/boot/initrd.img-$(uname -r)"
    loaded, own = f"{kernel}/initrd.img-$(uname -r)", f"{kernel}/tunecheck-trial.img"

    def digests(*paths: str) -> list[str]:
        return [line.split()[0] for line in lab.ssh(f"sha256sum {' '.join(paths)}").splitlines()]

    old = digests(loaded, image)
    lab.set_spec({**spec(), "modules": {"virtio_blk": {"queue_depth": 64}}})
    with lab.popen("--tags", "acs,cmdline,modules", playbook=PLAY, start_new_session=True) as play:
        try:
            until(lambda: "LoaderEntryOneShot" in lab.ssh(WAIT_ARMED) or play.poll() is not None,
                  "the play never staged the trial", seconds=SECONDS)
            assert digests(loaded, image) == old, "what the old entry loads is not touched"
            made = digests(own)[0]
            text, _ = play.communicate(timeout=SECONDS)
        except BaseException:
            end_tree(play.pid)
            raise
    assert play.returncode == 0, text
    assert "tunecheck-trial.img" in lab.ssh("cat /proc/cmdline")
    assert lab.ssh("cat /sys/module/virtio_blk/parameters/queue_depth").strip() == "64"
    assert receipt(lab)["state"] == "committed" and digests(loaded, image) == [made, made] != old
    assert lab.ssh(f"ls {own}; ls /boot/tunecheck-trial.img", check=False) == ""
    assert "options virtio-blk queue_depth=64" in lab.ssh("cat /etc/modprobe.d/zz-tunecheck.conf")
