"""Pinning: a real registry asked through the real skopeo, a stand-in of the hub, a folder; then a lock that renders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.recipes.hub_box import COMMIT, FILES, Hub, hub
from tests.unit.recipes.registry_box import image, index, pushed, registry

from tunecheck.cli.main import cli
from tunecheck.errors import ProbeError, UsageError
from tunecheck.host import Completed, Unreadable
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordedHost
from tunecheck.model.absence import Reason
from tunecheck.recipes import folder
from tunecheck.recipes import hub as of_hub
from tunecheck.recipes import registry as of_registry
from tunecheck.recipes.lock import read_lock
from tunecheck.recipes.stored import load_recipe

SUMS = {path: f"sha256:{hashlib.sha256(content).hexdigest()}" for path, content in FILES.items()}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_a_tag_becomes_the_digest_and_id_that_were_pushed(at: str, tmp_path: Path) -> None:
    digest, image_id, _ = image(tmp_path, "one")
    pushed(tmp_path, f"{at}/engines/one:v1")
    for ref in (f"{at}/engines/one:v1", f"{at}/engines/one@{digest}"):
        found = of_registry.resolve(LiveHost(), ref)
        assert (found.asked, found.digest, found.image_id) == (ref, digest, image_id)


def test_a_tag_that_moved_is_another_image(at: str, tmp_path: Path) -> None:
    found = []
    for text in ("before", "after"):
        image(tmp_path / text, text)
        pushed(tmp_path / text, f"{at}/engines/moving:nightly")
        found.append(of_registry.resolve(LiveHost(), f"{at}/engines/moving:nightly"))
    assert found[0].digest != found[1].digest and found[0].image_id != found[1].image_id


@pytest.mark.parametrize("platforms", [("arm64", "amd64"), ("arm64",)])
def test_of_several_platforms_this_one_is_pinned(at: str, tmp_path: Path, platforms: tuple[str, ...]) -> None:
    made = {name: image(tmp_path, name, name) for name in platforms}
    kind = "application/vnd.oci.image.{}.v1+json"
    listed = json.dumps({"schemaVersion": 2, "mediaType": kind.format("index"), "manifests": [
        {"mediaType": kind.format("manifest"), "digest": digest, "size": size,
         "platform": {"os": "linux", "architecture": name}} for name, (digest, _, size) in made.items()]}).encode()
    whole = hashlib.sha256(listed).hexdigest()
    (tmp_path / f"blobs/sha256/{whole}").write_bytes(listed)
    index(tmp_path, [{"mediaType": kind.format("index"), "digest": f"sha256:{whole}", "size": len(listed)}])
    ref = f"{at}/engines/many-{len(platforms)}:v1"
    pushed(tmp_path, ref, every=True)
    if "amd64" not in platforms:
        with pytest.raises((UsageError, ProbeError), match=r"amd64|no image found"):
            of_registry.resolve(LiveHost(), ref)
        return
    found = of_registry.resolve(LiveHost(), ref)
    assert (found.digest, found.image_id) == made["amd64"][:2]


def test_what_the_registry_does_not_have(at: str) -> None:
    with pytest.raises(UsageError, match=r"there is no such image .*correct image.ref"):
        of_registry.resolve(LiveHost(), f"{at}/engines/none:v1")


def test_a_registry_that_is_gone() -> None:
    with pytest.raises(ProbeError, match="skopeo"):
        of_registry.resolve(LiveHost(), "127.0.0.1:1/engines/none:v1")


@pytest.mark.parametrize(("answer", "says"), [
    ((0, f"{'a' * 64} sha256:{'b' * 64}\n", ""), None),
    ((0, f"{'a' * 64} \n", ""), "has it without a digest"),
    ((125, "", "Error: localhost/x: image not known\n"), "no such image"),
    ("not present", "podman is not installed"),
])
def test_an_image_of_this_machine(answer: tuple[int, str, str] | str, says: str | None) -> None:
    argv = ("podman", "image", "inspect", "--format", "{{.Id}} {{.Digest}}", "localhost/x:1")
    done: Completed | Reason = reason_of_text(answer) if isinstance(answer, str) else Completed(argv, *answer)
    door = RecordedHost({}, runs={argv: done})
    if says is None:
        found = of_registry.resolve(door, "localhost/x:1")
        assert (found.digest, found.image_id) == (f"sha256:{'b' * 64}", f"sha256:{'a' * 64}")
        return
    with pytest.raises((UsageError, ProbeError, Unreadable), match=says):
        of_registry.resolve(door, "localhost/x:1")


def test_a_branch_becomes_a_commit_and_the_sums_of_its_files(served: Hub) -> None:
    found = of_hub.resolve("some/model", "main")
    assert (found.revision, found.files, found.asked) == (COMMIT, SUMS, "some/model@main")
    assert not any("safetensors" in path for path, _ in served.asked), "large files are never fetched"


def test_only_what_is_included(served: Hub) -> None:
    assert set(of_hub.resolve("some/model", "refs/pr/1", ["*.json", "*-00001-*"]).files) == {
        "config.json", "folder/tokenizer.json", "model-00001-of-00002.safetensors"}
    with pytest.raises(UsageError, match=r"none of its files is \*\.gguf"):
        of_hub.resolve("some/model", "main", ["*.gguf"])


def test_the_token_goes_to_the_hub_alone(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with hub() as elsewhere:
        path = f"/some/model/resolve/{COMMIT}/config.json"
        served.changed[path] = (302, {"Location": f"{elsewhere.url}{path}"}, b"")
        of_hub.resolve("some/model", "main")
        assert {token for _, token in served.asked} == {"Bearer hf_secret"}
        assert elsewhere.asked == [(path, None)]
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    with pytest.raises(UsageError, match="is not sent without TLS"):
        of_hub.resolve("some/model", "main")


_REVISION, _TREE = "/api/models/some/model/revision/main", f"/api/models/some/model/tree/{COMMIT}"


@pytest.mark.parametrize(("path", "answer", "says"), [
    (_REVISION, (404, {}, b""), "no such model or revision"),
    (_REVISION, (401, {}, b""), "accept the model's terms there and set HF_TOKEN"),
    (_REVISION, (503, {}, b""), "the hub says 503"),
    (_REVISION, (200, {}, b"<html>"), "is not JSON"),
    (_REVISION, (200, {}, b'{"sha": "main"}'), "no commit of 40 hex digits"),
    (_TREE, (200, {}, b'{"error": 1}'), "no list of files"),
    (_TREE, (200, {}, b'[{"type": "file", "path": "../../etc/passwd", "size": 1, "oid": "a"}]'), "is no usable one"),
    (_TREE, (200, {}, b'[{"type": "file", "path": "big", "size": 99999999999, "oid": "a"}]'), "too large to fetch"),
    (_TREE, (200, {}, b'[{"type": "file", "path": "w", "size": 1, "lfs": {"oid": "x"}}]'), "states no SHA-256 of w"),
    (f"/some/model/resolve/{COMMIT}/config.json", (200, {}, b"changed"), "something between here and the hub"),
])
def test_a_hub_that_answers_otherwise(served: Hub, path: str, answer: tuple[int, dict[str, str], bytes], says: str
                                      ) -> None:
    served.changed[path] = answer
    with pytest.raises((UsageError, ProbeError), match=says):
        of_hub.resolve("some/model", "main")


def test_a_hub_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ProbeError, match="does not answer"):
        of_hub.resolve("some/model", "main")


def test_a_folder_has_the_revision_of_its_content(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "deep").mkdir(parents=True)
        (tmp_path / place / "deep/x.gguf").write_bytes(b"x")
        (tmp_path / place / "y.txt").write_bytes(b"y")
    one, two = (folder.resolve("own/model", str(tmp_path / place)) for place in ("a", "b"))
    assert one == two and set(one.files) == {"deep/x.gguf", "y.txt"} and len(one.revision) == 40
    (tmp_path / "b/y.txt").write_bytes(b"z")
    assert folder.resolve("own/model", str(tmp_path / "b")).revision != one.revision
    assert set(folder.resolve("own/model", str(tmp_path / "a"), ["*.gguf"]).files) == {"deep/x.gguf"}
    with pytest.raises(UsageError, match=r"holds no \*\.bin"):
        folder.resolve("own/model", str(tmp_path / "a"), ["*.bin"])


def _recipe(place: Path, ref: str) -> Path:
    path = place / "mine.yml"
    path.write_text(yaml.safe_dump({
        "id": "mine", "engine": {"name": "vllm", "version": None, "moe_backend": "none", "cuda_graphs": "full"},
        "image": {"ref": ref}, "model": {"id": "some/model", "format": "fp8", "moe": False},
        "speculative": {"method": "none"}, "max_context": None, "requires": {"gpus": 1, "sm": ["12.0"]},
        "serve": {"name": "mine", "args": ["--kv-cache-dtype", "fp8"]},
        "expected": {"value": None, "counted_by": "unknown"}, "sources": ["made for this test"]}))
    return path


def test_pin_then_render_gives_what_a_box_serves(at: str, served: Hub, tmp_path: Path) -> None:
    digest, image_id, _ = image(tmp_path / "layout", "whole")
    pushed(tmp_path / "layout", f"{at}/engines/whole:v1")
    path, runner = _recipe(tmp_path, f"{at}/engines/whole:v1"), CliRunner()
    refused = runner.invoke(cli, ["recipe", "render", str(path)])
    assert "a draft is never served" in str(refused.exception)
    done = runner.invoke(cli, ["recipe", "pin", str(path)])
    assert done.exit_code == 0 and digest[:19] in done.output and f"{COMMIT}, 5 files" in done.output
    assert read_lock(tmp_path / "mine.lock.json").model.files == SUMS
    done = runner.invoke(cli, ["recipe", "render", str(path), "-o", str(tmp_path / "recipe.json")])
    assert done.exit_code == 0
    recipe, _ = load_recipe(str(tmp_path / "recipe.json"))
    assert (recipe.status, recipe.image.digest, recipe.image.image_id, recipe.model.revision) == (
        "pinned", digest, image_id, COMMIT)
    command = runner.invoke(cli, ["recipe", "render", str(path), "--command", "--engine", "docker"]).output.splitlines()
    assert command[0] == "docker" and image_id.removeprefix("sha256:") in command
    shown = runner.invoke(cli, ["recipe", "show", str(path)]).output
    assert f'image.digest = "{digest}"' in shown and "model.files.count = 5" in shown


def test_pin_refuses_what_nobody_published() -> None:
    for name, says in (("minimax-m25-vllm-b12x-2x", "image.ref is null"), ("qwen35-397b-vllm-marlin-4x", "image.ref")):
        done = CliRunner().invoke(cli, ["recipe", "pin", name, "-o", "/dev/null"])
        assert says in str(done.exception)


def test_a_lock_that_cannot_be_written_costs_no_network(tmp_path: Path, served: Hub) -> None:
    path = _recipe(tmp_path, "127.0.0.1:1/engines/none:v1")
    done = CliRunner().invoke(cli, ["recipe", "pin", str(path), "-o", str(tmp_path / "none/mine.lock.json")])
    assert "does not exist; create it first" in str(done.exception) and served.asked == []


def test_a_rejected_recipe_is_not_rendered(at: str, served: Hub, tmp_path: Path) -> None:
    image(tmp_path / "layout", "eager")
    pushed(tmp_path / "layout", f"{at}/engines/eager:v1")
    path, runner = _recipe(tmp_path, f"{at}/engines/eager:v1"), CliRunner()
    data = yaml.safe_load(path.read_text())
    data["serve"]["args"] = ["--enforce-eager"]
    path.write_text(yaml.safe_dump(data))
    assert runner.invoke(cli, ["recipe", "pin", str(path)]).exit_code == 0
    refused = runner.invoke(cli, ["recipe", "render", str(path)])
    assert "state overrides.eager-mode with a reason" in str(refused.exception)
    assert runner.invoke(cli, ["recipe", "lint", str(path)]).exit_code == 1
    path.write_text(yaml.safe_dump({**data, "overrides": {"eager-mode": "to find a crash"}}))
    done = runner.invoke(cli, ["recipe", "lint", str(path)])
    assert done.exit_code == 0 and "overridden: to find a crash" in done.output
    assert runner.invoke(cli, ["recipe", "render", str(path)]).exit_code == 0
    path.write_text(yaml.safe_dump({**data, "serve": {**data["serve"], "args": []}, "env": {"HF_TOKEN": "hf_x"}}))
    always = str(runner.invoke(cli, ["recipe", "render", str(path)]).exception)
    assert "secret-stated" in always and always.endswith("; correct it"), "no override is offered where none is taken"
