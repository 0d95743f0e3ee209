"""What a recording keeps: no secret ever, no name by default, and everything that is judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.facts import trees
from tests.unit.facts.big import big_spec, eight_gpus, with_serial_number
from tests.unit.facts.trees import PCI, Machine, config, frozen, full

from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import same_boot
from tunecheck.facts.spec_file import read_spec
from tunecheck.host import Completed, Unreadable
from tunecheck.host.answers import Answers
from tunecheck.host.bundle import unpack
from tunecheck.host.recording import RecordingHost
from tunecheck.host.redact import redacted
from tunecheck.model.absence import Absence
from tunecheck.parsers.pci.acs import acs
from tunecheck.parsers.pci.config_space import without_serial_number
from tunecheck.parsers.text import secrets
from tunecheck.parsers.text.redact import Redactor
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Frozen, Kernel

BOOT = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(("text", "expected"), [
    ("root=UUID=8f3e4c1a-1111-2222-3333-444455556666", "root=UUID=00000000-0000-0000-0000-000000000001"),
    ("GPU-8f3e4c1a-1111-2222-3333-444455556666", "GPU-00000000-0000-0000-0000-000000000001"),
    ("rd.luks.uuid=luks-8f3e4c1a-1111-2222-3333-444455556666",
     "rd.luks.uuid=luks-00000000-0000-0000-0000-000000000001"),
    ("/boot/0123456789abcdef0123456789abcdef/6.12.1/linux", "/boot/00000000000000000000000000000001/6.12.1/linux"),
    ("root=PARTUUID=12345678-02 x", "root=PARTUUID=00000001-02 x"),
    ("search --no-floppy --fs-uuid --set=root ABCD-12EF", "search --no-floppy --fs-uuid --set=root 0000-0001"),
    ("eth0: aa:bb:cc:dd:ee:ff: up", "eth0: 02:00:00:00:00:01: up"),
    ("BOOTIF=01-aa-bb-cc-dd-ee-ff", "BOOTIF=02-00-00-00-00-00-01"),
    ("enx001122334455 up", "enx020000000001 up"), ("guid 9803:9b03:00a1:b2c4", "guid 0200:0000:0000:0001"),
    ("ip=10.1.2.3::10.1.2.1:255.255.255.0::eth0:off", "ip=192.0.2.1::192.0.2.2:255.255.255.0::eth0:off"),
    ("fe80::aabb:ccff:fedd:ee01/64 and ::1", "2001:db8::1/64 and ::1"),
    ("at 2a01:4f8::2: refused", "at 2001:db8::1: refused"),
    ("gpu07.dc3.example.org gpu07 kernel: xgpu07 gpu07-b", "host-1 host-1 kernel: xgpu07 gpu07-b"),
    ("usb 1-1: SerialNumber: 4C5300012", "usb 1-1: SerialNumber: serial-1"),
    ("    Serial Number              : 1321421012345", "    Serial Number              : serial-1"),
    ("Device Serial Number 48-b0-2d-ff-ff-11-22-33", "Device Serial Number 02-00-00-00-00-00-00-01"),
    ("/dev/disk/by-id/nvme-Samsung_S4EWNX0R", "/dev/disk/by-id/disk-1"),
    ("nvme0: eui.0025385b71b0d2e1", "nvme0: wwid-1"),
    ("/home/alice/x /home/alice/y /home/bob", "/home/user-1/x /home/user-1/y /home/user-2"),
    ("[PCI] board 99887766AB5", "[PCI] board serial-1"),
])
def test_what_names_a_machine_is_replaced(text: str, expected: str) -> None:
    assert Redactor(["gpu07"], {"99887766AB5"}).text(text) == expected


@pytest.mark.parametrize("text", [
    "0000:06:00.0", "10000:e1:00.0", "pci0000:00/0000:00:04.0/0000:01:00.0", "NVRM: Xid (PCI:0000:01:00): 79, pid=1",
    "00000000:01:00.0", "595.71.05", "13.595.71.05", "98.02.52.00.02", "G520.0200.00.05", "6.12.1-4-amd64",
    "6.8.0-31.31",
    "Firmware Version 22.31.10.14", "12:34:56", "[   12.345678]", "2026-11-21T10:10:10.123456+00:00", "0x8007005",
    "pci=disable_acs_redir=0000:02:00.0;pci:10de:2bb1", "usb usb1: SerialNumber: 0000:00:14.0", "Mfr=3, SerialNumber=1",
    "Serial: 8250/16550 driver, 32 ports", "Serial Number : N/A", "127.0.0.1 0.0.0.0 255.255.0.0", "ff:ff:ff:ff:ff:ff",
    "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", "00000000-0000-0000-0000-000000000000",
    "36 1b 0c 00 00 00 10 00", "AER: error status/mask=00001000/00006000",
    "DMI: ASUS Pro WS/X, BIOS 1.2.3.4 01/02/2025",
])
def test_what_is_judged_is_never_touched(text: str) -> None:
    assert Redactor(["gpu07"], ()).text(text) == text


@pytest.mark.parametrize("host", ["nvidia", "GPU0", "PIX", "gpu", "a", "12", "version", "systemd", "(none)", ""])
def test_a_host_name_that_is_a_word_of_the_field_changes_no_text(host: str) -> None:
    text = "nvidia-smi GPU0 PIX gpu a 12 version systemd NVRM: nvidia (none)"
    assert Redactor([host]).text(text) == text


def test_words_of_paths_are_no_host_name() -> None:
    assert Redactor(["hpet"], vocabulary=()).text("hpet") == "hpet"
    assert Redactor(["zeus"], vocabulary={"zeus"}).text("/sys/zeus") == "/sys/zeus"


def test_many_addresses_stay_apart() -> None:
    redactor = Redactor()
    found = [redactor.text(f"10.{number >> 8}.{number & 255}.7") for number in range(2000)]
    assert len(set(found)) == 2000
    assert found[0] == "192.0.2.1" and all(re.match(r"192\.0\.2\.|198\.1[89]\.", text) for text in found)


@pytest.mark.parametrize(("given", "kept"), [
    ("HF_TOKEN=abc x", "HF_TOKEN=masked x"), ("password='a b' x", "password=masked x"),
    ("--api-key X --port 1", "--api-key masked --port 1"),
    ("--token=abc", "--token=masked"),
    ("--tokenizer m --max-num-batched-tokens 8192", "--tokenizer m --max-num-batched-tokens 8192"),
    ('"api_key": "x y"', '"api_key": "masked"'), ("https://u:p@host/x", "https://masked@host/x"),
    ("see hf_abcdefghijklmnopqrst", "see masked"), ("nvapi-abcdefghijklmnop1", "masked"),
    ("nfs=a:/b tokens=5", "nfs=a:/b tokens=5"),
    ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
     "-----BEGIN PRIVATE KEY----- masked -----END PRIVATE KEY-----"),
])
def test_secrets_are_masked(given: str, kept: str) -> None:
    assert secrets.mask(given) == kept
    assert secrets.mask(kept) == kept


def test_of_an_environment_only_what_concerns_the_gpus_is_kept() -> None:
    environ = (b"PATH=/bin\0NCCL_P2P_LEVEL=NODE\0HF_TOKEN=hf_abc\0VLLM_API_KEY=short\0NCCL_KEY=Ab1" + b"cD2" * 20
               + b"\0LD_PRELOAD=/opt/x.so\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0AWS_SECRET_ACCESS_KEY=x\0XNCCL_A=1\0")
    host = Machine().file("/proc/7/environ", environ)
    host.file("/proc/7/cmdline", b"vllm\0serve\0--api-key\0sk-1\0--tp\0002\0")
    host.file("/etc/systemd/system/x.service", "[Service]\nEnvironment=HF_TOKEN=abc NCCL_DEBUG=INFO\n")
    host.runs["ps",] = Completed(("ps",), 0, "vllm --api-key=abc --port 8000\n", "")
    recorder = RecordingHost(host.host())
    assert recorder.read_bytes("/proc/7/environ") == environ, "the facts of this run see all of it"
    for path in ("/proc/7/cmdline", "/etc/systemd/system/x.service"):
        recorder.read_bytes(path)
    recorder.run(("ps",))
    for redact in (False, True):
        kept = unpack(recorder.packed(redact))
        assert kept.reads["/proc/7/environ"] == (b"NCCL_P2P_LEVEL=NODE\0VLLM_API_KEY=masked\0NCCL_KEY=masked\0"
                                                 b"LD_PRELOAD=/opt/x.so\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0")
        assert kept.reads["/proc/7/cmdline"] == b"vllm\0serve\0--api-key\0masked\0--tp\0002\0"
        unit = kept.reads["/etc/systemd/system/x.service"]
        assert unit == b"[Service]\nEnvironment=HF_TOKEN=masked NCCL_DEBUG=INFO\n"
        done = kept.runs["ps",]
        assert isinstance(done, Completed) and done.stdout == "vllm --api-key=masked --port 8000\n"


def test_no_recording_keeps_a_key_of_a_served_recipe() -> None:
    """There every word of the engine's command line is a text of its own."""
    recipe = {"schema": "tunecheck/recipe/1", "recipe": {
        "id": "q", "engine": {"name": "vllm"}, "model": {"id": "m"}, "env": {"HF_TOKEN": "hf_abcdefghijklmnopqrstu"},
        "serve": {"args": ["--api-key", "hunter2", "--port", "30000", "--hf-token=abcdef"]}}}
    machine = full(trees.switch()).file("/etc/tunecheck/recipe.json", json.dumps(recipe, indent=2))
    recorder = RecordingHost(machine.host())
    live = gather(recorder, None, True)
    for redact in (True, False):
        answers = unpack(recorder.packed(redact=redact))
        kept = answers.reads["/etc/tunecheck/recipe.json"].decode()
        assert not re.search("hunter2|abcdef|hf_abc", kept) and '"30000"' in kept
        replayed = gather(answers.host(), None, True)
        assert replayed.host and live.host and replayed.host.serving == live.host.serving


