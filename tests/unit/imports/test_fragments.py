"""Every fragment gets an answer, alone and as people paste it: what is asked for, what must never be said."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.facts.trees import frozen
from tests.unit.imports.samples import samples
from tests.unit.imports.test_topo_matrix import P2P, TABLE
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported import files
from tunecheck.host.imported.machine import ImportedHost, load_import
from tunecheck.host.source import open_source
from tunecheck.model.finding import Finding
from tunecheck.parsers.text.damage import Damage
from tunecheck.parsers.text.pasted import clean
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.codes import NO_PAIR
from tunecheck.rules.context import Case
from tunecheck.rules.pcie.p2p_letters import TABLES
from tunecheck.spec.frozen import Accelerators

TOPO = "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPIX\tSYS\tSYS\nGPU1\tPIX\t X \tSYS\tSYS\n" \
    "GPU2\tSYS\tSYS\t X \tPIX\nGPU3\tSYS\tSYS\tPIX\t X \n"
FAILED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is running.\n"
PLAIN = (
    "| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |\n"
    "|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |\n"
    "| N/A   30C    P0            109W /  700W |       0MiB / 143771MiB |      0%      Default |\n"
    "|                                         |                        |             Disabled |\n| Processes:  |\n")
QUERY = ("==============NVSMI LOG==============\n\nDriver Version                  : 595.58.03\nAttached GPUs : 1\n"
         "GPU 00000000:03:00.0\n    Product Name : NVIDIA H100\n    PCI\n"
         "        Device Id : 0x233010DE\n"
         "        GPU Link Info\n            PCIe Generation\n                Max : 5\n                Current : 5\n"
         "                Device Max : 5\n            Link Width\n                Max : 16x\n"
         "                Current : %s\n")


def load(path: Path, *texts: str | bytes) -> ImportedHost:
    for number, text in enumerate(texts):
        (path / f"{number}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_import(str(path))


def snap(path: Path, *texts: str | bytes) -> Snapshot:
    return gather(load(path, *texts), None, True)


def findings(snapshot: Snapshot, check: str, relation: str | None = None) -> list[Finding]:
    spec = frozen(accelerators=Accelerators(relation=relation)) if relation else None
    return [each for each in judge(Case(snapshot, spec), "preflight") if each.id == check]


def shown(snapshot: Snapshot) -> str:
    case = Case(snapshot)
    return render("topo", case, judge(case, "topo"), Style(), imported=True)


def test_a_table_alone_is_shown_judged_and_explained(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, TOPO)
    text = shown(snapshot)
    assert "nvidia-smi topo -m:\n      GPU0  GPU1  GPU2  GPU3\nGPU0  X     PIX   SYS   SYS\n" in text
    legend = [line.split()[0] for line in text.splitlines() if re.match(r" *[A-Z]+ = \w", line)]
    assert {"PIX", "SYS"} <= set(legend) <= {"PIX", "SYS", "X"}, "what stands in the table, and nothing else"
    (near,) = [line for line in text.splitlines() if line.lstrip().startswith("PIX = ")]
    assert "ACS" in near, "a table shows no ACS, which decides whether the traffic stays in the switch"
    assert "sudo lspci -nnvvv" in text
    assert [(each.outcome, each.code) for each in findings(snapshot, "accelerator-count")] == [
        ("unknown", "tree-unread")]
    (far,) = findings(snapshot, "topo-relation")
    assert (far.outcome, far.code, far.observed) == ("warn", "across-sockets", "SYS")
    assert far.subject == "GPU0-GPU2, GPU0-GPU3, GPU1-GPU2, GPU1-GPU3" and far.remedy
    assert "0, 1 | 2, 3" in far.remedy.text, "the groups to stay in"


def test_with_a_specification_a_table_fails_and_never_passes(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, TOPO)
    assert [each.code for each in findings(snapshot, "topo-relation", "PXB")] == ["farther-than-declared"]
    assert [(each.outcome, each.code) for each in findings(snapshot, "topo-relation", "SYS")] == [
        ("unknown", "tree-not-given")]


@pytest.mark.parametrize("text", [TOPO[:-30], TOPO.replace("SYS\tSYS", "SYSSYS", 1), TOPO.replace("GPU3\tSYS", "SYS")])
def test_a_table_that_is_cut_or_damaged_is_unknown(tmp_path: Path, text: str) -> None:
    (found,) = findings(snap(tmp_path, text), "topo-relation")
    assert (found.outcome, found.code) == ("unknown", "table-unread")


def test_letters_alone_are_explained(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, f"$ nvidia-smi topo -p2p r\n{P2P}")
    assert "nvidia-smi topo -p2p r: reads\n" in shown(snapshot)
    assert {(each.outcome, each.code) for each in findings(snapshot, "p2p-capability")} <= {
        ("warn", "pair-not-supported"), ("unknown", "not-proven")}


def test_several_tables_without_prompts(tmp_path: Path) -> None:
    posted = snap(tmp_path, f"{TOPO}\nnvidia-smi topo -p2p w\n{P2P}").posted
    assert posted.table.known and list(posted.letters) == ["w"]


@pytest.mark.parametrize(("text", "code", "subject"), [
    (FAILED, "driver-does-not-answer", "NVML"),
    ("Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system\n", "gpu-lost",
     "0000:0b:00.0"),
    ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure\n", "no-library", "NVML"),
    ("bash: nvidia-smi: command not found\n", "no-nvidia-smi", "NVML"),
    ("No devices were found\n", "driver-without-gpu", "NVML"),
])
def test_what_nvidia_smi_says_of_itself_is_a_failure(tmp_path: Path, text: str, code: str, subject: str) -> None:
    (found,) = findings(snap(tmp_path, text), "nvml-answers")
    assert (found.outcome, found.code, found.subject) == ("fail", code, subject) and found.remedy


def test_the_plain_table_is_nvmls_answer_as_far_as_it_goes(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, PLAIN)
    assert snapshot.nvml.value is not None and snapshot.host is not None
    (gpu,) = snapshot.nvml.value.gpus
    assert (gpu.bdf, gpu.values["name"], gpu.values["power_limit_mw"]) == ("0000:00:06.0", "NVIDIA H200", 700000)
    assert snapshot.host.driver.version.value == "580.159.04"
    assert findings(snapshot, "nvml-answers")[0].outcome == "pass"
    (ecc,) = findings(snapshot, "gpu-ecc")
    assert (ecc.outcome, ecc.code) == ("unknown", "unread")


def test_a_plain_table_that_is_cut_is_no_pass(tmp_path: Path) -> None:
    assert findings(snap(tmp_path, PLAIN.replace("| Processes:  |\n", "")), "nvml-answers")[0].outcome == "unknown"


@pytest.mark.parametrize(("lanes", "outcome", "code"), [
    ("8x", "fail", "lost-lanes"), ("16x", "unknown", "own-link-only")])
def test_the_query_shows_the_gpus_own_link_alone(tmp_path: Path, lanes: str, outcome: str, code: str) -> None:
    (width,) = findings(snap(tmp_path, QUERY % lanes), "link-width")
    assert (width.outcome, width.code) == (outcome, code) and f"x{lanes[:-1]}" in width.observed


def test_lspci_shows_bar1(tmp_path: Path) -> None:
    text = ("00:00.0 Host bridge [0600]: Intel [8086:29c0]\n\tControl: I/O+\n"
            "03:00.0 3D controller [0302]: NVIDIA Corporation RTX PRO 6000 [10de:2bb1]\n\tControl: I/O- Mem+\n"
            "\tRegion 1: Memory at 380000000 (64-bit, prefetchable) [size=256M]\n\tKernel driver in use: nvidia\n\n")
    (found,) = findings(snap(tmp_path, text), "bar1-size")
    assert (found.outcome, found.code, found.observed) == ("fail", "smaller-than-memory", "256 MiB")


@pytest.mark.parametrize(("ids", "outcome"), [("1b06", "skip"), ("2bb1", "fail")])
def test_resizable_bar_is_asked_only_of_boards_that_have_it(tmp_path: Path, ids: str, outcome: str) -> None:
    text = ("00:00.0 Host bridge [0600]: Intel [8086:29c0]\n\tControl: I/O+\n"
            f"03:00.0 3D controller [0302]: NVIDIA Corporation X [10de:{ids}]\n\tControl: I/O- Mem+\n"
            "\tRegion 1: Memory at 380000000 (64-bit, prefetchable) [size=256M]\n\tKernel driver in use: nvidia\n\n"
            f"{QUERY % '16x'}    BAR1 Memory Usage\n        Total : 256 MiB\n    FB Memory Usage\n"
            f"        Total : 11264 MiB\n"
            ).replace("0x233010DE", f"0x{ids.upper()}10DE")
    found = findings(snap(tmp_path, *text.split("=====", 1)[:1], "=====" + text.split("=====", 1)[1]), "bar1-size")
    assert [each.outcome for each in found] == [outcome]


@pytest.mark.parametrize("line", [
    "[    0.000000] DMI: Xen HVM domU, BIOS 4.2.amazon 08/24/2006\n",
    "[    0.000000] DMI: Amazon EC2 p4d.24xlarge/, BIOS 1.0 10/16/2017\n", "[    0.000000] Hypervisor detected: KVM\n"])
def test_a_guest_is_known_by_its_log(tmp_path: Path, line: str) -> None:
    log = f"[    0.000000] Linux version 6.8.0 (x)\n{line}[    0.000001] BIOS-provided physical RAM map:\n"
    assert load(tmp_path, log).guest
    assert not load_import(str(tmp_path)).guest.startswith("bare")


@pytest.mark.parametrize("dress", [
    lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    lambda text: "".join(f">> {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1)),
    lambda text: "".join(f"{number}: {line}\n" for number, line in enumerate(text.splitlines(), 1)),
    lambda text: f"<html><body><p>see</p><pre>{text.replace('<', '&lt;')}</pre></body></html>",
    lambda text: f"```text\n{text}```\n", lambda text: f"root@box:~# nvidia-smi topo -m\n{text}",
    lambda text: f"[root@box ~]# nvidia-smi topo -m\n{text}[root@box ~]# nvidia-smi\n{FAILED}",
    lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text,
], ids=["quoted", "quoted twice", "numbered", "numbered with colons", "html", "fence", "prompt", "two prompts", "crlf",
        "bom"])
def test_pasted_text_is_the_same_text(tmp_path: Path, dress: Callable[[str], str]) -> None:
    table = snap(tmp_path, dress(TOPO)).posted.table
    assert table.value is not None and table.value.relations[0, 1] == "PIX" and len(table.value.labels) == 4


@pytest.mark.parametrize("text", [TABLE, P2P, PLAIN, FAILED, "00:01.0 PCI bridge: Intel\n01:00.0 VGA: NVIDIA\n" * 3,
                                  "     0   0.98  14.35\n     1  14.68   1.02\n" * 4])
def test_text_without_dressing_is_left_alone(text: str) -> None:
    assert clean(text) == text


def _zip(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("box/topo.txt", content)
        archive.writestr("box/smi.txt", FAILED)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress, gzip.compress, _zip], ids=["xz", "bz2", "gz", "zip"])
def test_packed_text_is_unpacked_in_memory(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(TOPO.encode())
    assert snap(tmp_path, packed).posted.table.known
    (tmp_path / "0.txt").write_bytes(packed[:-20])
    with pytest.raises(UsageError) as told:
        load_import(str(tmp_path))
    assert told.value.flaw in (Damage.CUT_SHORT, Damage.PACKING)


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress, _zip], ids=["xz", "bz2", "zip"])
def test_a_bomb_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SMALL", 1 << 16)
    (tmp_path / "0.txt").write_bytes(pack(b" " * (3 << 20)))
    with refused(Damage.TOO_LARGE, "300"):
        load_import(str(tmp_path))


def test_zero_bytes_are_named_and_leave_a_hole(tmp_path: Path) -> None:
    log = b"[    0.000000] Linux version 6.8.0 (x)\n[    0.000001] a\n" + b"\0" * 3 + b"[    0.000002] b\n" * 9
    door = load(tmp_path, log)
    assert re.search(r"0\.txt .*\b3\b", door.summary())
    snapshot = gather(door, None, True)
    assert "pass" not in {each.outcome for each in findings(snapshot, "kernel-log-complete")}
    (tmp_path / "0.txt").write_bytes(b"\0" * 99)
    with refused(Damage.UNKNOWN_PART, "0.txt", "99"):
        load_import(str(tmp_path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    files.standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TOPO.encode())))
    assert gather(load_import("-"), None, True).posted.table.known
    files.standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    with refused(Damage.EMPTY, "--from -"):
        load_import("-")
    files.standard_input.cache_clear()


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\t\n", b"\r\n\r\n"])
@pytest.mark.parametrize("where", ["file", "folder", "folder of two", "standard input"])
def test_what_is_empty_is_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes,
                                       where: str) -> None:
    """And what to give is said by a command, in place of a list of all that is recognised."""
    (tmp_path / "a.txt").write_bytes(content)
    if where == "folder of two":
        (tmp_path / "b.txt").write_bytes(b"")
    path = {"file": str(tmp_path / "a.txt"), "standard input": "-"}.get(where, str(tmp_path))
    files.standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with refused(Damage.EMPTY, path, "; give the output of a command, for example: "):
        open_source(path)
    files.standard_input.cache_clear()


def test_a_folder_without_files_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "lspci.txt").write_text("text")
    with refused(Damage.EMPTY, "no file", "for example: "):
        open_source(str(tmp_path))


def test_the_list_of_what_to_add_is_short(tmp_path: Path) -> None:
    case = Case(snap(tmp_path, TOPO))
    text = render("preflight", case, judge(case, "preflight"), Style(), imported=True)
    line = next(line for line in text.splitlines() if line.endswith(": sudo tunecheck record") and "; fix: " in line)
    first, then, _ = line.split("; fix: ")[1].split("; ")
    assert ": sudo lspci -nnvvv (" in first
    assert len(then.partition(": ")[2].split(", ")) <= 2


_REAL = {
    "topo/*.txt": ("nvidia-smi topo", "p2p-capability", "topo-relation"),
    "lab/*tv": ("lspci -tv:",), "bench/p2pblt*": ("bench-figures",), "bench/nccl-0[1356]*": ("bench-figures",),
    "bench/nvbandwidth*": ("bench-figures",), "h200/run2/b_nccl_debug*": ("NCCL 2.28.9: 2 ",),
    "h200/run1/smi.txt": ("nvml-answers/ok",), "h200/run1/smi_qx.txt": ("nvml-answers/ok",),
    "host/*cmdline.log": ("cmdline",),
}


@pytest.mark.parametrize("pattern", _REAL)
def test_real_outputs_get_an_answer(pattern: str) -> None:
    for path in sorted(samples().glob(pattern)):
        case = Case(gather(load_import(str(path)), None, True))
        judged = judge(case, "preflight")
        text = render("preflight", case, judged, Style(), imported=True)
        codes = {f"{each.id}/{each.code}" for each in judged}
        assert any(words in text or words in codes for words in _REAL[pattern]), path
        lone = [each.text for each in judged if (each.id, each.code) == ("topo-relation", NO_PAIR)]
        assert not any(words in text for words in lone) or "8gpu" not in path.name, path


def test_modules_are_named(tmp_path: Path) -> None:
    text = ("filename:       /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko\nversion:        580.95.05\n"
            "license:        Dual MIT/GPL\nvermagic:       6.8.0-45-generic SMP preempt mod_unload\n")
    said = shown(snap(tmp_path, text, "nouveau              3096576  1\nnvidia              56717312  0\n"))
    assert re.search(r" 580\.95\.05, open, [^;]* 6\.8\.0-45-generic", said)
    assert "lsmod: nouveau, nvidia " in said


def test_a_p2p_table_without_its_command_refuses_nothing(tmp_path: Path) -> None:
    """NS stands in the tables of atomics and of PCIe's property on boards that copy over NVLink."""
    snapshot = snap(tmp_path, P2P.replace("OK", "NS"))
    found = [each for each in findings(snapshot, "p2p-capability") if each.observed == "NS"]
    assert {(each.outcome, each.code) for each in found} == {("unknown", "table-not-told")}


@pytest.mark.parametrize("given", ["", "r", "w", "n", "rw", "rwnap"])
@pytest.mark.parametrize("word", ["OK", "NS", "GNS", "CNS", "TNS", "DR", "U"])
def test_a_p2p_table_without_its_command_is_asked_for_by_all_letters(tmp_path: Path, word: str, given: str) -> None:
    """What it may be, and which tables are missing then: plain peer access needs those of reads and of writes."""
    named = [f"$ nvidia-smi topo -p2p {letter}\n{P2P}" for letter in given]
    found = [each for each in findings(snap(tmp_path, P2P.replace("OK", word), *named), "p2p-capability")
             if each.evidence == ("nvidia-smi topo -p2p",)]
    assert found
    for each in found:
        assert each.remedy is not None
        for letter, what in TABLES.items():
            assert f"{letter}: {what}" in each.remedy.text and what in each.text
        assert [command.argv[-1] for command in each.remedy.commands] == [way for way in "rw" if way not in given]
