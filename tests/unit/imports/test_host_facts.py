"""Command lines of unusual boots, `cat` prompts, lscpu, numactl, and what a whole kernel log tells by its silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.checks.machines import spec_of
from tests.unit.imports.samples import box, samples
from tests.unit.imports.test_import import folder, found

from tunecheck.cli.main import cli
from tunecheck.facts.snapshot import HostFacts
from tunecheck.host.imported.kinds import recognise
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.parsers.kernel.cpulist import show
from tunecheck.rules import judge
from tunecheck.rules.context import Case

LSCPU = """\
Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   16
  On-line CPU(s) list:    0-14
  Off-line CPU(s) list:   15
Vendor ID:                AuthenticAMD
    Thread(s) per core:   2
    Core(s) per socket:   4
    Socket(s):            2
NUMA:
  NUMA node(s):           4
  NUMA node0 CPU(s):      0-3
  NUMA node1 CPU(s):      4-7
  NUMA node2 CPU(s):      8-11
  NUMA node3 CPU(s):      12-14
"""
NUMACTL = """\
available: 2 nodes (0,3)
node 0 cpus: 0 1 2 3
node 0 size: 1000 MB
node 3 cpus: 4 5
node 3 size: 0 MB
"""
LOG = """\
[    0.000000] Linux version 6.17.0 (x)
[    0.000000] Command line: root=/dev/sda1 ro
[    1.000000] LSM: initializing lsm=lockdown,capability
[    1.100000] clocksource: Switched to clocksource tsc-early
[    1.200000] iommu: Default domain type: Translated
[    1.300000] clocksource: Switched to clocksource tsc
"""


def host(tmp_path: Path, *texts: str) -> HostFacts:
    facts = found(load_import(folder(tmp_path, *texts))).host
    assert facts is not None
    return facts


@pytest.mark.parametrize("line", [
    "console=ttyS0 reboot=k panic=1 pci=off ro",
    "console=hvc0 rw init=/sbin/init quiet 8250.nr_uarts=0",
    "ip=dhcp console=ttyS0,115200n8 ro nfsroot=10.0.0.1:/srv",
    "BOOT_IMAGE=/vmlinuz ro", "initrd=x"])
def test_the_command_line_of_an_unusual_boot(tmp_path: Path, line: str) -> None:
    assert recognise(line + "\n") == "/proc/cmdline"
    assert host(tmp_path, line + "\n").kernel.cmdline.value == tuple(line.split())


@pytest.mark.parametrize("line", [
    "the console was quiet, and then a panic", "console quiet panic", "console=ttyS0 ro",
    "please reboot=k; panic=1 ro pci",
    "console=ttyS0 ro quiet\npanic=1", "ro,rw,quiet=1", ""])
def test_a_sentence_is_no_command_line(line: str) -> None:
    assert recognise(line) is None


def test_prompts_name_the_file_that_follows(tmp_path: Path) -> None:
    text = ("me@rig:~$ cat /proc/cmdline\nconsole=hvc0 strange\nme@rig:~$ uname -r\n6.8.0\n"
            "me@rig:~$ cat /sys/devices/system/cpu/smt/control\noff\n"
            "[root@rig ~]# cat /proc/sys/kernel/tainted\n0\n"
            "$ cat /sys/kernel/security/lockdown\ncat: /sys/kernel/security/lockdown: Permission denied\n"
            "$ cat /proc/sys/kernel/numa_balancing\ncat: /proc/sys/kernel/numa_balancing: No such file or directory\n")
    facts = host(tmp_path, text)
    assert facts.kernel.cmdline.value == ("console=hvc0", "strange")
    assert facts.platform.smt.value == "off"
    assert facts.kernel.lockdown.absence is Absence.NO_PERMISSION
    assert facts.platform.numa_balancing.missing


def test_grep_names_its_files(tmp_path: Path) -> None:
    facts = host(tmp_path, "/proc/sys/kernel/numa_balancing:1\n/proc/sys/kernel/tainted:4096\n"
                           "/sys/devices/system/clocksource/clocksource0/current_clocksource:hpet\n")
    assert (facts.platform.numa_balancing.value, facts.kernel.taint.value, facts.kernel.clocksource.value) == (
        1, 4096, "hpet")


@pytest.mark.parametrize("command", ["sudo sysctl -w kernel.numa_balancing=0", "sysctl kernel.numa_balancing"])
def test_what_sysctl_prints_behind_its_prompt_is_the_value(tmp_path: Path, command: str) -> None:
    said = "kernel.numa_balancing = 0\n"
    assert host(tmp_path, f"root@box:~# {command}\n{said}").platform.numa_balancing.value == 0
    for config in (said, f"root@box:~# cat /etc/sysctl.d/90-numa.conf\n{said}", f"# {command}\n{said}",
                   f"root@box:~# {command}\nsysctl: permission denied on key\n"):
        assert host(tmp_path, LSCPU, config).platform.numa_balancing.value is None, config


def test_lscpu(tmp_path: Path) -> None:
    facts = host(tmp_path, LSCPU).platform
    assert facts.online.value is not None and show(facts.online.value) == "0-14"
    assert facts.present.value is not None and show(facts.present.value) == "0-15"
    assert (facts.smt.value, facts.sockets.value, len(facts.nodes.value or ())) == ("on", 2, 4)


def test_lscpu_in_another_language_says_nothing(tmp_path: Path) -> None:
    assert recognise(LSCPU.replace("Architecture", "Architektur").replace("On-line CPU", "Liste der CPU")) is None
    facts = host(tmp_path, LSCPU.replace("Off-line CPU(s) list:   15\n", "\n"), LOG).platform
    assert facts.present.absence is Absence.NOT_IN_IMPORT and "lscpu" in (facts.present.reason or "")


def test_numactl(tmp_path: Path) -> None:
    nodes = host(tmp_path, NUMACTL).platform.nodes.value
    assert nodes is not None
    assert [(node.number, node.cpus.value, node.memory) for node in nodes] == [
        (0, (0, 1, 2, 3), True), (3, (4, 5), False)]


def test_limits_and_swap(tmp_path: Path) -> None:
    facts = host(tmp_path, "DefaultLimitMEMLOCK=8388608\n", "Filename\tType\tSize\tUsed\tPriority\n"
                           "/swap.img file 8388604 0 -2\n").platform
    assert facts.memlock.value == {"services": 8388608}
    assert facts.swaps.value is not None and facts.swaps.value[0].size == 8388604


def test_a_log_tells_by_its_words_and_never_by_its_silence(tmp_path: Path) -> None:
    """A line may be gone: a good clock and an open kernel are not concluded from one, a bad clock and a lock are."""
    facts = host(tmp_path, box("acs-iommu"), LOG)
    assert (facts.kernel.clocksource.value, facts.kernel.lockdown.value) == (None, None)
    assert facts.kernel.lockdown.absence is facts.kernel.clocksource.absence is Absence.NOT_IN_IMPORT
    bad = ("[    0.1] Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7\n"
           "[    9.1] clocksource: Switched to clocksource hpet\n")
    facts = host(tmp_path, box("acs-iommu"), LOG + bad)
    assert (facts.kernel.clocksource.value, facts.kernel.lockdown.value) == ("hpet", "integrity")


def test_the_real_box_of_eight() -> None:
    case = Case(found(load_import(str(samples("host")))))
    told = {finding.id: finding for finding in judge(case, "preflight")}
    assert {name: told[name].outcome for name in (
        "cpu-lost", "iommu-trap", "acs-persistence", "cmdline-unknown", "numa-nodes", "iommu-mode", "kernel-lockdown",
        "clocksource", "smt", "numa-balancing", "memlock")} == {
        "cpu-lost": "warn", "iommu-trap": "warn", "acs-persistence": "warn", "cmdline-unknown": "pass",
        "numa-nodes": "pass", "iommu-mode": "skip", "kernel-lockdown": "unknown",
        "clocksource": "unknown", "smt": "skip",
        "numa-balancing": "warn", "memlock": "unknown"}
    assert (told["cpu-lost"].code, told["cpu-lost"].observed) == ("no-interrupt-remapping", "0-238,240-255")
    assert (told["iommu-trap"].code, told["iommu-trap"].observed) == ("kernel-turns-acs-on", "amd_iommu=off iommu=off")
    assert "12 of 16" in told["iommu-trap"].text, "the ports that lack it"
    nodes = case.snapshot.host.platform.nodes.value if case.snapshot.host else None
    assert [node.number for node in nodes or ()] == [0, 1] and told["numa-nodes"].code == "ok"
    assert told["smt"].code == told["iommu-mode"].code == "not-declared"
    assert case.snapshot.host and case.snapshot.host.platform.smt.value == "on"
    assert (told["iommu-mode"].observed, told["iommu-mode"].subject.count(", ")) == ("none", 7)


@pytest.mark.parametrize("texts", [(0, 1), (1, 0)])
def test_a_node_whose_list_is_cut_is_no_node_without_cpus(tmp_path: Path, texts: tuple[int, int]) -> None:
    both = (LSCPU.replace("12-14\n", "\n"), "available: 4 nodes (0-3)\n" + "".join(
        f"node {node} cpus: {' '.join(map(str, range(4 * node, 4 * node + 4)))}\nnode {node} size: {size} MB\n"
        for node, size in enumerate((9, 9, 9, 0))))
    nodes = host(tmp_path, *(both[each] for each in texts)).platform.nodes.value
    assert nodes is not None and nodes[3].cpus.value == (12, 13, 14, 15)
    (tmp_path / "alone").mkdir()
    alone = host(tmp_path / "alone", both[0])
    assert not alone.platform.nodes.known


@pytest.mark.parametrize("width", ["80", "120", "300"])
@pytest.mark.parametrize(("last", "line", "second"), [
    (254, "", "add the output of: sudo dmesg and cat /proc/cmdline"), (253, "", ""),
    (255, "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet", "add the output of: sudo dmesg"),
    (255, "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro maxcpus=9", ""),
])
def test_a_cpu_that_the_kernel_may_refuse_has_a_second_step(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str, last: int, line: str, second: str) -> None:
    """Where no kernel log says why it is offline, and the box has CPUs beyond the 8-bit APIC ids: in every form."""
    cpus = (f"Architecture: x86_64\nCPU(s): {last + 1}\nOn-line CPU(s) list: 0-{last - 1}\n"
            f"Off-line CPU(s) list: {last}\nThread(s) per core: 2\nSocket(s): 2\n")
    monkeypatch.setenv("COLUMNS", width)
    shown = CliRunner().invoke(cli, ["preflight", "--from", folder(tmp_path, cpus, *[f"{line}\n"] * bool(line))])
    told = " ".join(shown.output.split())
    assert f"cpu-lost: CPU {last} of {last + 1} offline" in told, told
    assert ("where that fails, " in told) == bool(second) and f"{'; where that fails, ' * bool(second)}{second}" in told


def test_neither_fix_of_a_refused_cpu_is_left_out_for_its_play(tmp_path: Path) -> None:
    """With an inventory the second fix is a play's, and the form in few lines must not be that play alone."""
    cpus = "Architecture: x86_64\nCPU(s): 256\nOn-line CPU(s) list: 0-254\nOff-line CPU(s) list: 255\n"
    facts = found(load_import(folder(tmp_path, cpus, "BOOT_IMAGE=/vmlinuz ro amd_iommu=off iommu=off\n")))
    case = Case(facts, spec_of({"spec": {}}), False, None, None)
    fix = next(finding.remedy for finding in judge(case, "preflight") if finding.id == "cpu-lost")
    assert fix is not None and not fix.play_text and fix.commands[0].argv[:2] == ("sudo", "chcpu")
    assert fix.play is not None and "; where that fails" in fix.by_hand
