"""The kernel log in every form in which people post it: recognised, and the same Xids in each."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tunecheck.host.imported.kinds import recognise
from tunecheck.parsers.kernel.kernel_log import KernelEvents, parse
from tunecheck.parsers.kernel.log_boots import boots, dated
from tunecheck.parsers.kernel.log_forms import plain
from tunecheck.parsers.text.log_lines import LEFT_OUT

_BOOT = "6f" * 16
_SAID = ("Linux version 6.12.1 (builder@box) (gcc 14.2.0) #1 SMP", "Command line: root=/dev/sda1 ro",
         "NVRM: Xid (PCI:0000:03:00): 46, pid=20, name=x, Ch 00000008", "usb 1-1: new high-speed USB device")
_OTHER = "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus."


def _each(start: str, other: str = "", **more: str) -> str:
    lines = [start.format(i=index, m=index * 1_000_001, **more) + text for index, text in enumerate(_SAID)]
    return "\n".join([*lines, *([other + _OTHER] if other else [])]) + "\n"


def _entries() -> list[dict[str, str]]:
    names = [("kernel", "kernel", text) for text in _SAID] + [("stdout", "gpud", _OTHER), ("kernel", "gpud", _OTHER)]
    return [{"__CURSOR": f"s={_BOOT};i={index:x}", "__REALTIME_TIMESTAMP": str(1740327858283302 + index * 1_000_001),
             "__MONOTONIC_TIMESTAMP": str(index * 1_000_001), "_BOOT_ID": _BOOT, "_TRANSPORT": transport,
             "SYSLOG_IDENTIFIER": name, "MESSAGE": text} for index, (transport, name, text) in enumerate(names)]


#: As dmesg of util-linux 2.38 and journalctl of systemd 252 print them (LC_ALL de_DE, fr_FR, nb_NO, zh_CN, ja_JP).
FORMS = {
    "dmesg": _each("[{i:5d}.000001] "),
    "dmesg -x": _each("kern  :warn  : [{i:5d}.000001] "),
    "dmesg -r": _each("<4>[{i:5d}.000001] "),
    "dmesg -t": _each("") + "ACPI: RSDP 0x00000000000F0490 000024\n",
    "dmesg -T": _each("[Sun Feb 23 16:24:0{i} 2025] "),
    "dmesg -T, German": _each("[So Feb 23 16:24:0{i} 2025] "),
    "dmesg -T, French": _each("[dim. févr. 23 16:24:0{i} 2025] "),
    "dmesg -T, Norwegian": _each("[sø. feb. 23 16:24:0{i} 2025] "),
    "dmesg -T, Chinese": _each("[日 2月 23 16:24:0{i} 2025] "),
    "dmesg -H": _each("[  +0.00000{i}] ").replace("[  +0.000000]", "[Feb23 16:24]", 1),
    "dmesg -H, German": _each("[  +0,00000{i}] ").replace("[  +0,000000]", "[Feb23 16:24]", 1),
    "dmesg -d": _each("[{i:5d}.000001 <    0.00000{i}>] "),
    "dmesg --time-format delta": _each("[<    0.00000{i}>] "),
    "dmesg --time-format iso": _each("2025-02-23T16:24:0{i},283302+01:00 "),
    "dmesg -x --time-format iso": _each("kern  :warn  : 2025-02-23T16:24:0{i},283302+01:00 "),
    "dmesg --color=always": _each("\x1b[32m[{i:5d}.000001] \x1b[0m"),
    "dmesg --json": json.dumps({"dmesg": [{"pri": 4, "time": index + 0.5, "msg": text}
                                          for index, text in enumerate(_SAID)]}, indent=3),
    "journalctl -o short": _each("Feb 23 16:24:0{i} box1 kernel: ", "Feb 23 16:24:09 box1 gpud[7]: "),
    "journalctl -o short, French": _each("févr. 23 16:24:0{i} box1 kernel: ", "févr. 23 16:24:09 box1 gpud[7]: "),
    "journalctl -o short, Norwegian": _each("april 24 16:24:0{i} box1 kernel: ", "april 24 16:24:09 box1 gpud[7]: "),
    "journalctl -o short, Chinese": _each("4月 24 16:24:0{i} box1 kernel: ", "4月 24 16:24:09 box1 gpud[7]: "),
    "journalctl -o short-precise": _each("Feb 23 16:24:0{i}.283302 box1 kernel: "),
    "journalctl -o short-full": _each("Sun 2025-02-23 16:24:0{i} CET box1 kernel: ",
                                     "Sun 2025-02-23 16:24:09 CET box1 gpud[7]: "),
    "journalctl -o short-iso": _each("2025-02-23T16:24:0{i}+0100 box1 kernel: ",
                                    "2025-02-23T16:24:09+0100 box1 gpud[7]: "),
    "journalctl -o short-iso-precise": _each("2025-02-23T16:24:0{i}.283302+0100 box1 kernel: "),
    "journalctl -o short-monotonic": _each("[{i:5d}.000001] box1 kernel: ", "[    9.000001] box1 gpud[7]: "),
    "journalctl -o short-unix": _each("174032785{i}.283302 box1 kernel: ", "1740327859.283302 box1 gpud[7]: "),
    "journalctl -o cat": _each("") + "pci 0000:00:00.0: [8086:29c0] type 00 class 0x060000\n",
    "journalctl -o json": "".join(json.dumps(entry) + "\n" for entry in _entries()),
    "journalctl -o json-pretty": "".join("{\n" + ",\n".join(
        f"\t{json.dumps(key)} : {json.dumps(value)}" for key, value in entry.items()) + "\n}\n"
        for entry in _entries()),
    "journalctl -o json-sse": "".join(f"data: {json.dumps(entry)}\n\n" for entry in _entries()),
    "journalctl -o json-seq": "".join(f"\x1e{json.dumps(entry)}\n" for entry in _entries()),
    "journalctl -o export": "".join("".join(f"{key}={value}\n" for key, value in entry.items()) + "\n"
                                    for entry in _entries()),
    "journalctl -o verbose": "".join(
        f"Sun 2025-02-23 16:24:18.28330{index} CET [s={_BOOT};i={index};b={_BOOT};m=1;t=1;x=1]\n"
        + "".join(f"    {key}={value}\n" for key, value in entry.items() if not key.startswith("__"))
        for index, entry in enumerate(_entries())),
    "/dev/kmsg": "".join(f"4,{index},{index * 1_000_001},-;{text}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n"
                         for index, text in enumerate(_SAID)) + f"12,4,9000000,-;{_OTHER}\n",
    "/dev/kmsg with callers": "".join(f"4,{index},{index},c,caller=T1;{text}\n" for index, text in enumerate(_SAID)),
    "pstore, serial console": _each("<4>[{i:5d}.000001][    T1] "),
    "syslog file": _each("Feb 23 16:24:0{i} box1 kernel: [{i:5d}.000001] ", "Feb 23 16:24:09 box1 gpud[7]: "),
    "syslog file, rsyslog 8": _each("2025-02-23T16:24:0{i}.283302+01:00 box1 kernel: [{i:5d}.000001] "),
    "bare lines": "\n".join(_SAID[2:3]) + "\n",
    "lines with numbers": "".join(f"{index:4d}  [{index:5d}.000001] {text}\n" for index, text in enumerate(_SAID)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_xid(form: str) -> None:
    assert recognise(FORMS[form]) == "kernel log"
    found = _read(FORMS[form])
    assert [(xid.gpu, xid.code, xid.count) for xid in found.xids] == [("0000:03:00", 46, 1)]
    assert found.start == (form != "bare lines")
    timed = form not in ("dmesg -t", "journalctl -o cat", "bare lines")
    assert (bool(found.first), bool(found.last), bool(found.xids[0].last)) == (timed,) * 3


def _read(text: str) -> KernelEvents:
    last = boots(plain(text))[-1]
    return parse(last.text)


@pytest.mark.skipif(shutil.which("dmesg") is None, reason="no dmesg on this machine")
def test_what_the_real_dmesg_makes_of_it(tmp_path: Path) -> None:
    """dmesg prints a file of raw records in every format that it has."""
    raw = tmp_path / "raw"
    raw.write_text(FORMS["dmesg -r"])
    for options in (["-x"], ["-t"], ["-T"], ["-H", "--nopager"], ["-d"], ["-r"], ["--color=always"],
                    *(["--time-format", name] for name in ("ctime", "reltime", "delta", "iso"))):
        done = subprocess.run(["dmesg", "-F", str(raw), *options], capture_output=True, text=True, timeout=20,
                              check=False)
        if done.returncode == 0:       # an older dmesg lacks some
            assert [xid.code for xid in _read(done.stdout).xids] == [46], options


def test_lost_records_are_a_hole() -> None:
    text = FORMS["/dev/kmsg"].replace("4,1,1000001,-;Command line: root=/dev/sda1 ro\n", "")
    assert LEFT_OUT in plain(text) and parse(plain(text)).cut
    assert not parse(plain(FORMS["/dev/kmsg"])).cut


@pytest.mark.parametrize("text", ["INFO 04-24 12:00:01 [loader.py:447] Loading weights took 3.2 seconds\n" * 5,
                                  "[2025-04-24 12:00:01 TP0] Load weight begin. avail mem=93.1 GB\n" * 5,
                                  "box1:123:456 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n" * 5,
                                  "[   12.345] (II) NVIDIA(0): Creating default Display subsection\n" * 5,
                                  '{"a": 1, "_BOOT_ID": "x"}\n', "NVRM version: NVIDIA UNIX x86_64\n"])
def test_what_is_no_kernel_log(text: str) -> None:
    assert recognise(text) != "kernel log"


def test_boots_are_told_apart() -> None:
    first, second = FORMS["syslog file"], FORMS["syslog file"].replace("Feb 23", "Feb 24")
    assert [dated(boot.text) for boot in boots(first + second)] == [
        ("Feb 23 16:24:00", "Feb 23 16:24:09"), ("Feb 24 16:24:00", "Feb 24 16:24:09")]
    journal = f"-- Boot {'a' * 32} --\n{first}-- Boot {'b' * 32} --\n{second}"
    assert [(boot.name[:1], boot.start) for boot in boots(journal)] == [("a", True), ("b", True)]
    assert len(boots(f"{first}-- Reboot --\n{second}")) == 2
    # Lines that somebody grepped: the time since boot goes back.
    grepped = "".join(f"Sep  7 1{hour}:00:00 box1 kernel: [{seconds:5d}.0] NVRM: loading NVIDIA UNIX\n"
                      for hour, seconds in ((1, 442), (2, 18), (3, 19), (4, 7)))
    assert [boot.text.count("\n") for boot in boots(grepped)] == [1, 2, 1]
    # What stands before the kernel's first line is of an earlier boot, however little it is.
    early = f"[  900.0] {_OTHER}\n{FORMS['dmesg']}"
    assert [len(parse(boot.text).fallen) for boot in boots(early)] == [1, 0]
    assert len(boots("[    5.0] a\n[    4.9] b\n[    9.0] c\n")) == 1


def test_a_clock_gives_a_log_without_dates_its_date() -> None:
    log = FORMS["dmesg"] + "[    4.5] rtc_cmos 00:02: setting system clock to 2026-03-17T19:55:10 UTC (1773777310)\n"
    assert dated(log) == ("2026-03-17 19:55:10 UTC", "4.5 s after boot")


def test_a_text_without_any_form_stays_as_it_is() -> None:
    assert (plain("text"), [boot.text for boot in boots("text")], boots("")) == ("text", ["text"], [])


_MONOTONOUS = [
    "{", "{\"", "\x1e{", "data: ", "4,1,1,-;", "4,1,1,-;\n", "-- Boot ", "-- Boot a --\n", "Linux version 6",
    "\nLinux version 6", "[    1.0] ", "[    1.0] \n[    9.0] \n", "A=", "A=\n", "A\n", "__CURSOR=s=", "\"msg\": \"",
    "\t\"A\" : \"", "\\x0a", "\x1b[", "\x1b[1m", "12:00:01 ", "kern  :", "kernel: ", "[s=", "NVRM: ", "NVRM: GPU ",
    "NVRM: Xid (PCI:0000:01:00): 79, ", " SXid (", "Kernel panic - ", "GSP failed ", "NVRM: GSP ", "a b: ",
    "  journalctl:\n", "#1 Part1\n", "[[[[:", "]:] ", "\x00", "\n", "é", "{\"_BOOT_ID\":\"a\",\"MESSAGE\":[1,",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
]


def test_a_quarter_of_a_megabyte_of_anything_takes_no_second() -> None:
    """Each alone, and one behind the head of every form that is no text."""
    import time

    heads = ["", *(FORMS[form] for form in ("/dev/kmsg", "journalctl -o json", "journalctl -o json-pretty",
                                            "journalctl -o export", "journalctl -o verbose", "dmesg --json"))]
    pairs = [*zip(itertools.cycle(heads), _MONOTONOUS, strict=False), (heads[2], "\x1e{"), (heads[5], "\n")]
    for head, text in pairs:
        log = head + text * ((1 << 18) // len(text))
        begun = time.process_time()
        recognise(log)
        found = boots(plain(log))
        parse(found[-1].text if found else log)
        assert time.process_time() - begun < 5, (head[:20], text)       # 0.1 s on a quiet machine
