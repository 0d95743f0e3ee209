"""The container's command line, whole: commands/<what>.txt, one word a line."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tunecheck.gate.model_files import folder_of
from tunecheck.recipes.command import Paths, argv, folder, secret
from tunecheck.recipes.engines import NoCommandError, NoWay
from tunecheck.recipes.frozen import Image, Recipe, Serve
from tunecheck.recipes.load import load, names
from tunecheck.trials.containers.runtimes import Image as TrialImage
from tunecheck.trials.containers.runtimes import Runtime

ID, REVISION, SUM = "sha256:" + "ab" * 32, "c" * 40, "sha256:" + "d" * 64
EXPECTED = Path(__file__).parent / "commands"
KEY = "k-0123456789"


def pinned(name: str, **more: Any) -> Recipe:
    draft = load(name, pinned=False).frozen
    extra = dataclasses.replace(draft.speculative, **(
        {"drafter_revision": "e" * 40, "drafter_files": {"a": SUM}} if draft.speculative.drafter else {}))
    return dataclasses.replace(draft, status="pinned", image=Image(draft.image.ref, "sha256:" + "f" * 64, ID),
                               model=dataclasses.replace(draft.model, revision=REVISION, files={"a": SUM}),
                               speculative=extra, **more)


CASES = {
    "sglang-podman": (pinned("qwen35-122b-sglang-b12x-nextn-2x"), "podman", Paths(gpus=("0", "1"))),
    "vllm-drafter-docker": (pinned("qwen35-27b-vllm-dflash-2x"), "docker", Paths()),
    "llamacpp-lab-podman": (pinned("lab-tiny"), "podman", Paths()),
    "launcher-podman": (pinned("glm53-flash-vllm-b12x-mtp3-4x"), "podman", Paths()),
    "marlin-host-network-podman": (pinned("qwen35-397b-vllm-marlin-4x"), "podman", Paths(network="host")),
    "dp-docker-no-key": (pinned("qwen35-27b-vllm-dp8-b200"), "docker", Paths(secret=False, log_max_mib=50)),
}


@pytest.mark.parametrize("key", ["0123456789012345", "1234567890123e45", "0x1234567890abcdef", "true-true-true-true",
                                 "~/+._=-~/+._=-=="])
def test_sglang_reads_every_key_as_text(key: str) -> None:
    yaml = pytest.importorskip("yaml")
    file, content = secret(CASES["sglang-podman"][0], key)
    assert (file, yaml.safe_load(content)) == ("sglang.yaml", {"api-key": key})


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_the_served_container_is_confined_as_the_one_of_a_trial(engine: str) -> None:
    """What SELinux (EL9) lets a trial have, serving has: else the trial passes and serving finds no GPU."""
    def security(words: list[str]) -> list[str]:
        return sorted(word for word in words if word.startswith(("--security-opt", "--cap-", "--privileged")))

    trial = Runtime(engine, f"/usr/bin/{engine}", ("--device=nvidia.com/gpu=all",)).start(
        TrialImage(ID, ID.removeprefix("sha256:")), "tunecheck-trial", "token")
    served = argv(pinned("lab-tiny"), engine)
    assert security(served) == security(trial)
    assert "--security-opt=label=disable" in served


@pytest.mark.parametrize("what", CASES)
def test_command(what: str) -> None:
    assert "\n".join(argv(*CASES[what])) + "\n" == (EXPECTED / f"{what}.txt").read_text()


@pytest.mark.parametrize("engine", ["podman", "docker"])
@pytest.mark.parametrize("name", names())
def test_what_holds_for_every_recipe(name: str, engine: str) -> None:
    recipe = pinned(name)
    words = argv(recipe, engine)
    options = words[:words.index(ID.removeprefix("sha256:"))]
    assert "--privileged" not in words and "--pull=never" in options and "--cap-drop=all" in options
    assert ("--ipc=host" in options) != any(word.startswith("--shm-size") for word in options)
    assert [word for word in options if word.startswith("--publish")] == ["--publish=127.0.0.1:30000:30000"]
    assert f"--mount=type=bind,source={folder_of('/srv/models', recipe.model)},target=/model,readonly" in options
    assert folder("/srv/models", recipe.model) == str(folder_of("/srv/models", recipe.model))
    file, content = secret(recipe, KEY)
    assert KEY in content and not any(KEY in word for word in words)
    assert len([word for word in options if f"/etc/tunecheck/secrets/{file}" in word]) == 1


def test_no_shared_memory_of_its_own_is_the_hosts() -> None:
    recipe = pinned("lab-tiny")
    shared = dataclasses.replace(recipe, serve=dataclasses.replace(recipe.serve, shm_gib=None))
    assert "--ipc=host" in argv(shared, "podman")


@pytest.mark.parametrize(("recipe", "engine", "paths", "why", "names"), [
    (load("lab-tiny", pinned=False).frozen, "podman", Paths(), NoWay.NOT_PINNED, "tunecheck recipe pin lab-tiny"),
    (pinned("lab-tiny"), "lxc", Paths(), NoWay.OTHER_RUNTIME, r"lxc.*podman.*docker"),
    (pinned("lab-tiny"), "podman", Paths(network="bridge0"), NoWay.OTHER_NETWORK, "bridge0"),
    (pinned("glm53-flash-vllm-b12x-mtp3-4x"), "podman", Paths(network="host"), NoWay.EVERY_ADDRESS, "."),
    (pinned("lab-tiny", serve=Serve(command=())), "podman", Paths(), NoWay.LAUNCHER_KEY, r"llama\.cpp"),
    (pinned("lab-tiny", engine=dataclasses.replace(pinned("lab-tiny").engine, name="tensorrt-llm")),
     "podman", Paths(), NoWay.UNKNOWN_ENGINE, r"tensorrt-llm; .*serve\.command"),
])
def test_what_has_no_command(recipe: Recipe, engine: str, paths: Paths, why: NoWay, names: str) -> None:
    with pytest.raises(NoCommandError, match=names) as refused:
        argv(recipe, engine, paths)
    assert refused.value.why is why
