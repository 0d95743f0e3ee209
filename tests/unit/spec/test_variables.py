"""Variables that no role reads and that look as if one did: every slip is said, with the name that was meant."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from tunecheck.spec import models
from tunecheck.spec.inventory import listed_of
from tunecheck.spec.orphans import warnings_of
from tunecheck.spec.programs import beside
from tunecheck.spec.variables import PLAYS, ROLES, SPEC, without_effect

REPOSITORY = Path(__file__).parents[3]
KNOWN = [*PLAYS, *(f"{role}_{name}" for role, names in ROLES.items() for name in names.split()), "box_spec",
         "box_spec_host"]
STRANGERS = ["ntp_servers", "users", "docker_users", "node_exporter_version", "http_proxy", "nvidia_smi", "timezone",
             "count", "user", "version", "boot_order", "driver_branch", "models", "inferencing", "sshd_port",
             "kernel_version", "gpu_operator", "ansible_host", "site", "location", "rack", "specs",
             "box", "spec_file"]


def meant(said: str) -> str:
    """The name that is offered: the one before the question mark."""
    found = re.search(r" ([\w.]+)\?", f" {said}")
    return found[1] if found else ""


def _options(role: Path) -> set[str]:
    return set(yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"])


def test_the_names_are_the_ones_of_the_roles() -> None:
    declared = {role.name: _options(role) for role in (REPOSITORY / "roles").iterdir()}
    assert declared.pop("box_spec") == {"box_spec", "box_spec_host"}
    assert declared == {role: {f"{role}_{name}" for name in names.split()} for role, names in ROLES.items()}
    for role, names in declared.items():
        assert set(yaml.safe_load((REPOSITORY / "roles" / role / "defaults/main.yml").read_text())) <= names


def test_the_names_are_the_ones_of_the_plays() -> None:
    text = "".join(path.read_text() for path in (REPOSITORY / "playbooks").rglob("*.yml"))
    found = re.findall(r"(?:(?<![\w.])|(?<=\]\.))([a-z][a-z_]+) \| default\(", text)
    asked = {name for name in found if "__" not in name}
    roles = tuple(f"{role}_" for role in (*ROLES, "box_spec"))      # some are facts that a role holds
    assert {name for name in asked if not name.startswith((*roles, "ansible_"))} == set(PLAYS)


def test_the_keys_are_the_ones_of_the_model() -> None:
    def below(kind: Any) -> list[str]:
        return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []

    assert {name: field.split() for name, field in SPEC.items()} == {
        name: below(field.annotation) for name, field in models.Spec.model_fields.items()}


@pytest.mark.parametrize("name", KNOWN)
def test_every_slip_of_every_name(name: str) -> None:
    assert without_effect([name]) == {}
    middle = len(name) // 2
    slips = {name.capitalize(), name.upper(), name.replace("_", "-"), name + "s", name[:-1], name[0] + name[2:],
             name[:middle] + name[middle + 1] + name[middle] + name[middle + 2:],
             name[:middle] + name[middle] + name[middle:], name.replace("_", "", 1)} - set(KNOWN)
    found = without_effect(slips)
    assert found.keys() == slips
    other = {slip: said for slip, said in found.items() if meant(said) != name}
    # The one letter may make it as near to a neighbour: kernel_cmdline_trail, but then a name of ours is named.
    assert len(other) <= 1, other


@pytest.mark.parametrize("key", SPEC)
def test_a_key_of_the_specification_that_stands_outside_of_it(key: str) -> None:
    for name in (key, f"box_spec_{key}", key.upper()):
        assert meant(without_effect([name])[name]) == f"box_spec.{key}"
    for name in SPEC[key].split():
        said = without_effect([f"{key}_{name}"])
        assert meant(said.get(f"{key}_{name}", "")) == f"box_spec.{key}.{name}" or f"{key}_{name}" in KNOWN


@pytest.mark.parametrize(("name", "offered"), [
    ("box_specs", "box_spec"), ("box_spce", "box_spec"), ("boxspec", "box_spec"), ("Box_spec", "box_spec"),
    ("inference_recepie", "inference_recipe"), ("drivers", "box_spec.driver"),
    ("snapshot_timer_evry", "snapshot_timer_every"), ("inference_watch_lisen", "inference_watch_listen"),
    ("power_limit_watts", "box_spec.gpu.power_limit_watts"), ("boot_trial", "box_spec.boot.trial"),
    ("tunecheck_reboot", "box_spec.boot.reboot"), ("tunecheck_gpu_ecc", "box_spec.gpu.ecc"),
    ("tunecheck_recipe", "inference_recipe"), ("tunecheck_inference_recipe", "inference_recipe"),
    ("tunecheck_box_spec", "box_spec"), ("TuneCheck-Reboot", "box_spec.boot.reboot"),
])
def test_the_name_that_was_meant(name: str, offered: str) -> None:
    assert meant(without_effect([name])[name]) == offered


@pytest.mark.parametrize("name", ["inference", "inference_port"])
def test_where_no_name_is_near_all_of_the_role_are_told(name: str) -> None:
    said = without_effect([name])[name]
    assert re.findall(r"\binference_\w+", said) == [f"inference_{each}" for each in ROLES["inference"].split()]
    assert not meant(said)


@pytest.mark.parametrize(("name", "told"), [
    ("tunecheck_colour", "no variable of ours begins with tunecheck_"),
    ("provision_speed", "the plays read provision_quarantine, provision_resume_hours, provision_serial, "
                        "provision_tolerated"),
    ("rollback_when", "the plays read rollback_reboot"), ("box_lock_seconds", "the plays read box_lock_steal"),
    ("power_cycle_now", "the plays read power_cycle_although_up, power_cycle_ask_seconds, power_cycle_confirm, "
                        "power_cycle_wait_seconds"),
])
def test_a_prefix_of_ours_alone_is_said_too(name: str, told: str) -> None:
    assert without_effect([name])[name].startswith(told)


def test_strangers_are_no_business_of_ours() -> None:
    assert without_effect(STRANGERS) == {}


@pytest.mark.parametrize(("file", "text"), [
    ("group_vars/all.yml", "box_specs: {{}}\n"), ("group_vars/gpus/a.yml", "# box_specs: old\n'box_specs': 1\n"),
    ("host_vars/box1.yml", '"box_specs": 1\n'), ("host_vars/box1", '{{"box_specs": 1}}'),
    ("hosts.yml", "gpus: {{hosts: {{box1: {{box_specs: 1}}}}}}\n"), ("hosts.ini", "[gpus]\nbox1 box_specs=1\n"),
    ("hosts.ini", "[gpus]\nbox1\n[gpus:vars]\nbox_specs = 1\n"),
])
def test_each_place_of_an_inventory(tmp_path: Path, file: str, text: str) -> None:
    if not file.startswith("hosts"):
        (tmp_path / "hosts.yml").write_text("gpus: {hosts: {box1: }}\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text.replace("{{", "{").replace("}}", "}"))
    place = f"{tmp_path / file}: box_specs"
    assert _offered(warnings_of(str(tmp_path), listed_of(str(tmp_path)))) == [(place, "box_spec")]
    if file.startswith("hosts"):
        assert _offered(warnings_of(str(tmp_path / file), listed_of(str(tmp_path / file)))) == [(place, "box_spec")]


def _offered(warnings: list[str]) -> list[tuple[str, str]]:
    """Of each warning where which name stands, and the name that is offered instead."""
    return [(each[:each.index(": box_specs ") + len(": box_specs")], meant(each)) for each in warnings]


def test_what_a_script_declares(tmp_path: Path) -> None:
    listed = {"_meta": {"hostvars": {"b": {"box_specs": 1}, "a": {"box_specs": 1}}}, "all": {"hosts": ["a", "b"]}}
    assert warnings_of("a,b", listed) == (found := warnings_of(str(tmp_path), listed))
    assert _offered(found) == [("a, b: box_specs", "box_spec")]


@pytest.mark.parametrize("inventory", ["box1", "lab"])
def test_the_inventories_that_come_with_it_have_none_but_the_lines_to_complete(inventory: str, tmp_path: Path) -> None:
    where = REPOSITORY / "inventory" / inventory
    if inventory == "box1":
        unfinished, = warnings_of(str(where), listed_of(str(where)))
        assert re.search(r"\b6\b.* CHANGE \(hosts\.yml:12, hosts\.yml:13, ", unfinished)
    for file in where.rglob("*.yml"):
        content = yaml.safe_load(file.read_text())
        assert without_effect(content or {}) == {}


def test_a_run_says_it_too(tmp_path: Path) -> None:
    """Also of -e, which no file holds; before anything is asked of a box."""
    (tmp_path / "hosts.yml").write_text("all: {hosts: {box1: {ansible_connection: local, inference_recepie: x}}}\n")
    done = subprocess.run(
        [beside("ansible-playbook"), "site.yml", "-i", str(tmp_path), "--check", "-e", json.dumps({"box_spce": {}})],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    for name, offered in (("inference_recepie", "inference_recipe"), ("box_spce", "box_spec")):
        assert re.search(rf"\b{name} [^?]*\b{offered}\?", said)
    assert done.returncode == 2 and "host_vars/box1.yml" in said, "it has no box_spec"
    assert re.search(r"\bbox1 : ok=\d+ changed=0 ", said), "nothing was written"


def test_a_play_tells_file_and_line_of_a_slip_of_yaml(tmp_path: Path) -> None:
    """Ansible's own words name neither, and a callback that fails looks like a defect of ours."""
    inventory = tmp_path / "inventory"
    shutil.copytree(REPOSITORY / "inventory/box1", inventory)
    file = next((inventory / "group_vars").iterdir())
    file.write_text(file.read_text() + "x:\n  a: 1\n b: 2\n")
    done = subprocess.run([beside("ansible-playbook"), "site.yml", "-i", str(inventory), "--check"], cwd=REPOSITORY,
                          capture_output=True, text=True, timeout=120, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    line = len(file.read_text().splitlines())
    assert done.returncode and "Callback dispatch" not in said
    assert f" so nothing was done: {file}:{line}: " in said and said.count(str(file)) == 1
    shown = subprocess.run([sys.executable, "-m", "tunecheck", "spec", "show", "-i", inventory], cwd=REPOSITORY,
                           capture_output=True, text=True, timeout=120, check=False)
    assert shown.returncode == 2 and f"{file}:{line}: " in shown.stderr


@pytest.mark.parametrize(("written", "meant"), [
    ("ansible_usr", "ansible_user"), ("ansible_hots", "ansible_host"), ("ansible_prot", "ansible_port"),
    ("ansible_becom", "ansible_become"), ("ansible_ssh_comon_args", "ansible_ssh_common_args")])
def test_a_slip_in_a_variable_of_ansible_is_named(written: str, meant: str) -> None:
    assert without_effect([written]) == {written: f"did you mean {meant}?"}


def test_variables_of_ansible_are_no_slips() -> None:
    assert without_effect(["ansible_user", "ansible_user_id", "ansible_hostname", "ansible_facts", "ansible_ssh_port",
                           "ansible_winrm_transport", "ansible_network_os", "ansible_env", "ansible_kernel"]) == {}
