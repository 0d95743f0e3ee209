"""The QEMU command line shared by the sealing boot and the machines, and its start."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from lab import needs, process, recipe
from lab.errors import LabError

LOG = "qemu.log"
# Without KVM. qemu64 boots fastest; the demo's engine was compiled for AVX2, which EPYC has.
_PLAIN, _VECTORS = "qemu64", "EPYC"
# MiB of translated code. QEMU keeps up to 1 GiB, also of boots long gone, and every write to a page that once held
# code looks for it: a second reboot took 103 and 104 s, with this limit 44 to 52 s (2 quiet cores, QEMU 7.2).
_TRANSLATED = 128
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Of a machine that is alone: 43 s from power-on to ssh with one, 31 s with two (without KVM, 2 quiet cores).
CPUS = 2


def boot_timeout() -> float:
    """Return how many seconds a boot may take: a busy machine without KVM needs many."""
    text = os.environ.get("LAB_BOOT_TIMEOUT", "300")
    try:
        return float(text)
    except ValueError:
        raise LabError(f"LAB_BOOT_TIMEOUT is `{text}`; expected a number of seconds") from None


def command(
    *, disk: str, console: str, marker: str, extra: list[str], machine: str = "q35", memory: int = 1024,
    vectors: bool = False, cpus: int = CPUS,
) -> list[str]:
    """Return QEMU's argv. File names are relative to the folder it is started in; `marker` is its -name; with
    `vectors` the CPU has AVX2 also without KVM; `cpus` is how many processors it has."""
    emulated = [f"tcg,thread=multi,tb-size={_TRANSLATED}", "-cpu", _VECTORS if vectors else _PLAIN]
    accel = ["kvm", "-cpu", "host"] if needs.accelerator() == "kvm" else emulated
    return [
        "qemu-system-x86_64", "-name", marker, "-accel", *accel, "-M", machine, "-m", str(memory), "-smp", str(cpus),
        "-display", "none", "-nodefaults",
        "-drive", f"{disk},if=none,id=d0,cache=unsafe,discard=unmap",
        "-device", "virtio-blk-pci,drive=d0,addr=02.0,bootindex=1",
        # restrict: the guest reaches nothing, neither the internet nor this machine.
        "-netdev", "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:0-:22",
        "-device", f"virtio-net-pci,netdev=n0,mac={recipe.MAC},addr=03.0,romfile=",
        "-device", "virtio-rng-pci,addr=1e.0", "-serial", f"file:{console}", *extra,
    ]  # fmt: skip


def start(folder: Path, argv: list[str], tie: bool) -> subprocess.Popen[bytes]:
    """Start QEMU in `folder` in a session of its own; with `tie` it ends with this process, however that ends."""
    with open(folder / LOG, "wb") as log:
        return subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env=needs.environment(), preexec_fn=process.tie_to_parent() if tie else None,
        )  # fmt: skip


def tail(file: Path, lines: int = 25) -> str:
    """Return the last lines of a console or log, indented, without terminal control sequences."""
    try:
        text = file.read_bytes().decode(errors="replace")
    except OSError:
        return f"    ({file} cannot be read)"
    clean = "".join(c for c in _CONTROL.sub("", text) if c.isprintable() or c == "\n")
    kept = [line for line in clean.splitlines() if line.strip()][-lines:]
    return "\n".join(f"    {line}" for line in kept) or "    (nothing)"
