"""The hand-off without a box: what the control node renders, what the modules decide, the units for systemd-analyze."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.roles.inference.files import WORDS

from tunecheck.errors import Flaw, UsageError
from tunecheck.recipes import handoff
from tunecheck.recipes.handoff import Unserved

ROOT = Path(__file__).resolve().parents[2]
ID = "sha256:" + "a" * 64


def test_systemd_takes_every_word_that_was_rendered(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "words.service"
    line = handoff.exec_line(["/usr/bin/printf", *WORDS])
    unit.write_text(f"[Service]\nType=oneshot\nExecStart={line}\n")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and "words.service" not in done.stderr, done.stderr


@pytest.mark.parametrize("word", ["a\nb", "\x00", "tab\there"])
def test_what_a_unit_cannot_carry_is_refused(word: str) -> None:
    with pytest.raises(UsageError) as refused:
        handoff.exec_line(["/x", word])
    assert refused.value.flaw is Unserved.CONTROL_CHARACTER and repr(word) in str(refused.value)


@pytest.mark.parametrize(("ref", "name"), [
    ("vllm/vllm-openai:v0.18.0", "docker.io/vllm/vllm-openai"),
    ("ubuntu:24.04", "docker.io/library/ubuntu"),
    ("registry.example:5000/a/b:1", "registry.example:5000/a/b"),
    ("ghcr.io/a/b@sha256:" + "c" * 64, "ghcr.io/a/b"),
    ("localhost/tunecheck/lab-tiny:1", ""),
    (None, ""),
])
def test_an_image_is_pulled_by_its_digest(ref: str | None, name: str) -> None:
    assert handoff._pulled(ref, ID) == (f"{name}@{ID}" if name else "")
    assert handoff._pulled(ref, None) == ""


def pinned(folder: Path) -> Path:
    """The recipe of the lab with a lock beside it."""
    recipe = folder / "lab-tiny.yml"
    shutil.copy(ROOT / "checks/tunecheck/recipes/lab-tiny.yml", recipe)
    lock = {"recipe": "lab-tiny", "created": "2026-11-21T00:00:00Z",
            "image": {"asked": "localhost/tunecheck/lab-tiny:1", "digest": ID, "image_id": ID},
            "model": {"id": "tunecheck/lab-tiny", "asked": "folder", "revision": "b" * 40, "files": {"tiny.gguf": ID}}}
    (folder / "lab-tiny.lock.json").write_text(json.dumps({"schema": "tunecheck/lock/1", "lock": lock}))
    return recipe


def request(recipe: str, **more: str) -> dict[str, str]:
    return {"recipe": recipe, "lock": "", "engine": "podman", "models": "/srv/models", "bind": "127.0.0.1", **more}


def asked(recipe: str, **more: str) -> subprocess.CompletedProcess[str]:
    given = request(recipe, **more)
    return subprocess.run([sys.executable, "-m", "tunecheck.recipes.handoff"], input=json.dumps(given), text=True,
                          capture_output=True, timeout=60, cwd=ROOT / "checks", check=False)


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_the_units_are_units(tmp_path: Path, engine: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    plan = json.loads(asked(str(pinned(tmp_path)), engine=engine, models="/srv/my models").stdout)
    unit = tmp_path / "tunecheck-inference.service"
    rendered = subprocess.run(
        [str(Path(sys.executable).parent / "ansible"), "localhost", "-i", "localhost,", "-c", "local", "-m",
         "ansible.builtin.template", "-a",
         f"src={ROOT}/roles/inference/templates/tunecheck-inference.service.j2 dest={unit}",
         "-e", json.dumps({"inference__plan": plan, "inference_pass_max_age": "15m", "ansible_become": False,
                           "ansible_python_interpreter": sys.executable})],
        capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert rendered.returncode == 0, rendered.stdout + rendered.stderr
    text = unit.read_text()
    assert "--models \"/srv/my models\"" in text and ID[7:] in text and "RemainAfterExit" not in text
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    words = shlex.split(line)
    assert "--pull=never" in words and "--publish=127.0.0.1:30000:30000" in words and "--privileged" not in words
    assert f"--mount=type=bind,source=/srv/my models/tunecheck--lab-tiny/{'b' * 40},target=/model,readonly" in words
    assert ("--ipc=host" in words) != any(word.startswith("--shm-size") for word in words)
    # A start that fails slowly counts as one of the two as well.
    numbers = {name: int(each) for name, each in re.findall(r"^(\w+)=(\d+)$", text, re.MULTILINE)}
    assert numbers["StartLimitBurst"] == 2
    assert numbers["StartLimitIntervalSec"] > 2 * (numbers["TimeoutStartSec"] + numbers["RestartSec"])
    for name in ("tunecheck-preflight.service", "tunecheck-alarm@.service"):
        shutil.copy(ROOT / "roles/inference/files" / name, tmp_path / name)
    for path in tmp_path.glob("*.service"):
        # Programs that are on a box, and not on this machine.
        path.write_text(path.read_text().replace("/opt/tunecheck/bin/tunecheck", sys.executable)
                        .replace("/usr/bin/podman", sys.executable).replace("/usr/bin/docker", sys.executable)
                        .replace("Requires=docker.service\n", ""))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *map(str, tmp_path.glob("*.service"))],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "tunecheck-" not in done.stderr, done.stderr


@pytest.mark.parametrize(("line", "handed_over", "starts"), [
    ("ro tunecheck.trial=0123456789ab panic=30", False, False),     # a trial boot is proven first
    ("ro tunecheck.trial=0123456789ab panic=30", True, True),       # committed, and the same play handed over
    ("ro quiet", False, True),
])
def test_a_trial_boot_starts_neither_unit_before_the_play_hands_over(tmp_path: Path, line: str, handed_over: bool,
                                                                     starts: bool) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    mark = tmp_path / "handed-over"
    if handed_over:
        mark.touch()
    for unit in ("templates/tunecheck-inference.service.j2", "files/tunecheck-preflight.service"):
        text = (ROOT / "roles/inference" / unit).read_text().replace("/run/tunecheck/handed-over", str(mark))
        conditions = re.findall(r"^Condition\S+=\S+$", text, re.MULTILINE)
        done = subprocess.run(["systemd-analyze", "condition", *conditions], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "SYSTEMD_PROC_CMDLINE": line}, check=False)
        assert len(conditions) == 2 and (done.returncode == 0) == starts, done.stderr


@pytest.mark.parametrize(("given", "flaw", "names"), [
    ({"recipe": "lab-tiny"}, Unserved.DRAFT, "lab-tiny: "),
    ({"recipe": "no-such"}, Flaw.MISSING, "no-such: "),
    ({"bind": "::1"}, Unserved.ADDRESS, "inference_bind ::1: "),
    ({"models": "models"}, Unserved.MODELS, "inference_models_dir models: "),
])
def test_what_cannot_be_served_is_one_line(tmp_path: Path, given: dict[str, str], flaw: Enum, names: str) -> None:
    whole = {"recipe": str(pinned(tmp_path)), **given}
    with pytest.raises(UsageError) as refused:
        handoff.hand_off(*({**request(**whole), "lock": None}.values()))
    assert refused.value.flaw is flaw
    done = asked(**whole)
    assert done.returncode == 2 and done.stderr == f"{refused.value}\n" and not done.stdout
    assert done.stderr.startswith(names)


def test_an_address_for_all_is_accepted_on_loopback(tmp_path: Path) -> None:
    recipe = str(pinned(tmp_path))
    assert json.loads(asked(recipe, bind="0.0.0.0").stdout)["base"] == "http://127.0.0.1:30000"
    plan = json.loads(asked(recipe, bind="10.0.0.5").stdout)
    assert plan["base"] == "http://10.0.0.5:30000" and "--publish=10.0.0.5:30000:30000" in plan["exec"]


@pytest.fixture
def box(load_module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """playbooks/module_utils/inference_box.py with its files under a folder of the test."""
    found: Any = load_module("inference_service").box
    for name in ("_ETC", "_UNITS", "_SECRETS", "RECIPE", "_KEY", "_SERVICE", "_STATE"):
        monkeypatch.setattr(found, name, str(tmp_path) + getattr(found, name))
    monkeypatch.setattr(found, "_PREVIOUS", {str(tmp_path) + path: str(tmp_path) + place
                                             for path, place in found._PREVIOUS.items()})
    return found


SECRET = {"file": "vllm.env", "line": "VLLM_API_KEY={key}\n"}


@pytest.mark.parametrize("key", ["short", "with blank in the middle", "quote\"quote-quote-quote", "x" * 600, "ä" * 20])
def test_a_key_that_files_cannot_carry_is_refused(box: Any, key: str) -> None:
    with pytest.raises(ValueError, match="inference_api_key_file") as refused:
        box.key_of(key)
    assert key not in str(refused.value)


@pytest.mark.parametrize("printed", ["d60e7776" * 8, "d60e777626fa", "tunecheck-inference"])
def test_the_reason_is_no_id_of_a_container(box: Any, printed: str) -> None:
    """podman prints what it stopped and removed, behind the reason."""
    journal = f"tunecheck: the model is not there\n{printed}\nFailed to start tunecheck-inference.service\n"
    state = {"StatusErrno": "0", "StatusText": ""}
    assert box.reason_of(state, journal).startswith("tunecheck: the model is not there (journalctl")


def test_a_key_is_made_once_kept_and_replaced_by_a_given_one(box: Any) -> None:
    key = box.key_of(None)
    want = box.files("r", "u", {}, SECRET, key)
    box.write(want, box.differing(want))
    assert not box.differing(want) and box.key_of(None) == key != box.key_of("given-given-given-given")
    assert Path(box._SECRETS, "vllm.env").read_text() == f"VLLM_API_KEY={key}\n"
    Path(box._SECRETS, "vllm.env").chmod(0o644)
    assert box.differing(want) == [box._SECRETS + "/vllm.env"]
    assert key not in json.dumps(box.shown("r2", "u2", {}))


def texts(box: Any, recipe: str) -> dict[str, tuple[str, int]]:
    return box.files(recipe, f"unit of {recipe}", {}, SECRET, "k" * 20)  # type: ignore[no-any-return]


def put(box: Any, want: dict[str, tuple[str, int]], accepted: bool) -> str:
    box.write(want, list(want))
    if accepted:
        box.accept(box.mark(want))
    return str(box.mark(want))


def test_only_what_was_accepted_comes_back(box: Any) -> None:
    one, two, three = (texts(box, name) for name in ("one", "two", "three"))
    assert box.keep(box.accepted(), box.mark(one)) is None          # nothing was accepted yet
    first = put(box, one, accepted=True)
    assert box.keep(box.accepted(), first) is None                  # the same again: nothing to go back to
    back = box.keep(box.accepted(), box.mark(two))
    assert back[box.RECIPE][0] == "one" and back[box._SERVICE][0] == "unit of one"
    # A play that was interrupted left the second there, unaccepted: the way back is still to the first.
    put(box, two, accepted=False)
    assert box.keep(box.accepted(), box.mark(three))[box.RECIPE][0] == "one"
    # Altered by hand, and nothing was set aside that is what was accepted.
    put(box, two, accepted=True)
    Path(box.RECIPE).write_text("by hand")
    assert box.keep(box.accepted(), box.mark(three)) is None
    Path(box._STATE).write_text("[")
    assert box.accepted() == ""


@pytest.mark.parametrize(("errno", "status", "journal", "reason"), [
    ("125", "gate closed: x; run: y", "Error: port is taken", "gate closed: x; run: y"),
    ("125", "canary: wrong", "", "canary: wrong"),
    ("0", "gate closed: of the start before", "Error: it crashed\n",
     "Error: it crashed (journalctl -u tunecheck-inference.service)"),
    ("0", "gate open, starting", "Starting a\nError: port is taken\ntunecheck-inference.service: Failed with result\n",
     "Error: port is taken (journalctl -u tunecheck-inference.service)"),
    ("", "", "", "(journalctl -u tunecheck-inference.service)"),
])
def test_the_reason_is_one_line(box: Any, errno: str, status: str, journal: str, reason: str) -> None:
    said = box.reason_of({"StatusErrno": errno, "StatusText": status}, journal)
    assert (said if journal or status else said[-len(reason):]) == reason


def test_room_and_identity_of_an_image(load_module: Callable[[str], ModuleType]) -> None:
    image = load_module("container_image")
    assert image.same("a" * 64 + "\n", ID) and image.same(ID, ID) and not image.same("b" * 64, ID)
    assert image.needed_gib(40, 0) == 40 and image.needed_gib(1, 10 << 30) == 30
