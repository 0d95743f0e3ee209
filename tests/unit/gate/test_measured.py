"""The measured pass: whole, sealed, of this box as it is; what of its key changed is named."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import Flaw, UsageError
from tunecheck.facts.measured_pass import Key, MeasuredPass, measurable
from tunecheck.gate import judge, measured
from tunecheck.gate.key import differences, key, library
from tunecheck.gate.reason import Closed, Reason
from tunecheck.gate.state import State
from tunecheck.host import Completed, Unreadable
from tunecheck.model.absence import Absence
from tunecheck.model.fact import absent, known
from tunecheck.model.measurement import Measured, measurement
from tunecheck.model.weakest import weakest
from tunecheck.spec.frozen import Accelerators

IMAGE = "sha256:" + "1" * 64
KEY = Key(known(("0000:03:00.0 GPU-aaaaaaaa", "0000:04:00.0 GPU-bbbbbbbb"), ""), known("595.71.05", ""),
          known("6.12.1", ""), known("root=/dev/vda iommu=pt quiet", ""),
          known(("0000:02:00.0-0000:03:00.0 x16 Gen5", "0000:02:01.0-0000:04:00.0 x16 Gen5"), ""),
          known(("0000:02:00.0 0x0000", "0000:02:01.0 0x0000"), ""),
          known(("0000:03:00.0 identity", "0000:04:00.0 identity"), ""), "2.28.9",
          "/usr/lib/libnccl.so.2 100 200", IMAGE)
FOUND = MeasuredPass(0, (), "quick", "image", KEY, "boot-1", 100.0, "2026-11-22T15:00:00+00:00", 5.9, "0.1.0",
                     {"p2p_one_way_gb_s": 52.3}, {"p2p_one_way_gb_s": 52.3})
NOW = State(known("boot-1", ""), known(1000.0, ""), KEY.cmdline, KEY.driver, KEY.gpus)


def reasons(found: MeasuredPass = FOUND, now: Key = KEY, state: State = NOW, this_boot: bool = True) -> list[Reason]:
    return judge.of_measured(found, now, state, this_boot)


def flaw_of(path: str) -> Flaw | None:
    """Why the measured pass at the path is refused; each refusal says how another is made."""
    with pytest.raises(UsageError, match="sudo tunecheck preflight --pass") as refused:
        measured.read(path)
    return refused.value.flaw


def test_what_holds() -> None:
    assert reasons() == []
    other = dataclasses.replace(NOW, boot_id=known("boot-2", ""), uptime=known(5.0, ""))
    assert reasons(state=other, this_boot=False) == [], "on-change: the box is as it was"


#: Each part of the key, as it is after something happened to the box, and what the gate names: then, and now.
CHANGES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "gpus": (known(("0000:03:00.0 GPU-aaaaaaaa", "0000:04:00.0 GPU-cccccccc"), ""),
             ("0000:04:00.0 GPU-bbbbbbbb", "0000:04:00.0 GPU-cccccccc")),
    "driver": (known("580.95.05", ""), ("595.71.05", "580.95.05")),
    "kernel": (known("6.12.9", ""), ("6.12.1", "6.12.9")),
    "cmdline": (known("root=/dev/vda iommu=pt pcie_aspm=off quiet", ""), ("pcie_aspm=off",)),
    "links": (known(("0000:02:00.0-0000:03:00.0 x16 Gen5", "0000:02:01.0-0000:04:00.0 x8 Gen5"), ""),
              ("0000:02:01.0-0000:04:00.0 x16 Gen5", "0000:02:01.0-0000:04:00.0 x8 Gen5")),
    "acs": (known(("0000:02:00.0 0x0000", "0000:02:01.0 0x001d"), ""),
            ("0000:02:01.0 0x0000", "0000:02:01.0 0x001d")),
    "iommu": (known(("0000:03:00.0 DMA-FQ", "0000:04:00.0 DMA-FQ"), ""), ("DMA-FQ",)),
    "nccl_file": ("/usr/lib/libnccl.so.2 101 300",
                  ("/usr/lib/libnccl.so.2 100 200", "/usr/lib/libnccl.so.2 101 300")),
    "image": ("sha256:" + "2" * 64, ("sha256:111111111111", "sha256:222222222222")),
}


def test_every_part_of_the_key_is_tried() -> None:
    assert {field.name for field in dataclasses.fields(Key)} - set(CHANGES) == {"nccl"}, "the file tells its version"


@pytest.mark.parametrize("part", CHANGES)
@pytest.mark.parametrize("this_boot", [True, False])
def test_a_part_that_changed_is_named(part: str, this_boot: bool) -> None:
    value, named = CHANGES[part]
    (reason,) = reasons(now=dataclasses.replace(KEY, **{part: value}), this_boot=this_boot)
    assert (reason.code, reason.part) == (Closed.CHANGED, part)
    places = [reason.text.find(name) for name in (*named, "sudo tunecheck preflight --pass")]
    assert -1 not in places and places == sorted(places), reason


@pytest.mark.parametrize("part", [part for part in CHANGES if part not in ("nccl_file", "image")])
def test_what_cannot_be_read_is_no_equal(part: str) -> None:
    """Neither now nor then: two unknowns are not the same thing."""
    dark = absent("/sys/somewhere", Absence.NO_PERMISSION)
    (now,), (then,) = (differences(KEY, dataclasses.replace(KEY, **{part: dark})),
                       differences(dataclasses.replace(KEY, **{part: dark}), KEY))
    assert ((now.code, now.part), (then.code, then.part)) == ((Closed.UNREAD, part), (Closed.UNREAD_THEN, part))
    assert f"({dark.why()})" in now.text and f"({dark.why()})" in then.text and now.text != then.text
    (reason,) = reasons(now=dataclasses.replace(KEY, **{part: dark}))
    assert now.text in reason.text and reason.code is Closed.UNREAD
    assert differences(dataclasses.replace(KEY, **{part: dark}), dataclasses.replace(KEY, **{part: dark}))


@pytest.mark.parametrize(("found", "state", "code", "names"), [
    ({}, {"boot_id": known("boot-2", "")}, Closed.OTHER_BOOT, "each-boot"),
    ({}, {"boot_id": absent("/proc", Absence.NO_PERMISSION)}, Closed.OTHER_BOOT, "each-boot"),
    ({"exit_code": 1, "reasons": ("p2p-integrity: GPU0->GPU1: wrong",)}, {}, Closed.NOT_PASSED,
     "p2p-integrity: GPU0->GPU1"),
    ({"exit_code": 4}, {}, Closed.NOT_PASSED, " 4"),
    ({"uptime": 1001.0}, {}, Closed.LATER, ""),
    ({}, {"uptime": absent("/proc/uptime", Absence.NO_PERMISSION)}, Closed.LATER, ""),
])
def test_what_closes_it(found: dict[str, Any], state: dict[str, Any], code: Closed, names: str) -> None:
    (reason,) = reasons(dataclasses.replace(FOUND, **found), state=dataclasses.replace(NOW, **state))
    assert reason.code is code and names in reason.text


def test_it_survives_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "measured.json")
    measured.write(path, FOUND)
    assert measured.read(path) == FOUND
    assert (tmp_path / "measured.key").stat().st_mode & 0o777 == 0o600
    first = (tmp_path / "measured.key").read_bytes()
    measured.write(path, FOUND)
    assert (tmp_path / "measured.key").read_bytes() == first
    measured.invalidate(path, None)
    measured.invalidate(path, None)
    assert flaw_of(path) is Flaw.MISSING


def test_what_the_gpus_once_reached_outlives_a_measurement_that_was_cut_short(tmp_path: Path) -> None:
    """Stopped, killed or without power in its midst: the next one is held against the same figures."""
    path = str(tmp_path / "measured.json")
    measured.write(path, dataclasses.replace(FOUND, best={"p2p_one_way_gb_s": 50.0}, codes=("p2p-staged/unused",)))
    for _ in range(2):
        measured.invalidate(path, measured.read(path))
    (reason,) = reasons(measured.read(path))
    (kept,) = measured.read(path).reasons
    assert reason.text.endswith(f": {kept}") and measured.read(path).exit_code == 3
    assert measured.read(path).best == {"p2p_one_way_gb_s": 50.0} and measured.read(path).codes == ()


def test_the_best_is_kept_of_what_was_not_measured_now() -> None:
    before = {"one_gb_s": 10.0, "load_ns": 800.0, "two_gb_s": 5.0}
    assert measured.best({"one_gb_s": 9.0, "load_ns": 700.0}, before) == {**before, "load_ns": 700.0}


def test_an_edited_one_is_refused(tmp_path: Path) -> None:
    """Every single value, a value that is left out, and one that is added."""
    path = tmp_path / "measured.json"
    measured.write(str(path), dataclasses.replace(FOUND, exit_code=1, reasons=("p2p-integrity: wrong",)))
    genuine = json.loads(path.read_text())
    for name, value in genuine["measured"].items():
        for edited in ({**genuine["measured"], name: 0 if name == "exit_code" else _other(value)},
                       {word: each for word, each in genuine["measured"].items() if word != name}):
            path.write_text(json.dumps({**genuine, "measured": edited}))
            assert flaw_of(str(path)) in (Flaw.ALTERED, Flaw.WRONG_TYPE)
    path.write_text(json.dumps({word: value for word, value in genuine.items() if word != "seal"}))
    assert flaw_of(str(path)) is Flaw.ALTERED


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else f"{value}x" if isinstance(value, str) else value + 1


@pytest.mark.parametrize("length", [0, 1, 40, 400, -2])
def test_a_half_written_one_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "measured.json"
    measured.write(str(path), FOUND)
    path.write_bytes(path.read_bytes()[:length])
    assert flaw_of(str(path)) is Flaw.NOT_JSON


def test_one_of_another_box_is_refused(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        measured.write(str(folder / "measured.json"), FOUND)
    (here / "measured.json").write_bytes((there / "measured.json").read_bytes())
    assert flaw_of(str(here / "measured.json")) is Flaw.ALTERED
    (here / "measured.key").unlink()
    assert flaw_of(str(here / "measured.json")) is Flaw.NO_KEY


@pytest.mark.parametrize("name", ["measured.json", "measured.key"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    """A FIFO would hang the start of a service."""
    path = str(tmp_path / "measured.json")
    measured.write(path, FOUND)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert flaw_of(path) is (Flaw.UNTRUSTED if name == "measured.json" else Flaw.NO_KEY)
    if name == "measured.key":
        with pytest.raises(UsageError, match=r"/measured\.key: "):
            measured.write(path, FOUND)


def test_a_power_cut_while_it_is_written_leaves_the_old_one_or_none(tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "measured.json"
    measured.write(str(path), FOUND)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", cut)
    with pytest.raises(KeyboardInterrupt):
        measured.write(str(path), dataclasses.replace(FOUND, kind="full"))
    monkeypatch.undo()
    assert measured.read(str(path)) == FOUND
    assert sorted(each.name for each in tmp_path.iterdir()) == ["measured.json", "measured.key"]


def test_the_weakest_figures_are_kept() -> None:
    def one(trial: str, what: str, value: float, **where: Any) -> Any:
        return measurement(trial, what, "x", "m", [value], **where)

    found = Measured((
        one("one way", "engine write", 52.3, a=0, b=1), one("one way", "engine write", 41.26, a=1, b=0),
        one("latency", "pointer chase", 710, a=0, b=1), one("latency", "pointer chase", 722, a=1, b=0),
        one("allreduce", "own", 4.0, ranks=2, size=65536), one("allreduce", "own", 7.5, ranks=4, size=65536),
        one("host copy", "host to device", 55.0, a=0)))
    assert weakest(found) == {"p2p_one_way_gb_s": 41.26, "p2p_latency_ns": 722.0,
                                       "allreduce_own_64_kb_us": 7.5, "host_to_device_gb_s": 55.0}


def test_noise_is_no_news_and_a_slow_decline_is() -> None:
    held = {"p2p_one_way_gb_s": 52.0}
    for value, expected in ((52.5, 52.0), (50.0, 52.0), (49.0, 49.0)):
        assert measured.steady({"p2p_one_way_gb_s": value}, held) == {"p2p_one_way_gb_s": expected}
    for value in (51.0, 50.0, 49.9, 49.3):      # each a little, in sum too much
        held = measured.steady({"p2p_one_way_gb_s": value}, held)
    assert held == {"p2p_one_way_gb_s": 49.3}
    assert measured.steady({"p2p_latency_ns": 700.0}, held) == {"p2p_latency_ns": 700.0}


def test_the_best_so_far_is_kept_each_way() -> None:
    assert measured.best({"a_gb_s": 50.0, "b_ns": 700.0}, {}) == {"a_gb_s": 50.0, "b_ns": 700.0}
    assert measured.best({"a_gb_s": 49.0, "b_ns": 690.0}, {"a_gb_s": 50.0, "b_ns": 700.0}) == {
        "a_gb_s": 50.0, "b_ns": 690.0}


class _Box:
    """Two GPUs below one switch, as files; ``lists`` of folders and what `stat` prints."""

    def __init__(self, **changes: Any) -> None:
        from tests.unit.facts import trees

        machine = trees.full(trees.below_one_switch(2))
        for path, content in changes.get("reads", {}).items():
            machine.reads[path] = content
        self.host = machine.host()
        self.stat = changes.get("stat", "100 200\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)

    def run(self, argv: tuple[str, ...], seconds: float) -> Completed:
        assert argv[0] == "stat"
        if self.stat is None:
            raise Unreadable(argv[0], Absence.TIMED_OUT.because("timed out"))
        return Completed(argv, 0 if self.stat else 1, self.stat, "")


def test_the_key_of_a_box() -> None:
    found = key(_Box(), (), NOW, "2.28.9", "", IMAGE)  # type: ignore[arg-type]
    assert found.links.value == ("0000:00:04.0-0000:01:00.0 x16 Gen5", "0000:02:00.0-0000:03:00.0 x16 Gen5",
                                 "0000:02:01.0-0000:04:00.0 x16 Gen5")
    assert found.acs.value == ("0000:00:04.0 0x001d", "0000:01:00.0 none", "0000:02:00.0 0x0000",
                               "0000:02:01.0 0x0000")
    assert found.iommu.value == ("0000:03:00.0 none", "0000:04:00.0 none")


@pytest.mark.parametrize("gpus", [("0000:03:00.0 (no uuid)",), ("0000:03:00.0 GPU-????????-????-????-????-????????",)])
def test_a_board_without_a_uuid_is_unknown(gpus: tuple[str, ...]) -> None:
    """The driver shows question marks until the GPU was used once: another board would look the same."""
    found = key(_Box(), (), dataclasses.replace(NOW, gpus=known(gpus, "/proc")))  # type: ignore[arg-type]
    assert found.gpus.value is None and "0000:03:00.0" in found.gpus.why()


def test_the_library_is_known_by_size_and_time() -> None:
    path = "/usr/lib/libnccl.so.2"
    assert library(_Box(), path).value == f"{path} 100 200"  # type: ignore[arg-type]
    assert library(_Box(stat=""), path).missing  # type: ignore[arg-type]
    assert library(_Box(stat=None), path).absence is Absence.TIMED_OUT  # type: ignore[arg-type]


@pytest.mark.parametrize(("ids", "driver", "gpus", "expected"), [
    ((), "nvidia", (), True), (("10de:2bb1",), "nvidia", (), True), (("1234:1111", "10de:2bb1"), "nvidia", (), True),
    (("1234:1111",), "nvidia", None, True), (("1234:1111",), "nvidia", ("0000:03:00.0 GPU-aaaaaaaa",), True),
    (("1234:1111",), "nvidia", (), False), (("10de:2bb1",), "vfio-pci", (), False),
    (("10de:2bb1",), "vfio-pci", None, True),
])
def test_only_a_box_that_wants_no_gpu_in_the_driver_is_not_measured(
        ids: tuple[str, ...], driver: str, gpus: tuple[str, ...] | None, expected: bool) -> None:
    """A box whose GPUs are gone is no box without GPUs: what is not known, or asked for, must be measured."""
    assert measurable(Accelerators(ids, kernel_driver=driver), gpus) is expected
