"""Several outputs pasted one after the other, without prompts: each is read as if it were a file of its own."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.unit.imports import smi_texts
from tests.unit.imports.samples import FIXTURES
from tests.unit.imports.test_fragments import TOPO
from tests.unit.imports.twice import TWICE

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.files import pieces
from tunecheck.host.imported.machine import load_import
from tunecheck.host.imported.seams import parts
from tunecheck.rules import judge
from tunecheck.rules.context import Case

XID = "[ 1234.567890] NVRM: Xid (PCI:0000:03:00): 79, pid=1234, GPU has fallen off the bus.\n"
LOG = "".join(f"[    0.{number:06}] {text}\n" for number, text in enumerate(
    ["Linux version 6.12.1 (a@b) #1 SMP", "Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt", "ACPI: RSDP 0x1",
     "pci 0000:03:00.0: [10de:2bb1] type 00 class 0x030000", "nvidia 0000:06:00.0: enabling device"])) + XID
TABLE = ("Mon Nov 23 15:36:00 2026\n+-----------------------------------------------------------------------------"
         "------------+\n| NVIDIA-SMI 595.71.05              Driver Version: 595.71.05      CUDA Version: 13.2     |\n"
         "+-----------------------------------------+------------------------+----------------------+\n")
TEXTS = {
    "lspci": (FIXTURES / "switch1/switch1-nv.lspci-vvv").read_text(), "nvidia-smi -q": smi_texts.TEXT, "topo": TOPO,
    "kernel log": LOG, "numactl -H": "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n",
    "lscpu": "Architecture:             x86_64\n  CPU op-mode(s):         64-bit\nCPU(s):                   2\n"
             "  On-line CPU(s) list:    0,1\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro iommu=pt\n", "nvidia-smi -q as XML": smi_texts.XML,
    "/proc/cmdline as systemd-boot has it": "initrd=\\EFI\\debian\\initrd.img root=UUID=1 rw iommu=pt pci=noacs\n",
    "/proc/cmdline as an entry's options": "root=UUID=11111111-2222 ro quiet iommu=pt\n",
    "kernel log as an Xid": "NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', GPU has fallen off the bus.\n",
    "kernel log as an error": "pcieport 0000:00:01.1: AER: Correctable error message received from 0000:03:00.0\n",
    "kernel log as a stuck task": "INFO: task nvidia-smi:4242 blocked for more than 120 seconds.\n"
                                  "      Not tainted 6.12.1 #1\n",
    "kernel log as a fault": "nvidia 0000:03:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1b address=0xe000]\n",
    "kernel log as a word": "PCI: Unknown option `noacs'\n",
}
DIVIDERS = ("", "\n", "\n\n", "=== dmesg ===\n", "-- the next one --\n", "dmesg:\n", "sudo dmesg\n", "+ sudo dmesg\n")


@pytest.mark.parametrize("divider", DIVIDERS, ids=repr)
def test_two_outputs_without_a_prompt_are_two_texts(divider: str) -> None:
    wrong = []
    for one, other in itertools.permutations(TEXTS, 2):
        if one.partition(" as ")[0] == other.partition(" as ")[0]:
            continue
        found = [text for _, text in parts(TEXTS[one].rstrip("\n") + "\n" + divider + TEXTS[other])]
        if len(found) != 2 or found[0].strip() != TEXTS[one].strip() or found[1].strip() != TEXTS[other].strip():
            wrong.append((one, other, [text[:60] for text in found]))
    assert not wrong


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if not kind.startswith("/proc/cmdline")])
def test_a_command_line_without_a_sign_stands_in_front(kind: str) -> None:
    line = "console=ttyS0 ro quiet pci=noacs iommu=pt init=/sbin/init\n"
    assert [text.strip() for _, text in parts(line + TEXTS[kind])] == [line.strip(), TEXTS[kind].strip()]


@pytest.mark.parametrize("kind", TEXTS)
def test_one_output_stays_whole(kind: str) -> None:
    assert list(parts(TEXTS[kind])) == [("", TEXTS[kind])]
    talk = f"Hello,\nthis is my box:\n\n{TEXTS[kind]}\nThanks!\n"
    assert list(parts(talk)) == [("", talk)]


def test_an_xid_behind_other_outputs_is_found(tmp_path: Path) -> None:
    for number, order in enumerate(itertools.permutations(("lspci", "kernel log", "topo"))):
        file = tmp_path / f"{number}.txt"
        file.write_text("".join(TEXTS[kind] for kind in order))
        assert len(list(pieces(str(file)))) == 3
        found = {each.id: each.outcome for each in judge(Case(gather(load_import(str(file)), None, True)), "preflight")
                 if each.id in ("xid", "gpu-fallen-off")}
        assert found["xid"] == "fail", order


@pytest.mark.parametrize("said", [
    "then we got pcieport 0000:00:01.1: AER: Correctable error message received from 0000:03:00.0\n",
    "a forum says that NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus. means a bad riser\n",
    "    INFO: task nvidia-smi:4242 blocked for more than 120 seconds.\n"])
def test_a_message_that_somebody_quotes_is_no_log(said: str) -> None:
    assert list(parts(TOPO + said)) == [("", TOPO + said)]


def test_the_letter_of_a_p2p_table_is_read_from_the_line_above_it(tmp_path: Path) -> None:
    letters = "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n"
    (tmp_path / "x.txt").write_text(LOG + "nvidia-smi topo -p2p w\n" + letters)
    snapshot = gather(load_import(str(tmp_path / "x.txt")), None, True)
    assert list(snapshot.posted.letters) == ["w"]


def test_the_plain_table_behind_a_long_log_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(LOG + "[    2.000000] filler of a long log\n" * 12_000 + TABLE)
    assert "nvidia-smi (x.txt)" in load_import(str(tmp_path / "x.txt")).summary()


def test_prompts_and_seams_in_one_text(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(f"{TOPO}{LOG}$ lscpu\n{TEXTS['lscpu']}{TEXTS['numactl -H']}")
    found = list(pieces(str(tmp_path / "x.txt")))
    assert [each.text for each in found] == [TOPO, LOG, TEXTS["lscpu"], TEXTS["numactl -H"]]
    assert [each.title for each in found] == ["", "", "$ lscpu", ""]


#: Not those of which a part is found in every text: a failure, and lines that stand in an output of another kind.
_WHOLE = [kind for kind in TWICE if kind not in ("lspci -v", "nvidia-smi nvlink -s", "topo -p2p")]
#: nvidia-smi as it is printed, with the border below its list of processes.
_BORDER = "+-----------------------------------------------------------------------------------------+\n"
_BOX = _BORDER + TWICE["nvidia-smi"][0].replace("| Processes:  |\n", (
    "+-----------------------------------------+------------------------+----------------------+\n\n"
    "+-----------------------------------------------------------------------------------------+\n"
    "| Processes:                                                                              |\n"
    "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
    "|=========================================================================================|\n"
    "|    0   N/A  N/A            1200      C   python3                              1024MiB |\n"
    "+-----------------------------------------------------------------------------------------+\n"))
_NEXT = {"kernel log": LOG, **{kind: TWICE[kind][0] for kind in _WHOLE if kind != "kernel log"}}


def _found(path: Path, text: str) -> dict[str, set[tuple[str, str, str]]]:
    path.write_text(text)
    found: dict[str, set[tuple[str, str, str]]] = {}
    for each in judge(Case(gather(load_import(str(path)), None, True)), "preflight"):
        found.setdefault(each.id, set()).add((each.code, each.outcome, each.text))
    return found


@pytest.mark.parametrize("follower", [kind for kind in _NEXT if not kind.startswith("nvidia-smi")])
def test_the_list_of_processes_is_read_whatever_follows(follower: str, tmp_path: Path) -> None:
    checks = ("gpu-ghost", "gpu-ecc", "gpu-temperature", "gpu-power-limit", "gpu-mig")
    alone = _found(tmp_path / "a", _BOX)
    for divider in ("", "\n", "\n\n"):
        text = _BOX + divider + _NEXT[follower]
        document = load_import(str(_written(tmp_path / "b", text))).nvml()
        assert [gpu["values"].get("processes") for gpu in document["gpus"]] == [[{"pid": 1200, "used_mib": 1024}]]
        if follower not in ("lspci", "lspci -m", "lspci -t", "nvidia-smi -q"):      # they name GPUs of another box
            assert {check: _found(tmp_path / "b", text).get(check) for check in checks} == {
                check: alone.get(check) for check in checks}


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", _WHOLE)
def test_an_output_is_the_same_whatever_follows(kind: str) -> None:
    wrong = []
    first = _BOX if kind == "nvidia-smi" else TWICE[kind][0]
    for follower, text in _NEXT.items():
        if follower != kind:
            found = [part for _, part in parts(first.rstrip("\n") + "\n" + text)]
            if len(found) > 1 and found[0].strip() != first.strip():
                wrong.append((follower, found[0][-80:]))
    assert not wrong
