"""A lab box: start it, wait for it, reach it, end it. One folder per machine holds everything it has."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import access, image, layouts, needs, paths, photo, process, qemu, qmp, uefi
from lab.errors import LabError
from lab.progress import progress

STATE, CONSOLE, DISK = "machine.json", "console.log", photo.DISK
KEPT_CONSOLES = 3
MEMORY_MIB = 1024


@dataclass(frozen=True)
class Running:
    """What machine.json holds: enough to find the process again and never to take another one for it."""

    pid: int
    start_ticks: int
    marker: str
    port: int
    layout: str
    iommu: str
    accelerator: str
    image: str


@dataclass(frozen=True)
class _Start:
    """How a machine was started, so that it can be started again."""

    argv: list[str]
    tie: bool
    marker: str
    layout: str
    iommu: str
    image: str


class Machine:
    """The machine `name`, running or not."""

    def __init__(self, name: str = "lab") -> None:
        self.name = name
        self.folder = paths.machine(name)
        self.console_file = self.folder / CONSOLE
        self._started: _Start | None = None

    def state(self) -> Running | None:
        """Return the running machine's state, None when it is not running."""
        try:
            state = Running(**json.loads((self.folder / STATE).read_text()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise LabError(
                f"{self.folder / STATE} is damaged ({error}); end the machine's process and remove {self.folder}"
            ) from None
        return state if process.is_ours(state.pid, state.start_ticks, state.marker) else None

    def up(
        self, layout: str = "switch", iommu: str = "intel", tie: bool = False, base: Path | None = None,
        watchdog: bool = False, firmware: str = "bios", uuid: str = "", cpus: int = qemu.CPUS,
    ) -> None:  # fmt: skip
        """Start the machine on a fresh overlay of the image `base` (default: the base image).

        With `tie` it ends with this process, however that ends; with `watchdog` it has a hardware watchdog that resets
        it, Intel's 6300ESB; with `uuid` DMI says that one. The layout `numa` needs two `cpus`. ``firmware`` is one of
        `uefi.KINDS`; every machine starts with fresh UEFI variables."""
        if state := self.state():
            raise LabError(
                f"lab box `{self.name}` is already running (pid {state.pid}, layout {state.layout}, iommu "
                f"{state.iommu}); use it, or end it first: {paths.typed('down', self.name)}"
            )
        needs.check(needs.RUN)
        uefi.check(firmware)
        base = base or image.path()
        if not base.exists():
            raise LabError(f"there is no image yet; run: {paths.typed('build')}")
        self._clear()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._rotate_consoles()
        try:
            self._start(layout, iommu, tie, base, [*(layouts.WATCHDOG if watchdog else []),
                                                   *uefi.arguments(firmware, self.folder),
                                                   *(["-uuid", uuid] if uuid else [])], cpus)
        except BaseException:
            self.down()
            raise

    def _start(self, layout: str, iommu: str, tie: bool, base: Path, more: list[str], cpus: int) -> None:
        access.make_keys(self.folder, self.name)
        # A relative backing file, so that the state folder can be moved.
        backing = os.path.relpath(base, self.folder)
        subprocess.run(
            ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", backing, DISK], cwd=self.folder, check=True
        )
        # What its disk serves, for the control node.
        pinned = list(base.parent.glob("*.lock.json"))
        for lock in pinned:
            shutil.copy(lock, self.folder)
        marker = f"tunecheck-lab-{self.name}"
        argv = qemu.command(
            disk=f"file={DISK},format=qcow2", console=CONSOLE, marker=marker, memory=MEMORY_MIB,
            machine=layouts.machine_type(iommu, needs.accelerator() == "kvm"), vectors=bool(pinned), cpus=cpus,
            extra=["-smbios", f"type=11,path={access.CREDENTIALS}",
                   "-qmp", f"unix:{qmp.SOCKET},server=on,wait=off",
                   *layouts.arguments(layout, iommu, MEMORY_MIB), *more],
        )  # fmt: skip
        self._launch(_Start(argv, tie, marker, layout, iommu, base.parent.name))

    def _launch(self, start: _Start) -> None:
        """Start QEMU and write down how the machine is found and reached."""
        child = qemu.start(self.folder, start.argv, start.tie)
        try:
            port = self._port(child)
            ticks = process.start_ticks(child.pid)
            if ticks is None:
                raise LabError(self._failed("ended right after its start"))
            state = Running(child.pid, ticks, start.marker, port, start.layout, start.iommu, needs.accelerator(),
                            start.image)  # fmt: skip
            access.write_config(self.folder, self.name, port)
            (self.folder / STATE).write_text(json.dumps(asdict(state), indent=2) + "\n")
        except BaseException:
            process.stop_group(child)
            raise
        child.returncode = 0  # not ours to wait for any more: `down` ends it by its identity
        self._started = start

    def back_to(self, name: str) -> None:
        """Start anew on the photo `name`, as when power is back after a cut at that moment; its console begins anew,
        too. Only the object that started the machine can."""
        state, start = self.state(), self._started
        if state is None or start is None:
            raise LabError(f"lab box `{self.name}` does not run, or was started elsewhere")
        process.kill(state.pid, state.start_ticks, state.marker)
        photo.put_back(self.folder, name)
        self._rotate_consoles()
        self._launch(start)

    def _port(self, child: subprocess.Popen[bytes]) -> int:
        """Ask QEMU which port of 127.0.0.1 it got for ssh (it took a free one itself, so no race)."""
        end = time.monotonic() + 20
        while time.monotonic() < end and child.poll() is None:
            try:
                answer = qmp.ask(self.folder, "human-monitor-command", **{"command-line": "info usernet"})
            except OSError:
                time.sleep(0.05)
                continue
            if found := re.search(r"HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", answer):
                return int(found[1])
            raise LabError(f"QEMU reports no forwarded port; it said: {answer!r}")
        raise LabError(self._failed("did not start"))

    def wait(self, timeout: float | None = None) -> None:
        """Return when ssh answers; raises LabError with the console's tail when it does not in time."""
        limit = qemu.boot_timeout() if timeout is None else timeout
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if self.state() is None:
                raise LabError(self._failed("ended while booting"))
            if self.answers() and self.ssh("true", timeout=30).returncode == 0:
                return
            time.sleep(0.2)
        raise LabError(self._failed(f"did not answer on ssh within {limit:.0f} s"))

    def answers(self) -> bool:
        """Tell whether sshd is there. A whole ssh handshake per try would slow the boot that is waited for."""
        state = self.state()
        return state is not None and _ssh_answers(state.port)

    def _failed(self, what: str) -> str:
        text = f"lab box `{self.name}` {what}; its console (kept in {self.console_file}) ended with:\n"
        text += qemu.tail(self.console_file)
        if (log := self.folder / qemu.LOG).exists() and log.stat().st_size:
            text += f"\nand QEMU said:\n{qemu.tail(log)}"
        return text

    def ssh(self, command: str, user: str = "root", timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a shell command on the machine; a timeout is returned as exit status 255."""
        argv = access.command(self.folder, self.name, command, user=user)
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(argv, 255, "", f"no answer within {timeout:.0f} s")

    def console(self) -> str:
        """Return the whole console of the present (or last) run."""
        return self.console_file.read_text(errors="replace") if self.console_file.exists() else ""

    def down(self) -> bool:
        """End the machine and remove everything of it but its console logs. Tells whether it was running."""
        state = self.state()
        if state:
            process.kill(state.pid, state.start_ticks, state.marker)
            progress(f"lab box `{self.name}` is down")
        self._clear()
        return state is not None

    def _clear(self) -> None:
        if self.folder.exists():
            for item in self.folder.iterdir():
                if not item.name.startswith("console."):
                    item.unlink()

    def _rotate_consoles(self) -> None:
        """console.log -> console.1.log -> console.2.log: the log of a failed boot outlives the next try."""
        names = [CONSOLE, *(f"console.{n}.log" for n in range(1, KEPT_CONSOLES))]
        for older, newer in zip(reversed(names), [*reversed(names[:-1]), None], strict=True):
            if newer and (self.folder / newer).exists():
                shutil.move(self.folder / newer, self.folder / older)


def _ssh_answers(port: int) -> bool:
    # QEMU accepts the connection before the guest does: only the banner says that sshd is there.
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as sock:
            return sock.recv(4) == b"SSH-"
    except OSError:
        return False
