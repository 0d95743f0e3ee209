"""The gate opens for a pass of this boot, fresh, of this specification, on this box, for a recipe that is here."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.app.gate_pass import forget_pass
from tunecheck.cli.main import cli
from tunecheck.errors import Flaw, UsageError
from tunecheck.facts.measured_pass import MeasuredPass
from tunecheck.gate import judge, measured, passed
from tunecheck.gate.measure import key_now
from tunecheck.gate.model_files import Wrong, folder_of, problems
from tunecheck.gate.reason import Closed
from tunecheck.gate.state import State, state
from tunecheck.host.live import LiveHost
from tunecheck.model.absence import Absence
from tunecheck.model.fact import Fact, absent, known
from tunecheck.recipes.box import Board, Box
from tunecheck.recipes.frozen import Engine, Image, Model, Recipe, Requires
from tunecheck.recipes.stored import to_json
from tunecheck.spec.frozen import Frozen, Spec
from tunecheck.util.safe_files import Danger, UnsafeFileError

SPEC = "sha256:" + "5" * 64
IMAGE = "sha256:" + "1" * 64
NOW = State(known("boot-1", ""), known(1000.0, ""), known("root=/dev/vda quiet", ""), known("595.71.05", ""),
            known(("0000:41:00.0 GPU-a", "0000:42:00.0 GPU-b"), ""))
PASS = passed.Pass(0, (), SPEC, dataclasses.replace(NOW, uptime=known(400.0, "")), False, "2026-11-21T12:00:00", "0.1")
RECIPE = Recipe("tiny", Engine("vllm"), Model("a/b", "0" * 40), Image(None, None, IMAGE), requires=Requires(gpus=2),
                status="pinned")


def test_a_fresh_pass_of_this_box_opens() -> None:
    assert judge.of_pass(PASS, NOW, SPEC, 900) == []


@pytest.mark.parametrize(("found", "now", "spec", "code", "part", "names"), [
    ({}, {"boot_id": known("boot-2", "")}, SPEC, Closed.OTHER_BOOT, "", PASS.taken),
    ({}, {"boot_id": absent("/proc", Absence.NO_PERMISSION)}, SPEC, Closed.OTHER_BOOT, "", PASS.taken),
    ({}, {"uptime": known(1301.0, "")}, SPEC, Closed.TOO_OLD, "", "901 s|900 s"),
    ({}, {"uptime": known(300.0, "")}, SPEC, Closed.TOO_OLD, "", "-100 s"),
    ({}, {"uptime": absent("/proc/uptime", Absence.NO_PERMISSION)}, SPEC, Closed.AGE_UNKNOWN, "", "/proc/uptime"),
    ({}, {}, "sha256:" + "6" * 64, Closed.OTHER_SPEC, "", "sha256:5555|sha256:6666"),
    ({}, {"driver": known("580.95.05", "")}, SPEC, Closed.CHANGED, "driver", "595.71.05|580.95.05"),
    ({}, {"gpus": known(("0000:41:00.0 GPU-a",), "")}, SPEC, Closed.CHANGED, "gpus", "0000:42:00.0 GPU-b"),
    ({}, {"gpus": absent("/proc/driver", Absence.TIMED_OUT.because("timed out"))}, SPEC, Closed.UNREAD, "gpus",
     "/proc/driver"),
    ({}, {"cmdline": known("root=/dev/vda iommu=pt", "")}, SPEC, Closed.CHANGED, "cmdline", "iommu=pt"),
    ({"exit_code": 1, "reasons": ("acs-redirect: 0000:40:01.1 redirects",)}, {}, SPEC, Closed.NOT_PASSED, "",
     "acs-redirect: 0000:40:01.1 redirects"),
    ({"exit_code": 3}, {}, SPEC, Closed.NOT_PASSED, "", " 3"),
])
def test_what_closes_it(found: dict[str, Any], now: dict[str, Any], spec: str, code: Closed, part: str,
                        names: str) -> None:
    (reason,) = judge.of_pass(dataclasses.replace(PASS, **found), dataclasses.replace(NOW, **now), spec, 900)
    assert (reason.code, reason.part) == (code, part)
    assert all(each in reason.text for each in names.split("|")), reason


@pytest.mark.parametrize(("recipe", "image", "model", "code", "names"), [
    ({}, known(IMAGE, ""), (), None, ""),
    ({"status": "draft"}, known(IMAGE, ""), (), Closed.NOT_PINNED, "tiny|draft"),
    ({"image": Image("a/b:1")}, known(IMAGE, ""), (), Closed.NOT_PINNED, "tiny"),
    ({"requires": Requires(gpus=4)}, known(IMAGE, ""), (), Closed.TOO_FEW_GPUS, "4 GPUs| 2"),
    ({}, absent("podman image inspect", Absence.NOT_PRESENT), (), Closed.NO_IMAGE, "sha256:111"),
    ({}, absent("podman image inspect", Absence.TIMED_OUT.because("timed out")), (), Closed.IMAGE_UNREAD,
     "podman image inspect"),
    ({}, known("sha256:" + "2" * 64, ""), (), Closed.OTHER_IMAGE, "sha256:111|sha256:222"),
    ({}, known(IMAGE, ""), ("x cannot be read", "y cannot be read"), Closed.MODEL, "a/b: x cannot be read| 1 "),
])
def test_the_recipe(recipe: dict[str, Any], image: Fact[str], model: tuple[str, ...], code: Closed | None,
                    names: str) -> None:
    reasons = judge.of_recipe(dataclasses.replace(RECIPE, **recipe), NOW, judge.Offer(image, model))
    assert [each.code for each in reasons] == ([code] if code else [])
    assert all(name in each.text for each in reasons for name in names.split("|")), reasons


@pytest.mark.parametrize(("boards", "overrides", "rule"), [
    ((Board("NVIDIA RTX PRO 6000", "12.0", 97887),) * 2, {}, None),
    ((Board("NVIDIA B200", "10.0", 183359),) * 2, {}, "gpu-capability"),
    ((Board("NVIDIA L4", "8.9", 23034),) * 2, {"gpu-capability": "tried"}, "gpu-memory"),
    # What the box does not tell is not good either, until somebody takes it upon himself.
    ((Board("NVIDIA New", None, 97887),) * 2, {}, "gpu-capability"),
    ((Board("NVIDIA New", None, 97887),) * 2, {"gpu-capability": "as RTX PRO, tried"}, None),
])
def test_a_recipe_for_other_boards_is_not_handed_over(boards: tuple[Board, ...], overrides: dict[str, str],
                                                      rule: str | None) -> None:
    recipe = dataclasses.replace(RECIPE, requires=Requires(2, ("12.0",), 96), overrides=overrides)
    found = judge.of_box(recipe, Box(known(boards, "")))
    assert [(each.code, each.part) for each in found] == ([(Closed.RULE, rule)] if rule else [])
    assert all(f"overrides.{rule}" in each.text for each in found), "how somebody takes it upon himself"


def test_the_hand_over_asks_this_machine(tmp_path: Path) -> None:
    """Live: image and model come first, and boards that no machine has are missing here."""
    (tmp_path / "podman").write_text(f"#!/bin/sh\necho {IMAGE}\n")
    (tmp_path / "podman").chmod(0o755)
    recipe = dataclasses.replace(RECIPE, requires=Requires(1, ("99.9",)))
    (tmp_path / "recipe.json").write_text(to_json(recipe))
    argv = [sys.executable, "-m", "tunecheck.app.recipe_on_box", str(tmp_path / "recipe.json"), str(tmp_path), "podman"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert " tiny " in done.stderr or ("gpu-capability: " in done.stderr and "99.9" in done.stderr)


def test_the_state_of_a_box_with_gpus() -> None:
    files = {
        "/proc/sys/kernel/random/boot_id": b"b\n", "/proc/uptime": b"12.5 40.0\n", "/proc/cmdline": b"quiet\n",
        "/proc/driver/nvidia/version": b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release\n",
        "/proc/driver/nvidia/gpus/0000:41:00.0/information": b"Model: X\nGPU UUID: \t GPU-1\nBus Type: PCIe\n",
    }
    found = state(_Files(files))  # type: ignore[arg-type]
    assert (found.uptime.value, found.driver.value, found.gpus.value) == (12.5, "595.71.05", ("0000:41:00.0 GPU-1",))


class _Files:
    """Just files: the lowest part of a host."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read_bytes(self, path: str) -> bytes:
        return self.files[path]

    def list(self, path: str) -> list[str]:
        return sorted({name.removeprefix(path + "/").split("/")[0] for name in self.files if name.startswith(path)})


