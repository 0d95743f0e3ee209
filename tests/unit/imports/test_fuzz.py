"""Anything at all may be pasted: the parsers answer or raise ValueError, and damage never turns into another answer."""

from __future__ import annotations

import contextlib
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.facts.trees import switch
from tests.unit.imports.samples import lab
from tests.unit.imports.test_bug_report import REPORT
from tests.unit.imports.test_topo_matrix import P2P, TABLE

from tunecheck.facts.kernel.platform import _swaps
from tunecheck.facts.nvidia.p2p import LETTERS
from tunecheck.facts.pci.topology import topology
from tunecheck.facts.snapshot import gather
from tunecheck.host import Unreadable
from tunecheck.host.imported.cpu import from_lscpu, from_numactl
from tunecheck.host.imported.kinds import recognise, shown
from tunecheck.host.imported.machine import ImportedHost, load_import
from tunecheck.host.imported.sysfs import synthesise
from tunecheck.host.imported.texts import Texts
from tunecheck.host.nvml_reader import DAMAGED, _Answers
from tunecheck.model.absence import Absence
from tunecheck.parsers.kernel import boot_log, cpulist
from tunecheck.parsers.kernel.kernel_params import unparsed
from tunecheck.parsers.nvidia.bug_report import sections
from tunecheck.parsers.nvidia.smi import parse_smi
from tunecheck.parsers.nvidia.topo_matrix import parse_matrix
from tunecheck.parsers.pci.lspci import parse_lspci
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_INSERTS = ["\t", " ", "\n", "X", "PIX", "SYS", "NV18", "GPU0", "GPU1", "\x1b[4m", "[0m", "\0", "é", "-", "ff",
            "00:00.0 ", "Capabilities: [1b0 v1] Access Control Services\n", "(rev ff)", "<access denied>", "9" * 30,
            "_" * 44 + "\n"]


_EDITS = st.lists(st.tuples(
    st.sampled_from(("cut", "double", "insert", "turn")), st.integers(0, 1 << 20), st.sampled_from((1, 3, 40, 4000)),
    st.one_of(st.sampled_from(_INSERTS), st.text(max_size=5))), min_size=1, max_size=4)
#: The same examples at every run: a failure of one commit is one of that commit.
_RUNS = settings(max_examples=400, deadline=None, derandomize=True, database=None,
                 suppress_health_check=[HealthCheck.too_slow])


