"""Recipe files: what is refused, what a refusal names, and what a lock adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tunecheck.errors import Flaw, SpecError, UsageError
from tunecheck.recipes import frozen
from tunecheck.recipes.load import load, names
from tunecheck.recipes.lock import Lock, LockedImage, LockedModel, lock_beside, lock_text, read_lock
from tunecheck.recipes.refusals import Clash

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


@pytest.mark.parametrize(("change", "code", "names"), [
    ({"engine": {"name": "vllm", "version": None, "moe_backend": None}}, "missing", ["engine.cuda_graphs "]),
    ({"engine": {**plain("lab-tiny")["engine"], "name": "ollama"}}, "literal_error",
     ["engine.name ", '"ollama"', "'sglang'", "'vllm'", "'llama.cpp'"]),
    ({"quantization": "fp8"}, "extra_forbidden", ["quantization ", "docs/recipes.md"]),
    ({"image": {"ref": "vllm/vllm-openai"}}, "string_pattern_mismatch",
     ["image.ref ", '"vllm/vllm-openai"', "path:tag"]),
    ({"image": {"ref": None, "digest": "sha256:abc"}}, "string_pattern_mismatch",
     ["image.digest ", '"sha256:abc"', "sha256:", " 64 "]),
    ({"model": {**plain("lab-tiny")["model"], "revision": "main"}}, "string_pattern_mismatch",
     ["model.revision ", '"main"', " 40 ", "tunecheck recipe pin"]),
    ({"max_context": "8192"}, "int_type", ["max_context ", '"8192"']),
    ({"requires": {"gpus": True}}, "int_type", ["requires.gpus ", " true;"]),
    ({"env": {"A": 1}}, "string_type", ["env.A ", " 1;"]),
    ({"env": {"A": "two\nlines"}}, "string_pattern_mismatch", ["env.A ", r'"two\nlines"']),
    ({"sources": []}, "too_short", ["sources ", " [];", " 1"]),
    ({"status": "served"}, "literal_error", ["status ", '"served"', "'draft'", "'pinned'", "'golden'"]),
    ({"overrides": {"not-a-rule": "because I say so"}}, Clash.NO_SUCH_RULE, ["overrides.not-a-rule:", "eager-mode"]),
    ({"overrides": {"not-pinned": "because I say so"}}, Clash.NOT_OVERRIDABLE, ["overrides.not-pinned:"]),
    ({"overrides": {"eager-mode": ""}}, "string_too_short", ["overrides.eager-mode ", '"";', " 8 "]),
    ({"serve": {**plain("lab-tiny")["serve"], "args": ["--port=1", "-c", "1", "--api-key", "x"]}}, Clash.DERIVED,
     ["serve.args:", "--port", "serve.port"]),
    ({"engine": {**plain("lab-tiny")["engine"], "versions": "0.17 to 0.28"}}, "string_pattern_mismatch",
     ["engine.versions ", '"0.17 to 0.28"', ">=0.17.0,<0.28.0"]),
    ({"engine": {**plain("lab-tiny")["engine"], "fork": "a fork"}}, "string_pattern_mismatch",
     ["engine.fork ", '"a fork"', "owner/repository"]),
    ({"engine": {**plain("lab-tiny")["engine"], "version": "1.0", "versions": ">=1.0"}}, Clash.VERSION_TWICE,
     ["engine.versions ", ">=1.0", "engine.version 1.0"]),
    ({"id": "another"}, Clash.OTHER_NAME, ["'another'", "'lab-tiny'"]),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, change: dict[str, Any], code: str, names: list[str]) -> None:
    path = written(tmp_path, {**plain("lab-tiny"), **change})
    with pytest.raises(SpecError) as refused:
        load(path)
    first = refused.value.problems[0]
    assert set(refused.value.codes) == {code} and len(refused.value.codes) == len(refused.value.problems)
    assert first.startswith(f"{path}: ") and [name for name in names if name not in first] == [], first


@pytest.mark.parametrize(("text", "flaw", "names"), [
    ("id: [", Flaw.NOT_YAML, " 1 "), ("- a", Flaw.WRONG_TYPE, ""), ("", Flaw.WRONG_TYPE, ""),
    ("a: !!python/object/apply:os.system [id]", Flaw.NOT_YAML, " 1 "), ("\x00", Flaw.NOT_YAML, ""),
    ('{"schema": "tunecheck/recipe/1", "digest": "x", "recipe": {}}', Flaw.OTHER_KIND, "tunecheck/recipe/1"),
])
def test_what_is_no_recipe(tmp_path: Path, text: str, flaw: Flaw, names: str) -> None:
    with pytest.raises((SpecError, UsageError)) as refused:
        load(written(tmp_path, text))
    assert refused.value.flaw is flaw and f"{tmp_path}/lab-tiny.yml: " in str(refused.value)
    assert names in str(refused.value)


def test_what_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"^qwen9: .*\blab-tiny\b.* \./qwen9\.yml") as refused:
        load("qwen9")
    assert refused.value.flaw is Flaw.MISSING
    with pytest.raises(UsageError, match=r"^none/qwen9\.yml: .* tunecheck recipe list") as refused:
        load("./none/qwen9.yml")
    assert refused.value.flaw is Flaw.UNREAD


def test_a_lock_pins_a_draft(tmp_path: Path) -> None:
    path = Path(written(tmp_path, plain("lab-tiny")))
    assert load(str(path)).frozen.status == "draft"
    lock_beside(path).write_text(lock_text(locked()))
    assert lock_beside(path).name == "lab-tiny.lock.json" and read_lock(lock_beside(path)) == locked()
    found = load(str(path)).frozen
    assert (found.status, found.image.image_id, found.model.revision, found.model.files) == (
        "pinned", SUM, REVISION, {"tiny.gguf": SUM})
    assert load(str(path), pinned=False).frozen.status == "draft"


@pytest.mark.parametrize(("lock", "names"), [
    (locked(image=LockedImage("localhost/tunecheck/lab-tiny:2", SUM, SUM)),
     ["image.ref ", "localhost/tunecheck/lab-tiny:1", "localhost/tunecheck/lab-tiny:2"]),
    (locked(model=LockedModel("tunecheck/other", "x", REVISION)),
     ["model.id ", "tunecheck/lab-tiny", "tunecheck/other"]),
    (locked(drafter=LockedModel("a/b", "x", REVISION)), ["speculative.drafter ", " None,", "a/b"]),
])
def test_a_lock_of_something_else(tmp_path: Path, lock: Lock, names: list[str]) -> None:
    path = Path(written(tmp_path, plain("lab-tiny")))
    lock_beside(path).write_text(lock_text(lock))
    with pytest.raises(SpecError) as refused:
        load(str(path))
    assert refused.value.codes == (Clash.OTHER_LOCK,)
    assert [name for name in [*names, "tunecheck recipe pin"] if name not in str(refused.value)] == []


def test_a_lock_of_another_recipe(tmp_path: Path) -> None:
    path = Path(written(tmp_path, plain("lab-tiny")))
    lock_beside(path).write_text(lock_text(locked(recipe="other")))
    with pytest.raises(UsageError, match=r"\bother\b.*\blab-tiny\b") as refused:
        load(str(path))
    assert refused.value.flaw is Flaw.OF_ANOTHER


@pytest.mark.parametrize(("text", "flaw"), [
    ("{", Flaw.NOT_JSON), ("[1]", Flaw.OTHER_KIND), (json.dumps({"schema": "tunecheck/lock/1"}), Flaw.WRONG_TYPE),
    (lock_text(locked()).replace('"revision"', '"rev"'), Flaw.WRONG_TYPE),
])
def test_what_is_no_lock(tmp_path: Path, text: str, flaw: Flaw) -> None:
    path = tmp_path / "x.lock.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"x\.lock\.json: ") as refused:
        read_lock(path)
    assert refused.value.flaw is flaw and str(refused.value).endswith(f"tunecheck recipe pin {tmp_path}/x.yml")


@pytest.mark.parametrize("name", names())
def test_a_shipped_recipe_says_where_it_is_from_and_invents_no_pin(name: str) -> None:
    source = load(name, pinned=False).source
    assert source.status == "draft" and source.image.image_id is None and source.model.revision is None
    assert all("/" in text or "post" in text or "report" in text for text in source.sources if name != "lab-tiny")
