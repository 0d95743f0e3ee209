"""Audits of real sshd processes through real Ansible. One audit meets every kind of box; the rest are small."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.ssh_server import SSHD
from tests.unit.fleet.boxes import Boxes
from tests.unit.fleet.snapshots import snapshot_of
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck.facts.snapshot_file import unpack
from tunecheck_fleet.collect import Options, collect
from tunecheck_fleet.collect.inventory import asked_hosts
from tunecheck_fleet.collect.run import _Run
from tunecheck_fleet.collect.run_dirs import sweep
from tunecheck_fleet.model import Answer

needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd; apt-get install openssh-server")

HTML = "<script>alert(1)</script>"
AS_ASKED = 'eval "$SSH_ORIGINAL_COMMAND"'
#: name -> (manner, status, part of the reason)
BOMB = """n=${SSH_ORIGINAL_COMMAND#*nonce=}; n=${n%% *}
said=$(head -c 100000000 /dev/zero | gzip -9 | base64 | tr -d '\\n')
printf 'tunecheck-1 %s ok %s -\\n%s\\n' "$n" "$(printf %s "$said" | wc -c)" "$said" """
BENT = r"""eval "$(printf %s "$SSH_ORIGINAL_COMMAND" | sed 's{}')" """
HOSTILE = {
    "flood": ("exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 10000000000", "garbled", "more than 256 KiB"),
    "flood-2": ("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 10000000000 >&2", "garbled", "more than 256 KiB"),
    "garbage": ("head -c 10000 /dev/urandom", "garbled", "no snapshot in its answer"),
    "escapes": (r"printf '\033]0;owned\007\033[2J<b>'; exit 3", "garbled", "<b>"),
    "silent": ("exit 0", "garbled", "nothing"),
    "liar": ("echo 'tunecheck-1 0 ok 4 -'; echo AAAA", "garbled", "no snapshot in its answer"),
    "half": (AS_ASKED + " | head -c 2000", "garbled", "cut short"),
    "bent": (AS_ASKED + " | tr A B", "garbled", "checksum"),
    "bomb": (BOMB, "garbled", "larger than 8 MiB"),
    "missing": (BENT.format(",bin/tunecheck,bin/nothing,g"), "missing", "install"),
    "broken": (BENT.format(", snapshot | head, nonsense | head,"), "garbled", "ended with 2"),
}
HUNG = "exec sleep 600"
GOOD = {
    "plain": "",
    "noisy": f"echo 'Welcome!  {{not json'; {AS_ASKED}; echo bye; echo complaint >&2",
    "html": "",
}


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boxes]:
    if SSHD is None:
        pytest.skip("no sshd; apt-get install openssh-server")
    made = Boxes(tmp_path_factory.mktemp("boxes"))
    try:
        for name, manner in GOOD.items():
            made.add(name, snapshot_of(HTML if name == "html" else f"real-{name}"), manner)
        for name, (manner, _, _) in HOSTILE.items():
            made.add(name, snapshot_of(name), manner)
        made.add("hung", snapshot_of("hung"), HUNG)
        made.add("stopped", snapshot_of("stopped"))
        made.add("stranger", snapshot_of("stranger"), extra=[f"AuthorizedKeysFile {made.stranger}.pub"])
        made.add("impostor", snapshot_of("impostor")).known_as = made.stranger
        made.start()
        stopped = made.boxes["stopped"].process
        assert stopped is not None
        os.kill(stopped.pid, signal.SIGSTOP)
        yield made
    finally:
        made.stop()


def options(boxes: Boxes, **more: Any) -> Options:
    return Options(**{"deadline": 90.0, "connect": 30.0, "tools": (str(boxes.tool),), "ship": False, "max_kib": 256,
                      "kept": str(boxes.folder / "kept.json"), **more})


class Got(dict[str, Answer]):
    """A sink."""

    def __call__(self, answer: Answer) -> None:
        assert answer.host not in self, "given twice"
        self[answer.host] = answer


@pytest.fixture(autouse=True)
def own_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Whatever an audit leaves, running or on disk, is found. As short as an operator's: there are sockets in it."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        folder = Path(name)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr("tempfile.tempdir", name)
        yield folder
        assert not [path.name for path in folder.glob("tunecheck-audit-*")]
        assert not _running(folder)


def _running(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TUNECHECK_RUN", "").startswith(str(folder)):
                found.append(process.name())
        except (psutil.Error, OSError):
            continue
    return found


def test_every_kind_of_box(boxes: Boxes, own_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_never_to_be_written")
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "no.such.callback")
    inventory = boxes.inventory({"gpu": ["plain", "noisy"], "h100": ["plain"]})
    document = json.loads(inventory.read_text())
    document["all"]["hosts"]["closed"] = {"ansible_host": "127.0.9.9"}
    inventory.write_text(json.dumps(document))
    got, files, most = Got(), [], 0

    def sink(answer: Answer) -> None:
        nonlocal most
        got(answer)
        for run in own_tmp.glob("tunecheck-audit-*"):
            assert run.stat().st_mode & 0o777 == 0o700
            assert "hf_never" not in (run / "artifacts/audit/command").read_text()
            files.append(sum(1 for _ in (run / "artifacts").rglob("*.json")))
            most = max(most, sum(path.stat().st_size for path in run.rglob("*") if path.is_file()))

    began = time.monotonic()
    done = collect(str(inventory), "all:!hung:!stopped", options(boxes), sink)
    assert time.monotonic() - began < 120
    assert not done.interrupted
    assert {host for host, _ in done.asked} == set(got) == {*boxes.boxes, "closed"} - {"hung", "stopped"}
    for name in GOOD:
        assert (got[name].status, got[name].reason) == ("ok", "")
        name_said = json.loads(got[name].content)["snapshot"]["hostname"]["value"]
        assert name_said == (HTML if name == "html" else f"real-{name}")
    for name, (_, status, reason) in HOSTILE.items():
        assert got[name].status == status, (name, got[name].reason)
        assert reason in got[name].reason, name
        assert not got[name].content
    assert {name: got[name].status for name in ("stranger", "closed", "impostor")} == {
        "stranger": "refused", "closed": "unreachable", "impostor": "refused"}
    assert "Host key verification failed" in got["impostor"].reason
    assert "Permission denied" in got["stranger"].reason
    assert all(answer.reason.isprintable() and len(answer.reason) <= 400 for answer in got.values())
    assert got["plain"].group in ("gpu", "h100")
    assert dict(done.asked)["plain"] == "h100", "the smaller of two groups as deep"
    # Artifacts stay small (in-flight events only), and a flood never reaches the disk beyond its cap.
    assert max(files) < 60
    assert most < 30 << 20
    log = (boxes.boxes["stranger"].folder / "log").read_text()
    assert log.count("Connection closed by authenticating") <= 1, "a refused key is not tried again"


def test_hung_and_stopped_boxes_end_in_time(boxes: Boxes) -> None:
    """One that never answers, and one whose sshd takes the connection and says nothing."""
    got = Got()
    began = time.monotonic()
    collect(str(boxes.inventory()), "hung:stopped", options(boxes, deadline=8.0, connect=4.0), got)
    assert time.monotonic() - began < 60
    assert {name: answer.status for name, answer in got.items()} == {"hung": "timeout", "stopped": "timeout"}
    assert "timed out" in got["stopped"].reason


def test_limit_is_ansibles(boxes: Boxes, tmp_path: Path) -> None:
    inventory = str(boxes.inventory({"gpu": ["plain", "noisy"]}))
    assert asked_hosts(inventory, "gpu:!noisy") == (("plain", "gpu"),)
    hosts = tmp_path / "some-hosts"
    hosts.write_text("html\n")
    assert asked_hosts(inventory, f"@{hosts}") == (("html", "ungrouped"),)
    for limit in ("nosuch", "gpu:&html"):
        with refused(Misuse.EMPTY, "--limit"):
            collect(inventory, limit, options(boxes), Got())
    got = Got()
    done = collect(inventory, "gpu", options(boxes, only=frozenset({"noisy", "html"})), got)
    assert done.asked == (("noisy", "gpu"),)
    assert got["noisy"].status == "ok"
    with refused(Misuse.OVER):
        collect(inventory, "gpu", options(boxes, only=frozenset({"html"})), got)


def test_unusable_inventory(tmp_path: Path) -> None:
    with refused(Misuse.NOT_THERE, "none"):
        asked_hosts(str(tmp_path / "none"))
    bad = tmp_path / "hosts.yml"
    bad.write_text("all: [")
    with refused(Misuse.UNREADABLE, str(bad)):
        asked_hosts(str(bad))


def test_the_most_specific_group(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"children": {
        "site": {"children": {"h100": {"hosts": {"a": {}, "b": {}}}}, "hosts": {"c": {}}},
        "canary": {"hosts": {"a": {}}}, "wide": {"hosts": {"c": {}, "b": {}, "d": {}}}}}}))
    assert dict(asked_hosts(str(inventory))) == {"a": "h100", "b": "h100", "c": "site", "d": "wide"}


def test_the_timers_snapshot(boxes: Boxes) -> None:
    """While it is young by the box's clock; also where asking failed."""
    inventory = str(boxes.inventory())
    kept = boxes.folder / "kept.json"
    kept.write_bytes(snapshot_of("from-the-timer"))
    try:
        for source, names in (("timer", ("from-the-timer", "from-the-timer")),
                              ("auto", ("real-plain", "from-the-timer"))):
            got = Got()
            collect(inventory, "plain:missing", options(boxes, source=source), got)
            said = tuple(unpack(got[host].content).snapshot.hostname.value for host in ("plain", "missing"))
            assert said == names, source
        os.utime(kept, (time.time() - 7200,) * 2)
        got = Got()
        collect(inventory, "plain:missing", options(boxes, source="timer"), got)
        assert unpack(got["plain"].content).snapshot.hostname.value == "real-plain"
        assert got["missing"].status == "missing"
    finally:
        kept.unlink()


def test_a_box_without_tunecheck_gets_the_collector(boxes: Boxes, tmp_path: Path) -> None:
    """From memory, on the oldest Python there is here; what it leaves is nothing."""
    before = set(Path("/tmp").iterdir())
    own = f"tunecheck-audit-{os.getpid()}-"     # tests in other processes have audits at the same time
    got = Got()
    collect(str(boxes.inventory()), "plain:missing", options(boxes, ship=True, max_kib=2048, deadline=300.0), got)
    assert (got["missing"].status, got["missing"].reason) == ("ok", "")
    found = unpack(got["missing"].content).snapshot
    assert found.host is not None
    assert found.host.kernel.release.value == os.uname().release
    assert unpack(got["plain"].content).snapshot.hostname.value == "real-plain"
    left = {path for path in set(Path("/tmp").iterdir()) - before if "tunecheck" in path.name
            and (path.name.startswith(own) or not path.name.startswith("tunecheck-audit-"))}
    # Trials in other processes have folders of this kind for a while; what an audit left behind stays.
    end = time.monotonic() + 120
    while (left := {path for path in left if path.exists()}) and time.monotonic() < end:
        time.sleep(0.5)
    assert not left


def test_the_audits_own_deadline(boxes: Boxes) -> None:
    """It gives stragglers up, with their processes, and keeps what came."""
    got = Got()
    began = time.monotonic()
    done = collect(str(boxes.inventory()), "plain:hung", options(boxes, deadline=300.0, overall=10.0), got)
    assert time.monotonic() - began < 60     # ten seconds, and a machine that has other things to do
    assert len(done.asked) == 2
    assert (got["plain"].status, got["hung"].status) == ("ok", "timeout")
    assert got["hung"].reason


def test_a_sink_that_fails_ends_the_audit(boxes: Boxes) -> None:
    class FullError(Exception):
        pass

    def sink(answer: Answer) -> None:
        raise FullError

    with pytest.raises(FullError):
        collect(str(boxes.inventory()), "plain:hung", options(boxes, deadline=300.0), sink)


def test_odd_events_never_raise(own_tmp: Path) -> None:
    """An exception in ansible-runner's handler would leave the run spinning for ever."""
    run = object.__new__(_Run)
    run._queue = __import__("queue").SimpleQueue()
    odd: list[Any] = [{}, {"event": "runner_on_ok"}, {"event": "runner_on_ok", "event_data": 7}, None,
                      {"event": "runner_on_ok", "event_data": {"res": "text"}},
                      {"event": "runner_on_ok", "event_data": {"host": 3, "res": {"stdout": 5}, "duration": "x"}}]
    assert [run._take(data) for data in odd] == [False] * len(odd)


PROGRAM = """
import json, sys
from tunecheck_fleet.collect import Options, collect
inventory, tool, limit = sys.argv[1:]
done = collect(inventory, limit, Options(deadline=60.0, tools=(tool,), ship=False),
               lambda answer: print(answer.host, answer.status, flush=True))
print("interrupted", done.interrupted, flush=True)
"""


def test_ctrl_c_keeps_what_came(boxes: Boxes, repo: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(boxes.inventory()), str(boxes.tool), "plain:hung"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, "PYTHONPATH": str(repo / "checks")})
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "plain ok\n"
        child.send_signal(signal.SIGINT)
        said, complaint = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert (said, complaint) == ("interrupted True\n", "")


