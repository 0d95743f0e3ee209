"""nvidia-bug-report.log.gz, as the script of NVIDIA's driver lays it out."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from tests.unit.imports.samples import FIXTURES, box, metal
from tests.unit.imports.test_import import LOG, SMI, TOPO, run

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.parsers.nvidia.bug_report import sections

RULE = "_" * 44 + "\n\n"
HEAD = """Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem, when reporting a graphics
driver bug via the NVIDIA Linux forum (see forums.developer.nvidia.com)
or by sending email to 'linux-bugs@nvidia.com'.

nvidia-bug-report.sh Version: 39014671

Date: Wed Apr  8 15:10:15 UTC 2026
uname: Linux rig 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC x86_64 GNU/Linux
command line flags:

"""


def file(path: str, content: str) -> str:
    return f"*** {path}\n*** ls: -r--r--r-- 1 root root 0 2026-04-08 15:10:15.000000000 +0000 {path}\n{content}\n"


REPORT = RULE + RULE.join([
    HEAD,
    file("/proc/cmdline", "root=/dev/sda1 ro pci=noacs\n"),
    file("/proc/driver/nvidia/./version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Rel\n"),
    file("/proc/driver/nvidia/./params", "ResmanDebugLevel: 4294967295\nRegistryDwords: \"\"\n"),
    file("/proc/driver/nvidia/./gpus/0000:03:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 5\n"),
    "*** /etc/nvidia/nvidia-application-profiles-rc does not exist\n\n",
    "*** /sys/kernel/security/lockdown is not readable\n\n",
    "/usr/bin/lspci -d \"10de:*\" -v -xxx\n\n" + box("acs-iommu")[box("acs-iommu").index("03:00.0 "):],
    "/usr/bin/lspci -t\n\n-[0000:00]-+-00.0\n\n",
    "/usr/bin/lspci -nnDvvvxxxx\n\n" + metal(box("acs-iommu")) + "\n",
    "Scanning kernel log files for NVIDIA kernel messages:\n\n  journalctl -b -2:\n" + "".join(
        f"Apr 01 10:00:{second} rig kernel: NVRM: Xid (PCI:0000:03:00): 79, {'x' * 99}\n" for second in range(10, 60)),
    "journalctl -b -1\n\n" + LOG.replace("noacs", "nommconf").replace("6.8.0-45", "6.5.0-1"),
    "/usr/bin/numactl -H\n\navailable: 2 nodes (0-1)\nnode 0 cpus: 0\n"
    + file("/sys/devices/system/node/online", "0-1\n") + file("/sys/bus/pci/devices/0000:03:00.0/numa_node", "1\n"),
    "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm:Y\n/sys/module/nvidia_uvm/parameters/uvm_ats_mode:1\n",
    "dmesg:\n\n" + LOG,
    "/usr/bin/nvidia-smi --query\n\n" + SMI,
    "/usr/bin/nvidia-smi topo -m\n\n" + TOPO + "\nLegend:\n\n  X    = Self\n",
    "End of NVIDIA bug report log file.\n",
])


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "attachment(3).bin"
    # The script packs and appends section by section: hundreds of gzip members.
    parts = [RULE + part for part in REPORT.split(RULE)[1:]]
    path.write_bytes(b"".join(gzip.compress(part.encode()) for part in parts))
    return str(path)


def test_files_and_commands_are_told_apart() -> None:
    found = {section.path or section.title: section for section in sections(REPORT)}
    assert found["/proc/cmdline"].text == "root=/dev/sda1 ro pci=noacs\n"
    assert found["/proc/driver/nvidia/params"].text.startswith("ResmanDebugLevel")
    reasons = {path: section.absent.absence for path, section in found.items() if section.absent}
    assert reasons["/etc/nvidia/nvidia-application-profiles-rc"] is Absence.NOT_PRESENT
    assert reasons["/sys/kernel/security/lockdown"] is Absence.NO_PERMISSION
    assert "Linux version" in found["dmesg:"].text
    assert found["/sys/bus/pci/devices/0000:03:00.0/numa_node"].text.strip() == "1"
    assert found["/usr/bin/numactl -H"].text == "\navailable: 2 nodes (0-1)\nnode 0 cpus: 0\n"


def test_a_report_is_judged_like_a_box(report: str) -> None:
    door = load_import(report)
    snapshot = gather(door, None, True)
    assert snapshot.host is not None
    assert door.read_bytes("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm") == b"Y"
    assert door.list("/sys/module/nvidia_uvm") == []
    assert [device.numa_node.value for device in snapshot.topology.devices] == [1, None]
    assert snapshot.hostname.value == "rig"
    kernel = snapshot.host.kernel
    assert (kernel.release.value, kernel.cmdline.value) == ("6.8.0-45-generic", ("root=/dev/sda1", "ro", "pci=noacs"))
    assert kernel.lockdown.absence is Absence.NO_PERMISSION
    assert kernel.log.value is not None
    assert list(kernel.log.value.rejected) == ["pci=noacs"]
    assert (snapshot.host.driver.version.value, snapshot.host.driver.flavour.value) == ("595.58.03", "open")
    assert [pair.relation.value for pair in snapshot.topology.pairs] == ["PIX"]
    assert {bridge.acs.value.ctl for bridge in snapshot.topology.bridges.values() if bridge.acs.value} == {0x1D}


def test_grepped_lines_of_older_boots_are_no_kernel_log(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(REPORT.replace("Linux version", "x").replace("Command line", "y"))
    snapshot = gather(load_import(str(tmp_path / "a")), None, True)
    assert snapshot.host is not None
    assert snapshot.host.kernel.log.value is not None
    assert (snapshot.host.kernel.log.value.complete, list(snapshot.host.kernel.log.value.rejected)) == (
        False, ["pci=noacs"])


def test_the_command_takes_it_packed_or_not(report: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(REPORT)
    for path in (report, str(tmp_path / "plain")):
        done = run("topo", "--from", path)
        assert done.returncode == 1
        assert done.stdout.startswith("tunecheck topo: rig, ")
        assert "FAIL    acs-redirect: 0000:02:00.0 ACSCtl=0x001d" in done.stdout
        assert "PASS    topo-agreement" in done.stdout
        assert "bug report (" in done.stderr


def test_a_report_of_a_box_without_lspci(tmp_path: Path) -> None:
    """Then the script dumps the configuration space itself, with six digits of class and a space at the end."""
    dump = (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()
    dump = re.sub(r"(?m)^([0-9a-f:.]+) [A-Z].*$", r"0000:\1 060400: Vendor 1b36 Device 000c (rev 00)", dump)
    dump = re.sub(r"(?m)^([0-9a-f]{2,3}:(?: [0-9a-f]{2}){16})$", r"\1 ", dump)
    (tmp_path / "a").write_text(RULE + HEAD + RULE + "PCI devices configuration space dump using sysfs\n\n\n" + dump)
    found = gather(load_import(str(tmp_path / "a")), None, False).topology
    assert [device.ids for device in found.devices] == ["10de:2330", "10de:2330"]
    assert [pair.relation.value for pair in found.pairs] == ["PIX"]
    assert {bridge.acs.value.ctl for bridge in found.bridges.values() if bridge.acs.value} == {0x1D}


def test_boards_alone_do_not_make_a_machine(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(RULE + HEAD + RULE + "lspci -d \"10de:*\" -v -xxx\n\n"
                                + box("acs-iommu")[box("acs-iommu").index("03:00.0 "):])
    (pair,) = gather(load_import(str(tmp_path / "a")), None, False).topology.pairs
    assert pair.relation.absence is Absence.NOT_IN_IMPORT
