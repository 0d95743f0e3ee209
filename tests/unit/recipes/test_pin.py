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
from tunecheck.host import Completed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.live import LiveHost
from tunecheck.model.absence import Reason
from tunecheck.recipes import folder
from tunecheck.recipes import hub as of_hub
from tunecheck.recipes import registry as of_registry
from tunecheck.recipes.handoff import Unserved
from tunecheck.recipes.lock import read_lock
from tunecheck.recipes.stored import load_recipe
from tunecheck.recipes.unpinned import Unpinned

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
        with pytest.raises((UsageError, ProbeError), match="amd64") as refused:
            of_registry.resolve(LiveHost(), ref)
        assert refused.value.flaw in (Unpinned.OTHER_PLATFORM, Unpinned.FAILED), "skopeo itself may say it"
        return
    found = of_registry.resolve(LiveHost(), ref)
    assert (found.digest, found.image_id) == made["amd64"][:2]


def test_what_the_registry_does_not_have(at: str) -> None:
    with pytest.raises(UsageError, match=r"/engines/none:v1: .*image\.ref") as refused:
        of_registry.resolve(LiveHost(), f"{at}/engines/none:v1")
    assert refused.value.flaw is Unpinned.NO_IMAGE


def test_a_registry_that_is_gone() -> None:
    with pytest.raises(ProbeError, match="skopeo") as refused:
        of_registry.resolve(LiveHost(), "127.0.0.1:1/engines/none:v1")
    assert refused.value.flaw is Unpinned.FAILED


_ASKED = ("skopeo", "--override-os=linux", "--override-arch=amd64", "inspect", "--no-tags", "--format", "{{.Digest}}",
          "docker://ghcr.io/x/y:1")
_LOGGED = 'time="2026-11-26T17:00:00Z" level=fatal msg="%s"\n'


@pytest.mark.parametrize("length", [0, 100, 290, 299, 300, 301, 500, 5000])
@pytest.mark.parametrize("form", ["%s\n", _LOGGED, "a warning\n" + _LOGGED], ids=["plain", "logged", "behind others"])
@pytest.mark.parametrize("cause", ["dial tcp: lookup registry-1.docker.io: no such host",
                                   "x509: certificate signed by unknown authority"])
def test_the_cause_at_the_end_of_an_error_is_quoted(length: int, form: str, cause: str) -> None:
    """Whatever stands before it: what was asked of whom, through which addresses."""
    before = "Error parsing image name \\\"docker://ghcr.io/x/y:1\\\": " + ("word " * length)[:length]
    with pytest.raises(ProbeError) as refused:
        of_registry.resolve(RecordedHost({}, runs={_ASKED: Completed(_ASKED, 1, "", form % f"{before} {cause}")}),
                            "ghcr.io/x/y:1")
    said = str(refused.value).partition("could not ask (")[2].partition("); log in")[0]
    assert said.endswith(cause) and len(said) <= 300 and "time=" not in said
    if said.startswith("... "):
        assert said[4:].split(" ")[0] in f"{before} {cause}".replace('\\"', '"').split(" ")


@pytest.mark.parametrize("length", range(0, 400, 7))
def test_a_secret_is_masked_wherever_the_error_is_cut(length: int) -> None:
    said = f"Get https://user:hunter2@ghcr.io/v2/?token=abcdef: {('word ' * length)[:length]} no such host\n"
    with pytest.raises(ProbeError) as refused:
        of_registry.resolve(RecordedHost({}, runs={_ASKED: Completed(_ASKED, 1, "", said)}), "ghcr.io/x/y:1")
    assert "hunter2" not in str(refused.value) and "abcdef" not in str(refused.value)


