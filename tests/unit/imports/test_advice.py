"""What cannot be used says what to give in its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.deletions import Base
from tests.unit.imports.samples import lab
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage
from tunecheck.report.not_given import is_missing, not_given
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_PLAIN = ("00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Device 153a\n"
          "06:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)\n")


def test_lspci_without_details_tells_which_gpus_there_are_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(_PLAIN)
    door = load_import(str(tmp_path / "lspci.txt"))
    assert door.doubts["/sys/bus/pci/devices"] and door.doubts["/sys/bus/pci/devices"] in door.summary()
    snapshot = gather(door, None, True)
    assert [device.bdf for device in snapshot.topology.devices] == ["0000:06:00.0"]
    assert snapshot.topology.devices[0].chain.value is None
    findings = judge(Case(snapshot), "preflight")
    assert [each.text for each in findings if each.outcome == "pass"] == []


def test_it_is_used_beside_other_texts(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(_PLAIN)
    (tmp_path / "cmdline").write_text("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n")
    assert "lspci (lspci.txt)" in load_import(str(tmp_path)).summary()


def test_what_was_given_is_not_asked_for_again(tmp_path: Path) -> None:
    """All of `lspci -nnvvv`, of boards without error registers and without a driver."""
    (tmp_path / "lspci.txt").write_text(lab("acs-iommu"))
    findings = judge(Case(gather(load_import(str(tmp_path)), None, True)), "preflight")
    assert [each.text for each in findings if "sudo lspci" in each.text and "-xxxx" not in each.text] == []
    (errors,) = [each for each in findings if each.id == "link-errors"]
    assert (errors.outcome, errors.text.endswith(": sudo lspci -xxxx")) == ("unknown", True)


def test_that_no_driver_is_shown_is_told_in_one_way(tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(lab("acs-iommu"))
    findings = judge(Case(gather(load_import(str(tmp_path)), None, True)), "preflight")
    told = [each for each in findings if each.id in ("driver-bound", "nouveau-loaded")]
    assert {(each.id, each.outcome) for each in told} == {("driver-bound", "warn"), ("nouveau-loaded", "unknown")}
    assert len({each.text.partition(" 0000:0")[0] for each in told}) == 1
    assert all(" 0000:0" in each.text for each in told)


@pytest.mark.parametrize("base", [base for base in own() if base.texts], ids=lambda base: base.name)
def test_the_line_that_says_what_to_add_names_what_each_finding_asks_for(tmp_path: Path, base: Base) -> None:
    """Each text of each base alone: the commands of that line go by the facts' sources, and must be those of the
    sentences."""
    for name, content in base.texts.items():
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / name).write_text(content)
        case = Case(gather(load_import(str(folder)), None, True))
        for finding in (each for each in judge(case, "preflight") if is_missing(each)):
            asked = re.search(r".*; \w+: (.*)", finding.text)
            advice = not_given(case, [finding]).fix
            said = re.match(r"add the output of: ([^;]+)", advice)
            plain = asked[1].split(";")[0].rstrip(")") if asked else ""
            assert (said[1] if said else "") == plain, (name, finding.id, finding.text)


@pytest.mark.parametrize(("text", "words"), [
    ("It says `NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.` at night.\n", 'explain "Xid 79"'),
    ("what is xid 119?\n", 'explain "Xid 119"'),
    ("\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n", "lspci -nnvvv"),
    ("index, name, pcie.link.gen.current, power.limit [W]\n0, NVIDIA H200, 5, 700.00 W\n", "nvidia-smi -q"),
    ("[rank1]:[E1124 03:12:01.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout\n",
     "NCCL_DEBUG=INFO")])
def test_what_tells_too_little_says_what_tells_it(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "post.txt").write_text(text)
    with refused(Damage.TOO_LITTLE, "post.txt", words):
        load_import(str(tmp_path))


@pytest.mark.parametrize(("rows", "code"), [(3, "not-in-driver"), (4, ""), (5, "")])
def test_a_gpu_that_one_text_has_and_another_lacks_is_lost(tmp_path: Path, rows: int, code: str) -> None:
    tree = "".join(f"0{number}:00.0 3D controller [0302]: NVIDIA Corporation X [10de:2bb5] (rev a1)\n"
                   "\tControl: I/O- Mem+\n\tKernel driver in use: nvidia\n\n" for number in range(3, 7))
    names = [f"GPU{number}" for number in range(rows)]
    table = "\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n" + "".join(
        name + "\t" + "\t".join(" X " if name == other else "PIX" for other in names) + "\t0-31\t0\n" for name in names)
    (tmp_path / "lspci.txt").write_text(tree)
    (tmp_path / "topo.txt").write_text(table)
    found = judge(Case(gather(load_import(str(tmp_path)), None, True), None, False, None, None), "preflight")
    failed = [each.code for each in found if each.id == "accelerator-count" and each.outcome == "fail"]
    assert failed == [code] * bool(code)


_ROCM = {
    "rocm-smi": "======================== ROCm System Management Interface ========================\n"
                "================================= Concise Info =================================\n"
                "GPU  Temp (DieEdge)  AvgPwr  SCLK     MCLK\n0    35.0c           90.0W   300Mhz   1600Mhz\n",
    "a value": "GPU[0]\t\t: Temperature (Sensor edge) (C): 43.0\n",
    "topology": "=============== Link Type between two GPUs ===============\n       GPU0         GPU1         \n"
                "GPU0   0            XGMI         \nGPU1   XGMI         0            \n",
    "its table alone": "       GPU0         GPU1         \nGPU0   0            XGMI         \n"
                       "GPU1   XGMI         0            \n",
    "rocminfo": "ROCk module is loaded\n=====================\nHSA System Attributes\n=====================\n",
    "amd-smi": "+------------------------------------------------------------------------------+\n"
               "| AMD-SMI 26.0.0+37d158ab   amdgpu version: 6.16.6   ROCm version: 7.0.0       |\n",
    "amd-smi list": "GPU: 0\n    BDF: 0000:05:00.0\n    UUID: d1ff74a1-0000-1000-8030-5c1b3c4b1b4d\n"
                    "    KFD_ID: 51140\n",
    "amd-smi topology": "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 SELF         XGMI\n",
}


@pytest.mark.parametrize("name", _ROCM)
def test_what_tells_of_amds_gpus_is_named_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text(_ROCM[name])
    with refused(Damage.TOO_LITTLE, "rocm-smi", "AMD GPUs", "NVIDIA GPUs only"):
        load_import(str(tmp_path / "a.txt"))
    (tmp_path / "lspci.txt").write_text(lab("acs-iommu"))
    assert any("a.txt" in hole and "AMD GPUs" in hole for hole in load_import(str(tmp_path)).holes)
