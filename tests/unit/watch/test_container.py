"""An engine in a container that somebody started: the real podman, with a storage of this test's own, and the real
docker client at podman's socket where both are installed."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.watch.served import Watching, served, tells
from tests.unit.watch.test_watch import _once

from tunecheck.errors import Misuse, ProbeError, UsageError
from tunecheck.host.live import LiveHost
from tunecheck.watch import container as module
from tunecheck.watch.codes import Code
from tunecheck.watch.container import Container, container_of
from tunecheck.watch.processes import of_run
from tunecheck.watch.run import Phase, Run

#: Sleeps with a child, or ends with the code that it is given.
_PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **v) { if (n > 1) return atoi(v[1]); fork(); for (;;) pause(); }
"""
_IMAGE = "localhost/tunecheck/watch-container:1"


def _podman(*argv: str, check: bool = True) -> str:
    done = subprocess.run(["podman", *argv], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Podman's storage, with the image; the environment leads there."""
    if os.geteuid() != 0 or not shutil.which("podman") or not shutil.which("gcc"):
        pytest.skip("needs root for a storage of its own, podman and gcc: apt-get install podman gcc libc6-dev")
    folder = tmp_path_factory.mktemp("boxes")
    (folder / "storage.conf").write_text(f'[storage]\ndriver="vfs"\ngraphroot="{folder}/storage"\n'
                                         f'runroot="{folder}/run"\n')
    (folder / "engine.c").write_text(_PROGRAM)
    subprocess.run(["gcc", "-static", "-o", folder / "engine", folder / "engine.c"], check=True, timeout=120)
    with tarfile.open(folder / "root.tar", "w") as packed:
        packed.add(folder / "engine", "engine")
    before = dict(os.environ)
    os.environ.update(CONTAINERS_CONF=str(folder / "containers.conf"),
                      CONTAINERS_STORAGE_CONF=str(folder / "storage.conf"))
    told = ""
    try:
        # Debian's crun refuses cgroups of both versions at once.
        for runtime in filter(shutil.which, ("crun", "runc")):
            (folder / "containers.conf").write_text(
                '[containers]\ndefault_ulimits=["nofile=1024:1024", "nproc=4096:4096"]\n'
                f'[engine]\nruntime="{runtime}"\ncgroup_manager="cgroupfs"\nevents_logger="none"\n')
            _podman("import", str(folder / "root.tar"), _IMAGE)
            tried = subprocess.run(["podman", "run", "--rm", "--network=none", _IMAGE, "/engine", "7"],
                                   capture_output=True, text=True, timeout=180, check=False)
            told = tried.stderr.strip()[-300:]
            if tried.returncode == 7:
                yield folder
                return
        pytest.skip(f"podman runs no container here: {told}")
    finally:
        _podman("rm", "--all", "--force", "--time", "0", check=False)
        _podman("rmi", "--all", "--force", check=False)
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def box(storage: Path) -> Iterator[Callable[..., str]]:
    """Starts a container and returns its id; at the end none is left."""
    def start(name: str, *command: str) -> str:
        return _podman("run", "--detach", "--network=none", "--name", name, _IMAGE, "/engine", *command)

    yield start
    _podman("rm", "--all", "--force", "--time", "0", check=False)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveHost]:
    monkeypatch.setattr(module, "_EVERY", 0.0)      # each look asks
    monkeypatch.setattr(module, "_COMMAND", 60.0)
    monkeypatch.setattr(module, "_FIRST", 60.0)
    found = LiveHost()
    try:
        yield found
    finally:
        found.close()


def _code(run: Run) -> Code | None:
    return run.reason.code if run.reason is not None else None


def _settled(found: Container, phase: Phase) -> Run:
    """Conmon tells podman of an end a moment later."""
    end = time.monotonic() + 60
    while (run := found.run()).phase is not phase:
        assert time.monotonic() < end, run
        time.sleep(0.05)
    return run


