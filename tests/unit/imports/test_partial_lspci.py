"""lspci that went through grep, was asked for some devices, or comes from another pciutils: what it does not show is
unknown, and what it shows counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports import own_dump
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.samples import FIXTURES, box, lab, metal
from tests.unit.imports.smi_texts import row, table
from tests.unit.imports.test_shown_gpus import relations

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding, Place
from tunecheck.parsers.kernel.lscpu import parse_lscpu
from tunecheck.parsers.pci.aer_status import read_status
from tunecheck.report.not_given import is_missing
from tunecheck.report.paths import path_lines, short_path_lines
from tunecheck.rules import judge
from tunecheck.rules.context import Case

VERSIONS = ("3.9.0", "3.13.0", "3.14.0")
MACHINE = "".join(
    f"Slot:\t{slot}\nClass:\t{kind}\nVendor:\t{maker}\nDevice:\t{name}\n{more}\n"
    for slot, kind, maker, name, more in (
        ("0000:00:00.0", "Host bridge [0600]", "Intel Corporation [8086]", "82G33 [29c0]", ""),
        ("0000:03:00.0", "3D controller [0302]", "NVIDIA Corporation [10de]", "GH100 [2330]", "Driver:\tnvidia\n"),
        ("0000:04:00.0", "3D controller [0302]", "NVIDIA Corporation [10de]", "GH100 [2330]", "Module:\tnouveau\n")))
MACHINE_LINES = (
    '00:00.0 "Host bridge [0600]" "Intel Corporation [8086]" "82G33 [29c0]" -p00 "" ""\n'
    '03:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "GH100 [2330]" -ra1 -p00 "" ""\n'
    '04:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "GH100 [2330]" -ra1 -p00 "" ""\n')
OWN = (FIXTURES / "pciutils" / "3.14.0.txt").read_text()


def judged(folder: Path, *texts: str) -> dict[str, list[Finding]]:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    found: dict[str, list[Finding]] = {}
    for each in judge(Case(gather(load_import(str(folder)), None, True)), "preflight"):
        found.setdefault(each.id, []).append(each)
    return found


def outcomes(found: dict[str, list[Finding]], check: str) -> set[str]:
    return {each.outcome for each in found[check]}


def only(text: str, *words: str) -> str:
    """`grep -E '^[0-9a-f]|WORDS'`."""
    return "".join(line for line in text.splitlines(keepends=True)
                   if re.match(r"[0-9a-f]{2}:[0-9a-f]{2}\.", line) or any(word in line for word in words))


def of_nvidia(text: str) -> str:
    """`lspci -d 10de:`."""
    return "".join(block + "\n\n" for block in text.split("\n\n") if "[10de:" in block.split("\n")[0])


def test_every_version_of_lspci_and_the_bytes_give_the_same_findings(tmp_path: Path) -> None:
    said = {version: judged(tmp_path / version, (FIXTURES / "pciutils" / f"{version}.txt").read_text())
            for version in VERSIONS}
    # The bytes alone do not name classes and makers in words, and need no words to.
    said["bytes"] = judged(tmp_path / "bytes", own_dump.dump().replace(" device\n", " 0000: 0000\n"))
    whole = {version: [(each.id, each.subject, each.outcome, each.text) for every in found.values() for each in every]
             for version, found in said.items()}
    assert whole["3.9.0"] == whole["3.13.0"] == whole["3.14.0"]
    for check in ("link-errors", "link-payload", "link-aspm", "acs-redirect", "switch-chip", "uplink-neighbours"):
        assert [(each.subject, each.outcome) for each in said["bytes"][check]] == [
            (each.subject, each.outcome) for each in said["3.9.0"][check]], check
    latched = said["3.13.0"]["link-errors"][0]
    assert latched.outcome == "warn"
    assert {"0000:03:00.0 UESta DLP", "0000:04:00.0 UESta ECRC", "0000:04:00.0 CESta BadTLP",
            "0000:02:02.0 UESta ACSViol"} == set(latched.observed.split(", "))


def test_a_register_on_several_lines_is_read_whole_or_not_at_all() -> None:
    first = "UESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP-"
    codes: dict[str, int] = {}
    read_status(codes, first)
    assert codes == {}
    read_status(codes, f"{first} ECRC+ UnsupReq- ACSViol- UncorrIntErr+")
    assert codes == {"UESta": 1 << 19 | 1 << 22}
    for older in ("DevSta:\tCorrErr- UncorrErr+ FatalErr- UnsupReq-",
                  "CESta:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- NonFatalErr+"):
        codes = {}
        read_status(codes, older)
        assert codes in ({"DevSta": 2}, {"CESta": 1 << 13})


@pytest.mark.parametrize("check", ["link-width", "link-speed", "link-payload", "link-aspm", "link-errors",
                                   "uplink-shared", "uplink-neighbours", "switch-chip", "acs-redirect",
                                   "acs-persistence"])
def test_the_boards_alone_prove_nothing_of_the_way_above_them(check: str, tmp_path: Path) -> None:
    found = judged(tmp_path, of_nvidia(OWN))
    assert "pass" not in outcomes(found, check) and "skip" not in outcomes(found, check)
    assert {each.code for each in found[check] if each.outcome == "unknown"} <= {
        "path-unread" if check.startswith("link-") or check == "acs-redirect" else "devices-incomplete"}


def test_what_the_boards_themselves_show_counts(tmp_path: Path) -> None:
    found = judged(tmp_path, of_nvidia(OWN))
    sleeping = [each for each in found["link-aspm"] if each.outcome == "warn"]
    assert [each.subject for each in sleeping] == ["GPU1 0000:04:00.0"]
    assert [(each.outcome, each.code, each.observed) for each in found["link-width"]] == [
        ("unknown", "path-unread", f"0000:{board}") for board in ("03:00.0 x16", "04:00.0 x16", "05:00.0 x8")]
    assert "sudo lspci -nnvvv" in found["link-width"][0].text
    assert outcomes(found, "accelerator-count") == {"unknown"}


def test_a_width_without_what_the_board_could_have(tmp_path: Path) -> None:
    found = judged(tmp_path, only(OWN, "LnkSta:", "Bus:", "Express", "Status: Cap"))
    assert {each.subject[:4]: each.outcome for each in found["link-width"]} == {
        "GPU0": "unknown", "GPU1": "unknown", "GPU2": "warn"}, "such boards are known to have more than GPU2's x8"
    assert "x0" not in " ".join(each.text for each in found["link-width"])


def test_acs_without_its_header_is_acs(tmp_path: Path) -> None:
    bare = "".join(line for line in OWN.splitlines(keepends=True) if "Access Control" not in line)
    found = {each.subject: each.outcome for each in judged(tmp_path, bare)["acs-redirect"]}
    assert found["0000:02:01.0"] == "fail" and found["0000:02:00.0"] == "pass"


@pytest.mark.parametrize("gone", ["ACSC", "Access Control|ACSC", "Express", "Advanced Error|UESta|CESta", "LnkSta:",
                                  "DevSta"])
def test_a_line_that_grep_took_is_not_the_absence_of_it(gone: str, tmp_path: Path) -> None:
    text = "".join(line for line in OWN.splitlines(keepends=True) if not re.search(gone, line))
    found = judged(tmp_path, text)
    check = {"ACSC": "acs-redirect", "Access Control|ACSC": "acs-redirect", "Express": "link-aspm",
             "LnkSta:": "link-width",
             "DevSta": "link-payload", "Advanced Error|UESta|CESta": "link-errors"}[gone]
    if gone == "DevSta":
        assert outcomes(found, check) <= {"pass", "warn", "fail"}
    else:
        assert "pass" not in outcomes(found, check) and "skip" not in outcomes(found, check)
    assert not [each for each in found["acs-redirect"] if each.subject.startswith("0000:02:0") and
                each.code == "no-acs-capability"]


def test_the_lines_of_a_device_whose_header_is_gone_are_not_the_device_s_before(tmp_path: Path) -> None:
    """0000:05:00.0 has half of its lanes: without its header, its lines stand below 0000:04:00.0's."""
    lines = OWN.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("05:00.0"))
    del lines[at - 1:at + 1]
    found = judged(tmp_path, "".join(lines))
    assert outcomes(found, "accelerator-count") == {"unknown"}
    assert {each.outcome for each in found["link-width"] if "04:00.0" in each.subject} == {"pass"}


