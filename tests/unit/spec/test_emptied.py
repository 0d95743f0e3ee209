"""An empty mapping, or something that is none, in the place of one: of every profile and every mapping of the model the
reader is told what stays, and what he is told takes it away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.spec.test_role_box_spec import play

from tunecheck.cli.spec import spec
from tunecheck.errors import SpecError
from tunecheck.spec import build, profile_files
from tunecheck.spec.emptied import without_effect
from tunecheck.spec.frozen import Spec
from tunecheck.spec.merge import leaves

_NEUTRAL = dict(leaves(asdict(Spec())))
_NEEDED = "accelerators.pci_ids"


def _mappings(value: dict[str, Any], at: str = "") -> Iterator[str]:
    for key, below in value.items():
        if isinstance(below, dict):
            yield f"{at}{key}"
            yield from _mappings(below, f"{at}{key}.")


def _below(path: str, value: object) -> dict[str, Any]:
    for part in reversed(path.split(".")):
        value = {part: value}
    return value    # type: ignore[return-value]


#: Every mapping of the model, and those below modules that a profile has.
_CASES = [(name, path) for name in profile_files.names() for path in dict.fromkeys(
    [*_mappings(asdict(Spec())), *_mappings(dict(profile_files.load(name).values))])]


def _stays(name: str, path: str) -> dict[str, Any]:
    """What the profile states below the mapping and a box without a profile does not have."""
    return {leaf: value for leaf, value in leaves(profile_files.load(name).values)
            if leaf.startswith(f"{path}.") and leaf != _NEEDED and json.dumps(value) != json.dumps(_NEUTRAL.get(leaf))}


@pytest.mark.parametrize(("name", "path"), _CASES)
@pytest.mark.parametrize("variable", ["box_spec", "box_spec_host"])
def test_an_empty_mapping_that_changes_nothing_is_told_with_what_does(name: str, path: str, variable: str) -> None:
    variables: dict[str, Any] = {"box_spec": {"profile": name}, "box_spec_host": {}}
    variables[variable] = {**variables[variable], **_below(path, {})}
    stays = _stays(name, path)
    told = without_effect(**variables)
    assert len(told) == bool(stays)
    before = build("box", {"profile": name}).spec
    assert build("box", *variables.values()).spec == before, "it changes nothing"
    for sentence in told:
        assert sentence.startswith(f"{variable}.{path}: {{}} changes nothing; to be without ")
        written = re.search(r"write `(.+)` below (\S+)$", sentence)
        assert written
        place = written[2].partition(".")[2]
        instead = yaml.safe_load(f"{{{written[1]}}}")
        variables[variable] = {**variables[variable], **(_below(place, instead) if place else instead)}
        try:
            after = dict(leaves(asdict(build("box", *variables.values()).spec)))
        except SpecError as error:      # its other values rest on these; which, it says
            assert all("`" in each or "accelerators" in each for each in error.problems), error.problems
        else:
            assert {leaf: after.get(leaf) for leaf in stays} == {leaf: _NEUTRAL.get(leaf) for leaf in stays}
        assert not without_effect(**variables)


@pytest.mark.parametrize(("name", "path"), _CASES)
@pytest.mark.parametrize("value", [None, [], "", False, 0])
def test_what_is_no_mapping_is_refused_with_what_takes_the_values_away(name: str, path: str, value: object) -> None:
    if path.startswith("modules.") and value is None:
        return      # that is how one is dropped
    with pytest.raises(SpecError) as refused:
        build("box", {"profile": name}, _below(path, value))
    problem, = refused.value.problems
    assert problem.startswith(f"box_spec_host.{path}: ") and "expected a mapping" in problem
    ways = [problem.partition("; to be without ")[2]] if "; to be without " in problem else []
    told = without_effect({"profile": name}, _below(path, {}))
    assert [each.partition("; to be without ")[2] for each in told] == ways


def test_what_nothing_lies_below_is_not_told() -> None:
    """Who writes it has what he means."""
    assert without_effect({"profile": "lab", "gpu": {}, "watch": {}}, {"runtime": {}}) == []
    assert without_effect({"profile": "no-such"}, {"modules": {}}) == without_effect(None, None) == []
    assert without_effect([], "x") == []


def test_the_values_of_the_group_count_too() -> None:
    told, = without_effect({"profile": "lab", "gpu": {"ecc": "enabled"}}, {"gpu": {}})
    assert told == ("box_spec_host.gpu: {} changes nothing; to be without gpu.ecc of box_spec, write "
                    "`gpu: {ecc: null}` below box_spec_host")


def test_a_null_that_hides_the_profile_of_the_group_is_told() -> None:
    with pytest.raises(SpecError, match=r"^box_spec_host\.profile: is empty \(null\)"):
        build("box", {"profile": "lab"}, {"profile": None})


def test_spec_show_says_it_once_for_all_its_hosts(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"a": {}, "b": {}}, "vars": {
        "box_spec": {"profile": "lab", "modules": {}}}}}))
    done = CliRunner().invoke(spec, ["show", "-i", str(tmp_path / "hosts.yml")])
    words = " ".join(done.stderr.split())
    assert done.exit_code == 0 and words.count("changes nothing") == 1, done.output
    assert words.startswith("warning: a, b: box_spec.modules: {} changes nothing; to be without modules.nvidia-uvm")


def test_freeze_says_it_beside_the_document() -> None:
    asked = json.dumps({"box_spec": {"profile": "lab"}, "box_spec_host": {"cpu": {}}})
    done = CliRunner().invoke(spec, ["freeze", "--host", "box1"], input=asked)
    assert json.loads(done.stdout)["profile"] == "lab" and "box_spec_host.cpu: {} changes nothing" in done.stderr


def test_the_play_says_it(tmp_path: Path) -> None:
    done, _ = play(tmp_path, "box_spec: {profile: lab, modules: {}}\n", "--check")
    assert done.returncode == 0 and "box_spec.modules: {} changes nothing" in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize(("path", "above"), [
    ("cpu", {"cpu": {"governor": "schedutil", "epp": "default"}}),
    ("modules.nvidia-uvm", {"modules": {"nvidia_uvm": None}}), ("modules", {"modules": {"nvidia-uvm": None}})])
def test_what_the_host_replaces_is_not_told_to_stay(path: str, above: dict[str, Any]) -> None:
    group = {"profile": "lab", **_below(path, {})}
    assert [each.partition(": ")[0] for each in without_effect(group, {})] == [f"box_spec.{path}"]
    assert without_effect(group, above) == []
    assert build("box", group, above).spec == build("box", {"profile": "lab"}, above).spec
