"""Every output that a finding asks for changes its answer, and what was given whole is not asked for again."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.unit.imports.deletion_bases import LOG, own
from tests.unit.imports.samples import FIXTURES
from tests.unit.imports.smi_texts import GPU, HEAD, OLD, TEXT, row, table
from tests.unit.imports.test_named_boards import run
from tests.unit.imports.test_topo_matrix import P2P

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported import machine, outputs
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.model.finding import Finding
from tunecheck.report.not_given import is_missing, not_given
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Acs, Cpu, Driver, Frozen, Kernel, Spec

#: The lspci of the first shows IOMMU groups, that of the second none.
_FOLDERS = {name: next(base.texts for base in own() if base.name == f"{name}, folder") for name in (
    "acs-iommu", "switch1")}
_FOLDER = _FOLDERS["acs-iommu"]
#: As the end of a kernel's start prints it: behind that no device gets into an IOMMU group.
_WHOLE_LOG = LOG.replace("[   20.", "[   19.000000] Freeing unused kernel image (initmem) memory: 4096K\n[   20.")
_PAST = "".join(f"Nov 2{day} 10:00:0{at} box kernel: {text}\n" for day in (1, 2) for at, text in enumerate((
    "Linux version 6.12.1 (x) #1 SMP", "Command line: root=/dev/sda1 ro iommu=pt", "usb 1-1: new device")))
#: command -> what it prints on the machine of the folder
GIVEN = {
    "sudo lspci -nnvvv": _FOLDER["lspci.txt"], "sudo dmesg": _WHOLE_LOG, "nvidia-smi -q": _FOLDER["smi-q.txt"],
    "grep . /sys/devices/system/cpu/cpufreq/policy*/scaling_*": "".join(
        f"/sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_{leaf}\n" for cpu in range(16)
        for leaf in ("driver:amd-pstate-epp", "governor:performance")),
    **{f"grep -H . /sys/devices/system/cpu/cpufreq/policy*/{leaf}": "".join(
        f"/sys/devices/system/cpu/cpufreq/policy{cpu}/{leaf}:{value or cpu}\n" for cpu in range(16))
       for leaf, value in (("energy_performance_preference", "performance"), ("affected_cpus", ""))},
    "grep -r . /sys/module/nvidia*/parameters/": "/sys/module/nvidia/parameters/NVreg_EnableGpuFirmware:18\n",
    "sudo journalctl _TRANSPORT=kernel": _PAST,
    "sudo lspci -xxxx": (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text(),
    "nvidia-smi topo -m": _FOLDER["topo.txt"], "lscpu": _FOLDER["lscpu.txt"], "numactl -H": _FOLDER["numactl.txt"],
    "cat /proc/cmdline": _FOLDER["cmdline.txt"], "cat /proc/swaps": _FOLDER["swaps.txt"],
    "systemctl show --property=DefaultLimitMEMLOCK": _FOLDER["memlock.txt"],
    "cat /proc/driver/nvidia/version":
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build\nGCC version:  gcc 14\n",
    "cat /proc/driver/nvidia/params": 'ResmanDebugLevel: 4294967295\nRegistryDwords: ""\n',
    "nvidia-smi topo -p2p r > topo-p2p-r.txt": P2P, "nvidia-smi topo -p2p w > topo-p2p-w.txt": P2P,
    "nvidia-smi topo -p2p r > topo-p2p-r.txt && nvidia-smi topo -p2p w > topo-p2p-w.txt":
        f"$ nvidia-smi topo -p2p r\n{P2P}\n$ nvidia-smi topo -p2p w\n{P2P}",
    "grep . /sys/kernel/iommu_groups/*/type": "".join(
        f"/sys/kernel/iommu_groups/{group}/type:identity\n" for group in range(64)),
    "grep -H . /proc/sys/kernel/numa_balancing": "/proc/sys/kernel/numa_balancing:0\n",
    "grep -H . /proc/sys/kernel/tainted": "/proc/sys/kernel/tainted:0\n",
    "grep -H . /sys/kernel/security/lockdown": "/sys/kernel/security/lockdown:[none] integrity confidentiality\n",
    "grep -H . /sys/devices/system/clocksource/clocksource0/current_clocksource":
        "/sys/devices/system/clocksource/clocksource0/current_clocksource:tsc\n",
}
_NAMES = {"lspci.txt": "sudo lspci -nnvvv", "dmesg.txt": "sudo dmesg", "smi-q.txt": "nvidia-smi -q",
          "topo.txt": "nvidia-smi topo -m", "lscpu.txt": "lscpu", "numactl.txt": "numactl -H",
          "cmdline.txt": "cat /proc/cmdline", "swaps.txt": "cat /proc/swaps",
          "memlock.txt": "systemctl show --property=DefaultLimitMEMLOCK"}
_SETS = {"all": frozenset(_NAMES.values()), **{name: frozenset({command}) for name, command in _NAMES.items()},
         **{f"no {name}": frozenset(_NAMES.values()) - {command} for name, command in _NAMES.items()}}
#: As the kernel's buffer prints it long after the boot: its start is gone.
_TAIL = "".join(f"[ {3600 + at}.000001] {line}\n" for at, line in enumerate((
    "usb 1-1: new high-speed USB device number 4 using xhci_hcd", "usb 1-1: New USB device found, idVendor=046b",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready", "nvidia-uvm: Loaded the UVM driver.",
    "EXT4-fs (sda1): re-mounted r/w. Quota mode: none.", "systemd-journald[500]: Received client request to flush")))
_PARTS = {name: {"sudo dmesg": _TAIL} for name in ("a log without its start", "lspci and a log without its start")}
_SETS |= dict(zip(_PARTS, (_SETS["all"], frozenset({"sudo lspci -nnvvv", "sudo dmesg"})), strict=True))
_ASKED = re.compile(r"\b(?:add|add the whole of): ((?:sudo |cat |grep |nvidia-smi |numactl |lscpu|systemctl )[^;)]*)")


#: Asks for what no judgement without it asks for.
_SPEC = Frozen("box1", "x", Spec(
    accelerators=Accelerators(pci_ids=("10de:2330",), count=2), iommu="pt", acs=Acs(peer_redirect="off"),
    cpu=Cpu("performance", "performance", "off"), modules={"nvidia": {"NVreg_EnableGpuFirmware": 18}},
    kernel=Kernel(("iommu=pt",)), driver=Driver(version="595.71.05")), {})


def _judged(folder: Path, texts: dict[str, str], spec: Frozen | None) -> list[Finding]:
    return _case(folder, texts, "preflight", spec)[1]


def _case(folder: Path, texts: dict[str, str], verb: str, spec: Frozen | None = None) -> tuple[Case, list[Finding]]:
    folder = folder / str(len(list(folder.iterdir())))
    folder.mkdir()
    for number, (command, content) in enumerate(texts.items()):
        (folder / (command.partition(" > ")[2] or f"{number}.txt")).write_text(content)
    case = Case(gather(load_import(str(folder)), spec.spec if spec else None, verb != "topo"), spec)
    return case, judge(case, verb)


def _asked(finding: Finding) -> list[str]:
    return [found.strip().rstrip(".") for found in _ASKED.findall(finding.text)]


@pytest.mark.parametrize(("layout", "spec"), [("acs-iommu", None), ("switch1", None), ("switch1", _SPEC)],
                         ids=["groups", "no groups", "spec"])
@pytest.mark.parametrize("name", _SETS)
def test_what_is_asked_for_changes_the_answer_and_is_not_there(tmp_path: Path, name: str, layout: str,
                                                               spec: Frozen | None) -> None:
    samples = GIVEN | {command: _FOLDERS[layout][name] for name, command in _NAMES.items() if command != "sudo dmesg"}
    if layout == "switch1":
        del samples["sudo lspci -xxxx"]     # no bytes of this machine are here
    texts = {command: samples[command] for command in _SETS[name]} | _PARTS.get(name, {})
    futile, later = [], dict[str, list[Finding]]()
    for finding in _judged(tmp_path, texts, spec):
        for command in _asked(finding):
            if command in texts:
                futile.append(f"{finding.id} asks for {command}, which is there: {finding.text}")
                continue
            if command not in samples and command == "sudo lspci -xxxx":
                continue
            if command not in later:
                later[command] = _judged(tmp_path, texts | {command: samples[command]}, spec)
            if _the_same(finding, later[command]):
                futile.append(f"{finding.id}: {command} changes nothing: {finding.text}")
            elif any((each.id, each.subject, each.absence) == (finding.id, finding.subject, Absence.ONLY_ON_HOST)
                     for each in later[command]):
                futile.append(f"{finding.id}: behind {command} it lacks what no text shows: {finding.text}")
    assert futile == []


def _the_same(finding: Finding, later: list[Finding]) -> bool:
    """Whether the finding is there as before, but for what it asks for: a request that is gone is no help."""
    return any((each.id, each.subject, each.outcome, _ASKED.sub("", each.text).rstrip("; ")) == (
        finding.id, finding.subject, finding.outcome, _ASKED.sub("", finding.text).rstrip("; ")) for each in later)


_BOARDS = ("NVIDIA H200", "NVIDIA B200", "A100-SXM4-40GB", "NVIDIA GeForce RTX 4090",
           "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "")


@pytest.mark.parametrize("layout", _FOLDERS)
@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("name", _BOARDS)
def test_what_a_benchmark_lacks_is_what_is_asked_for(tmp_path: Path, name: str, ranks: int, checked: bool, layout: str
                                                     ) -> None:
    """nccl-tests on boards with and without a known figure, named and not."""
    text = run(*[name] * ranks if name else (), hosts=("box",) * ranks)
    text = text if checked else re.sub(r"302\.00       0\b", "302.00     N/A", text)
    found, = (each for each in _judged(tmp_path, {"bench": text}, None) if each.id == "bench-figures")
    for command in _asked(found):
        given = {"bench": text, command: _FOLDERS[layout]["lspci.txt"] if "lspci" in command else GIVEN[command]}
        assert not _the_same(found, _judged(tmp_path, given, None)), found.text
    if found.outcome == "unknown" and "figure of" in found.text:
        assert name and "no other text tells one" in found.text
    if not name:
        assert '"# Rank"' in found.text


@pytest.mark.parametrize("log", [LOG, LOG.partition("\n")[2]], ids=["no end of the start", "no start"])
def test_a_log_that_tells_of_no_group_is_not_asked_for_again(tmp_path: Path, log: str) -> None:
    texts = {"sudo lspci -nnvvv": _FOLDERS["switch1"]["lspci.txt"], "sudo dmesg": log}
    (found,) = [each for each in _judged(tmp_path, texts, None) if each.id == "iommu-mode"]
    assert (found.outcome, found.absence, _asked(found)) == ("unknown", Absence.LOG_TOO_SHORT, [])


@pytest.fixture(name="questions", scope="module")
def _questions(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Every file that an import lacked: each text alone, and each left out."""
    asked: set[str] = set()

    def noted(question: str) -> str:
        asked.add(question)
        return outputs.output_for(question)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "output_for", noted)
        for texts in (*({command: text} for command, text in GIVEN.items()),
                      *({each: text for each, text in GIVEN.items() if each != command} for command in GIVEN)):
            _judged(tmp_path_factory.mktemp("box"), texts, _SPEC)
    return frozenset(question for question in asked if question.startswith("/"))


