"""The power is cut while a play works on a box: at each step of staging, reboot, proof and commit the box comes back by
itself on a configuration that was proven before, and the next play goes on. One VM for each boot loader, in this order.

A reset from outside stands for the cut: what the kernel had not written yet is lost. The file systems are those that
survive one: ext4 with its journal, btrfs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from lab.image import with_journal
from tests.lab import grub_cell as cell
from tests.lab.boot_files import GRUB, with_esp
from tests.lab.box import Box, end_tree, until
from tests.lab.conftest import MakeBox
from tests.lab.headings import Headings

from lab import recipe

TRIAL = ("--tags", "install,acs,cmdline")
#: Where not a task of the play but the box decides: a kernel starts.
BOOT = "a kernel starts"
_COMMIT = "Make the proven boot the default"
#: (task of the play, seconds after its heading; whether the trial may be the default behind it). Without KVM a task
#: takes about five seconds, so these are its beginning, its middle and its end.
POINTS = [
    ("Install tunecheck", 6, False), ("Write /etc/tunecheck/spec.json", 3, False),
    ("Install the one-shot that clears redirect", 3, False), ("Install the guard of a trial boot", 3, False),
    ("Stage the kernel parameters", 2, False), ("Stage the kernel parameters", 5, False),
    ("Stage the kernel parameters", 9, False), ("Note which kernel and initrd the trial boots", 3, False),
    ("Request the reboot", 2, False), ("Wait until boxes come back", 3, False), (BOOT, 2, False), (BOOT, 15, False),
    ("Prove the effective and behaviour layers", 4, False), (_COMMIT, 1, True), (_COMMIT, 4, True), (_COMMIT, 8, True),
    ("Note in the receipt that it is committed", 2, True),
]
#: What boots by default is whole: GRUB reads it, and kernel and initramfs are the image's.
WHOLE = "grub-script-check /boot/grub/grub.cfg && sha256sum /boot/vmlinuz-* /boot/initrd.img-*"
SECONDS = 1800
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["GRUB on BIOS, ext4", "BootNext on UEFI, btrfs"])
def lab(request: pytest.FixtureRequest, shared_box: MakeBox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """The box that these tests work on, one for each boot loader."""
    if "btrfs" in request.param:
        box = shared_box(layout="switch", firmware="uefi", base=request.getfixturevalue("uefi_image")(recipe.BTRFS))
    else:
        box = shared_box(layout="switch", base=with_journal(tmp_path_factory.mktemp("image")))
    box.ssh("update-grub && sync", timeout=600)
    box.first = box.ssh(_all(box), timeout=600)  # type: ignore[attr-defined]
    box.whole = box.ssh(WHOLE, timeout=600)  # type: ignore[attr-defined]
    box.seen = 0  # type: ignore[attr-defined]
    box.proven = {""}  # type: ignore[attr-defined]
    yield box


def _all(box: Box) -> str:
    uefi = "test -d /sys/firmware/efi && "
    return f"if {uefi}true; then {with_esp(GRUB)}; else cd / && find boot etc/default/grub* etc/grub.d " \
        "etc/modprobe.d -type f | sort | xargs sha256sum; fi"


def spec(number: int) -> dict[str, Any]:
    # The deadline of a trial that nobody attends is the shortest that a play here needs.
    return {"kernel": {"cmdline": ["pci=noacs", f"lab.cut={number}"]}, "boot": {"timeout_seconds": 120,
                                                                                "confirm_seconds": 130}}


def configuration(line: str) -> str:
    """The point whose configuration a command line is of, "" for the image's own."""
    return next((word.partition("=")[2] for word in line.split() if word.startswith("lab.cut=")), "")


@pytest.mark.parametrize(("number", "task", "seconds", "may_commit"), [
    pytest.param(number, *point, id=f"{number}: {point[0]} +{point[1]} s") for number, point in enumerate(POINTS, 1)])
def test_the_box_comes_back_on_what_was_proven(
    lab: Box, number: int, task: str, seconds: float, may_commit: bool, record_property: Any,
) -> None:  # fmt: skip
    lab.set_spec(spec(number))
    # A kernel that QEMU emulates with several threads panics once in a while on its own ("Oops: int3").
    while text := _cut(lab, task, seconds):
        console = len(lab.console())
        assert "Oops: int3" in lab.console()[lab.seen:], text  # type: ignore[attr-defined]
        lab.seen = console  # type: ignore[attr-defined]
        lab.wait()
    cut = time.monotonic()
    until(lambda: "tunecheck.trial=" not in (line := lab.line()) and line != "", "the box is not back", seconds=SECONDS)
    record_property("seconds until it was back on a proven configuration", round(time.monotonic() - cut))
    # Ansible's user may log in a moment later than root.
    until(lambda: lab.machine.ssh("true", user="lab", timeout=30).returncode == 0, "nobody may log in", seconds=SECONDS)
    if may_commit:      # its trial has proven itself, and the commit had begun
        lab.proven.add(str(number))  # type: ignore[attr-defined]
    assert configuration(lab.line()) in lab.proven  # type: ignore[attr-defined]
    assert lab.ssh(WHOLE, timeout=600) == lab.whole  # type: ignore[attr-defined]


def _cut(box: Box, task: str, seconds: float) -> str:
    """Cut the power so long after the heading of a task. What the play printed where it never came so far, else ""."""
    begun = box.boots()
    with box.popen(*TRIAL, playbook=cell.PLAY, start_new_session=True) as play:
        shown = Headings(play)
        try:
            until(lambda: (box.boots() > begun if task is BOOT else shown.has(task)) or play.poll() is not None,
                  "the play never came so far", seconds=SECONDS)
            if play.poll() is not None:
                return shown.text()
            time.sleep(seconds)
            box.cut_power()
        finally:
            end_tree(play.pid)
    return ""


def test_the_next_play_goes_on_to_its_end(lab: Box) -> None:
    lab.set_spec(spec(0))
    lab.wait()
    run = lab.playbook(*TRIAL, playbook=cell.PLAY, timeout=SECONDS)
    assert run.rc == 0 and configuration(lab.line()) == "0", run
    assert cell.receipt(lab)["state"] == "committed"
    again = lab.playbook(*TRIAL, playbook=cell.PLAY, timeout=SECONDS)
    assert again.rc == 0 and "changed=0 " in again.stdout, again


def test_rollback_restores_every_boot_file(lab: Box) -> None:
    run = lab.playbook(playbook="playbooks/rollback.yml", timeout=SECONDS)
    assert run.rc == 0, run
    assert sorted(set(lab.first.splitlines()) ^ set(lab.ssh(_all(lab), timeout=600).splitlines())) == []  # type: ignore[attr-defined]
