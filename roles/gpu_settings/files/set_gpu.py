#!/opt/tunecheck/current/bin/python
"""Persistence mode, power limit and locked clocks of this box's GPUs, as the specification says. tunecheck-gpu.service.

Sets what differs, and says of each GPU what it did. No call of NVML reads locked clocks back: they are set every time,
and what was accepted is kept in the record, for this boot. NVML is asked in a child that is abandoned at the deadline.
Exit: 0 all is as declared, or there is nothing here to set; 1 a GPU refused or does not take a value; 2 no
specification, or no nvidia-ml-py; 3 NVML gave no answer; 10 with --check, which changes nothing: something differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tunecheck.errors import SpecError
from tunecheck.spec.frozen import Spec, load_frozen

FINE, REFUSED, NO_SPEC, NO_ANSWER, DIFFERS = 0, 1, 2, 3, 10
#: A box without a driver or without its boards: preflight judges that.
NOTHING_HERE = ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED", "NO_DEVICE")


class Refused(Exception):  # noqa: N818 - one GPU's, said and counted
    pass


class Gpu:
    """One GPU of NVML's, what is to be done with it and what was done."""

    def __init__(self, nvml: Any, index: int, check: bool) -> None:
        self.nvml, self.check = nvml, check
        self.handle = nvml.nvmlDeviceGetHandleByIndex(index)
        place = nvml.nvmlDeviceGetPciInfo(self.handle)
        self.bdf = f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0"
        self.ids = f"{place.pciDeviceId & 0xffff:04x}:{place.pciDeviceId >> 16:04x}"
        self.name = f"GPU{index} {self.bdf}"
        self.said: list[str] = []
        self.differs = False

    def persistence(self, on: bool) -> None:
        have = self.nvml.nvmlDeviceGetPersistenceMode(self.handle) == 1
        self._change("persistence mode {} -> {}", have, on, lambda each: "on" if each else "off",
                     lambda: self.nvml.nvmlDeviceSetPersistenceMode(self.handle, int(on)),
                     lambda: self.nvml.nvmlDeviceGetPersistenceMode(self.handle) == 1)

    def power(self, watts: int) -> None:
        low, high = (each // 1000 for each in self.nvml.nvmlDeviceGetPowerManagementLimitConstraints(self.handle))
        if not low <= watts <= high:
            raise Refused(f"box_spec.gpu.power_limit_watts {watts} is outside what this board takes: {low} to {high} W")
        have = self.nvml.nvmlDeviceGetPowerManagementLimit(self.handle) // 1000
        self._change("power limit {} -> {} W", have, watts, str,
                     lambda: self.nvml.nvmlDeviceSetPowerManagementLimit(self.handle, watts * 1000),
                     lambda: self.nvml.nvmlDeviceGetPowerManagementLimit(self.handle) // 1000)

    def clocks(self, wanted: tuple[int, ...] | None, locked: list[int] | None) -> list[int] | None:
        """Lock, or release what the record has; ``locked`` is what it has. Returns what holds from now on."""
        if wanted is None:
            if not self.check:
                self.nvml.nvmlDeviceResetGpuLockedClocks(self.handle)
            self._note(True, "clocks released")
            return None
        low, high = self._clock_range()
        if not low <= wanted[0] <= wanted[1] <= high:
            raise Refused(f"box_spec.gpu.clocks_mhz {list(wanted)} is outside what this board takes: {low} to {high} "
                          "MHz")
        if not self.check:
            self.nvml.nvmlDeviceSetGpuLockedClocks(self.handle, wanted[0], wanted[1])
        self._note(locked != list(wanted), f"clocks locked to {wanted[0]} to {wanted[1]} MHz")
        return list(wanted)

    def _clock_range(self) -> tuple[int, int]:
        nvml = self.nvml
        try:
            memory = max(nvml.nvmlDeviceGetSupportedMemoryClocks(self.handle))
            steps = nvml.nvmlDeviceGetSupportedGraphicsClocks(self.handle, memory)
            return min(steps), max(steps)
        except (nvml.NVMLError, ValueError):
            return 0, int(nvml.nvmlDeviceGetMaxClockInfo(self.handle, nvml.NVML_CLOCK_GRAPHICS))

    def _change(self, words: str, have: Any, want: Any, shown: Any, write: Any, read: Any) -> None:
        if have == want:
            return
        if not self.check:
            write()
            if (now := read()) != want:
                raise Refused(f"reads {words.format(shown(have), shown(now))} after {shown(want)} was set")
        self._note(True, words.format(shown(have), shown(want)))

    def _note(self, differs: bool, words: str) -> None:
        self.differs |= differs
        if differs or not self.check:
            self.said.append(words)


def work(spec: Spec, record: Path, check: bool) -> int:
    """What the child does."""
    try:
        import pynvml as nvml
    except ImportError:
        print("the Python package nvidia-ml-py is not installed; run: "
              "ansible-playbook site.yml -i inventory/NAME --tags gpu -l HOST")
        return NO_SPEC
    names = {value: name.removeprefix("NVML_ERROR_") for name, value in vars(nvml).items()
             if name.startswith("NVML_ERROR_") and isinstance(value, int)}
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        name = names.get(error.value, str(error.value))
        print(f"{'skip: no NVIDIA driver answers here' if name in NOTHING_HERE else 'NVML gives no answer'} ({name})")
        return FINE if name in NOTHING_HERE else NO_ANSWER
    locked = _read(record)
    worst, differs, mine = FINE, False, 0
    for index in range(count):
        who = f"GPU{index}"
        try:
            gpu = Gpu(nvml, index, check)
            if gpu.ids not in spec.accelerators.pci_ids:
                continue
            mine, who = mine + 1, gpu.name
            try:
                _settle(gpu, spec, locked)
                gpu.said = gpu.said or ["nothing to change"]
            finally:
                differs |= gpu.differs
                if gpu.said:
                    print(f"{who}: {'; '.join(gpu.said)}{' (not done: --check)' if gpu.differs and check else ''}")
                if not check:
                    _write(record, locked)      # a later GPU may hang
        except Refused as error:
            worst = REFUSED
            print(f"{who}: {error}", file=sys.stderr)
        except nvml.NVMLError as error:
            worst = REFUSED
            print(f"{who}: NVML refuses: {names.get(error.value, error.value)}", file=sys.stderr)
    if not mine and worst == FINE:
        print(f"skip: none of NVML's {count} GPUs is of box_spec.accelerators.pci_ids")
    return worst or (DIFFERS if check and differs else FINE)


def _settle(gpu: Gpu, spec: Spec, locked: dict[str, list[int]]) -> None:
    # Persistence first: without it the driver forgets the other two when the last program leaves the GPU.
    if spec.gpu.persistence is not None:
        gpu.persistence(spec.gpu.persistence)
    if spec.gpu.power_limit_watts is not None:
        gpu.power(spec.gpu.power_limit_watts)
    if spec.gpu.clocks_mhz is not None or gpu.bdf in locked:
        now = gpu.clocks(spec.gpu.clocks_mhz, locked.pop(gpu.bdf, None))
        if now is not None:
            locked[gpu.bdf] = now


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _read(record: Path) -> dict[str, list[int]]:
    """The clocks that were locked in this boot, by address."""
    try:
        data = json.loads(record.read_bytes())
        return dict(data["clocks_mhz"]) if data["boot_id"] == _boot_id() else {}
    except (OSError, ValueError, TypeError, LookupError):
        return {}


def _write(record: Path, locked: dict[str, list[int]]) -> None:
    record.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    temporary = record.with_suffix(".new")
    with temporary.open("w", encoding="utf-8") as handle:
        json.dump({"schema": "tunecheck/gpu/1", "boot_id": _boot_id(), "clocks_mhz": locked}, handle, sort_keys=True)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(record)


def supervised(argv: list[str], deadline: float) -> int:
    """Run ourselves as the child. Its output goes through a pipe of ours: what no signal ends holds only that."""
    child = subprocess.Popen([sys.executable, __file__, "--child", *argv], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    assert child.stdout is not None
    until = time.monotonic() + deadline
    while select.select([child.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
        if not (chunk := os.read(child.stdout.fileno(), 65536)):
            break
        os.write(1, chunk)
    try:
        code = child.wait(max(1.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1.0)
        print(f"NVML gave no answer within {deadline:g} s; see dmesg for Xid, and run: tunecheck host")
        return NO_ANSWER
    if code < 0:
        print(f"NVML ended its process (signal {-code})")
    return code if code >= 0 else NO_ANSWER


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 10 where something differs")
    parser.add_argument("--spec", type=Path, default=Path("/etc/tunecheck/spec.json"))
    parser.add_argument("--record", type=Path, default=Path("/run/tunecheck/gpu.json"))
    parser.add_argument("--deadline", type=float, default=40.0, help="seconds")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.child:
        return supervised(sys.argv[1:], options.deadline)
    # Should the parent be killed, nobody else would end a child that hangs.
    signal.setitimer(signal.ITIMER_REAL, options.deadline + 5)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        return work(load_frozen(options.spec).spec, options.record, options.check)
    except SpecError as error:
        print("; ".join(error.problems), file=sys.stderr)
        return NO_SPEC


if __name__ == "__main__":
    sys.exit(main())
