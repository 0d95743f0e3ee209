"""`tunecheck pins`: one file per box, equal for equal boxes, and a difference that never takes the unknown for one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from tests.unit.facts import trees
from tests.unit.facts.trees import frozen, full, switch
from tests.unit.report.closed import closed

from tunecheck import __version__
from tunecheck.app.schemas import SCHEMAS
from tunecheck.cli.main import cli
from tunecheck.errors import Flaw, UsageError
from tunecheck.facts.pins import Pins, compare, pins
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.prefetch import DPKG, DPKG_BOX
from tunecheck.host.recording import RecordingHost

BASE = {"tunecheck": "1", "kernel.running": "6.12.1", "package.podman": "5.4.2", "engine.docker": None}


def _snapshot(dpkg: str | None = None) -> Snapshot:
    machine = trees.driver(full(switch(0)))
    if dpkg is not None:
        machine.runs[DPKG] = reason_of_text(dpkg)
    return gather(machine.host(), frozen().spec, True)


def _recording(path: Path, version: str = "595.71.05") -> str:
    machine = trees.driver(full(switch(0)), version).file("/etc/tunecheck/spec.json", frozen().to_json())
    recorder = RecordingHost(machine.host())
    recorder.read_bytes("/etc/tunecheck/spec.json")
    gather(recorder, frozen().spec, True)
    path.write_bytes(recorder.packed(redact=True))
    return str(path)


def _run(*args: str) -> Any:
    return CliRunner().invoke(cli, ["pins", *args])


def test_every_pin_of_a_box_with_a_driver() -> None:
    found = pins(_snapshot(), frozen())
    assert {name: found.known[name] for name in (
        "tunecheck", "spec", "kernel.running", "driver.loaded", "driver.flavour", "driver.library.libcuda.so.1",
        "driver.firmware", "driver.module.6.12.1", "package.nvidia-utils-595", "held.nvidia-utils-595",
        "package.nvidia-container-toolkit", "package.linux-image-6.12.1", "held.linux-image-6.12.1",
        "engine.podman")} == {
        "tunecheck": __version__, "spec": frozen().digest, "kernel.running": "6.12.1", "driver.loaded": "595.71.05",
        "driver.flavour": "open", "driver.library.libcuda.so.1": "595.71.05", "driver.firmware": "595.71.05",
        "driver.module.6.12.1": "595.71.05 open", "package.nvidia-utils-595": "595.71.05-0ubuntu1",
        "held.nvidia-utils-595": "held", "package.nvidia-container-toolkit": "1.18.0-1",
        "package.linux-image-6.12.1": "6.12.1-1", "held.linux-image-6.12.1": "no", "engine.podman": None}
    assert found.unknown.keys() == {"kernel.next"}, "that boot entry's file name holds no version"
    jsonschema.validate(json.loads(found.to_text()), closed(SCHEMAS["pins-1.json"]))


def test_what_is_served_is_pinned() -> None:
    """By what the recipe on the box asks for; a box that serves nothing has null, which is an answer."""
    machine = trees.driver(full(switch(0)))
    none = pins(gather(machine.host(), frozen().spec, True), frozen())
    served = {name for name in none.known if name.startswith("serving.")}
    assert served == {f"serving.{name}" for name in (
        "recipe", "digest", "engine", "image_id", "image_digest", "model", "revision", "drafter", "drafter_revision")}
    assert {none.known[name] for name in served} == {None}
    recipe = {"id": "qwen", "engine": {"name": "vllm"}, "model": {"id": "Qwen/Qwen3", "revision": "b" * 40},
              "image": {"image_id": "sha256:" + "c" * 64}}
    machine.file("/etc/tunecheck/recipe.json", json.dumps({"schema": "tunecheck/recipe/1", "recipe": recipe}))
    found = pins(gather(machine.host(), frozen().spec, True), frozen())
    assert [(each.name, each.here) for each in compare(found, none) if not each.unknown] == [
        ("serving.engine", "vllm"), ("serving.image_id", "sha256:" + "c" * 64), ("serving.model", "Qwen/Qwen3"),
        ("serving.recipe", "qwen"), ("serving.revision", "b" * 40)]
    older = Pins({name: value for name, value in none.known.items() if name not in served}, none.unknown)
    assert {each.unknown for each in compare(found, older)} == {True}, "a lock file without them says nothing of them"
    jsonschema.validate(json.loads(found.to_text()), closed(SCHEMAS["pins-1.json"]))


def test_packages_that_cannot_be_listed_are_unknown_all_together() -> None:
    found = pins(_snapshot(dpkg="timed out after 10 s"), frozen())
    assert found.why("package.nvidia-utils-595") == found.why("held.x") == "dpkg-query: timed out after 10 s"
    assert found.known["package.linux-image-6.12.1"] == "6.12.1-1"
    machine = trees.driver(full(switch(0)))
    machine.runs[DPKG_BOX] = reason_of_text("not recorded")
    boxless = pins(gather(machine.host(), frozen().spec, True), frozen())
    assert re.fullmatch("dpkg-query.*: not recorded", boxless.why("engine.podman"))
    assert [each.name for each in compare(boxless, boxless) if each.name.startswith("engine.")] == []
    whole = pins(_snapshot(), frozen())
    assert "UNKNOWN" in {"UNKNOWN" if each.unknown else each.here for each in compare(boxless, whole)
                         if each.name == "engine.podman"}
    assert {each.unknown for each in compare(found, whole)} == {True}


def test_the_file_names_no_box_and_no_time(tmp_path: Path) -> None:
    """A redacted recording of the same box has the same pins."""
    shown = _run("--from", _recording(tmp_path / "box.tar.zst"))
    assert shown.exit_code == 0 and "box1" not in shown.stdout
    assert shown.stdout == pins(_snapshot(), frozen()).to_text()


@pytest.mark.parametrize(("change", "unknown", "lines"), [
    ({}, {}, []),
    ({"package.podman": "5.5.0"}, {}, ["DIFFERS package.podman: 5.4.2, 5.5.0"]),
    ({"engine.docker": "28.3"}, {}, ["DIFFERS engine.docker: none, 28.3"]),
    ({"package.crun": "1.20"}, {}, ["DIFFERS package.crun: none, 1.20"]),
    ({"kernel.running": ...}, {"kernel.running": "no permission"},
     ["UNKNOWN kernel.running: 6.12.1, unknown (no permission)"]),
    ({"package.podman": ...}, {"package.": "timed out"}, ["UNKNOWN package.podman: 5.4.2, unknown (timed out)"]),
    ({"kernel.running": ...}, {}, ["UNKNOWN kernel.running: 6.12.1, "]),
])
def test_what_differs_and_what_is_only_unknown(change: dict[str, Any], unknown: dict[str, str],
                                               lines: list[str]) -> None:
    there = Pins({name: value for name, value in {**BASE, **change}.items() if value is not ...}, unknown)
    found = compare(Pins(dict(BASE), {}), there)
    told = [f"{'UNKNOWN' if each.unknown else 'DIFFERS'} {each.name}: {each.here}, {each.there}" for each in found]
    assert len(told) == len(lines) and all(map(str.startswith, told, lines)), told
    assert [(each.here, each.there) for each in compare(there, Pins(dict(BASE), {}))] == [
        (each.there, each.here) for each in found], "it does not matter who asks"


def test_exit_codes(tmp_path: Path) -> None:
    one, other = _recording(tmp_path / "a"), _recording(tmp_path / "b", "595.58.03")
    lock = tmp_path / "box.lock"
    assert _run("--from", one, "--json", str(lock)).exit_code == 0
    differs = _run("--from", other, "--diff", str(lock))
    assert differs.exit_code == 1
    assert f"DIFFERS driver.loaded: 595.58.03 ({other}), 595.71.05 ({lock})\n" in differs.stdout
    assert differs.stdout.splitlines()[-1].startswith("UNKNOWN kernel.next: ")
    assert _run("--from", one, "--diff", str(lock)).exit_code == 3, "nothing differs, but the next kernel is unknown"
    data = json.loads(lock.read_text())
    same = replace(pins(_snapshot(), frozen()), unknown={})
    assert compare(same, Pins(data["pins"], {})) == []


@pytest.mark.parametrize(("content", "flaw", "names"), [
    ("", Flaw.NOT_JSON, ""), ("[]", Flaw.OTHER_KIND, "tunecheck/pins/1"),
    ('{"schema": "tunecheck/snapshot/1"}', Flaw.OTHER_KIND, r"tunecheck/pins/1\b.*tunecheck/snapshot/1\b"),
    ('{"schema": "tunecheck/pins/1", "pins": {"a": 1}, "unknown": {}}', Flaw.ALTERED, ""),
    ('{"schema": "tunecheck/pins/1", "pins": {}}', Flaw.ALTERED, ""), ("[" * 100_000, Flaw.NOT_JSON, "")])
def test_a_bad_lock_file_is_a_sentence_and_two(tmp_path: Path, content: str, flaw: Flaw, names: str) -> None:
    (tmp_path / "x.lock").write_text(content)
    done = _run("--diff", str(tmp_path / "x.lock"))
    assert isinstance(done.exception, UsageError) and done.exception.flaw is flaw
    assert re.search(rf"/x\.lock: .*{names}", str(done.exception))


def test_a_difference_is_no_lock_file() -> None:
    done = _run("--diff", "x.lock", "--json", "y.lock")
    assert isinstance(done.exception, UsageError) and re.search("--diff .*--json ", str(done.exception))


def test_one_reason_for_both_is_said_once() -> None:
    from tunecheck.cli.pins import _lines
    from tunecheck.facts.pins import Difference

    assert _lines([Difference("kernel.next", "unknown (no permission)", "unknown (no permission)", True)], "here",
                  "x.lock") == ["UNKNOWN kernel.next: unknown (no permission) (both)"]
