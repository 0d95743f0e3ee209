"""Kernel messages, links, disks, units and processes, as a look reads them."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tunecheck.host import Completed, Unreadable
from tunecheck.host.kmsg import KernelMessages
from tunecheck.host.live import LiveHost
from tunecheck.host.nvml_samples import GpuSample, Sample
from tunecheck.model.absence import Absence
from tunecheck.watch import kernel
from tunecheck.watch.model import Code, Phase, Reason, Run
from tunecheck.watch.sources import Sources, Target
from tunecheck.watch.unit import Unit

XID = "[  100.000000] NVRM: Xid (PCI:0000:03:00): {code}, pid=77, name=python, text"


@pytest.mark.parametrize(("lines", "codes"), [
    ([XID.format(code=119)], {Code.XID}), ([XID.format(code=31)], set()), ([XID.format(code=43)], set()),
    ([XID.format(code=79)], {Code.XID, Code.GPU_GONE}),
    (["[    5.000000] Out of memory: Killed process 123 (python3) total-vm:1kB"], {Code.OOM_KILL}),
    (["[    5.000000] Memory cgroup out of memory: Killed process 123 (VLLM::EngineCor) total-vm:1kB"],
     {Code.OOM_KILL}),
    (["[    5.000000] usb 1-1: new device"], set()), ([], set())])
def test_kernel_messages(lines: list[str], codes: set[Code]) -> None:
    assert {each.code for each in kernel.reasons(lines)} == codes


def test_one_correctable_error_is_none_and_a_storm_is_one() -> None:
    error = ["[    9.000000] pcieport 0000:00:01.0: AER: Correctable error message received from 0000:03:00.0"]
    assert kernel.reasons(error) == ()
    assert [each.code for each in kernel.reasons(error * 80)] in ([Code.AER_STORM], [])
    fatal = ["[    9.000000] nvidia 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer"]
    assert {each.code for each in kernel.reasons(fatal)} == {Code.AER_STORM}


def _messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *answers: Any) -> KernelMessages:
    """/dev/kmsg gives a record a read, which no file does: os.read gives these."""
    (tmp_path / "kmsg").write_bytes(b"")
    found, given = KernelMessages(str(tmp_path / "kmsg")), iter(answers)

    def read(_: int, __: int) -> bytes:
        answer = next(given, errno.EAGAIN)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return bytes(answer)

    monkeypatch.setattr(os, "read", read)
    return found


def test_records_are_lines_as_dmesg_shows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    messages = _messages(monkeypatch, tmp_path, b"6,1,5000000,-;first; with a semicolon\n SUBSYSTEM=pci\n",
                         b"garbage", b"6,2,5000001,-;\xff second\n")
    new = messages.new()
    assert new.lines == ("[    5.000000] first; with a semicolon", "[    5.000001] \ufffd second")
    assert (new.overrun, new.whole, messages.new().lines) == (False, True, ())


def test_an_overrun_is_told_and_the_rest_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    new = _messages(monkeypatch, tmp_path, errno.EPIPE, b"6,1,5000000,-;after\n").new()
    assert new.overrun and new.lines == ("[    5.000000] after",)


def test_a_flood_is_read_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    messages = _messages(monkeypatch, tmp_path, *[b"6,1,5000000,-;x\n"] * 5000)
    assert [(len(new.lines), new.whole) for new in (messages.new(), messages.new(), messages.new())] == [
        (2000, False), (2000, False), (1000, True)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read /dev/kmsg")
def test_the_real_kernel_answers_at_once() -> None:
    try:
        messages = KernelMessages()
    except Unreadable as error:
        pytest.skip(f"no /dev/kmsg here: {error}")
    assert messages.new().whole
    messages.close()


def test_no_kernel_messages_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as raised:
        KernelMessages(str(tmp_path / "none"))
    assert raised.value.absence is Absence.NOT_PRESENT


class _Host:
    """Files and commands of a box; what is not there is unreadable."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.folders: dict[str, list[str]] = {}
        self.runs: dict[str, str] = {}

    def read_bytes(self, path: str) -> bytes:
        if path not in self.files:
            raise Unreadable(path, Absence.NOT_PRESENT)
        return self.files[path]

    def list(self, path: str) -> list[str]:
        return self.folders.get(path, [])

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        if argv[0] not in self.runs:
            raise Unreadable(argv[0], Absence.TIMED_OUT)
        return Completed(argv, 0, self.runs[argv[0]], "")


class _Sampler:
    def __init__(self, *bdfs: str) -> None:
        self.bdfs = bdfs

    def latest(self) -> Sample:
        return Sample(0.0, tuple(GpuSample(bdf) for bdf in self.bdfs))


def _sources(host: _Host, sampler: Any = None, unit: str = "x.service") -> Sources:
    target = Target("http://127.0.0.1:9", paths=("/",))
    return Sources(host, target, sampler, None, None, Unit(host, unit))     # type: ignore[arg-type]


