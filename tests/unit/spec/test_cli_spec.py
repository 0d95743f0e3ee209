"""``tunecheck spec`` as an operator meets it: right use, and every slip with its sentence."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tunecheck.cli.spec import spec
from tunecheck.errors import Flaw, SpecError
from tunecheck.spec.cross_field import _BESIDE
from tunecheck.spec.frozen import Spec, load_frozen
from tunecheck.spec.merge import leaves

REPOSITORY = Path(__file__).parents[3]
BOX1 = str(REPOSITORY / "inventory" / "box1")


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(spec, list(arguments), input=stdin)


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "inventory"
    shutil.copytree(BOX1, folder)
    return folder


def test_show_prints_every_value_and_with_sources_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, result = run("show", "-i", BOX1), run("show", "-i", BOX1, "--sources")
    assert (plain.exit_code, result.exit_code) == (0, 0), result.stderr
    assert plain.stderr == result.stderr
    assert re.search(r"\b6\b.* CHANGE ", plain.stderr) and plain.stderr.count("warning: ") == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("box1  profile rtx-pro-6000-switch  sha256:")
    origins = {path[2:].split(" = ")[0].strip(): source.strip() for path, source in zip(lines[1::2], lines[2::2],
                                                                                       strict=True)}
    assert origins["accelerators.count"] == "inventory: box_spec"
    assert origins["boot.timeout_seconds"] == "inventory: box_spec_host"
    assert origins["cpu.governor"].startswith("profile rtx-pro-6000-switch: +5 %")
    letters = {line[2:].split(" = ")[0].strip(): line[0] for line in plain.stdout.splitlines()[1:] if " = " in line}
    assert letters.keys() == origins.keys()
    assert [letters[path] for path in ("accelerators.count", "cpu.governor", "gpu.ecc")] == ["I", "P", " "]
    monkeypatch.setenv("COLUMNS", "80")
    for options in ([], ["--sources"]):
        shown = run("show", "-i", BOX1, *options).stdout
        assert max(len(line) for line in shown.splitlines()) <= 80
        assert '"pcie_aspm.policy=performance"' in shown


def test_show_warns_of_what_has_no_effect(box: Path) -> None:
    (box / "host_vars/box1.yml").rename(box / "host_vars/box2.yml")
    result = run("show", "-i", str(box))
    assert result.exit_code == 0
    assert f"warning: {box}/host_vars/box2.yml: " in result.stderr
    assert f"mv {box}/host_vars/box2.yml {box}/host_vars/box1.yml" in result.stderr


def test_show_json_is_the_frozen_file() -> None:
    result = run("show", "-i", BOX1, "--host", "box1", "--json")
    assert load_frozen(result.stdout.encode()).spec.accelerators.count == 4


def test_show_json_of_all_hosts_is_keyed_by_name_and_read_where_it_is_one_host() -> None:
    printed = run("show", "-i", BOX1, "--json").stdout
    assert set(json.loads(printed)) == {"box1"}
    assert load_frozen(printed.encode()).host == "box1"


def test_a_file_of_several_hosts_is_refused_with_their_names() -> None:
    [one] = json.loads(run("show", "-i", BOX1, "--json").stdout).values()
    with pytest.raises(SpecError, match=r"box1, box2.*--host HOST") as error:
        load_frozen(json.dumps({"box1": one, "box2": one}).encode())
    assert error.value.flaw is Flaw.OTHER_KIND


def test_lab_inventory_declares_the_profile(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "inventory" / "lab" / "group_vars", tmp_path / "group_vars")
    (tmp_path / "hosts.yml").write_text("all: {hosts: {lab: }}\n", encoding="utf-8")
    result = run("show", "-i", str(tmp_path))
    assert result.stdout.startswith("lab  profile lab  sha256:"), result.stderr


def refused(result: Result, *texts: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for text in texts:
        assert text in result.stderr


def test_inventory_path_wrong() -> None:
    refused(run("show", "-i", "inventory/nope"), "'inventory/nope'", "inventory/box1")


def test_host_mistyped() -> None:
    refused(run("show", "-i", BOX1, "--host", "bxo1"), "'bxo1'", "box1?")


def test_host_without_a_spec(box: Path) -> None:
    (box / "group_vars" / "inference.yml").unlink()
    refused(run("show", "-i", str(box)), "box1: box_spec: ", "host_vars/box1.yml", "-l")


def test_host_without_any_variable() -> None:
    refused(run("show", "-i", "lonely,"), "lonely: box_spec: ", "host_vars/lonely.yml", "-l")


def test_off_without_quotes(box: Path) -> None:
    (box / "group_vars" / "inference.yml").write_text("box_spec: {profile: lab, iommu: off}\n", encoding="utf-8")
    refused(run("show", "-i", str(box)), "box1: box_spec.iommu: ", 'iommu: "off"')


def test_yaml_broken_names_file_and_line(box: Path) -> None:
    broken = box / "group_vars" / "inference.yml"
    broken.write_text("box_spec:\n  profile: lab\n iommu: off\n", encoding="utf-8")
    refused(run("show", "-i", str(box)), f"{broken}:3:", f" {box}")


def test_a_second_document_is_named_by_file_and_line(box: Path) -> None:
    """Ansible names neither; a line above the "---" that stands in front of a file makes two of one."""
    (box / "group_vars" / "inference.yml").write_text("box_spec: {}\n---\nbox_spec: {profile: lab}\n", encoding="utf-8")
    refused(run("show", "-i", str(box)), f"{box}/group_vars/inference.yml:2: a second document begins here", "---")


@pytest.mark.parametrize(("beside", "is_read"), [
    ("other.yml", False), ("other.yaml", False), ("other.json", False), ("vars/all.yml", False),
    ("old/group_vars/all.yml", False), ("other", False),
    ("group_vars/all.yml", True), ("group_vars/all/more.yaml", True), ("host_vars/box1.json", True),
    ("host_vars/box1", True),
])
@pytest.mark.parametrize("written", ["box1 ansible_user=ops \"\n", "all: {hosts: {box1: {}}}\n"])
def test_no_other_file_than_those_that_ansible_reads_is_blamed(
        tmp_path: Path, beside: str, is_read: bool, written: str) -> None:
    """One file of a folder is named: what is beside it counts only where Ansible reads it for that file."""
    inventory, broken = tmp_path / ("inv.yml" if written.startswith("all") else "inv.txt"), tmp_path / beside
    inventory.write_text(written)
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_text('{"a": 1,,}\n' if beside.endswith("json") else "a:\n\tb: 1\n")
    result = run("show", "-i", str(inventory))
    assert result.exit_code == 2
    assert (f"{broken}:" in result.stderr) == is_read
    assert (f"(read because {beside.partition('/')[0]} is beside {inventory})" in result.stderr) == is_read
    assert is_read or inventory.suffix == ".yml" or str(inventory) in result.stderr


def test_inventory_empty(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {}}\n", encoding="utf-8")
    refused(run("show", "-i", str(tmp_path)), str(tmp_path), "hosts.yml")


def test_ansible_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(run("show", "-i", BOX1), "ansible-inventory", "make setup")


def test_freeze() -> None:
    result = run("freeze", "--host", "box1", stdin='{"box_spec": {"profile": "lab"}, "box_spec_host": null}')
    assert result.exit_code == 0, result.stderr
    assert load_frozen(result.stdout.encode()).host == "box1"


@pytest.mark.parametrize(
    ("stdin", "says", "lacks"),
    [
        ("", ("line 1 column 1", '"box_spec_host": {...}'), "host_vars"),
        ("[]", ('"box_spec_host": {...}',), "column"),
        ('{"box_specs": {}}', ('"box_spec_host": {...}',), "column"),
        ("{}", ("box_spec: ", "host_vars/box1.yml"), "box_spec_host"),
        ('{"box_spec": {"profile": "lab", "iommu": false}}', ("box_spec.iommu: ", 'iommu: "off"'), "box_spec_host"),
    ],
)
def test_freeze_refuses(stdin: str, says: tuple[str, ...], lacks: str) -> None:
    result = run("freeze", "--host", "box1", stdin=stdin)
    refused(result, *says)
    assert lacks not in result.stderr


def test_schema_is_for_inventory_files() -> None:
    schema = json.loads(run("schema").stdout)
    assert set(schema["properties"]) == {"box_spec", "box_spec_host"}
    assert "lab" in schema["$defs"]["Spec"]["properties"]["profile"]["enum"]
    assert schema["$defs"]["Spec"]["required"] == ["profile"]
    assert "required" not in schema["$defs"]["Overlay"]
    assert schema["$defs"]["Spec"]["additionalProperties"] is False


@pytest.mark.parametrize(("key", "deciding"), sorted(_BESIDE.items()))
def test_a_key_without_effect_is_shown_as_one(key: str, deciding: tuple[str, str], box: Path) -> None:
    """Beside the value that makes it idle, and beside no other."""
    part, name = deciding[0].split(".")
    other = {"driver.source": "nvidia", "acs.peer_redirect": "off"}[deciding[0]]
    more = {"driver.source": {"version": "595.71.05"}}.get(deciding[0], {})
    for value in (deciding[1], other):
        (box / "group_vars" / "all.yml").parent.mkdir(exist_ok=True)
        (box / "group_vars" / "inference.yml").write_text(yaml.safe_dump({"box_spec": {
            "profile": "rtx-pro-6000-direct", "accelerators": {"count": 2}, part: {name: value, **more}}}))
        done = run("show", "-i", str(box))
        assert done.exit_code == 0, done.stderr
        (line,) = [line for line in done.stdout.splitlines() if line[2:].startswith(f"{key} ")]
        assert (f"(no effect beside {deciding[0]} = {deciding[1]})" in line) == (value == deciding[1]), line


def test_a_key_that_may_have_no_effect_is_one_of_the_specification() -> None:
    keys = {path for path, _ in leaves(asdict(Spec()))}
    assert {*_BESIDE, *(decides for decides, _ in _BESIDE.values())} <= keys
