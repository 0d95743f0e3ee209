"""What a box is: systemd's id, a digest of its board, its hardware class; and nothing of it in a recording."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.facts.trees import Machine, frozen, full, switch
from tests.unit.imports.smi_texts import TEXT

from tunecheck.facts.identity import app_specific, identity_of
from tunecheck.facts.registry import flatten, hardware, key
from tunecheck.facts.registry.hardware import Parts, parts
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed, unpack
from tunecheck.host import Completed
from tunecheck.host.bundle import load
from tunecheck.host.imported.machine import load_import
from tunecheck.host.prefetch import CPU
from tunecheck.host.recording import RecordingHost
from tunecheck.model.absence import Absence

DMI = "/sys/class/dmi/id"
MACHINE = "0123456789abcdef0123456789abcdef"
SERIALS = ("board_serial", "product_serial", "product_uuid")
EPYC = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9575F 64-Core Processor\n"


def machine(board: str | None = "ZM21AS600123", machine_id: str = MACHINE) -> Machine:
    found = full(switch(), "iommu=pt").file("/etc/machine-id", f"{machine_id}\n")
    found.file("/proc/meminfo", "MemTotal:       1584537012 kB\nMemFree: 1 kB\n")
    found.runs[CPU] = Completed(CPU, 0, EPYC, "")
    for name, value in (("sys_vendor", "Supermicro"), ("product_name", "SYS-521GE-TNRT"), ("board_name", "X13DEG-OA"),
                        ("bios_vendor", "American Megatrends"), ("bios_version", "2.6"), ("bios_date", "07/21/2026"),
                        ("product_serial", "To Be Filled By O.E.M."), ("board_serial", board)):
        if value is not None:
            found.file(f"{DMI}/{name}", f"{value}\n")
    found.gone("read", *(f"{DMI}/{name}" for name in SERIALS if f"{DMI}/{name}" not in found.reads))
    return found


def stored(found: Machine) -> Stored:
    return unpack(packed(Stored(gather(found.host(), frozen().spec, True), frozen())))


@pytest.mark.skipif(shutil.which("systemd-id128") is None, reason="no systemd here")
def test_the_machine_id_is_as_systemd_makes_it() -> None:
    own = Path("/etc/machine-id")
    if not own.is_file() or len(own.read_text().strip()) != 32:
        pytest.skip("no machine id here")
    app = "6f5d2c1b9a3e4f70a8d4c2e1b7f09563"
    done = subprocess.run(["systemd-id128", "machine-id", f"--app-specific={app}"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"systemd-id128: {done.stderr}")
    assert app_specific(own.read_text().strip()) == done.stdout.strip()


def test_what_a_box_is() -> None:
    found = stored(machine())
    assert hardware(found) == ("SYS-521GE-TNRT, AMD EPYC 9575F 64-Core Processor, x86_64: "
                               "2 x RTX PRO 6000 Blackwell Workstation, 1536 GiB")
    assert parts(hardware(found)) == Parts("SYS-521GE-TNRT, AMD EPYC 9575F 64-Core Processor, x86_64",
                                           frozenset({"RTX PRO 6000 Blackwell Workstation"}))
    assert parts("a: ?, 1 GiB").models is None and parts("a: no accelerator, ?").models == frozenset()
    flat = flatten(found)
    assert flat.known["platform.memory"] == 1536 and flat.known["platform.bios"] == "2.6"
    text = packed(found).decode()
    assert MACHINE not in text and "ZM21AS600123" not in text


def test_clones_of_one_image_are_two_boxes() -> None:
    one, clone = key(stored(machine())), key(stored(machine(board="ZM21AS600124")))
    assert one and clone and one != clone
    renamed = machine().file("/proc/sys/kernel/hostname", "other\n")
    assert key(stored(renamed)) == one
    assert key(stored(machine(machine_id=MACHINE[::-1]))) != one
    virtual = [machine(board=None).file(f"{DMI}/product_uuid", uuid) for uuid in (
        "1c2d3e4f-0000-1111-2222-333344445555", "1C2D3E4F-0000-1111-2222-333344445556")]
    assert key(stored(virtual[0])) != key(stored(virtual[1])), "a virtual machine's board is its UUID"


@pytest.mark.parametrize("nothing", ["Default string", "0", "None", "To be filled by O.E.M.", "Not Specified", "",
                                     "00000000", "INVALID", "Base Board Serial Number"])
def test_a_field_that_the_maker_did_not_fill_is_no_number(nothing: str) -> None:
    found = stored(machine(board=nothing))
    assert found.snapshot.host and found.snapshot.host.identity.value
    assert found.snapshot.host.identity.value.board.missing
    assert key(found) is not None


def test_without_root_there_is_no_key() -> None:
    """The key that it would get is another one than root's."""
    found = machine()
    del found.reads[f"{DMI}/board_serial"]
    found.gone("read", f"{DMI}/board_serial", reason="no permission")
    assert key(stored(found)) is None
    unread = flatten(stored(found)).unknown["identity.board"]
    assert unread.absence is Absence.NO_PERMISSION and f"{DMI}/board_serial" in unread
    assert key(stored(machine(machine_id="uninitialized"))) is None


def test_a_recording_without_names_has_no_identity(tmp_path: Path) -> None:
    recorder = RecordingHost(machine().host())
    gather(recorder, frozen().spec, True)
    for redact in (True, False):
        path = tmp_path / "box"
        path.write_bytes(recorder.packed(redact=redact))
        answers = load(str(path))
        kept = b"".join(answers.reads.values())
        assert (MACHINE.encode() in kept, b"ZM21AS600123" in kept) == (not redact, not redact)
        again = Stored(gather(answers.host(), frozen().spec, True), frozen())
        assert key(again) == (None if redact else key(stored(machine())))
        assert hardware(again) == hardware(stored(machine()))


@pytest.mark.parametrize(("kib", "gib"), [(65_000_000, 64), (131_900_000, 128), (263_000_000, 256), (790_000_000, 768),
                                          (1_584_537_012, 1536), (2_113_000_000, 2048), (8_100_000, 8)])
def test_memory_is_what_is_installed(kib: int, gib: int) -> None:
    found = identity_of(machine().file("/proc/meminfo", f"MemTotal: {kib} kB\n").host())
    assert found.value and found.value.memory_gib.value == gib


def test_arm_names_its_parts() -> None:
    found = machine()
    found.runs[CPU] = Completed(CPU, 0, "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "")
    identity = identity_of(found.host()).value
    assert identity and (identity.cpu_model.value, identity.arch.value) == ("Arm 0x41/0xd4f", "aarch64")


@pytest.mark.parametrize(("text", "boards"), [
    (TEXT, "2 x RTX PRO 6000 Blackwell Server"),
    (TEXT.replace("0x2BB510DE", "0x233510DE"), "2 x H200 SXM"),
    (TEXT.replace("0x2BB510DE", "0x123410DE"), "2 x 10de:1234"),
    (re.sub(r"(?m)^.*Device Id .*\n", "", TEXT), "2 x RTX PRO 6000 Blackwell Server")])
def test_without_a_pci_tree_the_driver_tells_the_boards(text: str, boards: str, tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text(text)
    found = unpack(packed(Stored(gather(load_import(str(tmp_path)), None, True), None)))
    assert hardware(found) == f"?, ?, ?: {boards}, ?"