def test_the_end_of_the_process_of_a_unit_is_told_at_once() -> None:
    """systemd is asked every 5 s, and in between where the main process is gone or dead."""
    host = _Host()
    host.runs["systemctl"] = "ActiveState=active\nLoadState=loaded\nMainPID=77\n"
    host.files["/proc/77/stat"] = b"77 (podman) S " + b"1 " * 50
    unit = Unit(host, "x.service")      # type: ignore[arg-type]
    assert unit.run().phase is Phase.RUNS
    host.runs["systemctl"] = "ActiveState=failed\nLoadState=loaded\nMainPID=0\n"
    assert unit.run().phase is Phase.RUNS, "not asked again so soon"
    for dead in (b"77 (podman) Z " + b"1 " * 50, None):
        again = Unit(host, "x.service")     # type: ignore[arg-type]
        again._run, again._next = unit._run, unit._next
        if dead is None:
            del host.files["/proc/77/stat"]
        else:
            host.files["/proc/77/stat"] = dead
        assert again.run().phase is Phase.ENDED


def test_the_unit_and_the_processes_of_its_container() -> None:
    host = _Host()
    host.runs["systemctl"] = "ActiveState=active\nNRestarts=2\nControlGroup=/system.slice/x.service\nMainPID=5\n"
    group = "/sys/fs/cgroup/system.slice/x.service"
    host.files |= {f"{group}/cgroup.procs": b"", f"{group}/libpod-payload-1/cgroup.procs": b"5\n6\n7\n",
                   "/proc/5/stat": b"5 (VLLM::Worker (TP) 0) D 1 5", "/proc/6/stat": b"6 (evil\x1b[2J) T 1",
                   "/proc/7/stat": b"garbage"}
    host.folders[group] = ["cgroup.procs", "libpod-payload-1", "memory.stat"]
    look = _sources(host).look(processes=True)
    assert look.run == Run(Phase.RUNS, None, 2, "/system.slice/x.service", 5)
    assert [(each.pid, each.name, each.state) for each in look.processes] == [
        (5, "VLLM::Worker (TP) 0", "D"), (6, "evil\x1b[2J", "T")]


@pytest.mark.parametrize("group", ["", "/", "/../../etc", "relative"])
def test_a_control_group_that_is_none_is_not_followed(group: str) -> None:
    host = _Host()
    host.runs["systemctl"] = f"ActiveState=active\nControlGroup={group}\n"
    host.files["/sys/fs/cgroup/cgroup.procs"] = b"1\n"
    assert _sources(host).look(processes=True).processes == ()


def test_a_systemd_that_hangs_is_a_unit_of_which_nothing_is_known() -> None:
    assert _sources(_Host()).look(processes=True).run == Run(Phase.UNREAD, Reason(Code.UNIT_UNREADABLE))


def test_a_link_that_lost_lanes_since_the_watch_began() -> None:
    host, path = _Host(), "/sys/bus/pci/devices/0000:03:00.0/current_link_width"
    host.files[path] = b"16\n"
    sources = _sources(host, _Sampler("0000:03:00.0", "GPU1"))
    assert sources.look(False).conditions == (Reason(Code.KMSG_UNREADABLE),)
    host.files[path] = b"8\n"
    sources._slow.clear()
    narrower = Reason(Code.LINK_NARROWER, "0000:03:00.0", (("lanes", 8.0), ("before", 16.0)))
    assert narrower in sources.look(False).conditions


@pytest.mark.parametrize(("said", "low"), [
    ("Avail 1B-blocks Mounted on\n1000 1000000000 /\n", True), ("Avail 1B-blocks\n1000 1000000000\n", False),
    ("Avail 1B-blocks Mounted on\n90000000000 1000000000000 /\n", False),
    ("Avail 1B-blocks Mounted on\n900000000 1000000000 /\n", False), ("df: no such file\n", False)])
def test_a_disk_that_fills_up(said: str, low: bool) -> None:
    host = _Host()
    host.runs["df"] = said
    assert any(each.code is Code.DISK_LOW for each in _sources(host).look(False).conditions) is low


def test_folders_of_one_file_system_are_one_disk() -> None:
    """With the real df's words: a name of a folder may hold blanks."""
    host = _Host()
    host.runs["df"] = "Avail 1B-blocks Mounted on\n1000 1000000000 /var log\n"
    sources = Sources(host, Target("http://127.0.0.1:9", paths=("/var/log", "/var/cache")), None, None)  # type: ignore[arg-type]
    low = [each for each in sources.look(False).conditions if each.code is Code.DISK_LOW]
    assert low == [Reason(Code.DISK_LOW, "/var log", (("free_bytes", 1000.0),))]


def test_the_real_df_tells_of_every_folder() -> None:
    host = LiveHost()
    sources = Sources(host, Target("http://127.0.0.1:9"), None, None)
    sources.look(False)
    host.close()
    assert "/" in sources._disk and all(each.startswith("/") for each in sources._disk)


@pytest.mark.parametrize(("left", "least", "most"), [
    (None, 2.0, 2.0), (28.0, 2.0, 2.0), (1.5, 1.0, 1.5), (0.2, 0.5, 0.5), (-5.0, 2.0, 2.0)])
def test_no_page_is_waited_for_beyond_the_limit_of_silence(
        left: float | None, least: float, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def fetch(url: str, deadline: float, *_: object) -> None:
        waited.append(deadline)
        raise Unreadable(url, Absence.TIMED_OUT)

    monkeypatch.setattr("tunecheck.watch.sources.fetch", fetch)
    _sources(_Host()).look(False, due=None if left is None else time.monotonic() + left)
    assert len(waited) == 1 and least <= waited[0] <= most