def test_what_becomes_of_a_container(host: LiveHost, box: Callable[..., str]) -> None:
    identity = box("engine")
    found = container_of(host, identity[:12])
    first = found.run()
    assert (first.phase, first.reason, first.restarts) == (Phase.RUNS, None, 0)
    assert len(of_run(host, first)) == 2 and first.main in {each.pid for each in of_run(host, first)}
    _podman("rename", "engine", "renamed")
    assert found.run() == first
    _podman("pause", "renamed")
    held = found.run()
    assert (held.phase, _code(held)) == (Phase.PAUSED, Code.CONTAINER_PAUSED)
    assert (held.main, held.invocation) == (first.main, first.invocation), "the same run goes on"
    _podman("unpause", "renamed")
    assert found.run() == first
    _podman("kill", "renamed")
    ended = _settled(found, Phase.ENDED)
    assert ended.reason is not None and ended.reason.code is Code.CONTAINER_FAILED
    assert dict(ended.reason.numbers) == {"exit": 137.0}
    _podman("start", "renamed")
    again = _settled(found, Phase.RUNS)
    assert again.restarts == 1 and again.main != first.main and again.invocation != first.invocation
    _podman("rm", "--force", "--time", "0", "renamed")
    gone = _settled(found, Phase.ENDED)
    assert _code(gone) is Code.CONTAINER_REMOVED


def test_another_one_of_the_same_name_takes_the_place_of_one_that_is_gone(host: LiveHost,
                                                                          box: Callable[..., str]) -> None:
    box("engine")
    found = container_of(host, "engine")
    first = found.run()
    _podman("rm", "--force", "--time", "0", "engine")
    _settled(found, Phase.ENDED)
    box("engine")
    again = _settled(found, Phase.RUNS)
    assert again.restarts == 1 and again.invocation != first.invocation and again.again is Code.CONTAINER_RESTARTED


def test_one_that_ended_well_and_one_that_was_never_started(host: LiveHost, box: Callable[..., str]) -> None:
    box("well", "0")
    assert _code(_settled(container_of(host, "well"), Phase.ENDED)) is Code.CONTAINER_STOPPED
    _podman("create", "--network=none", "--name", "new", _IMAGE, "/engine")
    assert _code(container_of(host, "new").run()) is Code.CONTAINER_STOPPED


def _refused(host: LiveHost, name: str) -> object:
    with pytest.raises(UsageError) as raised:
        container_of(host, name)
    assert f"--container {name[:60]}" in str(raised.value)
    return raised.value.flaw


def test_a_name_that_is_none(host: LiveHost) -> None:
    assert {_refused(host, name) for name in ("", "a b", "-f", "--all", "x" * 300, "a/b")} == {Misuse.MALFORMED}


def test_one_that_never_existed(host: LiveHost, box: Callable[..., str]) -> None:
    box("engine")
    assert _refused(host, "nothing-like-it") is Misuse.NO_SUCH
    with pytest.raises(UsageError, match=r"\bengine\?"):
        container_of(host, "engin")


def test_ids_that_begin_the_same_are_several(host: LiveHost, box: Callable[..., str]) -> None:
    """With 17 containers two ids begin with the same digit."""
    ids = sorted(_podman("create", "--network=none", _IMAGE, "/engine", "0") for _ in range(17))
    one, other = next((a, b) for a, b in itertools.pairwise(ids) if a[0] == b[0])
    assert _refused(host, one[0]) is Misuse.AMBIGUOUS
    assert container_of(host, one)._id == one and container_of(host, other)._id == other
    # A name comes before the beginning of an id.
    named = _podman("create", "--network=none", "--name", one[:2], _IMAGE, "/engine", "0")
    assert container_of(host, one[:2])._id == named


def test_nothing_that_runs_containers_is_here(monkeypatch: pytest.MonkeyPatch, host: LiveHost) -> None:
    monkeypatch.setattr(module, "_ENGINES", ("no-such-podman", "no-such-docker"))
    assert _refused(host, "engine") is Misuse.OTHER_MACHINE


@contextmanager
def _hung(storage: Path) -> Iterator[None]:
    """Somebody holds the lock of podman's storage: every podman waits for it."""
    locks = [path for path in (storage / "storage").rglob("*.lock")]
    assert locks
    held = [path.open("r+b") for path in locks]
    try:
        for each in held:
            fcntl.lockf(each, fcntl.LOCK_EX)
        yield
    finally:
        for each in held:
            each.close()


