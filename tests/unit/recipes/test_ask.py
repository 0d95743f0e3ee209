"""`recipe lint --ask-image`: a real container by the real podman, whose engine is a program that prints the help of a
real argparse parser. Storage and images are this test run's own."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.recipes.test_load import SUM, plain
from tests.unit.recipes.test_rules import shipped

from tunecheck.cli.main import cli
from tunecheck.host.live import LiveHost
from tunecheck.recipes.ask import ask, table_of_help
from tunecheck.recipes.frozen import Image, Recipe
from tunecheck.recipes.load import load, names
from tunecheck.recipes.lock import Lock, LockedImage, LockedModel, lock_text

_NAME = "qwen35-27b-vllm-dp8-b200"
_REF = "localhost/tunecheck/ask-image:1"


def _help() -> str:
    parser = argparse.ArgumentParser("vllm serve", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--kv-cache-dtype", choices=["auto", "fp8", "fp8_e4m3"])
    parser.add_argument("--speculative-config", "-sc", help="as JSON; see also --max-num-batch, which is not an option")
    for number in range(24):
        parser.add_argument(f"--filler-{number}", action=argparse.BooleanOptionalAction)
    for name in ("max-num-seqs", "served-model-name", "data-parallel-size", "max-model-len", "host", "port"):
        parser.add_argument(f"--{name}")
    return parser.format_help()


def _podman(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *argv], capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The id of an image with that engine, and the variables by which podman finds it."""
    if os.geteuid() != 0 or not shutil.which("podman") or not shutil.which("gcc"):
        pytest.skip("needs root for a storage of its own, podman and gcc: apt-get install podman gcc libc6-dev")
    folder = tmp_path_factory.mktemp("ask")
    (folder / "storage.conf").write_text(f'[storage]\ndriver="vfs"\ngraphroot="{folder}/storage"\n'
                                         f'runroot="{folder}/run"\n')
    # Where this test may not raise its own limits, podman's default is refused.
    (folder / "containers.conf").write_text(
        '[containers]\ndefault_ulimits=["nofile=1024:1024", "nproc=4096:4096"]\n'
        '[engine]\ncgroup_manager="cgroupfs"\nevents_logger="none"\n')
    given = {"CONTAINERS_CONF": str(folder / "containers.conf"),
             "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
    # Told only what is asked for: other words get what an engine says of them.
    (folder / "vllm.c").write_text(
        '#include <stdio.h>\n#include <string.h>\nint main(int n, char **v) {\n'
        'if (n == 3 && !strcmp(v[1], "serve") && !strcmp(v[2], "--help=all")) {\n'
        f'fputs({json.dumps(_help())}, stdout); return 0; }}\n'
        'fputs("unrecognized arguments\\n", stderr); return 2; }\n')
    subprocess.run(["gcc", "-static", "-o", folder / "vllm", folder / "vllm.c"], check=True, timeout=60)
    with tarfile.open(folder / "root.tar", "w") as packed:
        packed.add(folder / "vllm", "usr/bin/vllm")
    before = dict(os.environ)
    os.environ.update(given)
    try:
        _podman("import", str(folder / "root.tar"), _REF)
        tried = subprocess.run(["podman", "run", "--rm", "--pull=never", "--network=none", "--entrypoint=vllm", _REF],
                               capture_output=True, text=True, timeout=60, check=False)
        if "unrecognized arguments" not in tried.stderr:
            pytest.skip(f"podman runs no container here: {tried.stderr.strip()[-300:]}")
        yield f"sha256:{_podman('images', '--quiet', '--no-trunc', _REF).stdout.strip().removeprefix('sha256:')}", given
    finally:
        subprocess.run(["podman", "rmi", "--all", "--force"], capture_output=True, timeout=60, check=False)
        os.environ.clear()
        os.environ.update(before)


def _asked(recipe: Recipe) -> tuple[str, str]:
    door = LiveHost()
    try:
        told = ask(door, recipe, "podman")
    finally:
        door.close()
    return ("ok", "") if told is None else (told.outcome, told.text)


def test_the_image_knows_its_words(image: tuple[str, dict[str, str]]) -> None:
    recipe = replace(shipped(_NAME), image=Image(_REF, SUM, image[0]))
    assert _asked(recipe) == ("ok", ""), _asked(recipe)
    short = image[0].removeprefix("sha256:")[:12]
    # The second is named in a sentence of its help only.
    cases = {("--max-nums-seqs", "4"): "reject", ("--max-num-batch", "4"): "reject",
             ("--no-filler-3",): "ok", ("--max-num-seq", "4"): "ok", ("--max-num-seqs=4",): "ok", ("-sc", "{}"): "ok"}
    for words, expected in cases.items():
        changed = replace(recipe, serve=replace(recipe.serve, args=(*recipe.serve.args, *words)))
        outcome, text = _asked(changed)
        assert outcome == expected, words
        assert (text == "") if outcome == "ok" else (short in text and words[0] in text), words
    fp4 = replace(recipe, serve=replace(recipe.serve, args=("--kv-cache-dtype", "fp4")))
    outcome, text = _asked(fp4)
    assert outcome == "reject"
    assert all(each in text for each in (short, "--kv-cache-dtype", "auto, fp8, fp8_e4m3", "fp4")), text
    waived = replace(fp4, overrides={"image-help": "the fork takes it"})
    assert _asked(waived)[0] == "overridden"


def test_what_cannot_be_asked_is_unknown(image: tuple[str, dict[str, str]]) -> None:
    recipe = shipped(_NAME)
    outcome, text = _asked(recipe)
    assert outcome == "unknown" and f"tunecheck recipe pin {_NAME}" in text
    outcome, text = _asked(replace(recipe, image=Image(_REF, SUM, "sha256:" + "5" * 64)))
    assert outcome == "unknown" and f"podman pull {_REF}" in text
    launcher = replace(recipe, image=Image(_REF, SUM, image[0]), serve=replace(recipe.serve, command=()))
    outcome, text = _asked(launcher)
    assert outcome == "unknown" and "recipe pin" not in text, "it is pinned, and has no --help that is known"
    other = replace(recipe, image=Image(_REF, SUM, image[0]), serve=replace(recipe.serve, command=("vllm", "bench")))
    assert _asked(other)[0] == "unknown" and "unrecognized arguments" in _asked(other)[1]
    assert table_of_help("vllm", "usage: vllm [-h]\n\nno options\n") is None


def test_lint_asks(image: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    data = plain(_NAME)
    data["image"] = {"ref": _REF}
    data["serve"]["args"] += ["--filler-99"]
    (tmp_path / f"{_NAME}.yml").write_text(yaml.safe_dump(data))
    (tmp_path / f"{_NAME}.lock.json").write_text(lock_text(Lock(
        _NAME, "2026-11-01T00:00:00Z", LockedImage(_REF, SUM, image[0]),
        LockedModel(data["model"]["id"], "a folder", "2" * 40, {"a.safetensors": SUM}))))
    done = CliRunner().invoke(cli, ["recipe", "lint", str(tmp_path / f"{_NAME}.yml"), "--ask-image"])
    assert done.exit_code == 1 and "reject     image-help: " in done.output, done.output
    plainly = CliRunner().invoke(cli, ["recipe", "lint", _NAME, "--ask-image", "podman"])
    assert plainly.exit_code == 3 and "unknown    image-help: " in plainly.output
    assert "tunecheck recipe pin" in plainly.output


def test_every_draft_says_what_keeps_it_from_being_pinned() -> None:
    for name in names():
        missing = load(name, pinned=False).source.unpinned
        done = CliRunner().invoke(cli, ["recipe", "show", name])
        assert missing and [text for text in missing if f": {text}\n" not in done.output] == [], name
