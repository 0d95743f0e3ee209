"""The drift facts: equal boxes give equal values, what is not known is unknown, and no snapshot breaks it."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.facts import trees
from tests.unit.facts.big import GPUS, big_spec, eight_gpus
from tests.unit.facts.trees import GPU, Machine, frozen, full, switch

from tunecheck.facts.registry import ENTRIES, Flat, entry_of, flatten
from tunecheck.facts.registry.kernel import split
from tunecheck.facts.registry.page import page
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed, unpack
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.prefetch import DPKG
from tunecheck.host.recording import load_recording
from tunecheck.model.absence import Absence
from tunecheck.model.fact import Fact
from tunecheck.spec.frozen import Frozen

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests/fixtures"


def stored(machine: Machine, spec: Frozen | None = None) -> Stored:
    spec = spec or frozen()
    return unpack(packed(Stored(gather(machine.host(), spec.spec, True), spec)))


def config(flat: Flat) -> dict[str, Any]:
    return {name: value for name, value in flat.known.items() if _kind(name) == "config"}


def _kind(name: str) -> str:
    entry = entry_of(name)
    assert entry is not None, name
    return entry.kind


EIGHT = stored(eight_gpus(log="[    0.000000] Linux version 6.12.1\n"), big_spec())


def test_the_page_is_the_registry() -> None:
    assert (ROOT / "docs/facts.md").read_text() == page(), "write it again: python -m tunecheck.facts.registry.page"


def test_every_entry_is_whole() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(names) == len(set(names))
    for entry in ENTRIES:
        assert entry.summary and entry_of(entry.name) is entry
        assert entry.fix == "none" or entry.kind not in ("gauge", "counter", "time"), entry.name
        assert len(entry.summary) < 110, entry.name
    families = [entry for entry in ENTRIES if entry.family]
    for family in families:
        assert entry_of(f"{family.name}a.b.c") is family
    assert entry_of("no.such.fact") is None and entry_of("") is None


@pytest.mark.parametrize("name", ["h200-2gpu-vm.tar.zst", "h200-2gpu-vm.rec.json.gz"])
def test_a_real_machine(name: str) -> None:
    flat = flatten(unpack(packed(Stored(gather(load_recording(str(FIXTURES / name)), None, True), None))))
    assert flat.known["pcie.width"] == {"16": 2} and flat.known["pcie.relation"] == {"hidden": 1}
    if name.endswith(".zst"):
        assert flat.known["driver.loaded"] == "580.159.04" and flat.known["gpu.name"] == {"NVIDIA H200": 2}
        assert flat.known["gpu.nvlinks"] == {"18": 2} and flat.known["kernel.cmdline.console"] == ["ttyS0"]
        assert flat.unknown["gpu.uuids"].absence is Absence.LEFT_OUT
    else:
        assert flat.unknown["gpu.name"].absence is Absence.NOT_RECORDED
    assert len(config(flat)) > (80 if name.endswith(".zst") else 30)
    assert not any(why.absence is Absence.NOT_UNDERSTOOD for why in flat.unknown.values())
    assert all(_kind(each) for each in flat.known)


def test_a_healthy_box_with_eight_gpus() -> None:
    flat = flatten(EIGHT)
    assert {name: flat.known[name] for name in (
        "pcie.accelerators", "pcie.width", "pcie.relation", "acs.path_ports", "acs.redirecting", "cpu.governor",
        "iommu.mode", "gpu.count", "kernel.cmdline.iommu", "kernel.cmdline.pci", "numa.cpus", "spec")} == {
        "pcie.accelerators": {GPU: 8}, "pcie.width": {"16": 8}, "pcie.relation": {"NODE": 8, "PXB": 4, "SYS": 16},
        "acs.path_ports": {"Downstream Port 0x001d": 24, "Root Port 0x001d": 4, "Upstream Port none": 12},
        "acs.redirecting": 28, "cpu.governor": {"performance": 128}, "iommu.mode": {"identity": 8}, "gpu.count": 8,
        "kernel.cmdline.iommu": "pt", "kernel.cmdline.pci": ["realloc=off"], "numa.cpus": [8, 8],
        "spec": big_spec().digest}
    assert len(flat.known["gpu.uuids"]) == 8 and len(flat.known["gpu.temperature_c"]) == 8


def test_one_odd_gpu_shows_as_one() -> None:
    machine = eight_gpus()
    machine.file(f"/sys/bus/pci/devices/{GPUS[3]}/current_link_width", "8\n")
    assert machine.nvml
    machine.nvml["gpus"][5]["values"]["vbios"] = "other"
    flat = flatten(stored(machine, big_spec()))
    assert flat.known["pcie.width"] == {"16": 7, "8": 1}
    assert sorted(flat.known["gpu.vbios"].values()) == [1, 7]


def test_a_board_without_an_answer_makes_counts_unknown() -> None:
    """{"96.00": 7} would look as if a board had been taken out."""
    machine = eight_gpus()
    assert machine.nvml
    machine.nvml["gpus"][2]["errors"] = {"vbios": "GPU_IS_LOST"}
    del machine.nvml["gpus"][2]["values"]["vbios"]
    flat = flatten(stored(machine, big_spec()))
    lost = flat.unknown["gpu.vbios"]
    assert lost.absence is Absence.LOST and GPUS[2] in lost and "gpu.ecc" in flat.known
    del machine.nvml["gpus"][2]
    machine.nvml["pairs"] = []
    machine.nvml["errors"] = {"gpu 2": "GPU_IS_LOST"}
    flat = flatten(stored(machine, big_spec()))
    assert flat.unknown["gpu.count"].absence is Absence.LOST and flat.known["pcie.accelerators"] == {GPU: 8}
    machine.nvml["gpus"][0]["values"].pop("ecc_mode")
    machine.nvml["errors"] = {}
    for gpu in machine.nvml["gpus"]:
        gpu["values"].pop("ecc_mode", None)
        gpu["errors"]["ecc_mode"] = "NOT_SUPPORTED"
    assert flatten(stored(machine, big_spec())).known["gpu.ecc"] is None, "no board has it, which is an answer"


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(order=st.permutations(range(8)))
def test_the_order_of_the_gpus_makes_no_difference(order: list[int]) -> None:
    document = json.loads(packed(EIGHT))
    snapshot = document["snapshot"]
    for place in (snapshot["nvml"]["value"]["gpus"], snapshot["topology"]["accelerators"]["value"]):
        place[:] = [place[index] for index in order]
    bridges = snapshot["topology"]["bridges"]
    snapshot["topology"]["bridges"] = dict(reversed(bridges.items()))
    # Which pair of indices is which changes with them; how many there are of each kind does not.
    assert config(flatten(unpack(json.dumps(document).encode()))) == config(flatten(EIGHT))


def test_facts_are_plain_json_and_survive_it() -> None:
    for each in (EIGHT, stored(trees.driver(full(switch(0)))), stored(Machine())):
        flat = flatten(each)
        assert json.loads(json.dumps(flat.known, allow_nan=False)) == flat.known
        assert flatten(unpack(packed(each))) == flat


@pytest.mark.parametrize(("line", "known"), [
    (["quiet", "iommu=off", "iommu=pt"], {"quiet": True, "iommu": "pt"}),
    (["BOOT_IMAGE=/x", "root=UUID=1", "resume=/y", "rd.luks.uuid=z", "ip=dhcp", "tunecheck.trial=1"], {}),
    (["console=tty0", "console=ttyS0,115200"], {"console": ["tty0", "ttyS0,115200"]}),
    (["hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=512"],
     {"hugepagesz": ["1G", "2M"], "hugepages": ["4", "512"]}),
    (["pci=realloc=off,noaer", "pci=noats"], {"pci": ["noaer", "noats", "realloc=off"]}),
    (["nvidia-drm.modeset=1"], {"nvidia_drm.modeset": "1"}),
    (['dyndbg="file a +p"', "x="], {"dyndbg": "file a +p", "x": ""}),
    (["a=1", "--", "--token", "abc", "b"], {"a": "1", "--": "--token masked b"})])
def test_the_command_line_is_a_map(line: list[str], known: dict[str, Any]) -> None:
    assert split(line) == (known, {})


def test_a_secret_word_is_kept_apart() -> None:
    known, hidden = split(["iommu=pt", "cloud.token=abcdef", "nokaslr"])
    assert known == {"iommu": "pt", "nokaslr": True} and hidden == {"cloud.token": "abcdef"}
    flat = flatten(stored(full(switch(), "iommu=pt cloud.token=abcdef")))
    everywhere = {name: value for name, value in flat.known.items() if _kind(name) != "secret"}
    assert "abcdef" not in json.dumps(everywhere) + json.dumps(flat.unknown)


def test_absent_and_unknown_are_kept_apart() -> None:
    flat = flatten(stored(full(switch())))
    assert flat.known["serving.recipe"] is None and flat.known["driver.loaded"] is None
    assert flat.known["package.linux-image-6.12.1"] == "6.12.1-1" and flat.known["cpu.governor"] is None
    nobody = flatten(stored(full(Machine())))
    assert nobody.known["gpu.name"] is None and nobody.known["gpu.uuids"] is None, "neither driver nor board"
    assert nobody.known["pcie.accelerators"] == {} and nobody.known["p2p.read"] is None
    broken = trees.driver(full(switch(0)))
    broken.runs[DPKG] = reason_of_text("timed out after 10 s")
    flat = flatten(stored(broken))
    unread = flat.why("package.nvidia-utils-595")
    assert unread and unread.absence is Absence.TIMED_OUT
    assert flat.why("package.linux-image-6.12.1") is None
    less = unpack(packed(Stored(gather(full(switch()).host(), None, False), None)))
    assert flatten(less).unknown["driver.loaded"].absence is Absence.OLDER


def test_a_box_without_nvidia_is_not_half_known() -> None:
    """NVML is asked for any accelerator that the spec names, also a stand-in."""
    why = "not present: the NVIDIA driver is not loaded"
    for machine, expected in ((full(Machine()), None), (full(switch()), Absence.NO_DRIVER)):
        seen = stored(machine)
        dark: Fact[Any] = Fact(None, "NVML", reason_of_text(why))
        flat = flatten(replace(seen, snapshot=replace(seen.snapshot, nvml=dark, p2p=dark, topo_text=dark)))
        for name in ("driver.nvml", "gpu.name", "p2p.read", "pcie.relation_told"):
            told = flat.unknown.get(name)
            assert (told and told.absence) is expected, name
            assert (name in flat.known) == (expected is None)


def test_an_older_snapshot_says_nothing_of_newer_facts() -> None:
    document = json.loads(packed(EIGHT))
    for name in ("identity", "serving"):
        del document["snapshot"]["host"][name]
    flat = flatten(unpack(json.dumps(document).encode()))
    for name in ("serving.revision", "serving.flag.--tp"):
        why = flat.why(name)
        assert why and why.absence is Absence.OLDER, name


def test_a_log_without_its_start_says_nothing_of_the_boot() -> None:
    flat = flatten(stored(full(switch(), log="[   99.000000] something later\n")))
    assert flat.unknown["kernel.rejected"].absence is Absence.LOG_TOO_SHORT
    assert flat.known["kernel.log_whole"] is False


def _recipe(**serve: Any) -> str:
    return json.dumps({"schema": "tunecheck/recipe/1", "digest": "sha256:" + "a" * 64, "recipe": {
        "id": "qwen", "engine": {"name": "sglang", "version": "0.5.5"}, "status": "pinned",
        "model": {"id": "Qwen/Qwen3", "revision": "b" * 40},
        "image": {"image_id": "sha256:" + "c" * 64, "digest": "sha256:" + "d" * 64},
        "parallel": {"tp": 8}, "env": {"NCCL_P2P_LEVEL": "SYS", "HF_TOKEN": "hf_abcdefghijklmnopqrst"},
        "serve": {"port": 30000, "args": ["--mem-fraction-static", "0.9", "--enable-x", "--api-key", "hunter2",
                                          "--ctx=5"], **serve}}}, indent=2)


def test_what_is_served() -> None:
    machine = full(switch()).file("/etc/tunecheck/recipe.json", _recipe())
    flat = flatten(stored(machine))
    found = {name: value for name, value in flat.known.items() if name.startswith("serving.") and value is not None}
    assert found == {
        "serving.recipe": "qwen", "serving.digest": "sha256:" + "a" * 64, "serving.engine": "sglang 0.5.5",
        "serving.image_id": "sha256:" + "c" * 64, "serving.image_digest": "sha256:" + "d" * 64,
        "serving.model": "Qwen/Qwen3", "serving.revision": "b" * 40, "serving.status": "pinned",
        "serving.port": 30000, "serving.parallel.tp": 8, "serving.env.NCCL_P2P_LEVEL": "SYS",
        "serving.flag.--mem-fraction-static": "0.9", "serving.flag.--enable-x": True,
        "serving.flag.--api-key": "masked", "serving.flag.--ctx": "5"}
    assert "hunter2" not in packed(stored(machine)).decode() and "hf_abc" not in packed(stored(machine)).decode()
    for damaged in ("", "[]", '{"schema": "tunecheck/recipe/1"}', '{"schema": "tunecheck/recipe/1", "recipe": 3}',
                    "[" * 100_000, _recipe(args=7), _recipe(args=[1, None])):
        flat = flatten(stored(full(switch()).file("/etc/tunecheck/recipe.json", damaged)))
        assert flat.known.get("serving.recipe") == "qwen" or flat.why("serving.recipe")


_HOSTILE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2**70, 2**70), st.floats(), st.text(max_size=20),
              st.sampled_from(["\ud800", "\x1b[31m", "<script>", "a" * 5000, "\u202e", "1" * 400])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6)
#: A real machine: small, and with every key of NVML.
_DOCUMENT = json.loads(packed(Stored(gather(load_recording(str(FIXTURES / "h200-2gpu-vm.tar.zst")), None, True), None)))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [each for name, part in items for each in _places(part, (*path, name))]


_PLACES = [place for place in _places(_DOCUMENT["snapshot"]) if "errors" not in place]
_ANY = [place for place in _PLACES if "values" in place[:-1]]


def _changed(place: tuple[Any, ...], value: Any) -> bytes:
    document = copy.copy(_DOCUMENT)
    part = document["snapshot"] = copy.copy(document["snapshot"])
    for step in place[:-1]:
        part[step] = copy.copy(part[step])
        part = part[step]
    part[place[-1]] = value
    return json.dumps(document).encode()


@settings(max_examples=400, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(place=st.one_of(st.sampled_from(_PLACES), st.sampled_from(_ANY)), value=_HOSTILE)
def test_whatever_decodes_is_flattened(place: tuple[Any, ...], value: Any) -> None:
    try:
        found = unpack(_changed(place, value))
    except ValueError:
        return
    flat = flatten(found)
    text = json.dumps(flat.known, allow_nan=False, ensure_ascii=False) + json.dumps(flat.unknown, ensure_ascii=False)
    text.encode()
    assert "\x1b" not in text and len(text) < 200_000
    assert set(_PLAINLY) <= {*flat.known, *flat.unknown}, "no entry is left out"


_PLAINLY = [entry.name for entry in ENTRIES if not entry.family]