def _model(tmp_path: Path) -> tuple[Model, Path]:
    content = b"weights" * 1000
    model = Model("a/b", "0" * 40, files={"sub/model.gguf": "sha256:" + hashlib.sha256(content).hexdigest()})
    file = folder_of(str(tmp_path), model) / "sub/model.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return model, file


def test_a_whole_model_is_read_once(tmp_path: Path) -> None:
    model, file = _model(tmp_path)
    memory = str(tmp_path / "models.json")
    assert problems(str(tmp_path), model, memory) == []
    before = file.stat()
    file.chmod(0)       # as root it can still be read; the sum must not be needed
    file.write_bytes(b"0" * before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert problems(str(tmp_path), model, memory) == []
    os.utime(file)
    assert [each.file for each in problems(str(tmp_path), model, memory)] == ["sub/model.gguf"]


@pytest.mark.parametrize(("damage", "code"), [
    (lambda file: file.write_bytes(file.read_bytes()[:-1]), Wrong.OTHER_SUM),
    (lambda file: file.unlink(), Wrong.UNREAD),
    (lambda file: (file.unlink(), file.symlink_to("/etc/passwd")), Wrong.OUTSIDE),
])
def test_a_damaged_model(tmp_path: Path, damage: Any, code: Wrong) -> None:
    model, file = _model(tmp_path)
    damage(file)
    found = problems(str(tmp_path), model, str(tmp_path / "models.json"))
    assert [(each.file, each.code) for each in found] == [("sub/model.gguf", code)]


def test_a_pass_survives_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "pass.json")
    passed.write(path, PASS)
    assert passed.read(path) == PASS
    Path(path).write_text("{}")
    with pytest.raises(UsageError, match=r"\btunecheck/pass/1\b") as refused:
        passed.read(path)
    assert refused.value.flaw is Flaw.OTHER_KIND


