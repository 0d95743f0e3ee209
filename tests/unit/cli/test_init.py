"""``tunecheck init``: what it drafts of each kind of box can be frozen as it stands, and says what the box says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import NoSuchOption
from click.testing import CliRunner, Result
from tests.unit.facts import big, trees
from tests.unit.imports import smi_texts
from tests.unit.imports.samples import samples
from tests.unit.imports.test_fragments import PLAIN

from tunecheck.app.draft import drafted
from tunecheck.app.draft_files import Login, files
from tunecheck.cli.main import cli
from tunecheck.errors import Misuse, SpecError, UsageError
from tunecheck.facts.posted import Table
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.answers import Answers
from tunecheck.host.bundle import pack
from tunecheck.host.imported.machine import load_import
from tunecheck.model.fact import known
from tunecheck.parsers.kernel.param_conflicts import conflicts
from tunecheck.rules import judge
from tunecheck.rules.boot import cmdline_conflict
from tunecheck.rules.context import Case
from tunecheck.spec import build
from tunecheck.spec.frozen import declared_tokens
from tunecheck.spec.orphans import warnings_of

FIXTURE = Path(__file__).parents[2] / "fixtures/h200-2gpu-vm.tar.zst"


def flaw_of(done: Result) -> Enum | None:
    """Why it was refused."""
    assert isinstance(done.exception, UsageError), done.output
    return done.exception.flaw


def seen(machine: trees.Machine) -> Snapshot:
    return gather(trees.bound(machine).host(), None, False)


def guest(machine: trees.Machine) -> Snapshot:
    return replace(seen(machine), guest=known("KVM", "dmi"))


#: name -> (the box, profile, what is asked of the accelerators beside the profile, paths marked CHANGE)
BOXES: dict[str, tuple[Callable[[], Snapshot], str, dict[str, Any], list[str]]] = {
    "one switch": (lambda: seen(trees.below_one_switch(4)), "rtx-pro-6000-switch",
                   {"count": 4, "relation": "PIX"}, []),
    "cascaded": (lambda: seen(trees.cascaded()), "rtx-pro-6000-switch", {"count": 2, "relation": "PXB"}, []),
    "two switches": (lambda: seen(trees.switches(2, 2)), "rtx-pro-6000-switches",
                     {"count": 4, "groups": {"size": 2, "inside": "PIX", "across": "NODE"}}, []),
    "uneven switches": (lambda: seen(trees.switches(3, 1)), "rtx-pro-6000-switches",
                        {"count": 4, "groups": {"size": None, "inside": "PIX", "across": "NODE"}},
                        ["accelerators.groups"]),
    "a card lost": (lambda: seen(trees.switches(2, 2, 1)), "rtx-pro-6000-switches",
                    {"count": 5, "groups": {"size": None, "inside": "PIX", "across": "NODE"}},
                    ["accelerators.groups"]),
    "root ports": (lambda: seen(trees.direct()), "rtx-pro-6000-direct", {"count": 2, "relation": "PHB"}, []),
    "two sockets": (lambda: seen(trees.two_bridges((0, 1))), "rtx-pro-6000-direct",
                    {"count": 2, "relation": "SYS"}, []),
    "a flat tree": (lambda: seen(trees.flat()), "rtx-pro-6000-direct", {"count": 2, "relation": None},
                    ["accelerators.relation", "profile"]),
    "a guest": (lambda: guest(trees.flat()), "passthrough-guest", {"count": 2}, []),
    "one card": (lambda: seen(trees.below_one_switch(1)), "rtx-pro-6000-direct", {"count": 1}, []),
    "eight": (lambda: seen(big.eight_gpus()), "rtx-pro-6000-switches", {"count": 8}, []),
}


@pytest.mark.parametrize("name", BOXES)
def test_a_draft_is_a_spec_that_its_box_meets(name: str) -> None:
    box, profile, accelerators, change = BOXES[name]
    snapshot = box()
    draft = drafted(snapshot)
    assert (draft.spec["profile"], sorted(draft.change)) == (profile, sorted(change))
    assert accelerators.items() <= draft.spec["accelerators"].items()
    made = files(draft, Login("192.0.2.7", "ops", 2222))
    group = yaml.safe_load(made["group_vars/inference.yml"])
    assert group["box_spec"] == draft.spec
    frozen = build(draft.name, group["box_spec"], None)
    if not change:
        found = judge(Case(snapshot, frozen), "topo")
        wrong = [each.message for each in found if each.outcome not in ("pass", "skip")
                 and each.id in ("accelerator-count", "topo-relation")]
        assert wrong == []
    marked = sum("# CHANGE" in line for line in "".join(made.values()).splitlines())
    assert marked == len(change)


def _without(table: Table | None = None) -> Snapshot:
    bare = seen(trees.Machine())
    return replace(bare, posted=replace(bare.posted, table=known(table, "x"))) if table else bare


@pytest.mark.parametrize(("table", "count", "change"), [
    (None, 1, ["accelerators.count", "profile"]),
    (Table(("", ""), {(0, 1): "PIX"}, "nvidia-smi topo -m"), 2, ["profile"]),
    (Table(("", ""), {}, "nvidia-smi topo -m", cut=True), 1, ["accelerators.count", "profile"]),
])
def test_without_a_board_no_profile_is_guessed(table: Table | None, count: int, change: list[str]) -> None:
    draft = drafted(_without(table))
    assert (draft.spec["profile"], sorted(draft.change)) == (None, change)
    assert draft.spec["accelerators"]["count"] == count
    assert (table is not None and table.source in draft.observations[0]) == (count == 2)
    group = yaml.safe_load(files(draft, Login("192.0.2.7"))["group_vars/inference.yml"])
    with pytest.raises(SpecError, match=r"^box_spec\.profile: "):
        build(draft.name, group["box_spec"], None)
    assert build(draft.name, group["box_spec"] | {"profile": "lab"}, None).spec.accelerators.count == count


_TOPO = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"
_P2P = "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n"
_LIST = "".join(f"GPU {number}: NVIDIA H200 (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n"
                for number in range(2))


@pytest.mark.parametrize(("texts", "count", "said", "open_count"), [
    ([smi_texts.TEXT], 2, "nvidia-smi names 2 (NVIDIA RTX PRO 6000 Blackwell Server Edition)", False),
    ([smi_texts.XML], 1, "nvidia-smi names 1 (NVIDIA H200)", False),
    ([PLAIN], 1, "nvidia-smi names 1 (NVIDIA H200)", False),
    ([_TOPO], 2, "nvidia-smi topo -m names 2", False),
    ([_P2P], 2, "nvidia-smi topo -p2p names 2", False),
    ([_TOPO, _LIST], 2, "nvidia-smi topo -m names 2 (NVIDIA H200)", False),
    # A list has no end by which one sees that it is whole; two texts that differ are of no one machine.
    ([_LIST], 2, "nvidia-smi -L names 2 (NVIDIA H200)", True),
    ([_TOPO, PLAIN], 2, "nvidia-smi topo -m names 2", True),
    # Cut before its end, or what says how many there are got lost: what is shown is not all.
    ([smi_texts.TEXT.partition("GPU 00000000:07")[0]], 1, "", True),
    ([smi_texts.TEXT.partition("GPU 00000000:07")[0].replace("Attached GPUs", "Attached")], 1, "", True),
    ([PLAIN.replace("| Processes:  |\n", "")], 1, "", True),
    # What has a row or a column is there at least.
    ([_TOPO.replace("GPU1\tPIX\t X \n", "")], 2, "nvidia-smi topo -m names 2", True),
    (["\tGPU0\nGPU0\t X \nGPU1\tPIX\n"], 2, "nvidia-smi topo -m names 2", True),
    (["[    0.000000] Linux version 6.8.0 (x)\n"] * 3, 1, "", True),
])
def test_what_a_whole_text_counts_is_said_with_its_source(tmp_path: Path, texts: list[str], count: int, said: str,
                                                          open_count: bool) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text * (3 if text.startswith("[") else 1))
    draft = drafted(gather(load_import(str(tmp_path)), None, True))
    assert draft.spec["accelerators"]["count"] == count
    source, _, number = said.partition(" names ")
    assert (source in draft.observations[0] and f" {number}" in draft.observations[0]) if said else (
        "nvidia-smi" not in draft.observations[0]), "no text of it counts them"
    assert ("accelerators.count" in draft.change) == open_count


@pytest.mark.parametrize(("name", "count"), [("h200/run1/smi_qx.txt", 2), ("h200/run1/smi.txt", 2),
                                             ("host/asus-esc8000a-nvidia_smi_full.log", 8)])
def test_real_texts_of_nvidia_smi_are_counted(name: str, count: int) -> None:
    draft = drafted(gather(load_import(str(samples(name))), None, True))
    assert draft.spec["accelerators"]["count"] == count and f" {count} (NVIDIA" in draft.observations[0]
    assert "accelerators.count" not in draft.change


#: What each line marked CHANGE begins with: what to write there, or how to choose it.
_BEGINS = {"profile": r"(keep this one or )?choose (one|the ending)",
           "accelerators.count": "how many cards must be there", "accelerators.relation": "the farthest relation",
           "accelerators.groups": "the size that each group must have", "name": "the name you want",
           "host": "the address or name", "user": "a user that may use sudo"}


@pytest.mark.parametrize("login", [Login(), Login("192.0.2.7", "ops")])
@pytest.mark.parametrize("box", [*(box for box, *_ in BOXES.values()), lambda: _without(), lambda: _without(
    Table(("", ""), {(0, 1): "PIX"}, "x")), lambda: _without(Table(("",) * 8, {(0, 1): "NV18"}, "x")),
    lambda: _without(Table(("", ""), {}, "x", cut=True))])
def test_a_line_to_complete_begins_with_what_to_write(box: Callable[[], Snapshot], login: Login) -> None:
    draft = drafted(replace(box(), hostname=known("", "x")))
    text = "".join(files(draft, login).values())
    for path, said in draft.change.items():
        assert re.match(_BEGINS[path], said) and said in text, "and it is there to its end"
    if draft.spec["profile"] is None:
        assert (" rtx-pro-6000-direct" in draft.change["profile"]) is ("NV18" not in str(box().posted.table.value))
    begins = re.compile(f"# CHANGE: ({'|'.join(_BEGINS.values())})")
    assert [line for line in text.splitlines() if "# CHANGE" in line and not begins.search(line)] == []


def test_this_machine_without_a_gpu_gets_no_inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck.cli import init

    monkeypatch.setattr(init, "_looked", lambda source: _without())
    place = tmp_path / "inv"
    done = CliRunner().invoke(cli, ["init", "-o", str(place)])
    assert flaw_of(done) is Misuse.OTHER_MACHINE and not place.exists()


@pytest.mark.parametrize(("login", "variables", "marked"), [
    (Login("192.0.2.7", "ops", 2222), {"ansible_host": "192.0.2.7", "ansible_user": "ops", "ansible_port": 2222}, 0),
    (Login("gpu.example", None), {"ansible_host": "gpu.example"}, 0),
    (Login("yes", "1e3"), {"ansible_host": "yes", "ansible_user": "1e3"}, 0),
    (Login(local=True), {"ansible_connection": "local"}, 0),
    (Login(), {"ansible_host": "192.0.2.10", "ansible_user": "admin"}, 2),
])
def test_the_login_is_what_was_typed(login: Login, variables: dict[str, Any], marked: int) -> None:
    text = files(drafted(seen(trees.below_one_switch(2)), "box7"), login)["hosts.yml"]
    assert yaml.safe_load(text)["all"]["children"]["inference"]["hosts"] == {"box7": variables}
    assert text.count("# CHANGE") == marked


@pytest.mark.parametrize("name", ["", "localhost", "a b", "x\n  evil: 1", "host-1", "-x", "ü" * 9, None])
def test_a_host_name_that_is_none_is_to_be_changed(name: str | None) -> None:
    draft = drafted(replace(seen(trees.Machine()), hostname=known(name, "x") if name is not None else known("", "x")))
    assert (draft.name, draft.named) == ("box1", False)
    yaml.safe_load(files(draft, Login())["hosts.yml"])


def test_what_a_box_says_cannot_leave_its_comment() -> None:
    snapshot = seen(trees.below_one_switch(2))
    hostile = replace(snapshot, topology=replace(snapshot.topology, names=("x\nbox_spec: {profile: lab}",) * 2))
    text = files(drafted(hostile), Login())["group_vars/inference.yml"]
    assert yaml.safe_load(text)["box_spec"]["profile"] == "rtx-pro-6000-switch"


@pytest.mark.parametrize(("version", "asked"), [
    ("610.43.02", "610.43.02"), ("535.2", "535.2"), ("1\nbox_spec: {profile: lab}", "595.71.05"),
    ('1"\n  acs: {peer_redirect: "leave', "595.71.05"), ("", "595.71.05")])
def test_the_drivers_version_is_asked_for_where_it_is_one(version: str, asked: str) -> None:
    snapshot = gather(trees.full(trees.below_one_switch(2)).host(), None, True)
    assert snapshot.host is not None
    host = replace(snapshot.host, driver=replace(snapshot.host.driver, version=known(version, "/sys/module/nvidia")))
    text, untold = (files(drafted(replace(snapshot, host=each)), Login())["group_vars/inference.yml"]
                    for each in (host, replace(host, driver=replace(host.driver, version=known("", "x")))))
    (line,) = [line for line in text.splitlines() if line.startswith(f'  #   version: "{asked}"   # ')]
    remarks = [each.partition('"   # ')[2] for each in untold.splitlines()]
    assert (line.partition('"   # ')[2] in remarks) == (version != asked), "an example is called one"
    assert yaml.safe_load(text) == yaml.safe_load(files(drafted(snapshot), Login())["group_vars/inference.yml"])


def test_the_verb_writes_once_and_says_what_is_next(tmp_path: Path) -> None:
    place = str(tmp_path / "inv")
    done = CliRunner().invoke(cli, ["init", "--from", str(FIXTURE), "-o", place])
    assert done.exit_code == 0, done.output
    assert "profile passthrough-guest" in done.output
    assert done.output.splitlines()[-1].endswith(f" tunecheck spec show -i {place}")
    named = re.findall(r"^  (\S+):(\d+)$", done.output, re.MULTILINE)
    assert len(named) == 3 and all("# CHANGE" in Path(path).read_text().splitlines()[int(line) - 1]
                                   for path, line in named)
    again = CliRunner().invoke(cli, ["init", "--from", str(FIXTURE), "-o", place])
    assert flaw_of(again) is Misuse.ALREADY


@pytest.mark.parametrize(("arguments", "flaw", "names"), [
    (["a b"], Misuse.MALFORMED, "USER@HOST:PORT"), (["box", "--from", "x"], Misuse.DOES_NOT_BELONG, "--from"),
    (["--name", "a/b"], Misuse.MALFORMED, "--name 'a/b'"),
    (["--name", "ungrouped"], Misuse.MALFORMED, "Ansible's own group"), (["-o", "/"], Misuse.ALREADY, "-o DIR"),
])
def test_wrong_calls(arguments: list[str], flaw: Misuse, names: str) -> None:
    done = CliRunner().invoke(cli, ["init", *arguments], standalone_mode=False)
    assert flaw_of(done) is flaw and names in str(done.exception)


def test_an_option_is_no_host() -> None:
    done = CliRunner().invoke(cli, ["init", "-x@y"], standalone_mode=False)
    assert isinstance(done.exception, NoSuchOption)


GROUP = "box_spec: {profile: lab}\n"
LISTED = {"_meta": {"hostvars": {"box1": {"ansible_user": "ops"}, "box2": {}}},
          "all": {"children": ["ungrouped", "inference"]}, "inference": {"hosts": ["box1", "box2"]}}


@pytest.mark.parametrize(("put", "names"), [
    ({}, []),
    ({"host_vars/box1.yml": "box_spec_host: {}\n", "group_vars/inference.yml": GROUP}, []),
    ({"host_vars/box11.yml": "x: 1\n"}, ["host_vars/box11.yml: ", " box11,", "mv "]),
    ({"host_vars/box11/a.yml": "x: 1\n"}, ["host_vars/box11: ", " box11,"]),
    ({"group_vars/inferrence.yml": GROUP}, ["group_vars/inferrence.yml: ", " inferrence,"]),
    ({"group_vars/inference.yml": GROUP, "host_vars/box1.yml": GROUP},
     ["host_vars/box1.yml: ", "group_vars/inference.yml ", "box_spec_host"]),
    ({"group_vars/all.yml": GROUP, "host_vars/box2/spec.yml": GROUP}, ["host_vars/box2: ", "group_vars/all.yml "]),
    ({"group_vars/all.yml": "x: [\n", "host_vars/box2.yml": GROUP, "host_vars/.box9.swp": "x", "host_vars/b.yml~": ""},
     []),
])
def test_variables_without_effect(tmp_path: Path, put: dict[str, str], names: list[str]) -> None:
    for name, text in put.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    *found, user = warnings_of(str(tmp_path), LISTED)
    assert re.search(r"^box2: .*ansible_user.* box1 ", user)
    assert len(found) == bool(names) and all(name in found[0] for name in names)


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_inventory_is_written_whole_or_not_at_all(
        trouble: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck.cli import init
    from tunecheck.util import safe_files

    plain, written = safe_files.replace, []

    def second_fails(path: str, content: bytes, mode: int | None = None) -> None:
        if written:
            raise trouble
        written.append(path)
        plain(path, content, mode)

    monkeypatch.setattr(safe_files, "replace", second_fails)
    with pytest.raises((UsageError, KeyboardInterrupt)):
        init._write(tmp_path / "box", {"hosts.yml": "a", "group_vars/inference.yml": "b"})
    assert written and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("box", "profile"), [
    (trees.below_one_switch(4), "rtx-pro-6000-switch"), (trees.switches(2, 2), "rtx-pro-6000-switches"),
    (trees.direct(), "rtx-pro-6000-direct")])
def test_a_board_without_a_profile_gets_one_of_its_shape_marked_as_a_guess(box: trees.Machine, profile: str) -> None:
    snapshot = seen(box)
    devices = tuple(replace(device, ids="10de:233b") for device in snapshot.topology.devices)
    draft = drafted(replace(snapshot, topology=replace(snapshot.topology, accelerators=known(devices, "lspci"))))
    assert draft.spec["profile"] == profile and "profile" in draft.change
    assert draft.spec["accelerators"]["pci_ids"] == ["10de:233b"]


@pytest.mark.parametrize("form", ["recording", "texts"])
def test_a_recording_or_texts_without_a_gpu_give_no_inventory(tmp_path: Path, form: str) -> None:
    """As this machine. A host that is named over ssh gets one whose lines are marked (tests/lab/test_provision.py)."""
    source, out = tmp_path / "box", tmp_path / "inventory"
    if form == "recording":
        source.write_bytes(pack(Answers(lists={"/sys/bus/pci/devices": []})))
    else:
        source.write_text("00:00.0 Host bridge [0600]: Intel Corporation Device [8086:29c0]\n"
                          "\tControl: I/O+ Mem+ BusMaster+\n\tStatus: Cap- 66MHz-\n\n"
                          "00:01.0 Ethernet controller [0200]: Intel Corporation Device [8086:10d3]\n"
                          "\tControl: I/O+ Mem+ BusMaster+\n\tStatus: Cap- 66MHz-\n\n")
    done = CliRunner().invoke(cli, ["init", "--from", str(source), "-o", str(out)])
    assert flaw_of(done) is Misuse.OTHER_MACHINE and f"{source} has no NVIDIA GPU" in str(done.exception)
    assert not out.exists()


def test_boards_joined_by_nvlink_get_no_profile_of_pcie_boards(tmp_path: Path) -> None:
    """Boards that no profile names; what joins them only the driver's table tells."""
    (tmp_path / "lspci.txt").write_text(
        "00:00.0 Host bridge [0600]: Intel Corporation 82G33 [8086:29c0]\n"
        "03:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
        "04:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n")
    for joined, ending in (("NV18", "-hgx"), ("SYS", "-direct")):
        (tmp_path / "topo.txt").write_text(f"\tGPU0\tGPU1\nGPU0\t X \t{joined}\nGPU1\t{joined}\t X \n")
        draft = drafted(gather(load_import(str(tmp_path)), None, True))
        assert draft.spec["profile"].endswith(ending) and "10de:2330" in draft.change["profile"]