def test_registers_stay_and_the_serial_number_in_them_does_not() -> None:
    data = with_serial_number(config(0x1D))
    kept = without_serial_number(data)
    assert acs(kept) == acs(data) and kept[0x204:0x20C] == bytes(8) and len(kept) == 4096
    assert kept[:0x204] + kept[0x20C:] == data[:0x204] + data[0x20C:]
    for untouched in (config(0x1D), config(0x1D, size=64), config(0x1D, size=256), b"", b"\xff" * 4096):
        assert without_serial_number(untouched) == untouched
    looping = data[:0x100] + (0x0003 | 1 << 16 | 0xFF8 << 20).to_bytes(4, "little") * 960
    assert len(without_serial_number(looping)) == 4096


def test_what_is_no_text_is_left_out_with_the_reason() -> None:
    loader, vpd = "/sys/firmware/efi/efivars/LoaderInfo-1", "/sys/x/vpd"
    kept = redacted(Answers(reads={vpd: b"\x82\x00SN123\0", loader: b"\7\0\0\0s\0"}))
    with pytest.raises(Unreadable) as refused:
        kept.host().read_bytes(vpd)
    assert refused.value.absence is Absence.LEFT_OUT
    assert kept.host().read_bytes(loader) == b"\7\0\0\0s\0"


