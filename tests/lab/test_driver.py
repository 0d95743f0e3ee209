"""A driver pinned, held, proven and taken back: NVIDIA's names and versions, stand-in contents, everything else real.

The packages come from a signed repository on the box. The box starts with driver 595.45.04, which was installed (and
its modules built by DKMS) natively in the tree of its image: without KVM a build takes half a minute on the box, so
the tests that follow each other here build as seldom as they can. One VM, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.apt_repo import Repository
from tests.lab.box import Box, CompletedRun
from tests.lab.conftest import MakeBox

from lab import standin_packages as standins
from lab import tree

BEFORE, WANTED, NEWER = "595.45.04", "595.58.03", "595.71.05"
MIRROR = "/srv/mirror"
PLAY = "playbooks/provision.yml"
NEXT_KERNEL = "6.12.999-lab"
# Installs BEFORE as somebody would have done it by hand, held, and lets it load at boot.
NATIVE = f"""set -e
cp -r /mnt {MIRROR}
echo "deb [signed-by={MIRROR}/key.asc] file://{MIRROR} /" >/etc/apt/sources.list.d/own.list
apt-get update
apt-get install -y --no-install-recommends {" ".join(f"{name}={BEFORE}-1" for name in standins.DRIVER)}
apt-mark hold libcuda1
rm /etc/apt/sources.list.d/own.list
echo nvidia-uvm >/etc/modules-load.d/nvidia.conf
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    made = Repository(tmp_path_factory.mktemp("apt") / "mirror")
    for version in (BEFORE, WANTED, NEWER):
        made.publish(standins.driver(version))
    made.publish(standins.kernel(NEXT_KERNEL, "6.12.999-1"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, drivers_image: Path, repository: Repository, tmp_path_factory: pytest.TempPathFactory) \
        -> Iterator[Box]:
    """The box that this file works on."""
    folder = tmp_path_factory.mktemp("disk")
    with open(folder / "log", "wb") as log:
        tree.unpack(drivers_image, folder / "root", log)
        code, output = tree.enter(folder / "root", ["sh", "-c", NATIVE], seen=repository.folder)
        assert code == 0, output
        tree.pack(folder / "root", drivers_image, folder / "base.img", log)
    box = shared_box(base=folder / "base.img")
    yield box


def spec(repository: Repository, version: str = WANTED) -> dict[str, Any]:
    return {
        "acs": {"peer_redirect": "leave"}, "kernel": {"cmdline": []},
        "modules": {"nvidia-uvm": {"uvm_disable_hmm": 1}},
        "driver": {"version": version, "source": "mirror", "mirror": f"file://{MIRROR}",
                   "mirror_fingerprint": repository.fingerprint},
    }  # fmt: skip


def driver(box: Box) -> CompletedRun:
    return box.playbook("--tags", "modules,driver", playbook=PLAY)


def versions(box: Box) -> dict[str, str]:
    """Installed packages of the driver: {name: version}."""
    text = box.ssh("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' '*nvidia*' libcuda1")
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2][1] == "i"}


def untouched(box: Box) -> str:
    """A fingerprint of everything that a refused run must leave alone."""
    return box.ssh("cat /var/lib/dpkg/status /etc/apt/preferences.d/* /etc/apt/sources.list.d/* "
                   "/var/lib/tunecheck/receipt.json 2>/dev/null | sha256sum; dkms status; apt-mark showhold")


def test_the_box_starts_with_the_driver_somebody_installed(lab: Box) -> None:
    assert set(versions(lab).values()) == {f"{BEFORE}-1"}
    assert BEFORE in lab.ssh("cat /proc/driver/nvidia/version")
    assert lab.ssh("cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm").strip() == "0"


def test_killed_while_dpkg_works(lab: Box, repository: Repository) -> None:
    """As by the OOM killer: dpkg and apt-get, when the old modules are gone and the new ones are not built yet."""
    lab.set_spec({**spec(repository), "boot": {"reboot": "never"}})
    lab.ssh(f"systemd-run --quiet sh -c 'until [ -d /usr/src/nvidia-{WANTED} ]; do sleep 0.2; done; "
            "kill -9 $(pidof dpkg apt-get)'")
    run = driver(lab)
    assert run.rc != 0 and "run the play again" in run.stdout, run
    assert "nvidia-kernel-open-dkms" in lab.ssh("dpkg --audit")
    assert lab.ssh("modinfo -F version nvidia 2>&1", check=False).strip() != WANTED


