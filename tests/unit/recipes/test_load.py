"""Recipe files: what is refused, with which words, and what a lock adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tunecheck.errors import SpecError, UsageError
from tunecheck.recipes import frozen
from tunecheck.recipes.load import load, names
from tunecheck.recipes.lock import Lock, LockedImage, LockedModel, lock_beside, lock_text, read_lock

SUM, REVISION = "sha256:" + "1" * 64, "2" * 40
SHIPPED = Path(frozen.__file__).parent


def plain(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((SHIPPED / f"{name}.yml").read_text())
    return found


def written(folder: Path, data: object, name: str = "lab-tiny") -> str:
    path = folder / f"{name}.yml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return str(path)


def locked(**more: Any) -> Lock:
    return Lock(**{"recipe": "lab-tiny", "created": "2026-11-01T00:00:00Z",
                   "image": LockedImage("localhost/tunecheck/lab-tiny:1", SUM, SUM),
                   "model": LockedModel("tunecheck/lab-tiny", "a folder", REVISION, {"tiny.gguf": SUM}), **more})


@pytest.mark.parametrize(("change", "says"), [
    ({"engine": {"name": "vllm", "version": None, "moe_backend": None}}, "engine.cuda_graphs is missing; state it"),
    ({"engine": {**plain("lab-tiny")["engine"], "name": "ollama"}}, "engine.name is \"ollama\"; expected one of"),
    ({"quantization": "fp8"}, "quantization is an unknown key"),
    ({"image": {"ref": "vllm/vllm-openai"}}, "with a tag or a digest"),
    ({"image": {"ref": None, "digest": "sha256:abc"}}, "a complete digest"),
    ({"model": {**plain("lab-tiny")["model"], "revision": "main"}}, "a branch moves"),
    ({"max_context": "8192"}, "max_context is \"8192\"; expected a whole number without quotes"),
    ({"requires": {"gpus": True}}, "requires.gpus is true; expected a whole number"),
    ({"env": {"A": 1}}, "env.A is 1; expected text in quotes"),
    ({"env": {"A": "two\nlines"}}, "env.A is"),
    ({"sources": []}, "sources is []; expected a list of at least 1"),
    ({"status": "served"}, "status is \"served\"; expected one of 'draft', 'pinned' or 'golden'"),
    ({"overrides": {"not-a-rule": "because I say so"}}, "overrides.not-a-rule: no such rule"),
    ({"overrides": {"not-pinned": "because I say so"}}, "overrides.not-pinned: this rule cannot be overridden"),
    ({"overrides": {"eager-mode": ""}}, "overrides.eager-mode is \"\"; expected a text of at least 8 characters"),
    ({"serve": {**plain("lab-tiny")["serve"], "args": ["--port=1", "-c", "1", "--api-key", "x"]}},
     "serve.args: --port is derived from serve.port"),
    ({"engine": {**plain("lab-tiny")["engine"], "versions": "0.17 to 0.28"}}, "expected bounds like"),
    ({"engine": {**plain("lab-tiny")["engine"], "fork": "a fork"}}, "expected owner/repository"),
    ({"engine": {**plain("lab-tiny")["engine"], "version": "1.0", "versions": ">=1.0"}}, "remove the bounds"),
    ({"id": "another"}, "id is 'another', the file's name says 'lab-tiny'"),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(written(tmp_path, {**plain("lab-tiny"), **change}))
    assert says in str(refused.value) and str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(("text", "says"), [
    ("id: [", "is not YAML at line"), ("- a", "expected a mapping"), ("", "expected a mapping"),
    ("a: !!python/object/apply:os.system [id]", "is not YAML"), ("\x00", "is not YAML"),
    ('{"schema": "tunecheck/recipe/1", "digest": "x", "recipe": {}}', "is a frozen recipe"),
])
def test_what_is_no_recipe(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises((SpecError, UsageError), match=says):
        load(written(tmp_path, text))


def test_what_is_not_there() -> None:
    with pytest.raises(UsageError, match="no such recipe; known are"):
        load("qwen9")
    with pytest.raises(UsageError, match="cannot be read"):
        load("./none/qwen9.yml")


def test_a_lock_pins_a_draft(tmp_path: Path) -> None:
    path = Path(written(tmp_path, plain("lab-tiny")))
    assert load(str(path)).frozen.status == "draft"
    lock_beside(path).write_text(lock_text(locked()))
    assert lock_beside(path).name == "lab-tiny.lock.json" and read_lock(lock_beside(path)) == locked()
    found = load(str(path)).frozen
    assert (found.status, found.image.image_id, found.model.revision, found.model.files) == (
        "pinned", SUM, REVISION, {"tiny.gguf": SUM})
    assert load(str(path), pinned=False).frozen.status == "draft"


@pytest.mark.parametrize(("lock", "says"), [
    (locked(recipe="other"), "is the lock of other"),
    (locked(image=LockedImage("localhost/tunecheck/lab-tiny:2", SUM, SUM)), "its lock resolved localhost/tunecheck"),
    (locked(model=LockedModel("tunecheck/other", "x", REVISION)), "its lock says tunecheck/other"),
    (locked(drafter=LockedModel("a/b", "x", REVISION)), "speculative.drafter is None, its lock says a/b"),
])
def test_a_lock_of_something_else(tmp_path: Path, lock: Lock, says: str) -> None:
    path = Path(written(tmp_path, plain("lab-tiny")))
    lock_beside(path).write_text(lock_text(lock))
    with pytest.raises((SpecError, UsageError), match=says):
        load(str(path))


@pytest.mark.parametrize(("text", "says"), [
    ("{", "is not JSON"), ("[1]", "is not a tunecheck/lock/1"), (json.dumps({"schema": "tunecheck/lock/1"}), "usable"),
    (lock_text(locked()).replace('"revision"', '"rev"'), "is not a usable lock"),
])
def test_what_is_no_lock(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.lock.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_lock(path)


@pytest.mark.parametrize("name", names())
def test_a_shipped_recipe_says_where_it_is_from_and_invents_no_pin(name: str) -> None:
    source = load(name, pinned=False).source
    assert source.status == "draft" and source.image.image_id is None and source.model.revision is None
    assert all("/" in text or "post" in text or "report" in text for text in source.sources if name != "lab-tiny")