@pytest.mark.parametrize(("lost", "check"), [("06:00.0", "uplink-neighbours"), ("03:00.0", "accelerator-count"),
                                             ("02:03.0", "uplink-neighbours"), ("02:02.0", "switch-chip")])
def test_a_device_that_must_be_there_is_missed(lost: str, check: str, tmp_path: Path) -> None:
    text = "\n\n".join(block for block in OWN.split("\n\n") if not block.startswith(lost))
    assert outcomes(judged(tmp_path, text), check) == {"unknown"}


def without(text: str, *devices: str) -> str:
    return "\n\n".join(block for block in text.split("\n\n") if not block.startswith(devices))


@pytest.mark.parametrize(("machine", "lost"), [
    ("switch1", ("02:00.0", "03:00.0")),                # a port of the switch, with what is below it
    ("switch1", ("02:01.0", "02:00.0", "03:00.0")),     # the ports of a device that is listed
    ("switch1", ("00:04.0", "01:00.0", "03:00.0")),     # QEMU's ports with nothing above them
    ("phb", ("00:04.0", "01:00.0")),                    # a port before others of the same root bus
])
def test_a_port_that_must_be_there_is_missed(machine: str, lost: tuple[str, ...], tmp_path: Path) -> None:
    """GPU0 is driven by nouveau, and gone with the ports above it: that no other one is says little."""
    text = box(machine)
    text = text.replace("Kernel driver in use: nvidia", "Kernel driver in use: nouveau", 1)
    assert "fail" in outcomes(judged(tmp_path / "whole", text), "nouveau-loaded")
    found = judged(tmp_path / "left", without(text, *lost))
    assert outcomes(found, "nouveau-loaded") == outcomes(found, "accelerator-count") == {"unknown"}
    assert outcomes(found, "nvml-answers") == {"unknown"}