def damaged(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    """Cuts, doublings, insertions and reversals."""
    for kind, place, length, insert in edits:
        start = place % (len(text) + 1)
        end = min(len(text), start + length)
        middle = {"cut": "", "double": text[start:end] * 2, "insert": insert + text[start:end],
                  "turn": text[start:end][::-1]}[kind]
        text = text[:start] + middle + text[end:]
    return text


@_RUNS
@given(source=st.sampled_from((TABLE, P2P)), edits=_EDITS)
def test_topo_tables(source: str, edits: list[tuple[str, int, int, str]]) -> None:
    try:
        found = parse_matrix(damaged(source, edits))
    except ValueError as error:
        assert str(error)
        return
    assert len(found.pairs) == found.gpus * (found.gpus - 1)
    if found.kind == "topo -m":
        assert all(found.pairs[b, a] == word for (a, b), word in found.pairs.items())


@_RUNS
@given(text=st.text())
def test_any_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_matrix(text)
    assert parse_lspci(text) == []
    recognise(text)
    parse_smi(text)
    assert list(sections(text))


def test_a_lost_character_in_the_relations_never_gives_other_relations() -> None:
    for place in range(TABLE.index("\n"), TABLE.rindex("NIC0")):
        text = TABLE[:place] + TABLE[place + 1:]
        try:
            assert parse_matrix(text).pairs == parse_matrix(TABLE).pairs
        except ValueError:
            continue


@settings(_RUNS, max_examples=150)
@given(layout=st.sampled_from(("acs-iommu", "numa2")), edits=_EDITS)
def test_lspci(layout: str, edits: list[tuple[str, int, int, str]]) -> None:
    texts = Texts(lspci=[damaged(lab(layout), edits)])
    if synthesise(texts):
        return
    found = topology(ImportedHost(texts, {}, []), ())
    for device in (*found.devices, *found.bridges.values()):
        assert device.acs.known or device.acs.reason
        assert device.link.width.value is None or 0 <= device.link.width.value <= 32


@settings(_RUNS, max_examples=100)
@given(edits=_EDITS)
def test_bug_reports(edits: list[tuple[str, int, int, str]]) -> None:
    for section in sections(damaged(REPORT, edits)):
        recognise(section.text)
        parse_smi(section.text)
        parse_lspci(section.text)


_LSCPU = ("Architecture:  x86_64\nCPU(s):  8\nOn-line CPU(s) list:  0-6\nOff-line CPU(s) list:  7\n"
          "Thread(s) per core:  2\nCore(s) per socket:  2\nSocket(s):  2\nNUMA node(s):  2\n"
          "NUMA node0 CPU(s):  0-3\nNUMA node1 CPU(s):  4-6\n")
_NUMACTL = ("available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 1000 MB\nnode 1 cpus: 4 5 6 7\n"
            "node 1 size: 0 MB\nnode distances:\n")
_SWAPS = "Filename\tType\tSize\tUsed\tPriority\n/swap.img file 8388604 1024 -2\n"
_BOOT = ("[    0.000000] Linux version 6.17.0\n[    0.0] ACPI: IVRS 0x0000000089D51000 000794 (v02)\n"
         "[    1.9] x2apic: IRQ remapping doesn't support X2APIC mode\n[    0.0] secureboot: Secure boot disabled\n"
         "[    2.1] smpboot: CPU 239 has invalid APIC ID ff. Aborting bringup\n")


@_RUNS
@given(source=st.sampled_from((_LSCPU, _NUMACTL, _SWAPS, _BOOT, "0-3,8-11\n")), edits=_EDITS)
def test_what_a_box_is_under_its_boards(source: str, edits: list[tuple[str, int, int, str]]) -> None:
    text = damaged(source, edits)
    files: dict[str, str] = {}
    from_lscpu(text, files.setdefault, files.setdefault)
    from_numactl(text, files.setdefault, files.setdefault)
    assert all(len(content) < 100_000 for content in files.values())
    boot = boot_log.parse(text)
    assert all(cpu < 100_000 for cpu in boot.lost_cpus)
    for parse in (cpulist.parse, _swaps):
        try:
            found = parse(text)
        except ValueError as error:
            assert str(error)
            continue
        assert len(found) <= 16384


@given(numbers=st.sets(st.integers(0, 16383), max_size=40))
def test_a_list_of_numbers_reads_back_as_it_was_written(numbers: set[int]) -> None:
    assert cpulist.parse(cpulist.show(numbers) if numbers else "") == tuple(sorted(numbers))


@pytest.mark.parametrize(("text", "part"), [
    ("0-4294967295", "0-4294967295"), ("0-99999999999999999999", "0-99999999999999999999"), ("3-1", "3-1"),
    ("-1", "-1"), ("a", "a"), ("0,,1", ""), ("1;2", "1;2"), ("\0", "\0")])
def test_a_range_beyond_every_machine_is_no_list(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(part))}"):
        cpulist.parse(text)


@settings(_RUNS, max_examples=200)
@given(word=st.one_of(st.text(max_size=80), st.sampled_from(("pci=", "iommu=", "pcie_aspm=", "pci=noacs,")).flatmap(
    lambda start: st.text(max_size=40).map(lambda rest: start + rest))))
def test_any_word_of_a_command_line(word: str) -> None:
    assert isinstance(unparsed(word, (6, 8)), str)
    recognise(word)
    shown("$ cat /proc/cmdline", word)


def test_binary_junk() -> None:
    dice = random.Random(0)
    for _ in range(200):
        text = dice.randbytes(dice.randrange(2000)).decode("latin-1")
        assert parse_lspci(text) == []
        assert recognise(text) is None
        with pytest.raises(ValueError, match=r"."):
            parse_matrix(text)


@pytest.mark.parametrize("text", ["\n" * 300_000, " " * 300_000, "\t" * 300_000, "GPU0 " * 60_000, "#" * 300_000,
                                  "00:00.0 x: y\n" + "\n" * 300_000, "00:00.0 x: y\nLnkSta: " + "Speed 1GT/s " * 30_000,
                                  "A a " * 80_000, "console=a ro pci=b " * 15_000, "Architecture: x\n" * 20_000,
                                  "node 0 cpus: " + "1 " * 150_000, "smpboot: CPU 1 has invalid APIC ID " * 9_000,
                                  "CPU(s): " + " " * 300_000, "cat: " * 60_000,
                                  "NVRM: loading NVIDIA UNIX " + "1" * 300_000, "<a>" * 100_000])