def _spec(folder: Path) -> str:
    """A specification that asks for nothing."""
    place = folder / "spec.json"
    place.write_text(Frozen(host="box1", profile="lab", spec=Spec(), sources={}).to_json())
    return str(place)


def _copy(path: str, planted: str, mode: int = 0o644, owner: int = -1, folder: int = 0o755) -> None:
    shutil.copyfile(path, planted)
    Path(planted).chmod(mode)
    if owner >= 0:
        os.chown(planted, owner, owner)
    Path(planted).parent.chmod(folder)


#: How an unprivileged user could offer a pass, what is wrong with it, and what the gate names.
_PLANTED: list[tuple[str, Callable[[str, str], None], Danger, str]] = [
    ("link", lambda path, planted: Path(planted).symlink_to(path), Danger.LINK, ""),
    ("fifo", lambda path, planted: os.mkfifo(planted), Danger.NOT_REGULAR, ""),
    ("device", lambda path, planted: Path(planted).symlink_to("/dev/zero"), Danger.LINK, ""),
    ("writable", lambda path, planted: _copy(path, planted, 0o666), Danger.MODE, " 0666)"),
    ("group", lambda path, planted: _copy(path, planted, 0o664), Danger.MODE, " 0664)"),
    ("folder", lambda path, planted: _copy(path, planted, folder=0o777), Danger.FOLDER, ""),
    *([("owner", lambda path, planted: _copy(path, planted, owner=65534), Danger.OWNER, " 65534; ")]
      if os.geteuid() == 0 else []),
]


def _danger(path: str) -> Danger:
    """Why the pass at the path is not to be trusted."""
    with pytest.raises(UsageError) as refused:
        passed.read(path)
    assert refused.value.flaw is Flaw.UNTRUSTED
    why = refused.value.__context__
    assert isinstance(why, UnsafeFileError)
    return why.danger


def test_nobody_is_told_to_remove_a_device() -> None:
    with pytest.raises(UsageError) as refused:
        passed.read("/dev/null")
    assert refused.value.flaw is Flaw.UNTRUSTED and "remove" not in str(refused.value).lower()


def test_without_a_specification_it_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that was given without one, asked without one: both digests are empty, and prove nothing."""
    (said,) = judge.of_pass(dataclasses.replace(PASS, spec_digest=""), NOW, "", 900)
    assert said.code is Closed.NO_SPEC and "/etc/tunecheck/spec.json" in said.text


def test_a_missing_specification_comes_before_a_missing_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that is made first could not open the gate."""
    monkeypatch.setattr("tunecheck.facts.spec_file.PATH", str(tmp_path / "none.json"))
    done = CliRunner().invoke(cli, ["gate", "--pass", str(tmp_path / "pass.json")])
    assert done.exit_code == 1
    assert "no specification says" in done.output and "preflight --pass" not in done.output