@pytest.mark.parametrize(("answer", "flaw", "names"), [
    ((0, f"{'a' * 64} sha256:{'b' * 64}\n", ""), None, ""),
    ((0, f"{'a' * 64} \n", ""), Unpinned.NO_DIGEST, "podman"),
    ((125, "", "Error: localhost/x: image not known\n"), Unpinned.NO_IMAGE, r"image\.ref"),
    ("not present", Unpinned.NO_TOOL, "apt-get install podman"),
])
def test_an_image_of_this_machine(answer: tuple[int, str, str] | str, flaw: Unpinned | None, names: str) -> None:
    argv = ("podman", "image", "inspect", "--format", "{{.Id}} {{.Digest}}", "localhost/x:1")
    done: Completed | Reason = reason_of_text(answer) if isinstance(answer, str) else Completed(argv, *answer)
    door = RecordedHost({}, runs={argv: done})
    if flaw is None:
        found = of_registry.resolve(door, "localhost/x:1")
        assert (found.digest, found.image_id) == (f"sha256:{'b' * 64}", f"sha256:{'a' * 64}")
        return
    with pytest.raises((UsageError, ProbeError), match=f"^localhost/x:1: .*{names}") as refused:
        of_registry.resolve(door, "localhost/x:1")
    assert refused.value.flaw is flaw


def test_a_branch_becomes_a_commit_and_the_sums_of_its_files(served: Hub) -> None:
    found = of_hub.resolve("some/model", "main")
    assert (found.revision, found.files, found.asked) == (COMMIT, SUMS, "some/model@main")
    assert not any("safetensors" in path for path, _ in served.asked), "large files are never fetched"


def test_only_what_is_included(served: Hub) -> None:
    assert set(of_hub.resolve("some/model", "refs/pr/1", ["*.json", "*-00001-*"]).files) == {
        "config.json", "folder/tokenizer.json", "model-00001-of-00002.safetensors"}
    with pytest.raises(UsageError, match=r"\*\.gguf.*model\.include") as refused:
        of_hub.resolve("some/model", "main", ["*.gguf"])
    assert refused.value.flaw is Unpinned.NO_FILES


def test_the_token_goes_to_the_hub_alone(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with hub() as elsewhere:
        path = f"/some/model/resolve/{COMMIT}/config.json"
        served.changed[path] = (302, {"Location": f"{elsewhere.url}{path}"}, b"")
        of_hub.resolve("some/model", "main")
        assert {token for _, token in served.asked} == {"Bearer hf_secret"}
        assert elsewhere.asked == [(path, None)]
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    with pytest.raises(UsageError, match=r"http://hub\.example: HF_TOKEN\b") as refused:
        of_hub.resolve("some/model", "main")
    assert refused.value.flaw is Unpinned.NO_TLS


_REVISION, _TREE = "/api/models/some/model/revision/main", f"/api/models/some/model/tree/{COMMIT}"


@pytest.mark.parametrize(("path", "answer", "flaw", "names"), [
    (_REVISION, (404, {}, b""), Unpinned.NO_MODEL, r"model\.id"),
    (_REVISION, (401, {}, b""), Unpinned.REFUSED, "401.*HF_TOKEN"),
    (_REVISION, (503, {}, b""), Unpinned.FAILED, "503"),
    (_REVISION, (200, {}, b"<html>"), Unpinned.NOT_JSON, "HF_ENDPOINT"),
    (_REVISION, (200, {}, b'{"sha": "main"}'), Unpinned.NO_COMMIT, "some/model@main: "),
    (_TREE, (200, {}, b'{"error": 1}'), Unpinned.NO_LIST, _TREE),
    (_TREE, (200, {}, b'[{"type": "file", "path": "../../etc/passwd", "size": 1, "oid": "a"}]'), Unpinned.BAD_NAME,
     "'../../etc/passwd'"),
    (_TREE, (200, {}, b'[{"type": "file", "path": "big", "size": 99999999999, "oid": "a"}]'),
     Unpinned.TOO_LARGE_TO_SUM, r"big.*99999999999.*model\.include"),
    (_TREE, (200, {}, b'[{"type": "file", "path": "w", "size": 1, "lfs": {"oid": "x"}}]'), Unpinned.NO_SUM, r"\bw$"),
    (f"/some/model/resolve/{COMMIT}/config.json", (200, {}, b"changed"), Unpinned.ALTERED, r"config\.json"),
])
def test_a_hub_that_answers_otherwise(served: Hub, path: str, answer: tuple[int, dict[str, str], bytes],
                                       flaw: Unpinned, names: str) -> None:
    served.changed[path] = answer
    with pytest.raises((UsageError, ProbeError), match=names) as refused:
        of_hub.resolve("some/model", "main")
    assert refused.value.flaw is flaw


def test_a_hub_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ProbeError, match=r"http://127\.0\.0\.1:1/.*HF_ENDPOINT") as refused:
        of_hub.resolve("some/model", "main")
    assert refused.value.flaw is Unpinned.NO_ANSWER


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
    with pytest.raises(UsageError, match=r"/a: .*\*\.bin") as refused:
        folder.resolve("own/model", str(tmp_path / "a"), ["*.bin"])
    assert refused.value.flaw is Unpinned.NO_FILES


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
    assert refused.exception.flaw is Unserved.DRAFT  # type: ignore[union-attr]
    assert str(refused.exception).endswith(f" tunecheck recipe pin {path}")
    done = runner.invoke(cli, ["recipe", "pin", str(path)])
    assert done.exit_code == 0 and digest[:19] in done.output and f"{COMMIT}, 5 " in done.output
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
    for name in ("minimax-m25-vllm-b12x-2x", "qwen35-397b-vllm-marlin-4x"):
        done = CliRunner().invoke(cli, ["recipe", "pin", name, "-o", "/dev/null"])
        assert str(done.exception).startswith(f"{name}: image.ref ")
        assert done.exception.flaw is Unpinned.NOT_STATED  # type: ignore[union-attr]