def test_a_group_that_is_not_shown_is_not_the_absence_of_an_iommu(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(\S+ .*\n)", r"\1\tIOMMU group: 3\n", OWN)
    found = judged(tmp_path, re.sub(r"(?m)^(.*\[10de:.*\n)\tIOMMU group: 3\n", r"\1", text, count=1))
    assert outcomes(found, "iommu-mode") == {"unknown"}


def test_rows_of_a_table_are_no_gpus_whose_driver_is_not_told(tmp_path: Path) -> None:
    """nvidia-smi lists the GPUs of its driver: which these are, the count alone does not tell."""
    table = ("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPIX\t0-7\t0\t\tN/A\n"
             "GPU1\tPIX\t X \t0-7\t0\t\tN/A\n")
    text = box("switch1")
    assert outcomes(judged(tmp_path / "told", text, table), "topo-agreement") == {"pass"}
    bare = "".join(line for line in text.splitlines(keepends=True) if "Kernel" not in line)
    assert outcomes(judged(tmp_path / "not", bare, table), "topo-agreement") == {"unknown"}


def test_pairs_that_the_tree_no_longer_shows_may_be_those_that_disagree(tmp_path: Path) -> None:
    rows = [["X", "PHB", "SYS", "SYS"], ["PHB", "X", "SYS", "SYS"], ["SYS", "SYS", "X", "PHB"],
            ["SYS", "SYS", "PHB", "X"]]
    table = "".join(f"\tGPU{number}" for number in range(4)) + "\tCPU Affinity\tNUMA Affinity\n" + "".join(
        f"GPU{number}\t" + "\t".join(f" {word} " if word == "X" else word for word in row) + "\t0-7\t0\n"
        for number, row in enumerate(rows))
    whole = judged(tmp_path / "whole", box("numa2"), table)["topo-agreement"]
    bare = "".join(line for line in box("numa2").splitlines(keepends=True) if "NUMA node" not in line)
    assert [each.outcome for each in whole] == ["pass"], whole
    assert "pass" not in outcomes(judged(tmp_path / "bare", bare, table), "topo-agreement")


def test_a_list_of_latched_errors_says_how_many_more_there_are(tmp_path: Path) -> None:
    found = judged(tmp_path, OWN.replace("TLP- FCP- CmpltTO-", "TLP+ FCP+ CmpltTO-"))["link-errors"][0]
    count = found.observed.count(", ") + 1
    assert count > 8 and found.text.count(" UESta ") == 6 and str(count - 6) in found.text


def test_a_device_that_is_gone_with_the_line_that_tells_of_it(tmp_path: Path) -> None:
    """grep dropped the state of every link, and the drive below one of them: whether it is there is not told."""
    blocks = [block for block in OWN.split("\n\n") if not block.startswith("06:00.0")]
    text = "\n\n".join(blocks)
    assert len(blocks) == len(OWN.split("\n\n")) - 1 and "DLActive+" in text
    for place, words in (("all", ("LnkSta:", "SltSta:", "TrErr-")), ("flags", ("SltSta:", "TrErr-"))):
        gone = "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in words))
        assert "DLActive" not in gone
        assert "pass" not in outcomes(judged(tmp_path / place, gone), "uplink-neighbours")
    assert "pass" not in outcomes(judged(tmp_path / "told", text), "uplink-neighbours")


def test_a_driver_that_is_not_shown_is_not_nouveau_s_absence(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(.*\[10de:2330\].*\n)", r"\1\tKernel driver in use: nvidia\n", lab("switch1"), count=1)
    found = judged(tmp_path, text)
    assert outcomes(found, "nouveau-loaded") == {"unknown"}


def test_nodes_without_cpus_are_nodes(tmp_path: Path) -> None:
    grace = ("Architecture: aarch64\nCPU(s): 72\nOn-line CPU(s) list: 0-71\nThread(s) per core: 1\nSocket(s): 1\n"
             "NUMA node(s): 9\nNUMA node0 CPU(s): 0-71\n"
             + "".join(f"NUMA node{number} CPU(s):\n" for number in range(1, 9)))
    assert sorted(parse_lscpu(grace).nodes) == list(range(9))
    (found,) = judged(tmp_path / "whole", grace)["numa-nodes"]
    assert (found.outcome, found.code) == ("unknown", "unread") and "1-8" in found.observed, "the nodes without CPUs"
    (found,) = judged(tmp_path / "cut", grace[:-len("NUMA node8 CPU(s):\n")])["numa-nodes"]
    assert found.outcome == "unknown"


def test_no_word_of_the_fabric_is_no_proof_of_none(tmp_path: Path) -> None:
    smi = ("==============NVSMI LOG==============\n\nDriver Version : 580.95\nAttached GPUs : 1\n"
           "GPU 00000000:03:00.0\n    Persistence Mode : Enabled\n")
    found = judged(tmp_path / "none", smi)
    assert outcomes(found, "fabric-manager") == outcomes(found, "fabric-state") == {"unknown"}
    found = judged(tmp_path / "told", smi + "    Fabric\n        State : N/A\n")
    assert outcomes(found, "fabric-state") == {"skip"}


@pytest.mark.parametrize("form", ["-vmmk", "-mm"])
def test_the_forms_for_scripts_are_lists_without_details(tmp_path: Path, form: str) -> None:
    found = judged(tmp_path / form, MACHINE if form == "-vmmk" else MACHINE_LINES)
    assert [(each.outcome, each.code, each.observed) for each in found["accelerator-count"]] == [
        ("unknown", "devices-incomplete", "2")]
    assert outcomes(found, "link-width") == outcomes(found, "acs-redirect") == {"unknown"}
    assert not [each for every in found.values() for each in every if each.outcome == "pass"]
    if form == "-vmmk":
        assert [(each.outcome, each.code, each.subject) for each in found["driver-bound"]] == [
            ("warn", "no-driver-bound", "0000:04:00.0")]


@pytest.mark.parametrize("layout", ["acs-iommu", "switch1"])
def test_lspci_without_root_says_so_once_and_names_one_command(tmp_path: Path, layout: str) -> None:
    """What it leaves open is one entry of the report."""
    text = re.sub(r"^\tCapabilities: .*\n(?:\t\t.*\n|\tCapabilities: .*\n)*", "\tCapabilities: <access denied>\n",
                  lab(layout), flags=re.MULTILINE)
    (tmp_path / "a.txt").write_text(text)
    door = load_import(str(tmp_path / "a.txt"))
    assert door.summary().count("without root") == 1 and door.summary().endswith(": sudo lspci -nnvvv")
    open_ = [each for each in judge(Case(gather(door, None, True)), "preflight")
             if each.outcome == "unknown" and "sudo lspci" in each.text]
    assert open_ and {each.id for each in open_ if not is_missing(each)} == set()
    assert {asked for each in open_ for asked in re.findall(r"sudo lspci -\w+", each.text)} == {"sudo lspci -nnvvv"}


def _listing(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if re.match(r"[0-9a-f]{2}:[0-9a-f]{2}\.", line))


def _context(text: str, word: str, after: int) -> str:
    """`grep -A after word`."""
    lines = text.splitlines(keepends=True)
    return "".join(line for at, line in enumerate(lines)
                   if any(word in near for near in lines[max(0, at - after):at + 1]))


FILTERS = {
    "lspci": _listing,
    "grep -i nvidia": lambda text: _context(_listing(text), "NVIDIA", 0),
    "grep bridge": lambda text: _context(_listing(text), "bridge", 0), "-d 10de:": of_nvidia,
    "head": lambda text: "".join(text.splitlines(keepends=True)[:len(text.splitlines()) // 2]),
    "head of the list": lambda text: "".join(_listing(text).splitlines(keepends=True)[:-1]),
    "grep -A20 nvidia": lambda text: _context(text, "NVIDIA", 20), "grep -A3 nvidia": lambda text: _context(
        text, "NVIDIA", 3), "one GPU": lambda text: of_nvidia(text).split("\n\n")[0] + "\n"}
BOOT = "[    0.000000] Linux version 6.12.1 (x) #1 SMP\n" + "".join(
    f"[    1.000000] pci 0000:0{3 + at}:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint\n" for at in range(4))
BESIDE = {"alone": (), "a table of 4": (table(*(row(index=at, bus=f"0{3 + at}") for at in range(4))),),
          "relations of 4": (relations("PIX", gpus=4),), "the boot's log": (BOOT,)}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("name", FILTERS)
def test_a_filtered_list_never_leads_to_a_fix_of_the_machine(name: str, beside: str, tmp_path: Path) -> None:
    found = [each for every in judged(tmp_path, FILTERS[name](metal(box("switch1"))), *BESIDE[beside]).values()
             for each in every]
    assert [(each.id, each.code) for each in found if each.remedy and each.remedy.place is Place.MACHINE] == []
    parts = [each for each in found if each.code == "devices-incomplete"]
    assert parts and all("sudo lspci -nnvvv" in (each.remedy.text if each.remedy else "") for each in parts)


LISTED = "".join(f"GPU {at}: NVIDIA H100 (UUID: GPU-1f4c1c7a-26f3-7c0b-8a63-11111111111{at})\n" for at in range(8))


@pytest.mark.parametrize("machine", ["guest", "metal"])
@pytest.mark.parametrize(("other", "differs"), [
    (relations("PIX", gpus=8), True), (LISTED, True), (LISTED.splitlines(keepends=True)[0], True),
    (relations("PIX", gpus=2), False), ("".join(LISTED.splitlines(keepends=True)[:2]), False)],
    ids=["topo of 8", "-L of 8", "-L of 1", "topo of 2", "-L of 2"])
def test_texts_with_other_numbers_of_gpus_never_pass_together(machine: str, other: str, differs: bool,
                                                              tmp_path: Path) -> None:
    tree = box("switch1") if machine == "guest" else metal(box("switch1"))
    found = judged(tmp_path, tree, other)["accelerator-count"]
    assert ("pass" in {each.outcome for each in found}) == (not differs)
    codes = {each.code for each in found}
    assert ("other-count-in-guest" in codes) == (differs and machine == "guest")
    assert bool(codes & {"not-in-tree", "not-in-driver"}) == (differs and machine == "metal")


@pytest.mark.parametrize("missing", [None, "03", "04", "05"])
def test_a_fix_names_the_board_also_where_the_driver_counts_others(tmp_path: Path, missing: str | None) -> None:
    """A number of the report would be another GPU for nvidia-smi, and a reset of that hits the wrong one."""
    buses = ("03", "04", "05")
    listed = "".join(f"{bus}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2335] (rev a1)\n"
                     "\tKernel driver in use: nvidia\n\n" for bus in buses if bus != missing)
    bridge = "00:00.0 Host bridge [0600]: Intel Corporation 82G33 [8086:29c0]\n\tFlags: bus master\n\n"
    rows = [row(index=number, bus=bus, ecc="2" if bus == "05" else "0") for number, bus in enumerate(buses)]
    failed = [each for each in judged(tmp_path, bridge + listed, table(*rows))["gpu-ecc"] if each.outcome == "fail"]
    if missing == "05":
        assert not failed
        return
    assert len(failed) == 1 and failed[0].remedy is not None
    argv = failed[0].remedy.commands[0].argv
    own = failed[0].subject.removeprefix("GPU")
    assert argv[argv.index("-i") + 1] == ("2" if missing is None else "0000:05:00.0")
    assert own == ("2" if missing is None else "1")


@pytest.mark.parametrize("short", [False, True])
def test_a_way_that_no_text_tells_has_no_number_of_ports(tmp_path: Path, short: bool) -> None:
    (tmp_path / "list.txt").write_text("".join(
        f"{bus}:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)\n" for bus in ("01", "41", "81")))
    snapshot = gather(load_import(str(tmp_path / "list.txt")), None, True)
    line, = short_path_lines(Case(snapshot)) if short else path_lines(Case(snapshot))
    assert "the way is not known: " in line and " ports" not in line


def _shown(count: int) -> dict[str, str]:
    """What texts of the driver show of a machine with so many GPUs."""
    gpus = range(count)
    buses = [f"{3 + 16 * number:02x}" for number in gpus]
    columns = "\t".join(f"GPU{b}" for b in gpus)
    def letters(word: str) -> str:
        return "\n".join(f" GPU{a}\t" + "\t".join("X" if a == b else word for b in gpus) for a in gpus)

    return {
        "topo": f"\t{columns}\tCPU Affinity\n" + "".join(
            f"GPU{a}\t" + "\t".join(" X " if a == b else "NODE" for b in gpus) + "\t0-63\n" for a in gpus),
        "-L": "".join(f"GPU {a}: NVIDIA H200 (UUID: GPU-11111111-2222-3333-4444-5555555555{bus})\n"
                      for a, bus in zip(gpus, buses, strict=True)),
        "p2p": f" \t{columns}\n{letters('OK')}\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n",
        "smi": table(*(row(index=a, bus=bus) for a, bus in zip(gpus, buses, strict=True)))}


@pytest.mark.parametrize(("one", "other"), [(a, b) for a in _shown(2) for b in _shown(2) if a != b])
def test_texts_with_different_numbers_of_gpus_are_told(tmp_path: Path, one: str, other: str) -> None:
    def codes(name: str, *texts: str) -> set[tuple[str, str]]:
        return {(each.code, each.outcome) for each in judged(tmp_path / name, *texts)["accelerator-count"]}

    assert ("counts-differ", "fail") in codes("differ", _shown(3)[one], _shown(2)[other])
    assert not {code for code, _ in codes("same", _shown(3)[one], _shown(3)[other])} & {"counts-differ"}


def test_a_table_of_some_gpus_counts_none(tmp_path: Path) -> None:
    """`nvidia-smi -i 2`."""
    asked = table(row(index=2, bus="23"))
    found = judged(tmp_path, _shown(3)["topo"], asked)["accelerator-count"]
    assert "counts-differ" not in {each.code for each in found}


def test_a_board_that_only_the_driver_names_is_cut_off_or_lost(tmp_path: Path) -> None:
    """The port above it may be in use: the list may be cut, so it is no failure, and both causes have their fix."""
    texts = next(base.texts for base in own() if base.name == "switch1, folder")
    blocks = re.split(r"\n(?=\S)", metal(texts["lspci.txt"]))
    gpus = [block for block in blocks if "[10de:2330]" in block]
    lost = gpus[-1].split()[0]
    for name, text in (texts | {"lspci.txt": "\n".join(block for block in blocks if block != gpus[-1])}).items():
        (tmp_path / name).write_text(text)
    (found,) = [each for each in judge(Case(gather(load_import(str(tmp_path)), None, True)), "preflight")
                if each.id == "accelerator-count" and each.outcome in ("fail", "unknown")]
    assert (found.outcome, found.code) == ("unknown", "not-in-list") and lost in found.text.partition(";")[0]
    assert found.remedy is not None
    assert "sudo lspci -nnvvv" in found.remedy.text and "explain accelerator-count" in found.remedy.text
