"""Folders, bug reports and single texts as `--from` takes them: recognised by content, bounded, judged as any host."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.facts.trees import frozen
from tests.unit.imports.samples import FIXTURES, box, metal
from tests.unit.refusing import refused
from tests.unit.told import told

from tunecheck.errors import UsageError
from tunecheck.facts.peer_paths import paths
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host import Host
from tunecheck.host.imported import files
from tunecheck.host.imported.machine import load_import
from tunecheck.host.source import open_source
from tunecheck.model.absence import Absence
from tunecheck.model.finding import Finding
from tunecheck.parsers.pci.switch_chips import EMULATED
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Acs

TOPO = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"
LOG = ("[    0.000000] Linux version 6.8.0-45-generic (x)\n[    0.000000] Command line: root=/dev/sda1 ro pci=noacs\n"
       "[    0.000001] PCI: Unknown option `noacs'\n"
       "[    9.000000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Release Build\n")
SMI = ("==============NVSMI LOG==============\n\nDriver Version                  : 595.58.03\n\n"
       "GPU 00000000:03:00.0\n    Product Name                  : NVIDIA H100\n        Device Id : 0x233010DE\n")


def folder(path: Path, *texts: str | bytes) -> str:
    """Files whose names say nothing."""
    for number, text in enumerate(texts):
        (path / f"{number}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def found(door: Host) -> Snapshot:
    return gather(door, None, True)


def judged(door: Host, check: str, verb: str = "topo") -> list[Finding]:
    spec = frozen(acs=Acs(peer_redirect="leave")) if verb != "topo" else None
    case = Case(gather(door, spec.spec if spec else None, verb != "topo"), spec)
    return [finding for finding in judge(case, verb) if finding.id == check]


def run(*args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "checks"), "LC_ALL": "C.UTF-8"}
    return subprocess.run([sys.executable, "-m", "tunecheck", *args], env=env, capture_output=True, text=True,
                          timeout=60, check=False)


def test_everything_in_a_folder_is_found_by_its_content(tmp_path: Path) -> None:
    params = 'ResmanDebugLevel: 4294967295\nRegistryDwords: "ForceP2P=17"\n'
    door = load_import(folder(tmp_path, box("acs-iommu"), TOPO, LOG, "root=/dev/sda1 ro pci=noacs\n", SMI, params,
                              "available: 2 nodes (0-1)\nnode 0 cpus: 0\n", "nothing of interest\n"))
    snapshot = found(door)
    assert snapshot.host is not None
    kernel = snapshot.host.kernel
    assert kernel.cmdline.value == ("root=/dev/sda1", "ro", "pci=noacs")
    assert kernel.release.value == "6.8.0-45-generic"
    assert kernel.log.value is not None
    assert (kernel.log.value.complete, list(kernel.log.value.rejected)) == (False, ["pci=noacs"])
    assert snapshot.host.driver.version.value == "595.58.03"
    assert snapshot.host.driver.flavour.value == "open"
    assert door.read_bytes("/sys/devices/system/node/online") == b"0-1"
    assert b"ForceP2P=17" in door.read_bytes("/proc/driver/nvidia/params")
    assert door.unused == ["7.txt"]
    assert "lspci (0.txt)" in door.summary()
    assert door.unused == ["7.txt"] and "; not used: 7.txt; nvidia-smi -q is cut short in GPU0" in door.summary()


def test_the_verdict_names_the_bridges(tmp_path: Path) -> None:
    done = run("topo", "--from", folder(tmp_path, metal(box("acs-iommu")), TOPO))
    assert done.returncode == 1
    assert "FAIL    acs-redirect: 0000:02:00.0 ACSCtl=0x001d " in done.stdout
    assert "PASS    topo-agreement: " in done.stdout
    assert done.stderr == "tunecheck: import: lspci (0.txt), nvidia-smi topo -m (1.txt)\n"


def test_emulated_ports_are_no_reason_to_change_acs(tmp_path: Path) -> None:
    """lspci alone, of a virtual machine: the report calls the ports emulated, and says nothing against that."""
    place = folder(tmp_path, box("acs-iommu"))
    shown = run("topo", "-v", "--from", place).stdout
    assert "SKIP    acs-redirect: " in shown and "disable_acs_redir" not in shown
    (path,) = paths(found(load_import(place)))
    emulated = [hop.bdf for hop in path.hops if hop.ids in EMULATED]
    assert path.reason and path.reason.startswith(f"{emulated[0]} ") and path.reason in shown


def test_what_is_missing_says_what_to_add(tmp_path: Path) -> None:
    snapshot = found(load_import(folder(tmp_path, TOPO)))
    assert snapshot.host is not None
    for fact, add in ((snapshot.topology.accelerators, "sudo lspci -nnvvv"),
                      (snapshot.host.kernel.cmdline, "cat /proc/cmdline"), (snapshot.host.kernel.log, "sudo dmesg"),
                      (snapshot.host.driver.version, "nvidia-smi -q")):
        assert fact.absence is Absence.NOT_IN_IMPORT and add in (fact.reason or "")
    assert run("topo", "--from", str(tmp_path)).returncode == 3


def test_a_spec_may_lie_in_the_folder(tmp_path: Path) -> None:
    path = folder(tmp_path, box("acs-iommu"), "root=/dev/sda1\n")
    assert json.loads(run("host", "--from", path, "--json").stdout)["spec"] is None
    boards = Accelerators(pci_ids=("10de:2330",), count=2)
    (tmp_path / "box").write_text(frozen(accelerators=boards).to_json())
    done = run("host", "--from", path, "--json")
    outcomes = {finding["id"]: finding["outcome"] for finding in json.loads(done.stdout)["findings"]}
    assert outcomes["iommu-mode"] == "unknown"
    assert (outcomes["accelerator-count"], outcomes["acs-redirect"]) == ("pass", "fail")


def test_values_that_grep_prints(tmp_path: Path) -> None:
    groups = "".join(f"/sys/kernel/iommu_groups/{number}/type:identity\n" for number in range(12))
    policy = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor:performance\n"
    snapshot = found(load_import(folder(tmp_path, box("acs-iommu"), groups, policy)))
    assert snapshot.host is not None
    assert {fact.value for fact in snapshot.host.iommu.values()} == {"identity"}
    assert [each.governor.value for each in snapshot.host.policies.value or ()] == ["performance"]


@pytest.mark.parametrize(("text", "outcome", "code", "absence", "observed"), [
    (TOPO, "pass", "ok", None, ""),
    (TOPO.replace("PIX", "SYS"), "fail", "differ", None, "GPU0-GPU1 SYS PIX"),
    (TOPO.replace("PIX", "NV18"), "skip", "not-comparable", None, ""),
    (TOPO.replace("\tPIX\n", "PIX\n"), "unknown", "table-unread", Absence.NOT_UNDERSTOOD, ""),
    ("\tGPU0\nGPU0\t X \n", "unknown", "table-unread", Absence.NOT_UNDERSTOOD, ""),
    ("root=/dev/sda\n", "skip", "no-table", Absence.NOT_IN_IMPORT, "")])
def test_topo_agreement(tmp_path: Path, text: str, outcome: str, code: str, absence: Absence | None,
                        observed: str) -> None:
    (finding,) = judged(load_import(folder(tmp_path, box("acs-iommu"), text)), "topo-agreement")
    assert (finding.outcome, finding.code, finding.absence, told(finding.observed)) == (
        outcome, code, absence, observed)


def test_two_machines_in_one_folder_are_refused(tmp_path: Path) -> None:
    with refused(Damage.CONTRADICTS, "0000:03:00.0"):
        load_import(folder(tmp_path, box("acs-iommu"), box("acs-iommu").replace("[10de:2330]", "[10de:2bb1]")))


def test_before_and_after_in_one_folder_are_refused(tmp_path: Path) -> None:
    after = box("acs-iommu").replace("ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n",
                                     "ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-\n")
    with refused(Damage.CONTRADICTS, "ACSCtl=0x001d", "0x0011"):
        load_import(folder(tmp_path, box("acs-iommu"), after))
    dump = (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()
    with refused(Damage.CONTRADICTS, "ACSCtl=0x0011", "0x001d"):
        load_import(folder(tmp_path, after, dump))


def test_tables_that_differ_are_refused_and_a_damaged_one_gives_way(tmp_path: Path) -> None:
    with refused(Damage.CONTRADICTS, "nvidia-smi", "-m"):
        load_import(folder(tmp_path, box("acs-iommu"), TOPO, TOPO.replace("PIX", "PHB")))
    door = load_import(folder(tmp_path, box("acs-iommu"), TOPO.replace("\tPIX\n", "PIX\n"), TOPO))
    assert [finding.outcome for finding in judged(door, "topo-agreement")] == ["pass"]


def test_without_the_driver_nothing_is_asked(tmp_path: Path) -> None:
    text = box("acs-iommu").replace("in use: nvidia", "in use: vfio-pci")
    (finding,) = judged(load_import(folder(tmp_path, text, TOPO)), "topo-agreement")
    assert (finding.outcome, finding.code) == ("skip", "no-driver")


def test_prompts_part_a_text(tmp_path: Path) -> None:
    text = f"my box\n$ sudo lspci -nnvvv\n{box('phb')}\nme@box:~$ cat /proc/cmdline\nroot=/dev/sda1\n"
    door = load_import(folder(tmp_path, text, (FIXTURES / "h200" / "smi_topo.txt").read_bytes()))
    assert set(door.origins) == {"lspci", "/proc/cmdline", "nvidia-smi topo -m", "nvidia-smi topo -p2p"}
    assert door.read_bytes("/proc/cmdline") == b"root=/dev/sda1\n"


def test_one_text_is_enough_and_saved_as_utf_16_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe" + box("switch1").replace("\n", "\r\n").encode("utf-16-le"))
    door, note = open_source(str(tmp_path / "a"))
    assert [pair.relation.value for pair in found(door).topology.pairs] == ["PIX"]
    assert note == "import: lspci (a)"


def test_a_listing_that_is_cut_short_says_so(tmp_path: Path) -> None:
    text = box("switch1")
    door = load_import(folder(tmp_path, text[:text.rindex("04:00.0 ")] + "04:00.0 3D con"))
    assert len(found(door).topology.devices) == 1
    assert "0000:03:00.0" in door.summary()
    door = load_import(folder(tmp_path, text[:-40]))
    assert re.search(r"lspci .*0000:04:00\.0", door.summary())


def test_the_last_boot_counts(tmp_path: Path) -> None:
    older = LOG.replace("6.8.0-45", "6.5.0-1").replace("noacs", "nommconf")
    snapshot = found(load_import(folder(tmp_path, older + LOG)))
    assert snapshot.host is not None
    assert snapshot.host.kernel.log.value is not None
    assert list(snapshot.host.kernel.log.value.rejected) == ["pci=noacs"]
    assert snapshot.host.kernel.release.value == "6.8.0-45-generic"


@pytest.mark.parametrize("content", [b"\0" * 1000, os.urandom(4096), b"hello\n" * 10, b'{"schema": "x"}'])
def test_nothing_recognised_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    with refused(Damage.UNKNOWN_PART):
        load_import(folder(tmp_path, content))


def test_links_and_special_files_are_left_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.write_text(TOPO)
    (inside / "link").symlink_to(outside)
    os.mkfifo(inside / "fifo")
    (inside / "a\x1b[2J").write_text(TOPO)
    folder(inside, LOG)
    assert set(load_import(str(inside)).origins) == {"kernel log"}
    for path in (str(inside / "fifo"), "/dev/null"):
        with refused(Damage.NOT_A_FILE, path):
            open_source(path)


def test_bombs_and_damage_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.log.gz"
    monkeypatch.setattr(files, "_SMALL", 1 << 16)
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with refused(Damage.TOO_LARGE, "300"):
        load_import(str(path))
    monkeypatch.setattr(files, "MAX_UNPACKED", 1 << 20)
    path.write_bytes(gzip.compress(os.urandom(1 << 19)) * 3)
    with refused(Damage.TOO_LARGE, " 1 MiB"):
        load_import(str(path))
    path.write_bytes(gzip.compress(LOG.encode())[:-9])
    with refused(Damage.CUT_SHORT):
        load_import(str(path))
    path.write_bytes(gzip.compress(LOG.encode())[:30] + b"junk" * 9)
    with pytest.raises(UsageError) as told:
        load_import(str(path))
    assert told.value.flaw in (Damage.CUT_SHORT, Damage.PACKING)


def test_members_and_padding_of_gzip(tmp_path: Path) -> None:
    half = len(LOG) // 2
    packed = gzip.compress(LOG[:half].encode()) + gzip.compress(b"") * 300 + gzip.compress(LOG[half:].encode())
    (tmp_path / "a.gz").write_bytes(packed + b"\0" * 512)
    assert set(load_import(str(tmp_path)).origins) == {"kernel log"}


def test_nothing_is_written(tmp_path: Path) -> None:
    path = folder(tmp_path, box("phb"), TOPO, LOG)
    before = {entry.name: entry.stat().st_mtime_ns for entry in tmp_path.iterdir()}
    run("topo", "--from", path)
    assert {entry.name: entry.stat().st_mtime_ns for entry in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("name", "head", "answers"), [
    ("topo-p2p-r.txt", "", {"read"}), ("x.txt", "nvidia-smi topo -p2p rw\n", {"read", "write"}),
    ("x.txt", "me@box:~$ nvidia-smi topo -p2p w\n", {"write"}), ("topo-p2p-p.txt", "", set()), ("x.txt", "", set())])
def test_a_table_of_p2p_needs_its_letter(tmp_path: Path, name: str, head: str, answers: set[str]) -> None:
    """Which status it shows is not in it: the command above it says so, or the file's name."""
    path = folder(tmp_path, box("acs-iommu"))
    (Path(path) / name).write_text(f"{head} \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tNS\tX\t\n")
    door = load_import(path)
    (kind,) = (kind for kind in door.origins if kind.startswith("nvidia-smi topo -p2p"))
    assert ("(" in kind) == ((name, head) == ("x.txt", "")), "it says to put the command above it"
    told = found(door).p2p.value or {}
    assert {way for (_, _, way), fact in told.items() if fact.known} == answers
    findings = judged(door, "p2p-capability")
    # The other table may refuse what this one allows: without it that is not known.
    assert {finding.subject for finding in findings if finding.outcome == "unknown"} == (
        {f"{way}s" for way in ("read", "write") if way not in answers} if answers else {"pairs"})
    if "read" in answers:
        assert [finding.outcome for finding in findings if "GPU1->GPU0 read" in finding.subject] == ["warn"]
