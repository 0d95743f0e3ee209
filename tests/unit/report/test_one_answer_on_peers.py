"""Whether the boards can reach each other's memory has one answer in a report: of the driver's tables, else of the
model, whoever tells it. Where the driver refuses, or its own does and no table is given, no check fails for lost peer
traffic, no fix promises any, no prediction stands without its condition, and no recipe that needs it fits."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from tests.unit.facts import trees
from tests.unit.facts.trees import PCI, Machine, frozen, full
from tests.unit.report.test_no_peers import _table

from tunecheck.facts.nvidia.nvml import Gpu, Nvml
from tunecheck.facts.posted import Channel, Nccl, Posted
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding
from tunecheck.parsers.nvidia.bench_grids import Bench, Grid
from tunecheck.recipes.box import box_of
from tunecheck.report.document import document
from tunecheck.report.paths import path_lines, short_path_lines
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.nvidia.peer_access import Access, peers
from tunecheck.spec.frozen import Driver

_GEFORCE, _PRO = "NVIDIA GeForce RTX 5090", "NVIDIA RTX PRO 6000 Blackwell Server Edition"
_ABSENT = "10de:2bff"       # a Blackwell board that the package does not know
#: name -> (PCI id, who tells a name, the name). Who: id, driver, -L, NVML, benchmark.
_MODELS = {
    "5090 by id": ("10de:2b85", "", ""), "5090 by the driver": (_ABSENT, "driver", _GEFORCE),
    "5090 by -L": (_ABSENT, "-L", _GEFORCE), "5090 by NVML": (_ABSENT, "NVML", _GEFORCE),
    "5090 by a benchmark": (_ABSENT, "benchmark", _GEFORCE),
    "PRO 6000 by id": ("10de:2bb5", "", ""), "PRO 6000 by -L": (_ABSENT, "-L", _PRO), "H200": ("10de:2335", "", ""),
    "H100, not in the table": ("10de:2330", "", ""), "not told": (_ABSENT, "", "")}
_REFUSALS = ("CNS", "GNS", "TNS", "DR", "NS")
_TABLES = ("", "OK", "U", *_REFUSALS)
_LAYOUTS = {"one switch": lambda: trees.below_one_switch(2, 0), "redirected": lambda: trees.below_one_switch(2, 0x1D),
            "two switches": lambda: trees.switches(2, 2, ctl=0x1D), "root ports": lambda: trees.direct(0x1D)}
#: What only peer traffic would gain from.
_GAIN = re.compile(r"NCCL_P2P_LEVEL=SYS|unset it|disable_acs_redir|setpci|keep a model's|brings the boards closer"
                   r"|delete that file|put both boards below one PCIe switch|below one root complex")
_FIGURE = re.compile(r"\d GB/s")
_ABOUT = ("acs-redirect", "topo-relation", "switch-chip", "nccl-transport", "engine-decisions")


def _machine(layout: str, ids: str) -> Machine:
    machine = _LAYOUTS[layout]()
    for bdf in machine.lists[PCI]:
        if machine.reads[f"{PCI}/{bdf}/device"].strip() == b"0x2bb1":
            machine.file(f"{PCI}/{bdf}/device", f"0x{ids[5:]}\n")
    return full(machine)


def _seen(layout: str, model: str, table: str, posted: Posted | None = None) -> Snapshot:
    ids, who, name = _MODELS[model]
    seen = gather(_machine(layout, ids).host(), None, False)
    bdfs = [device.bdf for device in seen.topology.devices]
    assert len(bdfs) > 1 and {device.ids for device in seen.topology.devices} == {ids}
    texts = posted or seen.posted
    if who == "-L":
        texts = replace(texts, names=tuple((f"GPU-{number}", name) for number in range(len(bdfs))))
    if who == "benchmark":
        texts = replace(texts, benches=(Bench("p2pBandwidthLatencyTest", {
            number: (bdf, name) for number, bdf in enumerate(bdfs)}, {}),))
    topology, nvml = seen.topology, seen.nvml
    if who == "driver":
        topology = replace(topology, names=(name,) * len(bdfs))
    if who == "NVML":
        nvml = known(Nvml(known("", ""), known("", ""), tuple(
            Gpu(bdf, number, {"name": name}, {}) for number, bdf in enumerate(bdfs)), {}), "NVML")
    p2p = known({(a, b, way): known(table, "x") for a, b in permutations(bdfs, 2) for way in ("read", "write")},
                "nvidia-smi topo -p2p") if table else seen.p2p
    return replace(seen, posted=texts, topology=topology, nvml=nvml, p2p=p2p)


def _logs(folder: Path) -> Posted:
    """NCCL's and an engine's logs that show no peer traffic."""
    (folder / "nccl.txt").write_text(
        "box:100:100 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"
        "box:100:120 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
        "box:100:121 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n"
        "box:100:120 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n")
    (folder / "vllm.txt").write_text(
        "INFO 11-20 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n"
        "WARNING 11-20 10:00:00 [custom_all_reduce.py:146] Custom allreduce is disabled because your platform lacks "
        "GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True "
        "explicitly.\n")
    found = gather(load_import(str(folder)), None, False).posted
    assert found.nccl and found.engines
    return found


def _findings(case: Case) -> list[Finding]:
    return [each for each in judge(case, "topo") if each.id in _ABOUT]


def _expected(model: str, table: str) -> Access:
    if table in _REFUSALS:
        return Access.REFUSED
    if table == "OK":
        return Access.ALLOWED
    return Access.PATCHED_ONLY if "5090" in model else Access.MODEL_UNKNOWN if model == "not told" else Access.EXPECTED


@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("table", _TABLES)
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_every_part_of_a_report_agrees(tmp_path: Path, layout: str, table: str, model: str) -> None:
    case = Case(_seen(layout, model, table, _logs(tmp_path)))
    access = _expected(model, table)
    assert {peers(case).of(pair.a, pair.b) for pair in case.snapshot.topology.pairs} == {access}
    found = _findings(case)
    fixes = {each.id: each.remedy.text for each in found if each.remedy and each.outcome != "skip"}
    lines = [*path_lines(case), *short_path_lines(case)]
    figures = [line for line in lines if _FIGURE.search(line)]
    pairs = [pair["path"] for pair in document("topo", case, judge(case, "topo"))["pairs"]]
    text = " ".join(render("topo", case, judge(case, "topo"), Style(0), imported=True).split())
    if access in (Access.REFUSED, Access.PATCHED_ONLY):
        far = layout not in ("one switch", "redirected") and "5090" not in model and table != "GNS"
        said = {check: words for check, words in fixes.items()
                if _GAIN.search(words) and not (far and check == "topo-relation")}
        assert said == {}
        assert not [each for each in found if each.outcome == "fail"]
        assert "nothing wrong was found" not in text
        assert box_of(case.snapshot).reaching(2) is (False if access is Access.REFUSED else None)
    if access is Access.REFUSED:
        assert figures == [] and all(path["one_way_gb_s"] is None and table in path["reason"] for path in pairs)
    elif access is Access.PATCHED_ONLY:
        assert figures and all("patched" in line for line in figures)
        assert all("patched" in path["reason"] for path in pairs)
    elif access is Access.MODEL_UNKNOWN:
        assert figures and all("if the driver allows" in line for line in figures)
        assert box_of(case.snapshot).reaching(2) is None
    else:
        assert figures and not [line for line in figures if "patched" in line or "if the driver" in line]
        assert box_of(case.snapshot).reaching(2) is True
        assert layout == "one switch" or "fail" in [each.outcome for each in found if each.id == "acs-redirect"]


@pytest.mark.parametrize("model", [name for name in _MODELS if "5090" in name])
@pytest.mark.parametrize("table", ["GNS", "CNS"])
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_a_table_that_confirms_the_model_changes_no_verdict(tmp_path: Path, layout: str, table: str, model: str
                                                            ) -> None:
    posted = _logs(tmp_path)

    def outcomes(word: str) -> list[tuple[str, str, str]]:
        return [(each.id, each.subject, each.outcome) for each in _findings(Case(_seen(layout, model, word, posted)))]

    assert outcomes("") == outcomes(table)


@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("table", _REFUSALS)
@pytest.mark.parametrize("layout", ["one switch", "redirected"])
def test_no_fix_asks_for_the_switch_that_the_tree_shows(layout: str, table: str, model: str) -> None:
    found = [each for each in judge(Case(_seen(layout, model, table)), "topo") if each.id == "p2p-capability"]
    assert found
    for each in found:
        assert each.remedy and not re.search(r"one PCIe switch|one root complex", each.remedy.text)
        if table in ("CNS", "TNS") and "5090" not in model:
            assert "though one PCIe switch joins both" in each.text and "virtual machine" in each.remedy.text


@pytest.mark.parametrize("way", ["NCCL", "benchmark", "spec"])
def test_a_patched_driver_is_known_by_what_it_does_too(way: str) -> None:
    """Without a table direct transfers tell it, and a spec that declares it."""
    seen = _seen("redirected", "5090 by id", "")
    if way == "NCCL":
        log = Nccl("2.28.9", 2, 1, True, (Channel(0, 1, "P2P", "/IPC", 1, True),), (), {}, (), ())
        seen = replace(seen, posted=replace(seen.posted, nccl=(log,)))
    if way == "benchmark":
        access = Grid("access", {(0, 1): 1.0, (1, 0): 1.0}, False)
        seen = replace(seen, posted=replace(seen.posted, benches=(
            Bench("p2pBandwidthLatencyTest", {}, {"access": access}),)))
    case = Case(seen, frozen(driver=Driver(flavour="patched-p2p")) if way == "spec" else None)
    assert peers(case).whole in (Access.ALLOWED, Access.EXPECTED)
    assert all("patched" not in line for line in path_lines(case))


def test_one_way_that_is_refused_is_no_peer_access() -> None:
    seen = _seen("one switch", "PRO 6000 by id", "OK")
    table = {key: known("CNS", "x") if key[2] == "write" else fact for key, fact in (seen.p2p.value or {}).items()}
    assert peers(Case(replace(seen, p2p=known(table, "x")))).whole is Access.REFUSED


@pytest.mark.parametrize("name", [_GEFORCE, _PRO, ""])
@pytest.mark.parametrize("word", ["", "OK", "GNS", "CNS"])
@pytest.mark.parametrize("disabled", [True, False])
def test_texts_without_a_tree_agree_too(tmp_path: Path, disabled: bool, word: str, name: str) -> None:
    """NCCL's log beside the names of the boards and the driver's tables: no variable gives what the driver refuses."""
    log = _logs(tmp_path).nccl[0]
    for letter in "rw" if word else "":
        (tmp_path / f"{letter}.txt").write_text(_table(word, letter, False, 2))
    if name:
        (tmp_path / "names.txt").write_text("".join(
            f"GPU {gpu}: {name} (UUID: GPU-0000000{gpu}-0000-0000-0000-000000000000)\n" for gpu in (0, 1)))
    seen = gather(load_import(str(tmp_path)), None, True)
    log = log if disabled else replace(log, variables={})
    case = Case(replace(seen, posted=replace(seen.posted, nccl=(log,))))
    (found,) = [each for each in judge(case, "preflight") if each.id == "nccl-transport"]
    assert found.remedy
    fix = found.remedy.text
    if word in ("GNS", "CNS") or (name == _GEFORCE and not word):
        assert not _GAIN.search(fix) and ("refuses peer access" in fix)
    elif not word and not name:
        assert fix.startswith("first find out the model")
    else:
        assert _GAIN.search(fix)
    if name == _GEFORCE and not word:
        (open_,) = [each for each in judge(case, "preflight") if each.id == "p2p-capability"]
        assert (open_.code, open_.outcome) == ("own-driver-refuses", "unknown")


@pytest.mark.parametrize(("model", "table", "acs", "chip"), [
    ("PRO 6000 by id", "OK", "redirects", "writes-may-collapse"),
    ("PRO 6000 by id", "CNS", "redirects-nothing", "no-peer-writes"),
    ("5090 by id", "GNS", "redirects-nothing", "no-peer-writes"),
    ("5090 by id", "", "driver-not-told", "driver-not-told")])
def test_the_codes_say_which_answer_it_is(monkeypatch: pytest.MonkeyPatch, model: str, table: str, acs: str,
                                          chip: str) -> None:
    monkeypatch.setitem(_LAYOUTS, "three switches", lambda: trees.switches(2, 2, 2, ctl=0x1D))
    codes = {(each.id, each.code) for each in _findings(Case(_seen("three switches", model, table)))}
    assert {code for check, code in codes if check == "acs-redirect"} - {"no-acs-capability"} == {acs}
    assert {code for check, code in codes if check == "switch-chip"} == {chip}
