"""One line of a kernel log is one: with the kernel's time, a syslog prefix, or bare; what only quotes one is none."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.unit.imports.samples import samples

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.kinds import recognise
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.kernel import boot_log, kernel_log
from tunecheck.parsers.kernel.rejected import rejected
from tunecheck.parsers.text.log_lines import line
from tunecheck.rules import judge
from tunecheck.rules.context import Case

#: A message, and the check with the outcome that follows from it alone; "": no check judges it on its own.
_MESSAGES = {
    "PCI: Unknown option `noacs'": "cmdline-unknown warn",
    "DMAR: Unknown option - 'offf'": "cmdline-unknown warn",
    "AMD-Vi: Unknown option - 'turbo'": "cmdline-unknown warn",
    "Malformed early option 'iommu'": "",
    'Unknown kernel command line parameters "BOOT_IMAGE=/vmlinuz splash", will be passed to user space.': "",
    "INFO: task python3:4711 blocked for more than 120 seconds.": "hung-task warn",
    "task:python3         state:D stack:0     pid:4711  tgid:4711  ppid:1      flags:0x00000002": "hung-task unknown",
    "task:python3 state:D stack:0 pid:123": "hung-task unknown",
    "watchdog: BUG: soft lockup - CPU#12 stuck for 26s! [python3:4711]": "hung-task warn",
    "watchdog: Watchdog detected hard LOCKUP on cpu 7": "hung-task fail",
    "Kernel panic - not syncing: Fatal exception in interrupt": "kernel-panic fail",
    "pci 0000:41:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: failed to assign": "bar-assignment",
    "nvidia 0000:41:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]": "bar-assignment",
    "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0": "aer-events warn",
    "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)": "aer-events warn",
    "pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000": "aer-events",
    "acpi PNP0A08:00: _OSC: platform does not support [AER]": "aer-ownership",
    "nvidia 0000:41:00.0: Direct firmware load for nvidia/595.71.05/gsp_ga10x.bin failed with error -2": "gpu-start",
    "NVRM: API mismatch: the client has the version 595.84, but": "driver-coherence fail",
    "NVRM: The NVIDIA GPU 0000:41:00.0 (PCI ID: 10de:2bb1) installed in this system requires use of the NVIDIA open "
    "kernel modules.": "module-flavour fail",
    "NVRM: rm_init_adapter failed, device minor number 0": "gpu-start",
    "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:41:00.0)": "bar-assignment fail",
    "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:": "bar-assignment fail",
    "nvidia 0000:41:00.0: probe with driver nvidia failed with error -1": "gpu-start fail",
    "nvidia: probe of 0000:41:00.0 failed with error -1": "gpu-start fail",
    "NVRM: request_mem_region failed for 16M @ 0xfb000000. This can occur when": "gpu-start",
    "smpboot: CPU 239 has invalid APIC ID ff. Aborting bringup": "",
    "DMAR: DRHD: handling fault status reg 2": "",
    "DMAR: [DMA Read NO_PASID] Request device [41:00.0] fault addr 0x7f0000 [fault reason 0x06] PTE Read access":
        "iommu-fault",
    "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000e address=0x7f0000 flags=0x0020]":
        "iommu-fault",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x000e address=0x7f0000 flags=0x0020]":
        "iommu-fault",
}
_PARTS = [    # of a message with several lines, and what the driver says beside it
    "{1}[Hardware Error]: event severity: fatal", "{1}[Hardware Error]:   device_id: 0000:41:00.0",
    "NVRM: API mismatch: the client has the version 595.71.05, but", "NVRM: BAR1 is 0M @ 0x0",
    "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
    "nvidia 0000:41:00.0:   device [10de:2bb1] error status/mask=00000001/0000e000",
    "pcieport 0000:40:01.1: AER: device recovery failed",
    "pcieport 0000:40:01.1: DPC: unmasked uncorrectable error detected",
    "pci 0000:41:00.0: BAR 1 [mem 0x2000000000-0x3fffffffff 64bit pref]: assigned",
    "acpi PNP0A08:00: _OSC: OS requested [PME AER PCIeCapability LTR]",
]
_FRONTS = ["", "[ 5.1] ", "[    5.123] ", "<4>[5.12] ", "[    0.000000] ", "[Sun Feb 23 16:24:18 2025] ",
           "kern  :warn  : [   12.345678] ", "<4>[   12.345678] ", "Feb 23 16:24:18 box1 kernel: ", "kernel: ",
           "Feb 23 16:24:18 box1 kernel: [   12.345678] ", "2025-02-23T16:24:18+0100 box1 kernel: "]


@pytest.mark.parametrize("front", _FRONTS)
@pytest.mark.parametrize("message", [*_MESSAGES, *_PARTS])
def test_one_line_that_a_check_reads_is_a_kernel_log(message: str, front: str) -> None:
    assert recognise(f"{front}{message}\n") == "kernel log"
    assert recognise(f"{front}{message}") == "kernel log", "the last line's end is easily lost"
    assert recognise(f"$ dmesg | grep x\n{front}{message}\n" if front else f"\n{message}\n\n") == "kernel log"


@pytest.mark.parametrize("message", [message for message, check in _MESSAGES.items() if check])
def test_its_check_judges_it_and_every_other_stays_unknown(message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(message + "\n")
    found = judge(Case(gather(load_import(str(tmp_path / "a.txt")), None, True)), "preflight")
    check, _, outcome = _MESSAGES[message].partition(" ")
    mine = {each.outcome for each in found if each.id == check}
    assert mine & ({outcome} if outcome else {"fail", "warn"})
    assert not [each.id for each in found if each.outcome == "pass"]


def _of_cases() -> list[str]:
    """Every message in a log of the checks' cases that a parser finds something in on its own."""
    found: dict[str, None] = {}
    for path in sorted((Path(__file__).parents[1] / "checks/cases").glob("*/*.yml")):
        log = yaml.safe_load(path.read_text(encoding="utf-8")).get("log")
        for message in [line(raw).text for raw in log.splitlines()] if isinstance(log, str) else []:
            said = replace(kernel_log.parse(message), start=False, first="", last="", quoted=(), boards=())
            if said != kernel_log.parse("") or boot_log.parse(message) != boot_log.BootLog() or rejected(message):
                found[message] = None
    return list(found)