def test_the_next_run_heals_and_reboots_into_it(lab: Box, repository: Repository) -> None:
    lab.set_spec(spec(repository))
    boot = lab.boot_id()
    run = driver(lab)
    assert run.rc == 0, run
    assert lab.boot_id() != boot
    assert lab.ssh("dpkg --audit") == ""
    assert set(versions(lab).values()) == {f"{WANTED}-1"}
    assert set(versions(lab)) <= set(lab.ssh("apt-mark showhold").split())
    assert WANTED in lab.ssh("cat /proc/driver/nvidia/version")


def test_the_parameter_is_everywhere(lab: Box) -> None:
    shown = lab.ssh("modinfo nvidia-uvm")
    assert f"version:        {WANTED}" in shown and "uvm_disable_hmm" in shown
    assert "options nvidia_uvm uvm_disable_hmm=1" in lab.ssh("modprobe --showconfig")
    assert lab.ssh("cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm").strip() == "1"


def test_the_second_run_changes_nothing(lab: Box) -> None:
    run = driver(lab)
    assert run.rc == 0 and "changed=0" in run.stdout, run


def test_a_moved_library_is_caught(lab: Box) -> None:
    """What `.run` installers and half-done upgrades leave: the link points at another version."""
    folder = "/usr/lib/x86_64-linux-gnu"
    lab.ssh(f"cp {folder}/libnvidia-ml.so.{WANTED} {folder}/libnvidia-ml.so.{NEWER}; "
            f"ln -sf libnvidia-ml.so.{NEWER} {folder}/libnvidia-ml.so.1")
    try:
        text = lab.ssh("tunecheck host; echo exit $?")
    finally:
        lab.ssh(f"rm {folder}/libnvidia-ml.so.{NEWER}; ln -sf libnvidia-ml.so.{WANTED} {folder}/libnvidia-ml.so.1")
    assert "exit 1" in text and f"libnvidia-ml.so.1 is {NEWER}, the loaded module {WANTED}" in text, text


def test_upgrades_leave_every_pin(lab: Box) -> None:
    """A newer driver is in the repository, and a newer kernel; only the kernel may come."""
    before = versions(lab)
    assert f"{NEWER}-1" in lab.ssh("apt-get -qq update; apt-cache madison libcuda1")
    lab.ssh("echo 'Unattended-Upgrade::Origins-Pattern { \"origin=*\"; };' >/etc/apt/apt.conf.d/99lab")
    wanted = unattended(lab.ssh("unattended-upgrade --dry-run --debug 2>&1", timeout=300))
    assert "linux-image" in wanted and "nvidia" not in wanted and "libcuda" not in wanted, wanted
    lab.ssh("DEBIAN_FRONTEND=noninteractive apt-get -y dist-upgrade", timeout=300)
    assert versions(lab) == before
    assert "ii" in lab.ssh(f"dpkg -l linux-image-{NEXT_KERNEL}")
    lab.ssh(f"apt-mark unhold {' '.join(before)}; DEBIAN_FRONTEND=noninteractive apt-get -y dist-upgrade; "
            f"apt-mark hold {' '.join(before)}", timeout=300)
    assert versions(lab) == before, "the pins alone keep them too"


def unattended(text: str) -> str:
    """The lines of its log that say what it would install."""
    return "\n".join(line for line in text.splitlines() if "Packages that will be upgraded" in line)


def test_a_next_kernel_without_headers_is_refused(lab: Box, repository: Repository) -> None:
    lab.set_spec(spec(repository, NEWER))
    before = untouched(lab)
    run = driver(lab)
    said = f"the headers of the next kernel {NEXT_KERNEL} are neither installed nor offered"
    assert run.rc != 0 and said in run.stdout, run
    assert "Nothing was written." in run.stdout and untouched(lab) == before, run
    lab.ssh(f"apt-get -y purge linux-image-{NEXT_KERNEL}", timeout=200)


def test_rollback_returns_to_what_was_there(lab: Box) -> None:
    run = lab.playbook(playbook="playbooks/rollback.yml")
    assert run.rc == 0, run
    assert set(versions(lab).values()) == {f"{BEFORE}-1"}
    assert lab.ssh("apt-mark showhold").split() == ["libcuda1"]
    assert BEFORE in lab.ssh("cat /proc/driver/nvidia/version")
    assert lab.ssh("cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm").strip() == "0"
    assert "tunecheck" not in lab.ssh("ls /etc/apt/preferences.d /etc/apt/sources.list.d /etc/apt/apt.conf.d")