def _recorded(machine: Machine, spec: Frozen | None) -> RecordingHost:
    recorder = RecordingHost(machine.host())
    if spec is not None:
        recorder.keep("/etc/tunecheck/spec.json", spec.to_json().encode())
    gather(recorder, spec.spec if spec else None, True)
    return recorder


LOG = """\
[    0.000000] Linux version 6.12.1
[    0.000000] Kernel command line: root=UUID=8f3e4c1a-1111-2222-3333-444455556666 ip=10.1.2.3 password=hunter2
[    2.000000] usb 1-1: SerialNumber: 4C5300012345
[    3.000000] zeus7 kernel: e1000e 0000:00:1f.6 eth0: aa:bb:cc:dd:ee:ff
[    9.000000] NVRM: Xid (PCI:0000:06:00): 79, pid=4000, name=/home/alice/venv/bin/python, GPU has fallen off the bus.
[   10.000000] pcieport 0000:00:01.0: AER: Corrected error received: 0000:06:00.0
"""
SECRETS = (b"zeus7", b"8f3e4c1a", b"10.1.2.3", b"hunter2", b"4C5300012345", b"aa:bb:cc", b"alice", b"13214210123",
           b"1111111-2222", bytes.fromhex("332211ffff2db048"))


def _named(machine: Machine) -> Machine:
    machine.file("/proc/sys/kernel/hostname", "zeus7\n")
    running = "root=UUID=8f3e4c1a-1111-2222-3333-444455556666 ip=10.1.2.3 iommu=pt"
    machine.file("/proc/cmdline", f"{running} password=hunter2\n")
    machine.file("/boot/grub/grub.cfg", trees.GRUB_CFG % running)
    return machine