@pytest.mark.parametrize("box", [lambda: trees.below_one_switch(4), trees.direct, lambda: trees.switches(2, 2)])
@pytest.mark.parametrize("running", [
    "", "quiet", "iommu=pt", "amd_iommu=off iommu=off", "iommu=off", "iommu=pt iommu.passthrough=0", "pcie_aspm=off",
    "pci=noaer", "intel_iommu=off pcie_ports=compat pcie_aspm.policy=powersave", "pcie_port_pm=force iommu=nopt"])
def test_what_runs_against_the_draft_is_said(box: Callable[[], trees.Machine], running: str) -> None:
    """By the rule of cmdline-conflict, whatever that knows: each declared word once, with all that contradicts it."""
    snapshot = gather(trees.bound(trees.full(box(), running)).host(), None, True)
    draft = drafted(snapshot)
    expected: dict[str, list[str]] = {}
    line = snapshot.host.kernel.cmdline.value if snapshot.host else None
    for each in conflicts(declared_tokens(build(draft.name, draft.spec).spec), line or ()):
        expected.setdefault(each.declared, []).append(each.rival)
    assert bool(expected) == (running not in ("", "quiet", "iommu=pt")), "the lines reach it"
    assert [said.partition(" of this profile, and ")[0] for said in draft.contradictions] == [
        f"{' '.join(words)} on this box's command line contradict{'s' * (len(words) == 1)} {declared}"
        for declared, words in expected.items()]
    # What to do is the check's own instruction, which its fix begins with.
    fixes = {finding.remedy.text for finding in cmdline_conflict.judge(Case(snapshot, build(draft.name, draft.spec)))
             if finding.remedy} if draft.spec["profile"] else set()
    told = [said.partition(" gone: ")[2] for said in draft.contradictions][-1:]
    assert len(fixes) == len(told) and all(fix.startswith(said) and said for fix in fixes for said in told)