def _judged(path: Path, text: str) -> set[tuple[str, str, str, str]]:
    path.write_text(text)
    found = judge(Case(gather(load_import(str(path)), None, True)), "preflight")
    return {(each.id, each.code, each.outcome, each.observed) for each in found
            if each.outcome in ("fail", "warn") and each.id != "kernel-log-complete"}


def test_every_message_of_the_cases_says_alone_what_it_says_in_a_whole_log(tmp_path: Path) -> None:
    messages = [message for message in _of_cases() if not message.startswith("somebody")]
    assert len(messages) > 80
    whole = "[    0.000000] Linux version 6.12.1\n[    0.1] a\n[    0.200000] ACPI: b\n[    0.300000] usb 1-1: c\n"
    for message in messages:
        for front in _FRONTS:
            assert recognise(f"{front}{message}\n") == "kernel log", (front, message)
        lone, inside = (_judged(tmp_path / "a.txt", f"{before}[    5.1] {message}\n") for before in ("", whole))
        assert lone == inside, message


_HUNG = """INFO: task python3:4711 blocked for more than 120 seconds.
      Tainted: P           OE      6.8.0-45-generic #45-Ubuntu
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
task:python3         state:D stack:0     pid:4711  tgid:4711  ppid:1      flags:0x00000002
Call Trace:
 <TASK>
 __schedule+0x2cb/0x760
 ? os_acquire_rwlock_write+0x35/0x50 [nvidia]
 RIP: 0033:0x7f0000000000
 RSP: 002b:00007ffc0 EFLAGS: 00000246 ORIG_RAX: 0000000000000010
 </TASK>
"""
_AER = """pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0
nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
nvidia 0000:41:00.0:   device [10de:2bb1] error status/mask=00000001/0000e000
nvidia 0000:41:00.0:    [ 0] RxErr                  (First)
"""


@pytest.mark.parametrize("text", [_HUNG, _AER, _AER.partition("\n")[2],
                                  "dmesg says:\n[    0.000000] PCI: Unknown option `noacs'\n",
                                  "[    0.0000001] a\n[    1.000000] PCI: Unknown option `noacs'\n"])
def test_what_belongs_to_such_a_line_may_stand_below(text: str) -> None:
    assert recognise(text) == "kernel log"


