"""Trials inside a container: real podman, real supervisor inside, a fake driver and NCCL in place of GPUs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.trials.container_box import Box, box

from tunecheck.trials.containers.refusals import NoContainer

SOAK = {"soak": 1.0, "measure": 3.0}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, libraries: Path) -> Iterator[Box]:
    yield from box(tmp_path_factory.mktemp("containers"), libraries)


def first(engine: Box) -> list[int]:
    """The first processes of this run's containers: by the name that they take, and the storage that they stand on."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().startswith("tc-") and str(engine.folder) in (path.parent / "mountinfo").read_text():
                found.append(int(path.parent.name))
    return found


def eventually(true: Callable[[], object], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    return bool(true())


def none_left(engine: Box) -> bool:
    """Soon: inside, the end of the requests ends everything, or at the latest their silence for 20 s."""
    kept = "storage/vfs-containers/*/userdata"
    return eventually(lambda: not first(engine) and not any(engine.folder.glob(kept)), 60)


def test_p2p(engine: Box) -> None:
    found = engine.trial("p2p")
    assert not found["failures"] and not found["hangs"] and not found["wrong"]
    assert {figure["trial"] for figure in found["figures"]} >= {"one way", "both ways", "latency", "control"}
    assert found["notes"]["image id"] == engine.image and found["notes"]["runtime"] == "podman"
    assert none_left(engine)


def test_wrong_data_is_found_inside_as_well(engine: Box) -> None:
    found = engine.trial("p2p", cuda="wrong=0,1,64")
    assert found["wrong"] and not found["hangs"]


def test_allreduce_uses_the_nccl_of_the_image(engine: Box) -> None:
    found = engine.trial("allreduce", soak=0.1)
    assert not found["failures"] and not found["hangs"] and not found["wrong"]
    assert found["notes"]["nccl version"] == 22809
    assert {figure["what"] for figure in found["figures"]} >= {"own", "nccl", "nccl staged", "steps"}


def test_a_rank_that_stops_is_named_by_its_pid_here_and_the_container_is_gone(engine: Box) -> None:
    found = engine.trial("allreduce", nccl="at=reduce,1 do=stop skip=2300", soak=30, limits=SOAK)
    (hang,) = found["hangs"]
    assert "GPU1" in hang["culprits"][0] and re.search(r"\bT\b", hang["culprits"][0])
    assert "GPU0" in hang["victims"][0] and hang["aftermath"]["verdict"] == "recovered"
    [pid] = re.findall(r"(?i)\bpid (\d+)", hang["culprits"][0])
    assert any(path.startswith(f"/proc/{pid}/task/") for path in found["read"])
    assert any(" exec " in command and command.endswith("ras.py") for command in found["commands"])
    assert none_left(engine)


def test_after_a_hang_the_second_arm_has_a_container_of_its_own(engine: Box) -> None:
    found = engine.trial("allreduce", nccl="at=reduce,1 do=hang stubborn=1 skip=2300", limits=SOAK)
    assert [(hang["arm"], hang["culprits"]) for hang in found["hangs"]] == [("p2p", []), ("staged", [])]
    names = {command.split()[-1] for command in found["commands"] if " kill " in command}
    assert len(names) == 2 and none_left(engine)


@pytest.mark.parametrize("do", [signal.SIGKILL, signal.SIGSTOP])
def test_a_container_that_is_killed_or_frozen_is_a_hang(engine: Box, do: signal.Signals) -> None:
    running = engine.start("allreduce", soak=60)
    assert eventually(lambda: first(engine))
    time.sleep(1.5)
    os.kill(first(engine)[0], do)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    hang = json.loads(out)["hangs"][0]
    assert hang["phase"] == "container"
    stopped = re.search(r"\b10 s\b.*\bT$", hang["culprits"][0])
    assert bool(stopped) == (do == signal.SIGSTOP), "silent for 10 s, its process stopped; or gone"
    assert hang["aftermath"]["verdict"] == "recovered" and none_left(engine)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_container_outlives_its_parent(engine: Box, how: signal.Signals) -> None:
    running = engine.start("allreduce", soak=60)
    assert eventually(lambda: first(engine))
    time.sleep(1.0)
    running.send_signal(how)
    running.communicate(timeout=30)
    assert none_left(engine)


def test_systemd_ends_everything_of_a_unit_at_once(engine: Box) -> None:
    """`systemctl stop` sends SIGTERM to the runtime's client and to its monitor, too."""
    running = engine.start("allreduce", soak=60)
    assert eventually(lambda: first(engine))
    time.sleep(1.0)
    token = Path(f"/proc/{first(engine)[0]}/comm").read_text().strip()
    unit = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline")
            if (words := _words(path)) and words[0].rpartition("/")[2] in ("podman", "conmon") and any(
                token[3:] in word for word in words)]
    assert len(unit) >= 2
    for pid in (*unit, running.pid):
        os.kill(pid, signal.SIGTERM)
    running.communicate(timeout=60)
    assert none_left(engine)


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_bytes().decode(errors="replace").split("\0")
    return []


def test_an_image_without_python(engine: Box) -> None:
    found = engine.trial("p2p", image=engine.bare)
    assert (found["why"], found["code"]) == (NoContainer.NO_PYTHON, 3) and engine.bare in found["error"]


def test_only_a_pinned_image_that_is_here(engine: Box) -> None:
    found = engine.trial("p2p", image="localhost/engine:1")
    assert f"(id {engine.image})" in found["error"] and (found["why"], found["code"]) == (NoContainer.NOT_PINNED, 2)
    pinned = found["error"].rpartition(": --in-container ")[2].split()[0]
    assert pinned.startswith("localhost/engine@sha256:") and not engine.trial("p2p", image=pinned).get("error")
    absent = engine.trial("p2p", image=f"localhost/engine@sha256:{'0' * 64}")
    assert (absent["why"], absent["code"]) == (NoContainer.NO_IMAGE, 3)
    assert absent["error"].endswith(f": podman pull localhost/engine@sha256:{'0' * 64}")


def test_what_the_container_may(engine: Box) -> None:
    """No capability, no network, nothing of the host that it could write."""
    running = engine.start("allreduce", soak=60)
    assert eventually(lambda: first(engine))
    pid = first(engine)[0]
    status = Path(f"/proc/{pid}/status").read_text()
    assert "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
    devices = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]
    mounts = [line.split() for line in Path(f"/proc/{pid}/mounts").read_text().splitlines()]
    ours = [mount for mount in mounts if mount[1].startswith("/opt/tunecheck")]
    assert ours and all(mount[3].startswith("ro,") for mount in ours)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert none_left(engine)


def test_the_verb(engine: Box) -> None:
    argv = engine.command(sys.executable, "-c", "from tunecheck.cli.main import main; main()", "trial",
                          "--in-container", "localhost/engine:1")
    done = subprocess.run(argv, env=engine.given(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("tunecheck: --in-container localhost/engine:1: what this")