def test_a_lock_that_cannot_be_written_costs_no_network(tmp_path: Path, served: Hub) -> None:
    path = _recipe(tmp_path, "127.0.0.1:1/engines/none:v1")
    done = CliRunner().invoke(cli, ["recipe", "pin", str(path), "-o", str(tmp_path / "none/mine.lock.json")])
    assert f"{tmp_path}/none" in str(done.exception) and done.exit_code != 0 and served.asked == []


def test_a_rejected_recipe_is_not_rendered(at: str, served: Hub, tmp_path: Path) -> None:
    image(tmp_path / "layout", "eager")
    pushed(tmp_path / "layout", f"{at}/engines/eager:v1")
    path, runner = _recipe(tmp_path, f"{at}/engines/eager:v1"), CliRunner()
    data = yaml.safe_load(path.read_text())
    data["serve"]["args"] = ["--enforce-eager"]
    path.write_text(yaml.safe_dump(data))
    assert runner.invoke(cli, ["recipe", "pin", str(path)]).exit_code == 0
    refused = runner.invoke(cli, ["recipe", "render", str(path)])
    assert refused.exception.flaw is Unserved.RULE  # type: ignore[union-attr]
    assert "overrides.eager-mode" in str(refused.exception)
    assert runner.invoke(cli, ["recipe", "lint", str(path)]).exit_code == 1
    path.write_text(yaml.safe_dump({**data, "overrides": {"eager-mode": "to find a crash"}}))
    done = runner.invoke(cli, ["recipe", "lint", str(path)])
    assert done.exit_code == 0 and "to find a crash" in done.output
    assert runner.invoke(cli, ["recipe", "render", str(path)]).exit_code == 0
    path.write_text(yaml.safe_dump({**data, "serve": {**data["serve"], "args": []}, "env": {"HF_TOKEN": "hf_x"}}))
    always = str(runner.invoke(cli, ["recipe", "render", str(path)]).exception)
    assert "secret-stated" in always and "overrides." not in always, "no override is offered where none is taken"