_LINE = "[    0.000000] PCI: Unknown option `noacs'"
_BARE = "INFO: task python3:4711 blocked for more than 120 seconds."
_QUOTING = {
    "prose": f"Last night the box hung. The console said:\n\n{_BARE}\n\nNothing helped but the switch.\n",
    "prose in a sentence": f"The log holds the line {_LINE} and I do not know why.\n",
    "prose, bare in a sentence": f"After that we saw {_BARE}\n",
    "prose around a line with its time": f"I set the option.\nIt changed nothing.\n{_LINE}\nWhat is wrong?\n",
    "title and prose": "Kernel panic - not syncing: VFS\n\nWhat to do when a kernel cannot find its root.\n",
    "shell": f"#!/bin/sh\nset -e\nif dmesg | grep -q \"{_LINE}\"; then\n  echo \"{_BARE}\" > /dev/kmsg\nfi\n",
    "shell, one line": "dmesg | grep 'Kernel panic - not syncing'\n",
    "shell, heredoc": f"#!/bin/sh\nset -e\ncat > /tmp/log <<E\n{_LINE}\nE\n",
    "C": 'pr_err("INFO: task %s:%d blocked for more than %ld seconds.\\n",\n       t->comm, t->pid, sysctl);\n',
    "C, a comment": f"/*\n * {_LINE}\n * {_BARE}\n */\nint main(void) {{ return 0; }}\n",
    "python": f'LOG = """\n{_BARE}\n"""\nassert parse(LOG)\n',
    "yaml": f"name: x\nlog: |\n  {_LINE}\nfind: [{{outcome: warn}}]\n",
    "html": f"<html><body><h1>Help</h1><p>My box.</p><p>It prints</p><li>{_LINE}</li><p>Why?</p></body></html>\n",
    "python's logging": f"2025-02-23 16:24:09,123 {_BARE}\n",
    "a program in the journal": f"Feb 23 16:24:09 box1 gpud[7]: {_BARE}\nFeb 23 16:24:09 box1 gpud[7]: {_LINE}\n",
    "a program with its own time": f"[2025-02-23 16:24:09] {_BARE}\n",
    "a program's level": "WARN: task python3:4711 blocked for more than 120 seconds.\n",
    "Xorg": "[   12.345] (II) NVIDIA(0): BAR 1 is fine\n",
    "Xorg, many lines": "[   12.345] (II) NVIDIA(0): BAR 1 is fine\n" * 9,
    "title of the driver and prose": "NVRM: API mismatch\n\nWhat to do when it is said.\n",
    "json": '{"message": "Kernel panic - not syncing: x"}\n',
    "lines of a kernel that no check reads": "[    0.000000] a\n[    0.000001] b\n",
}


@pytest.mark.parametrize("name", _QUOTING)
def test_what_quotes_a_line_is_no_kernel_log(name: str) -> None:
    assert recognise(_QUOTING[name]) != "kernel log"


def test_no_file_of_the_project_is_taken_for_one() -> None:
    root = Path(__file__).parents[3]
    for folder, pattern in (("checks", "*.py"), ("docs/checks", "*.md"), ("roles", "*.yml"), ("playbooks", "*.py")):
        for path in sorted((root / folder).rglob(pattern)):
            assert recognise(path.read_text()) != "kernel log", path


def test_every_single_line_of_a_real_log_that_matters() -> None:
    """Of the samples' lines with NVIDIA's or PCI's errors, each is taken alone."""
    lines = [raw for raw in samples("dmesg", "dmesg-samples.txt").read_text().splitlines()
             if raw.startswith("[") and any(word in raw for word in ("Xid (", "AER: Corr", "PCIe Bus Error"))]
    assert lines
    for each in lines:
        assert recognise(each) == "kernel log", each


@pytest.mark.parametrize("text", [f"{_LINE}\nx\n", f"{_BARE}\nx\n", "INFO: task ", _BARE, "INFO: task a:1 blocked \n",
                                  "AER\n", "a: b: AER: c\n", "\tAER", "PCI: Unknown option `", "AER AER AER AER AER\n",
                                  'Unknown kernel command line parameters "', "DMAR: [DMA ", "0000:00:00.0: AER: "])
def test_half_a_megabyte_of_it_takes_no_time(text: str) -> None:
    log = text * ((1 << 19) // len(text))
    begun = time.process_time()
    recognise(log)
    assert time.process_time() - begun < 2     # 0.05 s on a quiet machine
