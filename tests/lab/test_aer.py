"""PCIe errors, really injected: with pcie_aspm=off the kernel neither logs nor counts them, with the policy it does.

One machine, two boots, one difference on the command line. The non-fatal errors are QEMU's, sent to the root port as a
message; the corrected ones are made by the kernel's own module aer_inject, because QEMU before 8 drops corrected errors
on the way. What the kernel does with them (drivers/pci/pcie/aer.c) is real in both cases."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from tests.lab.box import REPO, Box
from tests.lab.conftest import MakeBox

from lab import aer

OLD, NEW = "pcie_aspm=off", "pcie_aspm.policy=performance"
#: QEMU's name and the address of the root port and of a switch port on the way to an endpoint.
PORTS = {"rp0": "0000:00:04.0", "dn0": "0000:02:00.0"}

#: struct aer_error_inj of drivers/pci/pcie/aer_inject.c: a corrected receiver error (bit 0) at bus, device.
_CORRECTED = """
import struct
for bus, device in ((0, 4), (2, 0)):
    with open("/dev/aer_inject", "wb", buffering=0) as file:
        file.write(struct.pack("=BBBxIIIIIII", bus, device, 0, 0, 1, 0, 0, 0, 0, 0))
"""


@dataclass
class Booted:
    """What a boot made of the errors."""

    log: str
    counted: dict[str, int]
    findings: dict[str, dict[str, Any]]
    aer_inject: int


def boot_with(box: Box, word: str) -> None:
    """Reboot with ``word`` behind the default entry's line. grub.cfg itself is written: the machine is this test's."""
    before = box.boot_id()
    box.ssh(f"sed -i -E 's/ {OLD}//; s|^(\\s*linux\\s.*)$|\\1 {word}|' /boot/grub/grub.cfg; sync")
    box.ssh("systemctl reboot", check=False)
    for _ in range(3):      # ssh may answer once more before the machine goes down
        box.wait()
        if box.boot_id() != before:
            break
    assert word in box.cmdline()


def check(box: Box) -> dict[str, dict[str, Any]]:
    """`tunecheck host` on the box, by check id, from a copied folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(REPO / "checks" / "tunecheck", "tunecheck")
        tar.add(Path(click.__file__).parent, "click")
    argv = ["ssh", "-F", str(box.machine.folder / "ssh_config"), box.machine.name, "mkdir -p /tmp/t && tar x -C /tmp/t"]
    subprocess.run(argv, input=buffer.getvalue(), check=True, timeout=180)
    from tunecheck.spec import build

    spec = build("lab", {"profile": "lab", "kernel": {"cmdline": [NEW]}}, None).to_json()
    argv[-1] = "cat >/tmp/spec.json"
    subprocess.run(argv, input=spec.encode(), check=True, timeout=60)
    report = json.loads(box.ssh("cd /tmp/t && python3 -m tunecheck host --json --spec /tmp/spec.json; true",
                                timeout=180))
    return {finding["id"]: finding for finding in reversed(report["findings"])}


def after_errors(box: Box) -> Booted:
    """Inject a non-fatal and a corrected error at each port, then look."""
    for device in PORTS:
        aer.inject(box.machine.folder, device, "COMP_TIME")
    injected = subprocess.run(
        ["ssh", "-F", str(box.machine.folder / "ssh_config"), box.machine.name, "modprobe aer_inject && python3 -"],
        input=_CORRECTED, text=True, capture_output=True, timeout=120).returncode
    box.ssh("sleep 2")
    log = box.ssh("dmesg | grep -E '_OSC|PCIe ASPM|AER: |PCIe Bus Error|error status/mask|\\[ ?[0-9]+\\] [A-Z]'")
    counters = box.ssh("cd /sys/bus/pci/devices && grep -H TOTAL_ERR */aer_dev_correctable */aer_dev_nonfatal")
    counted = {}
    for line in counters.splitlines():
        name, _, total = line.rpartition(" ")
        counted[name.rpartition(":")[0]] = int(total)
    return Booted(log, counted, check(box), injected)


def test_errors_are_logged_and_counted_with_the_policy_and_lost_with_aspm_off(
        box: MakeBox, capsys: pytest.CaptureFixture[str]) -> None:
    lab = box(layout="switch")
    boot_with(lab, OLD)
    old = after_errors(lab)
    boot_with(lab, NEW)
    new = after_errors(lab)
    with capsys.disabled():
        for word, booted in ((OLD, old), (NEW, new)):
            print(f"\n--- {word}\n{booted.log}{booted.counted}")
            for name in ("aer-ownership", "aer-events", "link-errors"):
                print(booted.findings[name]["outcome"], booted.findings[name]["message"])

    assert "not requesting OS control; OS requires [ExtendedConfig ASPM ClockPM MSI]" in old.log
    assert "AER: " not in old.log and "PCIe Bus Error" not in old.log
    # The counters are there and stay at 0: no sign of health.
    assert set(PORTS.values()) <= {name.partition("/")[0] for name in old.counted} and not any(old.counted.values())
    assert old.aer_inject != 0, "the kernel's own injection finds no AER service either"
    owner = old.findings["aer-ownership"]
    assert owner["outcome"] == "fail" and "because of pcie_aspm=off" in owner["message"]
    assert (old.findings["aer-events"]["outcome"], old.findings["link-errors"]["outcome"]) == ("skip", "skip")

    assert "OS now controls" in new.log and new.aer_inject == 0
    for port in PORTS.values():
        assert f"{port}: PCIe Bus Error: severity=Uncorrectable (Non-Fatal)" in new.log
        assert f"{port}: PCIe Bus Error: severity=Correctable" in new.log
        assert new.counted[f"{port}/aer_dev_nonfatal"] == new.counted[f"{port}/aer_dev_correctable"] == 1
    assert new.findings["aer-ownership"]["outcome"] == "pass"
    assert new.findings["aer-events"]["outcome"] in ("warn", "fail")
    assert new.findings["link-errors"]["outcome"] == "warn" and "CmpltTO" in new.findings["link-errors"]["message"]