def test_a_podman_that_hangs_holds_nobody_up(host: LiveHost, box: Callable[..., str], storage: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    box("engine")
    found = container_of(host, "engine")
    first = found.run()
    with _hung(storage):
        monkeypatch.setattr(module, "_COMMAND", 1.0)
        monkeypatch.setattr(module, "_FIRST", 1.0)
        begun = time.monotonic()
        silent = found.run()
        assert (silent.phase, _code(silent)) == (Phase.UNREAD, Code.CONTAINER_UNREADABLE)
        assert silent.restarts == first.restarts
        assert found.run() is silent, "it is left alone for a while"
        assert time.monotonic() - begun < 30
        found._next, found._run = 0.0, replace(first, phase=Phase.PAUSED)
        assert found.run().phase is Phase.PAUSED, "what was paused stays so until it is told otherwise"
        with pytest.raises(ProbeError):
            container_of(host, "engine")
    monkeypatch.setattr(module, "_COMMAND", 60.0)
    found._next = 0.0
    assert found.run() == first


def test_the_watch_beside_a_container(box: Callable[..., str]) -> None:
    box("engine")
    with served() as server:
        server.step = 100
        watching = Watching("--container", "engine", "--url", server.url, "--interval", "0.3s")
        try:
            _serves(watching)
            _podman("pause", "engine")
            # The page is this test's own and answers on: nobody is served all the same.
            line = watching.until("stopped", 180)
            assert tells(line, Code.CONTAINER_PAUSED) and "engine" in line
            _podman("unpause", "engine")
            _serves(watching)
            _podman("restart", "--time", "0", "engine")
            watching.until(_words(Code.CONTAINER_RESTARTED), 180)
        finally:
            watching.end()
        done = _once("--container", "engine", "--url", server.url, "--json")
    assert json.loads(done.stdout)["container"] == "engine"


def _serves(watching: Watching) -> None:
    """Also degraded: the kernel of this machine may tell of other things meanwhile."""
    while not any(word in watching.until("Z ", 180) for word in (" serving", " degraded")):
        pass


def _words(code: Code) -> str:
    from tunecheck.watch.tell import MEANING

    return MEANING[code].partition("{")[0]


@contextmanager
def _docker(storage: Path) -> Iterator[None]:
    """Docker's client, which asks podman."""
    if not shutil.which("docker") or "Docker" not in subprocess.run(
            ["docker", "--version"], capture_output=True, text=True, timeout=60, check=False).stdout:
        pytest.skip("docker's client is not installed")
    service = subprocess.Popen(["podman", "system", "service", "--time=0", f"unix://{storage}/docker.sock"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = f"unix://{storage}/docker.sock"
    try:
        end = time.monotonic() + 60
        while not (storage / "docker.sock").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        yield
    finally:
        service.kill()
        service.wait(30)
        os.environ.pop("DOCKER_HOST")
        if before is not None:
            os.environ["DOCKER_HOST"] = before


def test_docker_tells_the_same(host: LiveHost, box: Callable[..., str], storage: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    identity = box("engine")
    by_podman = container_of(host, "engine").run()
    with _docker(storage):
        assert container_of(host, "engine")._id == identity, "known to both, and one container"
        monkeypatch.setattr(module, "_ENGINES", ("docker",))
        found = container_of(host, "engine")
        assert found.run() == by_podman
        _podman("pause", "engine")
        assert _code(found.run()) is Code.CONTAINER_PAUSED
        _podman("unpause", "engine")
        _podman("kill", "engine")
        assert _code(_settled(found, Phase.ENDED)) is Code.CONTAINER_FAILED
        _podman("rm", "engine")
        assert _code(_settled(found, Phase.ENDED)) is Code.CONTAINER_REMOVED
        assert _refused(host, "engine") is Misuse.NO_SUCH
    with pytest.raises(ProbeError):
        container_of(host, "engine")        # its daemon does not answer
