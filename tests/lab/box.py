"""One lab box in a test: the VM, an inventory of its own, ssh and playbooks against it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from lab.machine import Machine
from tests.lab.boots import Boots

from lab import access, engine

REPO = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
NAME = "lab"  # the inventory name of the box


@dataclass(frozen=True)
class CompletedRun:
    """A finished playbook: exit code, its output (stdout and stderr in order), seconds."""

    rc: int
    stdout: str
    seconds: float

    def __str__(self) -> str:
        return f"exit code {self.rc} after {self.seconds:.0f} s\n{self.stdout}"


def until(reached: Callable[[], bool], what: Callable[[], str] | str, seconds: float = 1200) -> None:
    """Wait until `reached()`. The bound only ends a test that hangs: without KVM, and with another VM beside this
    one, a reboot has taken more than two minutes, and on a loaded machine a first play eleven."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, what if isinstance(what, str) else what()
        time.sleep(0.1)     # no longer: a play that is to be interrupted goes on meanwhile


def serving(image: Path) -> dict[str, Any]:
    """Return the host variables of a box that serves what its image `serving` holds."""
    return {"inference_recipe": "lab-tiny", "inference_lock": str(image.with_name(engine.LOCK)),
            "inference_image_archive": "/srv/images/lab-tiny.tar", "inference_image_free_gib": 1}


def end_tree(pid: int) -> None:
    """Kill a playbook with its workers: each is a session of its own, and one may wait minutes for a reboot."""
    try:
        tree = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for process in [psutil.Process(pid), *tree]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


class Box:
    """A running lab box, reached as Ansible host `lab` through the inventory in `self.inventory`."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.inventory = folder / "inventory"
        self.reports = folder / "reports"
        # Control sockets: their path must be short, and every master must end with the test.
        self._control = Path(tempfile.mkdtemp(prefix="tc-ssh-"))
        shutil.copytree(REPO / "inventory/lab", self.inventory)
        self.set_spec({})

    @classmethod
    def start(cls, name: str, folder: Path, **options: Any) -> Box:
        """Start the VM `name` with the options of `Machine.up`. Tied: it ends with this process, however that ends."""
        machine = Machine(name)
        machine.up(tie=True, **options)
        try:
            return cls(machine, folder)
        except BaseException:
            machine.down()
            raise

    def set_spec(self, overrides: dict[str, Any] | None, **variables: Any) -> None:
        """Write the inventory anew: `overrides` become `box_spec_host`, `variables` further host variables."""
        host = {
            "ansible_host": self.machine.name,
            "ansible_ssh_common_args": f'-F "{self.machine.folder / access.CONFIG}"',
            "ansible_python_interpreter": "/usr/bin/python3",
            "preflight_reports_dir": str(self.reports),
            **({"box_spec_host": overrides} if overrides else {}),
            **variables,
        }
        # JSON is YAML: no quoting rule can turn "off" into false on the way.
        (self.inventory / "hosts.yml").write_text(json.dumps({"all": {"hosts": {NAME: host}}}, indent=2))

    def ssh(self, command: str, user: str = "root", check: bool = True, timeout: float = 120) -> str:
        """Run a shell command on the box and return its stdout; with `check` a failure is an AssertionError."""
        options = ("-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", f"ControlPath={self._control}/%C")
        argv = access.command(self.machine.folder, self.machine.name, command, user=user, options=options)
        # Files, not pipes: the background master keeps them open, and reading a pipe to its end would wait for it.
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=timeout)
            out.seek(0)
            err.seek(0)
            text = out.read()
            assert not check or done.returncode == 0, f"`{command}` ended with {done.returncode}: {text}{err.read()}"
            return text

    def popen(self, *args: str, playbook: str = "site.yml", **options: Any) -> subprocess.Popen[str]:
        """Start a playbook against the box; its stdout holds both streams."""
        inventory = () if "-i" in args else ("-i", str(self.inventory))
        argv = [str(BIN / "ansible-playbook"), playbook, *inventory, *args]
        env = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(REPO / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._control),
            **options.pop("env", {}),
        }
        return subprocess.Popen(
            argv, cwd=REPO, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, **options,
        )  # fmt: skip

    def playbook(self, *args: str, playbook: str = "site.yml", timeout: float = 900, **options: Any) -> CompletedRun:
        """Run a playbook against the box to its end (default: site.yml)."""
        begin = time.monotonic()
        with self.popen(*args, playbook=playbook, **options) as child:
            try:
                text, _ = child.communicate(timeout=timeout)
            except BaseException:
                end_tree(child.pid)
                raise
        return CompletedRun(child.returncode, text, time.monotonic() - begin)

    def report(self) -> dict[str, Any]:
        """Return the preflight report that the last playbook fetched."""
        return json.loads((self.reports / f"{NAME}-preflight.json").read_text())  # type: ignore[no-any-return]

    def boot_id(self) -> str:
        """Return the id of the present boot."""
        return self.ssh("cat /proc/sys/kernel/random/boot_id").strip()

    def cmdline(self) -> list[str]:
        """Return the words of the running kernel's command line."""
        return self.ssh("cat /proc/cmdline").split()

    def armed(self) -> bool:
        """Tell whether GRUB is to boot the trial once.

        The file itself is read: GRUB truncates it and then writes it, and in between `grub-editenv list` ends with an
        error ("cannot read ... No such file or directory").
        """
        return "next_entry=tunecheck-trial" in self.ssh("cat /boot/grub/grubenv")

    def line(self) -> str:
        """Return the command line of the boot that answers, "" where none does."""
        if not self.machine.answers():
            return ""
        asked = self.machine.ssh("cat /proc/cmdline", timeout=30)
        return asked.stdout if asked.returncode == 0 else ""

    def console(self) -> str:
        """Return everything the serial console has shown since power-on, over all reboots."""
        return self.machine.console()

    def boots(self) -> Boots:
        """Return how often it booted since power-on."""
        return Boots(self.console())

    def wait(self, timeout: float | None = None) -> None:
        """Return when ssh answers (again); masters of the boot before are dropped first."""
        self._end_masters()
        self.machine.wait(timeout)

    def reboot(self, command: str = "systemctl reboot") -> None:
        """Reboot the box by `command` and return when ssh answers in the new boot."""
        before = self.boot_id()
        self.ssh(command, check=False)
        self._end_masters()

        def booted() -> bool:
            asked = self.machine.ssh("cat /proc/sys/kernel/random/boot_id", timeout=30)
            return asked.returncode == 0 and asked.stdout.strip() not in ("", before)

        until(booted, lambda: f"`{command}` never led to a new boot; the console: {self.console()[-2000:]}")

    def back_to(self, photo: str) -> None:
        """Start on a photo of it, as when power is back behind a cut at that moment."""
        self._end_masters()
        self.machine.back_to(photo)

    def _end_masters(self) -> None:
        for socket in self._control.iterdir():
            # The host name is not looked up: the socket alone decides.
            argv = ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "lab"]
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
            socket.unlink(missing_ok=True)

    def close(self, keep_console: bool) -> None:
        """End the VM and every ssh master; without `keep_console` its folder goes too."""
        try:
            self._end_masters()
        finally:
            self.machine.down()
            shutil.rmtree(self._control, ignore_errors=True)
            if not keep_console:
                shutil.rmtree(self.machine.folder, ignore_errors=True)
