"""Which runtime, which image, and a container that does not do as it should: no container is needed for that."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import ImageUnfitError, TrialError, UsageError
from tunecheck.host import Completed, Unreadable
from tunecheck.model.absence import Absence
from tunecheck.trials.containers import contained, container_main, container_trial, runtimes
from tunecheck.trials.containers.contained import Container, Silent
from tunecheck.trials.containers.ipc import outcome_of, plain
from tunecheck.trials.containers.refusals import NoContainer
from tunecheck.trials.containers.runtimes import Image, Runtime, find_image, find_runtime
from tunecheck.trials.heartbeat import State
from tunecheck.trials.supervisor import Job, Outcome, Stall, Suspect

ID, DIGEST = "ab" * 32, "cd" * 32
SPEC = {"/etc/cdi/nvidia.yaml": b"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"}
SILENT = "Cannot connect to the Docker daemon"


class Told:
    """A host with these files, whose commands answer by their last words."""

    def __init__(self, files: Mapping[str, bytes] = {}, **answers: Any) -> None:
        self.files = files
        self.answers = answers
        self.asked: list[tuple[str, ...]] = []

    def list(self, path: str) -> list[str]:
        found = [name.rpartition("/")[2] for name in self.files if name.startswith(f"{path}/")]
        if not found:
            raise Unreadable(path, Absence.NOT_PRESENT)
        return found

    def read_bytes(self, path: str) -> bytes:
        return self.files[path]

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        self.asked.append(argv)
        found = self.answers.get(argv[1])
        if found is None:
            raise Unreadable(argv[0], Absence.TIMED_OUT.because(f"timed out after {deadline:g} s"))
        return Completed(argv, 0 if not isinstance(found, str) else 125,
                         "" if isinstance(found, str) else json.dumps(found), found if isinstance(found, str) else "")

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        raise Unreadable("nvml", Absence.NOT_PRESENT)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing in it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(runtimes, "_SBIN", ())
    return tmp_path


def program(folder: Path, name: str, text: str = "") -> str:
    target = folder / name
    target.write_text(f"#!/bin/sh\n{text}\n")
    target.chmod(0o755)
    return str(target)


def test_podman_is_preferred_and_takes_gpus_by_cdi(path: Path) -> None:
    program(path, "docker")
    program(path, "podman")
    found = find_runtime(Told(SPEC))  # type: ignore[arg-type]
    assert (found.name, found.devices) == ("podman", ("--device=nvidia.com/gpu=all",))


@pytest.mark.parametrize(("info", "files", "devices"), [
    ({"ServerVersion": "28", "CDISpecDirs": ["/etc/cdi"]}, SPEC, "--device=nvidia.com/gpu=all"),
    ({"ServerVersion": "26", "CDISpecDirs": [], "Runtimes": {"runc": {}, "nvidia": {}}}, SPEC, "--gpus=all"),
    ({"ServerVersion": "26", "CDISpecDirs": None, "Runtimes": {"nvidia": {}}}, {}, "--gpus=all"),
])
def test_docker(path: Path, info: dict[str, Any], files: dict[str, bytes], devices: str) -> None:
    program(path, "docker")
    assert find_runtime(Told(files, info=info)).devices == (devices,)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "told", "why", "names"), [
    (None, Told(), NoContainer.NO_RUNTIME, r"\bpodman\b.*\bdocker\b.*--in-container"),
    ("podman", Told(), NoContainer.NO_CDI, r"nvidia\.com/gpu.*/etc/cdi\b.*/var/run/cdi;.*nvidia-ctk cdi generate"),
    ("podman", Told({"/etc/cdi/other.json": b'{"kind": "vendor.com/net"}'}), NoContainer.NO_CDI, r"nvidia\.com/gpu"),
    ("docker", Told(), NoContainer.NO_ANSWER, r"^docker .* 20 s"),
    ("docker", Told(info=SILENT), NoContainer.NO_ANSWER, f"^docker .*{SILENT}"),
    ("docker", Told(info={"ServerVersion": "", "CDISpecDirs": None}), NoContainer.NO_ANSWER, "^docker "),
    ("docker", Told(info={"ServerVersion": "26", "Runtimes": {"runc": {}}}), NoContainer.NO_TOOLKIT,
     "^docker .*nvidia-ctk cdi generate.*/etc/docker/daemon.json"),
])
def test_what_is_missing_is_said(path: Path, name: str | None, told: Told, why: NoContainer, names: str) -> None:
    if name:
        program(path, name)
    with pytest.raises(TrialError) as error:
        find_runtime(told)  # type: ignore[arg-type]
    assert error.value.why is why and error.value.exit_code == 3
    assert re.search(names, str(error.value)), error.value


PODMAN = Runtime("podman", "/usr/bin/podman", ("--device=nvidia.com/gpu=all",))
HERE = [{"Id": f"sha256:{ID}", "RepoDigests": [f"reg.local/vllm@sha256:{DIGEST}"]}]


@pytest.mark.parametrize("asked", [ID, f"sha256:{ID}", f"reg.local:5000/a/vllm@sha256:{DIGEST}"])
def test_a_pinned_image(asked: str) -> None:
    assert find_image(Told(image=HERE), PODMAN, asked) == Image(asked, ID)  # type: ignore[arg-type]


@pytest.mark.parametrize(("asked", "answer", "code", "why", "names"), [
    ("vllm:latest", HERE, 2, NoContainer.NOT_PINNED, f"--in-container reg.local/vllm@sha256:{DIGEST} (id {ID})"),
    ("ab" * 6, [{"Id": ID, "RepoDigests": None}], 2, NoContainer.NOT_PINNED, f"--in-container {ID}"),
    ("-v", HERE, 2, NoContainer.NOT_AN_IMAGE, "--in-container -v: "),
    ("a b", HERE, 2, NoContainer.NOT_AN_IMAGE, "--in-container a b: "),
    (f"x@sha256:{DIGEST}", "Error: x: image not known", 3, NoContainer.NO_IMAGE, f"podman pull x@sha256:{DIGEST}"),
    (ID, "Error: x: image not known", 3, NoContainer.NO_IMAGE, "podman load"),
    (ID, "Error: database is locked", 3, NoContainer.NO_IMAGE, "(Error: database is locked)"),
    (ID, [], 3, NoContainer.NO_IMAGE, ID), (ID, [{"Id": 7}], 3, NoContainer.NO_IMAGE, ID),
    (ID, {}, 3, NoContainer.NO_IMAGE, ID),
    (ID, None, 3, NoContainer.NO_ANSWER, " 20 s"),
])
def test_other_images(asked: str, answer: Any, code: int, why: NoContainer, names: str) -> None:
    with pytest.raises((TrialError, UsageError)) as error:
        find_image(Told(image=answer), PODMAN, asked)  # type: ignore[arg-type]
    refused = error.value
    assert (refused.exit_code, refused.why if isinstance(refused, TrialError) else refused.flaw) == (code, why)
    assert names in str(refused)


@pytest.mark.parametrize("limits", [True, False])
def test_how_it_is_started(limits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "_may_raise_limits", lambda: limits)
    argv = PODMAN.start(Image("x", ID), "name", "tc-1")
    assert argv[-3:] == [ID, "/opt/tunecheck/tunecheck/trials/containers/container_main.py", "tc-1"]
    assert {"--rm", "--pull=never", "--network=none", "--cap-drop=all", "--security-opt=no-new-privileges"} <= set(argv)
    assert not any("privileged" in word and "no-new" not in word for word in argv)
    assert ("--ulimit=memlock=-1:-1" in argv) is limits or not limits
    assert any(word.startswith("--ulimit=nproc=") for word in argv) is not limits


def started(path: Path, script: str) -> Container:
    return Container(Told(), Runtime("podman", program(path, "podman", script), ()), Image("img", ID))  # type: ignore[arg-type]


@pytest.mark.parametrize(("script", "why", "names"), [
    ("echo '{\"refused\": \"3.8.10\"}'; /bin/cat", NoContainer.OLD_PYTHON, r"\bimg\b.* 3\.8\.10 .* 3\.10 "),
    ("echo 'exec: \"python3\": executable file not found in $PATH' >&2; exit 127", NoContainer.NO_PYTHON,
     r"\bimg\b.*\bpython3\b"),
    ("echo 'Error: no such device' >&2; exit 125", NoContainer.ENDED, r"\bimg\b.* 125: Error: no such device"),
    ("echo noise; echo '[1]'; echo '{'; kill -KILL $$", NoContainer.KILLED, r"\bimg\b"),
    ("exit 3", NoContainer.ENDED, r"\bimg\b.* 3: "),
])
def test_a_container_that_does_not_start(path: Path, script: str, why: NoContainer, names: str) -> None:
    with pytest.raises(TrialError, match=names) as error:
        started(path, script)
    assert error.value.why is why
    assert isinstance(error.value, ImageUnfitError) == (why in (NoContainer.OLD_PYTHON, NoContainer.NO_PYTHON))


def test_a_container_that_never_says_anything(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "_START_SECONDS", 0.3)
    monkeypatch.setattr(contained, "_END_SECONDS", 0.3)
    monkeypatch.setattr(contained, "_REMOVE_SECONDS", 0.3)
    with pytest.raises(TrialError, match=r"0\.3 s") as error:
        started(path, "case $1 in run) exec /bin/sleep 60;; esac")
    assert error.value.why in (NoContainer.NOT_STARTED, NoContainer.SILENT)


HELLO = "case $1 in run) ;; *) exit 0;; esac; echo '{\"hello\": \"3.12.1\"}';"


def test_nonsense_from_inside_is_no_outcome(path: Path) -> None:
    box = started(path, HELLO + "echo '{\"outcome\": {\"stall\": 7}}'; exec /bin/cat >/dev/null")
    trial = container_trial.in_container(lambda host, *_, supervisor: supervisor.run([Job("x:y")], 5), box.runtime,
                                       box.image)
    box.close()
    with pytest.raises(TrialError) as error:
        trial(Told(), [0, 1], ())  # type: ignore[arg-type]
    assert error.value.why is NoContainer.NONSENSE


def test_too_much_from_inside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "_MOST", 1 << 16)
    box = started(path, HELLO + "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
    with pytest.raises(TrialError) as error:
        list(box.answers(20))
    assert error.value.why is NoContainer.TOO_MUCH
    assert not box.close(kill=True) and box.process.returncode is not None


def test_one_that_ends_in_silence(path: Path) -> None:
    box = started(path, HELLO + "exit 0")
    with pytest.raises(Silent) as error:
        list(box.answers(20))
    assert error.value.code is NoContainer.ENDED
    box.close()


def test_an_old_python_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    container_main.main("tc-1")
    assert "refused" in json.loads(capsys.readouterr().out)


INSIDE = (
    "errors", "util.tied", *(f"trials.{name}" for name in (
        "supervisor", "children", "heartbeat", "ras", "containers.container_main", "containers.ipc")), *(
    f"trials.workers.{name}" for name in (
        "alone", "copies", "cuda", "duplex", "latency", "nccl", "peers", "probe", "rank", "reduce", "rendezvous",
        "soak", "worker")))
FOLDERS = ("__init__", "util.__init__", "trials.__init__", "trials.containers.__init__", "trials.workers.__init__")


@pytest.mark.parametrize("name", [*FOLDERS, *INSIDE])
def test_what_runs_inside_is_for_its_oldest_python(name: str) -> None:
    """And needs nothing that is not mounted there."""
    import ast

    package = name.split(".")[:-1]
    text = (Path(container_main.__file__).parents[2] / f"{name.replace('.', '/')}.py").read_text()
    for node in ast.walk(ast.parse(text, feature_version=container_main.OLDEST)):
        if isinstance(node, ast.ImportFrom) and node.level:
            needed = ".".join([*package[:len(package) + 1 - node.level], *([node.module] if node.module else [])])
            assert needed in INSIDE or f"{needed}.{node.names[0].name}".strip(".") in (*INSIDE, "__version__"), needed
        elif isinstance(node, ast.Import):
            assert all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in node.names)


def test_an_outcome_crosses_the_wall() -> None:
    suspect = Suspect(1, 7, "culprit", "does not run", State("soak", 3, 0.5, None), "T")
    whole = Outcome((({"a": 1},), ()), (0, None), Stall("soak", 1.5, (suspect,), {}), {7: "state D"}, ("", "x"), 2.0)
    assert outcome_of(json.loads(json.dumps(plain(whole)))) == whole