@pytest.mark.parametrize("make", [lambda: full(trees.switch(), log=LOG), lambda: full(trees.direct(), log=LOG),
                                  lambda: full(trees.flat(), log=LOG), lambda: eight_gpus(log=LOG)],
                         ids=["switch", "direct", "flat", "eight"])
def test_a_recording_without_names_is_judged_like_the_one_with_them(make: object) -> None:
    machine: Machine = _named(make())  # type: ignore[operator]
    usual = big_spec() if machine.nvml else frozen(iommu="pt", kernel=Kernel(cmdline=("ip=10.1.2.3", "quiet")))
    spec = Frozen(host="zeus7", profile="lab", spec=usual.spec, sources={"iommu": "zeus7"})
    recorder = _recorded(machine, spec)
    found = []
    for redact in (False, True):
        kept = unpack(recorder.packed(redact, created=0))
        host = kept.host()
        own = read_spec(host, None, required=True)
        assert own is not None
        case = Case(gather(host, own.spec, True), own)
        found.append([repr(finding) for finding in judge(case, "preflight")])
        others = repr((kept.runs, kept.nvml, kept.lists, kept.errors)).encode()
        everything = b"\0".join([*kept.reads.values(), others])
        assert not redact or [secret for secret in SECRETS if secret in everything] == []
        assert b"hunter2" not in everything
    live = Case(gather(machine.host(), spec.spec, True), spec)
    assert [repr(finding) for finding in judge(live, "preflight")] == found[0]
    redactor = Redactor(["zeus7"])
    for path in (b"zeus7", b"8f3e4c1a-1111-2222-3333-444455556666", b"10.1.2.3"):
        redactor.text(path.decode())
    # A spec that declared an address states another one now, and the digest of that.
    digest = re.compile(r"sha256:[0-9a-f]+")
    assert [digest.sub("", redactor.text(text)) for text in found[0]] == [digest.sub("", text) for text in found[1]]
    assert found[0] != found[1]


def test_an_altered_spec_stays_one(tmp_path: Path) -> None:
    recorder = _recorded(_named(full(trees.switch())), None)
    recorder.keep("/etc/tunecheck/spec.json", frozen().to_json().replace('"PIX"', '"SYS"').encode())
    kept = unpack(recorder.packed(True)).reads["/etc/tunecheck/spec.json"]
    assert b'"SYS"' in kept and b"sha256" in kept


def test_counters_of_one_boot_can_be_compared_without_its_id() -> None:
    machine = full(trees.switch())
    now = gather(machine.host(), None, True)
    before = gather(unpack(_recorded(machine, None).packed(True)).host(), None, True)
    assert before.boot_id.value != now.boot_id.value == BOOT
    assert same_boot(before, now).boot_id == now.boot_id
    assert same_boot(before, now).host.kernel.boot_id == now.boot_id  # type: ignore[union-attr]
    machine.file("/proc/sys/kernel/random/boot_id", BOOT.replace("1", "9"))
    later = gather(machine.host(), None, True)
    assert same_boot(before, later) is before


def test_names_in_directories_and_links_fit_the_files() -> None:
    """The boot loader's entries of Enterprise Linux carry the machine id in their name."""
    entry = "0123456789abcdef0123456789abcdef-6.12.1.conf"
    machine = full(trees.switch()).gone("read", "/boot/grub/grub.cfg", "/etc/kernel/cmdline")
    machine.reads.pop("/boot/grub/grub.cfg")
    machine.lists["/boot/loader/entries"] = [entry]
    machine.file(f"/boot/loader/entries/{entry}", "title x\nlinux /vmlinuz-6.12.1\noptions root=/dev/vda3 quiet\n")
    kept = unpack(_recorded(machine, None).packed(True))
    assert kept.lists["/boot/loader/entries"] == ["00000000000000000000000000000001-6.12.1.conf"]
    found = gather(kept.host(), None, True).host
    assert found is not None and found.boot.generated.value == ("root=/dev/vda3", "quiet")


def test_a_folder_is_never_renamed_by_a_host_name() -> None:
    machine = full(trees.switch()).file("/proc/sys/kernel/hostname", "devices\n")
    assert f"{PCI}/0000:03:00.0/vendor" in unpack(_recorded(machine, None).packed(True)).reads