def test_from_preflight_to_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine, live: whatever preflight said, the gate says the same; an older pass does not survive."""
    path = str(tmp_path / "pass.json")
    spec = ["--spec", _spec(tmp_path)]
    runner = CliRunner()
    done = runner.invoke(cli, ["preflight", "--pass", path, *spec])
    found = passed.read(path)
    assert found.exit_code == done.exit_code
    gate = runner.invoke(cli, ["gate", "--pass", path, *spec])
    if done.exit_code == 0:
        assert gate.exit_code == 0, gate.output
    else:
        assert gate.exit_code == 1
        assert found.reasons[0] in gate.output
    # The same box, as if everything had passed: now the measurement and the recipe decide.
    passed.write(path, dataclasses.replace(found, exit_code=0, reasons=()))
    closed = runner.invoke(cli, ["gate", "--pass", path, *spec])
    assert closed.exit_code == 1 and f"{tmp_path}/measured.json" in closed.output
    door = LiveHost()
    now = state(door)
    measured.write(str(tmp_path / "measured.json"), MeasuredPass(
        0, (), "quick", "image", key_now(door, Spec(), image=IMAGE), now.boot_id.value or "", now.uptime.value or 0.0,
        found.taken, 5.0, found.version))
    door.close()
    opened = runner.invoke(cli, ["gate", "--pass", path, *spec])
    assert (opened.exit_code, opened.output.count("\n")) == (0, 1), opened.output
    # Opened by root's own file alone, and by no other way to it.
    for name, make, danger, names in _PLANTED:
        planted = str(tmp_path / name / "pass.json")
        Path(planted).parent.mkdir(mode=0o755)
        make(path, planted)
        begun = time.monotonic()
        refused = runner.invoke(cli, ["gate", "--pass", planted, *spec])
        assert refused.exit_code == 1 and f"{planted}: " in refused.output, (name, refused.output)
        assert names in refused.output and _danger(planted) is danger
        assert time.monotonic() - begun < 10
    recipe = tmp_path / "recipe.json"
    recipe.write_text(to_json(dataclasses.replace(RECIPE, status="draft")))
    closed = runner.invoke(cli, ["gate", "--pass", path, "--recipe", str(recipe), *spec])
    assert closed.exit_code == 1
    assert re.search(r"\btiny\b.*\bdraft\b", closed.output)
    assert runner.invoke(cli, ["preflight", "--pass", path, "--spec", "/none"]).exit_code != 0
    assert not Path(path).exists()
    closed = runner.invoke(cli, ["gate", "--pass", path, *spec])
    assert closed.exit_code == 1 and f"({path} " in closed.output


def test_only_a_regular_file_is_taken_away(tmp_path: Path) -> None:
    """preflight --pass as root must not turn /dev/full, a FIFO or a link into a file, nor make folders."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("{}")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "full").symlink_to("/dev/full")
    for name in ("fifo", "link", "full"):
        with pytest.raises(UsageError, match=f"^{tmp_path}/{name}: .*{passed.PATH}$"):
            forget_pass(str(tmp_path / name))
    with pytest.raises(UsageError, match=f"^(--pass )?{tmp_path}: "):
        forget_pass(str(tmp_path))
    with pytest.raises(UsageError, match=f"{tmp_path}/none"):
        forget_pass(str(tmp_path / "none/pass.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "file", "full", "link"]
    forget_pass(str(tmp_path / "file"))
    forget_pass(str(tmp_path / "file"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "full", "link"]


def test_the_usual_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed, "PATH", str(tmp_path / "tunecheck/pass.json"))
    forget_pass(str(tmp_path / "tunecheck/pass.json"))
    assert (tmp_path / "tunecheck").is_dir()
    (tmp_path / "tunecheck").rmdir()
    (tmp_path / "tunecheck").write_text("")
    with pytest.raises(UsageError, match=f"^{tmp_path}/tunecheck: .*{os.strerror(errno.EEXIST)}"):
        forget_pass(str(tmp_path / "tunecheck/pass.json"))


@pytest.mark.parametrize("there", [False, True])
def test_without_root_the_command_that_may_write_the_pass_is_named(
        there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tunecheck/pass.json"
    if there:
        path.parent.mkdir()
    monkeypatch.setattr(passed, "PATH", str(path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match=rf"^{path}: .*: sudo tunecheck preflight --pass$"):
        forget_pass(str(path))
    assert path.parent.exists() is there


@pytest.mark.parametrize(("argv", "says"), [
    (["gate", "--max-age", "15x"], r"--max-age 15x: .*\b90s\b.*\b20m\b.*\b2h\b"),
    (["preflight", "--pass", "--from", "x.tar.zst"], r"--pass\b"),
    (["gate", "--recipe", "/none"], "/none: does not exist"),
])
def test_bad_usage(argv: list[str], says: str) -> None:
    done = CliRunner().invoke(cli, argv)
    assert done.exit_code != 0
    assert re.search(says, done.output + str(done.exception))