def test_a_command_that_names_files_prints_the_one_that_is_missing(questions: frozenset[str]) -> None:
    """A folder is told by the files in it."""
    commands = {question: outputs.output_for(question) for question in questions}
    printing = {question: command.split()[-1] for question, command in commands.items()
                if re.match(r"(?:sudo )?(?:grep|cat) ", command)}
    assert len(printing) > 20
    assert {question: shown for question, shown in printing.items() if not _prints(shown, question)} == {}


def _prints(pattern: str, question: str) -> bool:
    wanted, parts = pattern.rstrip("/").split("/"), question.split("/")
    deep = pattern.endswith("/")        # grep -r
    return (len(parts) <= len(wanted) or deep) and all(
        fnmatchcase(part, each) for part, each in zip(parts, wanted, strict=False))


def test_every_command_of_the_table_is_tried() -> None:
    """A new command needs a text of it here."""
    commands = {command for _, command in outputs._OUTPUTS} - {""}
    assert commands - set(GIVEN) == set()


#: What is pasted alone, beside the outputs that the report asks for.
_PASTED = GIVEN | {
    "nvidia-smi": table(row(bus="03"), row(index=1, bus="04")).replace("580.159.04", "595.71.05"),
    "nvidia-smi -q of two": TEXT, "of an old driver": OLD,
    "nvidia-smi -q -d MEMORY": HEAD.format(count=1) + "GPU 00000000:06:00.0\n" + GPU[GPU.index("    FB Mem"):
                                                                                   GPU.index("    Compute")],
    "nvidia-smi -q | head": "".join(TEXT.splitlines(keepends=True)[:20]),
    "nvidia-smi -L": "GPU 0: NVIDIA H100 (UUID: GPU-1f4c1c7a-26f3-7c0b-8a63-111111111111)\n",
    "lsmod": "Module                  Size  Used by\nnvidia              14000000  0\n",
    "lsmod | grep nouveau": "nouveau              14000000  0\n",
    "modinfo nvidia": "filename:       /lib/modules/6.12.1/updates/dkms/nvidia.ko\nversion:        595.71.05\n"
                      "license:        Dual MIT/GPL\nvermagic:       6.12.1 SMP preempt mod_unload \n",
    "ls /dev/nvidia*": "ls: cannot access '/dev/nvidia*': No such file or directory\n",
    "a refusal": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"}
_NO_TEXT = (Absence.NOT_IN_IMPORT, Absence.NOT_READ, Absence.NOT_RECORDED, Absence.OTHER)


@pytest.mark.parametrize("name", _PASTED)
def test_what_no_text_tells_names_the_output_that_does(tmp_path: Path, name: str) -> None:
    """Every check: a finding that lacks a text names a command of which the output can be added, or the recording."""
    text = _PASTED[name]
    mute = [(each.id, each.subject, each.text) for each in _judged(tmp_path, {name: text}, None)
            if each.outcome == "unknown" and each.absence in _NO_TEXT
            and not re.search(r"\badd(?: the whole of)?: \S|tunecheck (?:preflight --)?record\b", each.text)]
    assert mute == []


@pytest.mark.parametrize("given", ["", "r", "w", "n", "a", "p", "na"])
def test_every_table_of_letters_that_is_missing_is_named_at_once(tmp_path: Path, given: str) -> None:
    texts = {f"x > topo-p2p-{letter}.txt": f"$ nvidia-smi topo -p2p {letter}\n{P2P}" for letter in given}
    found = [each for each in _judged(tmp_path, {"sudo lspci -nnvvv": _FOLDER["lspci.txt"]} | texts, None)
             if each.id == "p2p-capability" and each.outcome == "unknown"]
    said = " ".join(each.text for each in found)
    assert {letter for letter in "rw" if f"nvidia-smi topo -p2p {letter}" in said} == {"r", "w"} - set(given)


@pytest.mark.parametrize("verb", ["topo", "host", "driver", "runtime", "preflight"])
@pytest.mark.parametrize("name", [*_NAMES, "nvidia-smi", "nvidia-smi -L", "lsmod", "modinfo nvidia"])
def test_as_many_need_the_output_as_the_report_says(tmp_path: Path, name: str, verb: str) -> None:
    """Each text alone, with each verb: so many findings are open, and none asks for that output once it is there."""
    command = _NAMES.get(name, name)
    texts = {command: _PASTED[command]}
    case, findings = _case(tmp_path, texts, verb)
    missing = [each for each in findings if is_missing(each)]
    advice = not_given(case, missing).fix
    promised = re.match(r"add the output of: (.+?) \((\d+) of them needs? it\)(?:; then: ([^;]*))?", advice)
    if promised is None:
        return
    more = re.search(r" and (\d+) more$", promised[3] or "")
    named = [promised[1], *filter(None, (promised[3] or "").removesuffix(more[0] if more else "").split(", "))]
    asked = [next(iter(_asked(each)), "") for each in missing]
    assert asked.count(promised[1]) == int(promised[2]), "each of them asks for it"
    assert len(named) + int(more[1] if more else 0) == len({*asked} - {""}), "all that is asked for is counted"
    then, still = _case(tmp_path, texts | {promised[1]: _PASTED[promised[1]]}, verb)
    assert f"add the output of: {promised[1]} " not in not_given(then, [each for each in still if is_missing(each)]).fix
