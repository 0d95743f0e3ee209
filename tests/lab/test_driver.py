"""A driver installed, held, loaded with its parameter and taken back, over real reboots. One VM, in this order.

NVIDIA's names and versions, stand-in contents, everything else real; the packages come from a signed repository on the
box. Without KVM each build of the two small modules takes a minute, so what no reboot is needed for (killed
transactions, other versions, sources that do not build) is in test_driver_packages.py, natively.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.packages import standin_packages as standins
from lab.packages.apt_repo import Repository
from tests.lab.box import Box, CompletedRun
from tests.lab.conftest import MakeBox

from lab import access

# Builds take minutes without KVM; test_driver_packages.py sees the same code natively, without the reboots.
pytestmark = pytest.mark.long
WANTED, NEWER = "595.58.03", "595.71.05"
MIRROR = "/srv/mirror"
PLAY = "playbooks/provision.yml"
NEXT_KERNEL = "6.12.999-lab"
TOOLKIT = "1.17.8"      # before it brought units of its own


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    made = Repository(tmp_path_factory.mktemp("apt") / "mirror")
    for version in (WANTED, NEWER):
        made.publish(standins.driver(version))
    made.publish([*standins.kernel(NEXT_KERNEL, "6.12.999-1"), *standins.toolkit(TOOLKIT)])
    yield made
    made.close()


@pytest.fixture(scope="module")
def lab(shared_box: MakeBox, drivers_image: Path, repository: Repository) -> Iterator[Box]:
    """The box that this file works on."""
    box = shared_box(base=drivers_image)
    pack = subprocess.run(["tar", "c", "-C", str(repository.folder), "."], capture_output=True, check=True).stdout
    argv = access.command(box.machine.folder, box.machine.name, f"mkdir {MIRROR} && tar x -C {MIRROR}")
    subprocess.run(argv, input=pack, check=True, timeout=120)
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
    text = box.ssh("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' '*nvidia*' libcuda1; true")
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2][1] == "i" and row[0] not in standins.TOOLKIT}


def untouched(box: Box) -> str:
    """A fingerprint of everything that a refused run must leave alone."""
    return box.ssh("cat /var/lib/dpkg/status /etc/apt/preferences.d/* /etc/apt/sources.list.d/* "
                   "/var/lib/tunecheck/receipt.json 2>/dev/null | sha256sum; dkms status; apt-mark showhold")


def test_installed_and_held_in_one_run(lab: Box, repository: Repository) -> None:
    lab.set_spec(spec(repository))
    run = driver(lab)
    assert run.rc == 0, run
    assert set(versions(lab).values()) == {f"{WANTED}-1"}
    assert set(versions(lab)) <= set(lab.ssh("apt-mark showhold").split())


def test_after_a_reboot_the_parameter_is_everywhere(lab: Box) -> None:
    # A GPU would have it loaded by udev.
    lab.reboot("echo nvidia-uvm >/etc/modules-load.d/gpu.conf; sync; "
               "systemd-run --on-active=1 systemctl reboot --force")
    assert WANTED in lab.ssh("cat /proc/driver/nvidia/version")
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
        text = lab.ssh("tunecheck driver; echo exit $?")
    finally:
        lab.ssh(f"rm {folder}/libnvidia-ml.so.{NEWER}; ln -sf libnvidia-ml.so.{WANTED} {folder}/libnvidia-ml.so.1")
    assert "exit 1" in text and f"libnvidia-ml.so.1 is {NEWER}, the loaded module {WANTED}" in text, text


def test_a_container_gets_the_boards_by_cdi_and_keeps_them(lab: Box, repository: Repository) -> None:
    """Nodes with NVIDIA's number, which the stand-in module opens for whoever the container's cgroup lets through."""
    lab.ssh("for i in 0 1; do [ -e /dev/nvidia$i ] || mknod -m 666 /dev/nvidia$i c 195 $((i + 100)); done")
    lab.set_spec({**spec(repository), "runtime": {
        "engine": "podman", "toolkit": TOOLKIT, "toolkit_source": "mirror", "log_max_mib": 50}})
    run = lab.playbook("--tags", "runtime", playbook=PLAY)
    assert run.rc == 0, run
    again = lab.playbook("--tags", "runtime", playbook=PLAY)
    assert again.rc == 0 and "changed=0" in again.stdout, again
    assert set(standins.TOOLKIT) <= set(lab.ssh("apt-mark showhold").split())
    assert lab.ssh("systemctl is-active tunecheck-cdi.path").strip() == "active"
    report = lab.ssh("tunecheck runtime -v; echo exit $?")
    assert "exit 0" in report and "PASS    cdi-stale" in report and "PASS    toolkit-version" in report, report
    lab.ssh("tar -chC / usr/bin/dash usr/bin/sleep lib64/ld-linux-x86-64.so.2 usr/lib/x86_64-linux-gnu/libc.so.6 | "
            "podman import - localhost/small:1 2>&1", timeout=300)
    lab.ssh("podman run -d --name served --network none --device nvidia.com/gpu=all localhost/small:1 /usr/bin/sleep "
            "3000", timeout=300)
    try:
        lab.ssh("systemctl daemon-reload")
        tried = [lab.ssh(f"podman exec served /usr/bin/dash -c ': <{node} && echo opened' 2>&1", check=False).strip()
                 for node in ("/dev/nvidia0", "/dev/nvidia1")]
        assert tried == ["opened", "opened"]
    finally:
        lab.ssh("podman rm -f -t 0 served; podman rmi localhost/small:1", check=False)


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


def test_rollback_leaves_nothing(lab: Box) -> None:
    boot = lab.boot_id()
    run = lab.playbook(playbook="playbooks/rollback.yml")
    assert run.rc == 0, run
    assert lab.boot_id() != boot, "the loaded module was rolled back, so the box reboots"
    assert versions(lab) == {} and lab.ssh("apt-mark showhold; dkms status; dpkg --audit") == ""
    assert lab.ssh("cat /proc/driver/nvidia/version 2>/dev/null; modinfo nvidia-uvm 2>/dev/null; true") == ""
    assert "tunecheck" not in lab.ssh("ls /etc/apt/preferences.d /etc/apt/sources.list.d /etc/apt/apt.conf.d")