def test_long_monotonous_texts_take_no_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text + "\n[    0.000000] Linux version 6.8.0 (x)\n")
    (tmp_path / "b").write_text(TABLE)
    begin = time.process_time()
    load_import(str(tmp_path))
    parse_lspci(text)
    parse_smi(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("boards", [64, 200])
def test_many_boards(boards: int) -> None:
    """Behind one switch, in a text of two megabytes; from 65 on it is no box of anybody's."""
    head, _, rest = lab("acs-iommu").partition("02:00.0 PCI bridge")
    port, board = "02:00.0 PCI bridge" + rest.partition("02:01.0 ")[0], rest[rest.index("03:00.0 "):].split("\n\n")[0]
    parts = [head.replace("subordinate=04", "subordinate=fe")]
    for number in range(boards):
        slot, bus = f"02:{number >> 3:02x}.{number & 7}", f"{number + 3:02x}"
        parts.append(port.replace("02:00.0", slot).replace("secondary=03, subordinate=03",
                                                           f"secondary={bus}, subordinate={bus}"))
        parts.append(board.replace("03:00.0", f"{bus}:00.0") + "\n\n")
    texts = Texts(lspci=["".join(parts)])
    assert synthesise(texts) is None
    found = topology(ImportedHost(texts, {}, []), ())
    if boards > 64:
        assert found.accelerators.absence is Absence.NOT_UNDERSTOOD
        assert {"200", "64"} <= set(re.findall(r"\d+", found.accelerators.reason or ""))
        return
    assert len(found.devices) == 64
    assert {pair.relation.value for pair in found.pairs} == {"PIX"}


#: Anything that JSON can hold.
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["0000:03:00.0", "GPU_IS_LOST", "timed out after 10 s"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["gpus", "pairs", "errors", "values", "bdf", "index", "a", "b", "driver", "p2p_read", "name",
                         "ancestor", "p2p_write"]), inner, max_size=5), max_leaves=12)
_GPU = st.fixed_dictionaries({"bdf": st.just("0000:03:00.0") | st.just("0000:04:00.0") | _JSON,
                              "index": st.integers() | _JSON,
                              "values": st.dictionaries(st.text(max_size=4), _JSON) | _JSON,
                              "errors": _JSON})
_PAIR = st.fixed_dictionaries({"a": st.just("0000:03:00.0") | _JSON, "b": st.just("0000:04:00.0") | _JSON,
                               "values": st.dictionaries(st.sampled_from(["ancestor", "p2p_read", "p2p_write"]),
                                                         st.integers() | _JSON), "errors": _JSON})
_DOCUMENT = _JSON | st.fixed_dictionaries({"driver": _JSON, "library": _JSON, "errors": _JSON,
                                           "gpus": st.lists(_GPU, max_size=3) | _JSON,
                                           "pairs": st.lists(_PAIR, max_size=3) | _JSON})


@_RUNS
@given(document=_DOCUMENT)
def test_nvml_documents(document: Any) -> None:
    """A recording may hold anything in its place: it is understood, or the reason says that it is damaged."""
    machine = switch().host()
    machine._nvml = document
    snapshot = gather(machine, None, False)
    assert snapshot.nvml.known or snapshot.nvml.reason
    findings = [finding for finding in judge(Case(snapshot), "topo") if finding.id in (
        "nvml-answers", "p2p-capability", "topo-agreement")]
    assert findings
    assert all(finding.outcome != "pass" or finding.text for finding in findings)


@_RUNS
@given(lines=st.lists(_JSON | st.fixed_dictionaries({"gpu": _JSON, "bdf": _JSON, "values": _JSON, "errors": _JSON})
                      | st.fixed_dictionaries({"count": st.integers(-1, 3), "values": _JSON, "errors": _JSON})
                      | st.fixed_dictionaries({"lost": _JSON, "error": _JSON}), max_size=5))
def test_answers_of_a_child_whose_memory_is_damaged(lines: list[Any]) -> None:
    answers = _Answers()
    with contextlib.suppress(Unreadable, *DAMAGED):
        for line in lines:
            answers.take(line)
        answers.document("killed by signal 11", lambda: ["0000:03:00.0"])


@_RUNS
@given(edits=_EDITS, name=st.sampled_from(("topo-p2p-r.txt", "p2p_rw.log", "nvidia-smi topo -p2p w", "p2p", "x")))
def test_p2p_tables_of_an_import(edits: list[tuple[str, int, int, str]], name: str) -> None:
    texts = Texts(lspci=[lab("acs-iommu")])
    texts.topo(damaged(P2P, edits), ("nvidia-smi", "topo", "-m"), name)
    assert synthesise(texts) is None
    snapshot = gather(ImportedHost(texts, {}, []), None, False)
    for fact in (snapshot.p2p.value or {}).values():
        assert fact.value in (None, *LETTERS)
