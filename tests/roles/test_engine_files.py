"""What engines are told, and who may lose GPUs: the pure parts, as data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils import engine_files, gpu_containers, runtime_box
from ansible.module_utils.driver_box import NoDriver
from ansible.module_utils.refusal import code_of

GPU = {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0}
HOOK = {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}
CDI_HOOK = {"createContainer": [{"path": "/usr/bin/nvidia-cdi-hook"}]}


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("", (100, None), {"features": {"cdi": True}, "log-driver": "json-file",
                           "log-opts": {"max-size": "51200k", "max-file": "2"}}),
        ('{"features": {"buildkit": true}, "log-driver": "journald", "dns": ["10.0.0.1"]}', (100, "/data/d"),
         {"features": {"buildkit": True, "cdi": True}, "log-driver": "journald", "dns": ["10.0.0.1"],
          "data-root": "/data/d"}),
        ('{"log-driver": "local", "log-opts": {"max-size": "1g", "compress": "false"}}', (1, None),
         {"features": {"cdi": True}, "log-driver": "local",
          "log-opts": {"max-size": "512k", "compress": "false", "max-file": "2"}}),
    ],
)
def test_daemon_json_is_merged_and_comes_back(
        text: str, settings: tuple[int, str | None], expected: dict[str, Any]) -> None:
    have = engine_files.parse(text)
    merged, before = engine_files.merge(text, engine_files.docker_settings(*settings, have))
    assert json.loads(merged) == expected
    again, nothing = engine_files.merge(merged, engine_files.docker_settings(*settings, engine_files.parse(merged)))
    assert again == merged and nothing == []
    wrote = [[path, engine_files.get(engine_files.parse(merged), path)[1]] for path, _there, _old in before]
    assert engine_files.parse(engine_files.unmerge(merged, before, wrote)) == have
    # What an operator changed since is not taken back.
    since = engine_files.parse(merged)
    since["features"]["cdi"] = False
    back = engine_files.parse(engine_files.unmerge(json.dumps(since), before, wrote))
    assert back["features"]["cdi"] is False


@pytest.mark.parametrize("text", ["{", "[]", "42", '{"a": 1} trailing', '{"features": ["cdi"]}'])
def test_what_is_no_daemon_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        engine_files.merge(text, [(("features", "cdi"), True)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[storage]\ndriver = "overlay"\nrunroot = "/run/x"\ngraphroot = "/var/lib/containers/storage"\n'
        '[storage.options]\ngraphroot = "not this one"\n',
        '# my own\n[ storage ]\n  graphroot=\'/srv/images\' # why\n',
        '[storage]\n# graphroot = "/commented"\ndriver = "overlay"\n',
    ],
)
def test_storage_conf_changes_one_line_and_comes_back(text: str) -> None:
    new = engine_files.set_storage(text, "graphroot", "/data/images")
    assert engine_files.storage_value(new, "graphroot") == "/data/images"
    assert engine_files.set_storage(new, "graphroot", "/data/images") == new
    moved = engine_files.set_storage(new, "graphroot", "/other")
    assert engine_files.storage_value(moved, "graphroot") == "/other"
    assert [engine_files.unset_storage(each).split() for each in (new, moved)] == [text.split()] * 2
    kept = [line for line in text.splitlines() if "graphroot" not in line or "not this" in line or line[0] == "#"]
    assert [line for line in kept if line not in new.splitlines()] == []


def test_an_absent_storage_conf_starts_from_the_distributions() -> None:
    vendor = '[storage]\ndriver = "btrfs"\nrunroot = "/run/containers/storage"\n'
    new = engine_files.set_storage("", "graphroot", "/data", vendor)
    assert engine_files.storage_value(new, "driver") == "btrfs" and engine_files.unset_storage(new) == ""


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["", ""], 100000),
        (["ann:100000:65536\n", "ann:100000:65536\n"], 165536),
        (["llm:100000:65536\n", "llm:100000:65536\n"], None),
        (["1001:100000:65536\n", "llm:100000:65536\n"], None),
        (["llm:100000:65536\n", ""], 165536),
        (["llm:100000:1000\nann:200000:65536\n", ""], 265536),
        (["broken\nann:x:y\n", ""], 100000),
    ],
)
def test_subordinate_ids_never_overlap(texts: list[str], first: int | None) -> None:
    assert engine_files.next_ids("llm", 1001, texts) == first


@pytest.mark.parametrize(
    ("engine", "version", "old"),
    [
        ("podman", "podman version 3.4.4\n", True),
        ("podman", "podman version 4.3.1\n", False),
        ("podman", "podman version 5.4.2\n", False),
        ("docker", "Docker version 20.10.24+dfsg1, build 297e128\n", True),
        ("docker", "Docker version 26.1.5+dfsg1, build 411e817\n", False),
        ("docker", "", False),
    ],
)
def test_engines_that_know_no_cdi_are_refused(engine: str, version: str, old: bool) -> None:
    assert bool(engine_files.too_old(engine, version)) is old


@pytest.mark.parametrize(
    ("config", "runtime", "links", "how"),
    [
        ({"linux": {"devices": [GPU]}, "hooks": CDI_HOOK}, "crun", [], "listed"),
        ({"linux": {"devices": [GPU]}}, "runc", ["195:0"], "listed"),
        ({"linux": {"devices": [GPU]}}, "runc", [], "unlinked"),
        ({"linux": {"devices": [GPU]}, "hooks": HOOK}, "crun", [], "listed"),
        ({"linux": {"devices": [{"path": "/dev/fuse"}]}, "hooks": HOOK}, "runc", [], "hook"),
        ({"linux": {}, "hooks": CDI_HOOK}, "runc", [], ""),
        ({"linux": {"devices": None}, "hooks": None}, "crun", [], ""),
        (None, "runc", [], "unknown"),
        ([], "runc", [], "unknown"),
    ],
)
def test_how_a_container_has_its_gpus(config: object, runtime: str, links: list[str], how: str) -> None:
    assert gpu_containers.judge(config, runtime, links.__contains__) == how


@pytest.mark.parametrize(
    ("hows", "units", "why", "names"),
    [
        ([], [], None, ""),
        (["", "listed"], [], None, ""),
        (["listed"], ["tunecheck-inference.service"], None, ""),
        (["listed", "hook"], [], gpu_containers.Loses.HOOK, " 111111111111"),
        (["unlinked"], [], gpu_containers.Loses.UNLINKED, "create-dev-char-symlinks"),
        (["unknown"], [], gpu_containers.Loses.UNKNOWN, " 000000000000"),
        (["", ""], ["tunecheck-inference.service"], gpu_containers.Loses.UNSEEN,
         "systemctl stop tunecheck-inference.service"),
    ],
)
def test_when_a_daemon_reload_is_refused(hows: list[str], units: list[str], why: gpu_containers.Loses | None,
                                         names: str) -> None:
    found = [gpu_containers.Container(str(number) * 64, how) for number, how in enumerate(hows)]
    told = gpu_containers.refusal(found, units)
    assert (told.why is why and names in told) if why else told == ""


def test_what_is_done_to_a_unit(load_module: Callable[[str], ModuleType]) -> None:
    steps = load_module("guarded_units").steps
    unit = {"name": "a.path", "enabled": True, "state": "started"}
    fresh = {"UnitFileState": "disabled", "ActiveState": "inactive"}
    assert [words for words, _ in steps(unit, fresh, True)] == [["enable", "--no-reload", "a.path"],
                                                                ["start", "a.path"]]
    assert [words for words, _ in steps(unit, fresh, False)] == [["enable", "--no-reload", "a.path"]]
    assert steps(unit, {"UnitFileState": "enabled", "ActiveState": "active"}, True) == []
    assert [words for words, _ in steps({"name": "b.service", "enabled": None, "state": "restarted"}, {}, True)] == [
        ["restart", "b.service"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("deb [signed-by=/x.gpg arch=amd64] https://nvidia.github.io/a/$(ARCH) /\n# deb https://other/ /\n",
         {"https://nvidia.github.io/a/amd64"}),
        ("Types: deb\nURIs: https://one/ https://two\nSuites: /\n", {"https://one", "https://two"}),
        ("Enabled: no\nURIs: https://one\n", set()),
        ("deb-src https://source/ /\n", set()),
    ],
)
def test_which_repositories_a_file_of_apt_names(text: str, found: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_box.platform, "machine", lambda: "x86_64")
    assert runtime_box.urls(text) == found


@pytest.mark.parametrize(
    ("manager", "engine", "user", "there", "offered", "names", "problem"),
    [
        ("apt", "podman", "", ["podman"], [], [], ""),
        ("apt", "podman", "", [], ["podman", "catatonit", "nftables", "ca-certificates"],
         ["podman", "catatonit", "nftables", "ca-certificates"], ""),
        ("apt", "podman", "llm", ["podman"], ["uidmap", "slirp4netns"], ["uidmap", "slirp4netns"], ""),
        ("apt", "podman", "llm", ["podman", "newuidmap", "slirp4netns"], ["passt"], [], ""),
        ("apt", "docker", "", [], ["docker.io", "ca-certificates"], ["docker.io", "ca-certificates"], ""),
        ("apt", "docker", "", [], ["docker.io", "docker-cli", "ca-certificates"],
         ["docker.io", "docker-cli", "ca-certificates"], ""),
        ("dnf", "docker", "", [], [], [], "no-package"),
        ("apt", "podman", "llm", ["podman", "pasta"], [], ["uidmap"], "not-offered"),
    ],
)
def test_which_packages_an_engine_still_needs(
        manager: str, engine: str, user: str, there: list[str], offered: list[str], names: list[str], problem: str,
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_box.shutil, "which", lambda name, path: name if name in there or (
        name == "dockerd" and "docker" in there) else None)
    kind = type("Manager", (), {"name": manager})
    told = runtime_box.needed(kind, engine, user, dict.fromkeys(offered, ("1",)))
    assert told[0] == names and [code_of(each) for each in told[1]] == ([problem] if problem else [])
    assert "uidmap" in told[1][0] if problem == "not-offered" else True


def test_daemon_reload_stands_in_one_place() -> None:
    root = Path(__file__).resolve().parents[2]
    files = [path for folder in ("roles", "playbooks", "checks") for path in (root / folder).rglob("*")
             if path.suffix in {".py", ".yml", ".j2", ".sh"}]
    doing = [path.name for path in files if re.search(r"daemon_reload:|\"daemon-reload\"", path.read_text())]
    assert doing == ["gpu_containers.py"]


@pytest.mark.parametrize("broken", [[], ["podman"]])
def test_what_stands_half_done_is_not_refused_for_its_simulation(
        broken: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of dnf, whose refusal names no `-s install` as apt's does."""
    monkeypatch.setattr(runtime_box.shutil, "which", lambda name, path: None)
    monkeypatch.setattr(runtime_box, "_guard", lambda module: "")
    manager = SimpleNamespace(
        name="dnf", half_done=lambda: broken, installed=lambda names: {}, held=list,
        available=lambda names, look=None: {"podman": ("1",)}, files=lambda plan: {},
        simulate=lambda exact, remove, look: (None, "dnf --assumeno install podman failed (exit 1)"))
    params = {"toolkit": "", "source": "nvidia", "mirror": "", "mirror_fingerprint": "", "engine": "podman", "user": ""}
    module = SimpleNamespace(params=params, check_mode=True)
    if not broken:
        with pytest.raises(runtime_box.DriverError, match="dnf --assumeno install podman") as caught:
            runtime_box.present(module, manager, str(tmp_path))
        assert caught.value.why is NoDriver.NOT_INSTALLABLE
        return
    assert runtime_box.present(module, manager, str(tmp_path))["changed"] is True