def test_the_next_audit_ends_what_a_killed_one_left(boxes: Boxes, repo: Path, own_tmp: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(boxes.inventory()), str(boxes.tool), "plain:hung"],
                             stdout=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, "PYTHONPATH": str(repo / "checks")})
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == "plain ok\n"
        child.kill()
        child.wait()
    assert _running(own_tmp) and list(own_tmp.iterdir())
    sweep()
    assert not _running(own_tmp) and not list(own_tmp.iterdir())


def test_transmit_worker_process(boxes: Boxes, repo: Path, tmp_path: Path) -> None:
    """The same play through ansible-runner's three halves, as on another machine."""
    from tunecheck_fleet.collect.events import answer_of, event_of

    runner = Path(sys.executable).with_name("ansible-runner")
    there = tmp_path / "there"
    shutil.copytree(repo / "checks/tunecheck_fleet/collect", there / "project",
                    ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (there / "inventory").mkdir()
    document = json.loads(boxes.inventory().read_text())
    (there / "inventory/hosts.json").write_text(json.dumps(document))
    play = there / "project/play.yml"
    play.write_text(play.read_text().replace("/usr/local/sbin/tunecheck", str(boxes.tool)))
    env = {**os.environ, "PATH": f"{runner.parent}:{os.environ['PATH']}"}
    sent = subprocess.run([runner, "transmit", there, "-p", "play.yml", "--limit", "plain:noisy:flood"], env=env,
                          capture_output=True, check=True).stdout
    worked = subprocess.run([runner, "worker"], input=sent, env=env, capture_output=True, check=True).stdout
    back = tmp_path / "back"
    subprocess.run([runner, "process", back], input=worked, env=env, capture_output=True, check=False)
    answers = {}
    for path in sorted(back.rglob("job_events/*.json")):
        event = event_of(json.loads(path.read_text()))
        if event is not None:
            answers[event.host] = answer_of(event, "all", "0")
    assert {name: answer.status for name, answer in answers.items()} == {
        "plain": "ok", "noisy": "ok", "flood": "garbled"}
    assert unpack(answers["plain"].content).snapshot.hostname.value == "real-plain"


def test_the_playbook_as_it_is(boxes: Boxes, repo: Path) -> None:
    """As AWX and ansible-playbook run it, also under --check."""
    done = subprocess.run([Path(sys.executable).with_name("ansible-playbook"), repo / "playbooks/audit.yml", "--check",
                           "-i", boxes.inventory(), "--limit", "plain:flood"], capture_output=True, text=True,
                          env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.minimal"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tunecheck-1 0 " in done.stdout and "tunecheck-ssh flood 2048" in done.stdout
