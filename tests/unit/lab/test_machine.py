"""A machine's state folder and its refusals; no VM is started here."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from lab.cli import main
from lab.errors import LabError, NoMeansError
from lab.machine import Machine, Running
from tests.lab.box import until

from lab import access, image, needs, process, qemu, uefi


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, in a path with a space."""
    folder = tmp_path / "lab state"
    monkeypatch.setenv("TUNECHECK_LAB", str(folder))
    monkeypatch.setattr(process, "interruptible", lambda watch_stdin=False: None)
    return folder


def fake_running(box: Machine) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    ticks = process.start_ticks(child.pid)
    assert ticks is not None
    # Popen returns as the new program is loaded, a moment before its arguments stand in /proc.
    until(lambda: process.is_ours(child.pid, ticks, "60"), "the program never ran", seconds=30)
    box.folder.mkdir(parents=True)
    running = Running(child.pid, ticks, "60", 2222, "switch", "intel", "tcg", "abc")
    (box.folder / "machine.json").write_text(json.dumps(asdict(running)))
    return child


def test_a_second_up_is_refused_and_says_how_to_go_on() -> None:
    box = Machine("lab")
    child = fake_running(box)
    with pytest.raises(LabError, match=r"already running \(pid \d+, layout switch.*python3 -m lab down lab"):
        box.up()
    assert child.poll() is None
    box.down()
    child.wait(timeout=5)


def test_down_leaves_only_the_console(state: Path) -> None:
    box = Machine("lab")
    child = fake_running(box)
    for name in ("console.log", "console.1.log", "disk.qcow2", "id"):
        (box.folder / name).write_text("x")
    assert main(["down", "lab"]) == 0
    child.wait(timeout=5)
    assert sorted(p.name for p in (state / "lab").iterdir()) == ["console.1.log", "console.log"]


def test_a_stale_state_file_is_not_a_running_machine() -> None:
    box = Machine("lab")
    child = fake_running(box)
    process.stop_group(child)
    child.wait()
    assert box.state() is None


def test_a_damaged_state_file_is_named() -> None:
    box = Machine("lab")
    box.folder.mkdir(parents=True)
    (box.folder / "machine.json").write_text("{")
    with pytest.raises(LabError, match=r"machine\.json is damaged"):
        box.state()


def test_console_logs_rotate() -> None:
    box = Machine("lab")
    box.folder.mkdir(parents=True)
    for number in range(5):
        box._rotate_consoles()
        box.console_file.write_text(str(number))
    found = {p.name: p.read_text() for p in box.folder.iterdir()}
    assert found == {"console.log": "4", "console.1.log": "3", "console.2.log": "2"}


def test_up_without_qemu_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(needs, "_PATH", str(tmp_path))
    assert main(["up"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "the lab box needs" in error and "sudo apt-get install" in error
    assert "qemu-system-x86" in error


def test_another_architecture_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(NoMeansError, match="x86-64 Linux machine, this one is aarch64"):
        needs.check(needs.BUILD)


@pytest.mark.parametrize("name", ["Lab", "../x", "images", "", "-x"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(LabError, match="cannot name a lab machine"):
        Machine(name)


@pytest.mark.parametrize("verb", [["ssh"], ["wait"], ["console"], ["down"]])
def test_verbs_on_nothing_say_so(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(verb) == 1
    assert capsys.readouterr().err.startswith("lab: ")


def test_the_ssh_config_is_understood_by_ssh(state: Path) -> None:
    box = Machine("lab")
    box.folder.mkdir(parents=True)
    access.make_keys(box.folder, "lab")
    access.write_config(box.folder, "lab", 2222)
    argv = ["ssh", "-F", str(box.folder / "ssh_config"), "-G", "lab"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert f"identityfile {box.folder}/id\n" in shown and "port 2222\n" in shown
    assert "stricthostkeychecking true\n" in shown
    host_key = (box.folder / "host_key.pub").read_text()
    assert (box.folder / "known_hosts").read_text() == f"lab {host_key}"
    assert (box.folder / "credentials").stat().st_mode & 0o77 == 0


def test_a_changed_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.path()
    monkeypatch.setattr("lab.recipe.SUITE", "forky")
    assert image.path() != before


@pytest.mark.parametrize("variable", ["LAB_ACCEL", "LAB_BOOT_TIMEOUT"])
def test_bad_environment_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "soon")
    with pytest.raises(LabError, match=f"{variable} is `soon`; expected"):
        qemu.boot_timeout() if variable == "LAB_BOOT_TIMEOUT" else needs.accelerator()


def test_the_console_tail_has_no_control_sequences(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"\x1b[0;32m  OK  \x1b[0m Started x\r\n\x1b[2J\n" + b"line\n" * 3)
    assert qemu.tail(log, 4) == "      OK   Started x\n    line\n    line\n    line"


def test_images_of_older_recipes_go_unless_a_disk_rests_on_one(state: Path) -> None:
    for name in (image.path().parent.name, "aaaaaaaaaaaa", "bbbbbbbbbbbb"):
        (state / "images" / name).mkdir(parents=True)
    (state / "lab").mkdir()
    (state / "lab" / "disk.qcow2").write_bytes(b"QFI\xfb\x00" + b"../images/aaaaaaaaaaaa/base.img" + b"\x00" * 99)
    image._prune()
    assert {p.name for p in (state / "images").iterdir()} == {image.path().parent.name, "aaaaaaaaaaaa"}


def test_each_uefi_machine_has_variables_of_its_own(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, variables, folder = state / "code.fd", state / "vars.fd", state / "box"
    folder.mkdir(parents=True)
    code.write_bytes(b"code")
    variables.write_bytes(b"fresh")
    monkeypatch.setattr(uefi, "_FILES", {"uefi": (code, variables), "secure-boot": (code, variables)})
    own = folder / uefi.OWN_VARIABLES
    own.write_bytes(b"of the machine before")
    uefi.check("uefi")
    argv = uefi.arguments("uefi", folder)
    assert own.read_bytes() == b"fresh" and variables.read_bytes() == b"fresh"
    assert f"if=pflash,unit=0,format=raw,readonly=on,file={code}" in argv and uefi.OWN_VARIABLES in argv[-1]
    assert uefi.arguments("bios", folder) == []
    guarded = uefi.arguments("secure-boot", folder)
    assert guarded[:len(argv)] == argv and "driver=cfi.pflash01,property=secure,value=on" in guarded[len(argv):]


@pytest.mark.parametrize("firmware", ["uefi", "secure-boot"])
def test_a_machine_without_the_firmware_is_told_what_to_install(
        state: Path, monkeypatch: pytest.MonkeyPatch, firmware: str) -> None:
    monkeypatch.setattr(uefi, "_FILES", {firmware: (state / "none.fd", state / "vars.fd")})
    uefi.check("bios")
    with pytest.raises(NoMeansError, match="sudo apt-get install ovmf"):
        uefi.check(firmware)
    with pytest.raises(LabError, match="expected one of bios, uefi"):
        uefi.check("coreboot")