def test_the_verb_says_what_site_yml_will_refuse(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["init", "--from", str(samples("host")), "-o", str(tmp_path / "inv")])
    lines = [line for line in done.output.splitlines() if "site.yml refuses the box until they are gone: " in line]
    assert [line.partition(" on this box's ")[0] for line in lines] == ["amd_iommu=off iommu=off"]


def test_a_draft_without_a_profile_contradicts_nothing() -> None:
    snapshot = gather(trees.bound(trees.full(trees.Machine(), "iommu=off")).host(), None, True)
    draft = drafted(snapshot)
    assert draft.spec["profile"] is None and not draft.contradictions


@pytest.mark.parametrize(("ansible", "yaml_there"), [(True, True), (True, False), (False, True)])
def test_the_next_command_is_said_to_run_here_where_it_does(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ansible: bool, yaml_there: bool) -> None:
    """`spec show` needs Ansible's program and YAML, and not the fleet's package."""
    from importlib import util

    from tunecheck.spec import programs

    def beside(program: str) -> str:
        if not ansible:
            raise UsageError(f"{program} is not installed here", Misuse.NOT_HERE)
        return program

    found = util.find_spec
    monkeypatch.setattr(programs, "beside", beside)
    monkeypatch.setattr(util, "find_spec", lambda name, *more: None if name == "tunecheck_fleet" or (
        name == "yaml" and not yaml_there) else found(name, *more))
    (tmp_path / "lspci.txt").write_text(PLAIN)
    done = CliRunner().invoke(cli, ["init", "--from", str(tmp_path / "lspci.txt"), "-o", str(tmp_path / "inv")])
    assert done.exit_code == 0, done.output
    assert "tunecheck spec show" in done.stdout
    assert ("not here, where it cannot run" in done.stdout) == (not (ansible and yaml_there))
