"""The lab box after site.yml, seen with setpci, systemctl and cat."""

from __future__ import annotations

import json
from typing import Any

#: The two downstream ports of the layout `switch`.
PATH_PORTS = ("02:00.0", "02:01.0")


def test_the_running_kernel_has_the_tokens(host: Any) -> None:
    line = host.file("/proc/cmdline").content_string.split()
    pci = [token for token in line if token.startswith("pci=")]
    assert len(pci) == 1 and "noacs" in pci[0] and "disable_acs_redir=" in pci[0]


def test_the_kernel_rejected_noacs(host: Any) -> None:
    assert "PCI: Unknown option `noacs'" in host.check_output("dmesg")


def test_redirect_is_off_on_every_path_port(host: Any) -> None:
    for port in PATH_PORTS:
        control = int(host.check_output("setpci -s %s ECAP_ACS+6.w", port), 16)
        assert control & 0x2C == 0, f"{port}: ACSCtl=0x{control:04x} redirects"


def test_the_root_port_is_left_alone(host: Any) -> None:
    assert host.check_output("setpci -s 00:04.0 ECAP_ACS+6.w") == "001d"


def test_the_next_boot_is_the_same(host: Any) -> None:
    running = host.file("/proc/cmdline").content_string
    token = next(word for word in running.split() if word.startswith("pci="))
    config = host.file("/boot/grub/grub.cfg").content_string
    assert token in config
    assert "tunecheck-trial" not in config and "tunecheck-trial" not in host.check_output("grub-editenv list")
    assert not host.file("/etc/grub.d/42_tunecheck_trial").exists


def test_files_are_what_the_roles_say(host: Any) -> None:
    options = host.file("/etc/modprobe.d/zz-tunecheck.conf")
    assert "options nvidia-uvm uvm_disable_hmm=1" in options.content_string
    dropin, spec = "/etc/default/grub.d/zz-tunecheck.cfg", "/etc/tunecheck/spec.json"
    for path in ("/etc/modprobe.d/zz-tunecheck.conf", dropin, spec):
        file = host.file(path)
        assert (file.user, file.group, file.mode) == ("root", "root", 0o644)
    for unit in ("tunecheck-acs.service", "tunecheck-governor.service"):
        assert host.service(unit).is_enabled
        host.run_expect([0], "systemd-analyze verify /etc/systemd/system/%s", unit)


def test_the_boot_unit_ran_and_did_not_fail(host: Any) -> None:
    assert host.check_output("systemctl show -p Result --value tunecheck-acs.service") == "success"
    assert host.check_output("systemctl show -p ExecMainExitTimestamp --value tunecheck-acs.service") != ""


def test_the_receipt_tells_the_story(host: Any) -> None:
    receipt = json.loads(host.file("/var/lib/tunecheck/receipt.json").content_string)
    assert receipt["state"] == "committed"
    assert receipt["boot_id"] == host.file("/proc/sys/kernel/random/boot_id").content_string.strip()
    assert [entry["state"] for entry in receipt["history"]][:3] == ["staged", "trial", "committed"]
    assert set(receipt["before"]["acs"].values()) == {"0x001d"}


def test_nothing_is_left_running_or_locked(host: Any) -> None:
    assert not host.file("/var/lib/tunecheck/provision.lock").exists
    assert host.run("pgrep -f '[o]pt/tunecheck'").rc == 1
