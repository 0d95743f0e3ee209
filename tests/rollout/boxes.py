"""Boxes that reboot, on this machine's loopback: each is a real sshd of its own, whose port is closed while it is down,
and which has another boot id afterwards. What a play does on a box by ssh is real; what the roles' modules and the
checker would find there is said by files in the box's folder. Nothing of this machine is changed."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from tests.play_environment import ROOT, environment
from tests.ssh_server import SSHD, make_room

#: What a box does when it is asked for a reboot.
COMES, LOST, UNPROVEN, OLD_ENTRY, STAYS = "comes", "lost", "unproven", "old-entry", "stays"

_SHELL = """#!/bin/sh
export BOX="$1" PATH="{folder}/bin:$PATH"
exec /bin/sh -c "$(printf %s "$SSH_ORIGINAL_COMMAND" | sed "s|/proc/sys/kernel/random/boot_id|$BOX/boot_id|g")"
"""
_PROGRAMS = {
    "systemctl": ': > "$BOX/rebooting"; echo "$(date +%s.%N) requested" >> "$BOX/log";'
                 ' [ ! -e "$BOX/slow" ] || sleep 4',
    "tunecheck": 'echo "$(date +%s.%N) proved" >> "$BOX/log"; cat "$BOX/proof"; exit "$(cat "$BOX/outcome")"',
}
_SERVER = """ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
ForceCommand {folder}/shell {box}
"""
_MODULE = """from ansible.module_utils.basic import AnsibleModule
import json, os, time
def say(text):
    with open(os.environ["BOX"] + "/log", "a") as log:
        log.write("%f %s\\n" % (time.time(), text))
def read(name):
    with open(os.environ["BOX"] + "/" + name) as file:
        return file.read().strip()
module = AnsibleModule({{name: {{"type": "raw"}} for name in {options}}}, supports_check_mode=True)
{body}
"""
_MODULES = {
    "box_info": ([], "module.exit_json(busy=[], boot_id=read('boot_id'), trial=read('trial'),"
                     " identity=json.loads(read('identity')),"
                     " trial_ended={'trial_id': '', 'reason': '', 'at': ''})"),
    "kernel_cmdline": (["state", "tokens", "modules", "reason"],
                       "say(module.params['state'])\n"
                       "module.exit_json(changed=False, left='', returns_in=-1, by_kexec=False)"),
    "box_receipt": (["state", "note", "spec_digest", "git_revision", "trial_id", "tokens", "acs"],
                    "say('receipt: ' + module.params['state'])\nmodule.exit_json(changed=False)"),
}


@dataclass
class Box:
    """``down``: seconds for which it is away in a reboot. None of ``waits_for`` is back before all were asked."""

    name: str
    folder: Path
    port: int
    down: float
    kind: str = COMES
    server: subprocess.Popen[bytes] | None = None
    up_at: float = field(default=float("inf"))
    waits_for: list[Box] = field(default_factory=list)
    asked: bool = False

    def start(self) -> None:
        assert SSHD is not None
        make_room()
        with (self.folder / "sshd.log").open("ab") as log:
            self.server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(self.folder / "server")],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def end(self) -> None:
        """As a box that is gone: with all its connections."""
        if self.server is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            for each in [*psutil.Process(self.server.pid).children(recursive=True), psutil.Process(self.server.pid)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.send_signal(signal.SIGKILL)
        self.server.wait()
        self.server = None

    def tick(self) -> None:
        if (asked := self.folder / "rebooting").exists():
            asked.unlink()
            self.asked = True
            if self.kind != STAYS:
                self.end()
                self.up_at = float("inf") if self.kind == LOST else time.monotonic() + self.down
        if self.server is None and time.monotonic() >= self.up_at and all(box.asked for box in self.waits_for):
            self.write("boot_id", str(uuid.uuid4()))
            self.write("trial", "" if self.kind == OLD_ENTRY else "abc")
            self.start()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def log(self) -> list[tuple[float, str]]:
        """When what was done on it."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.folder / "log").read_text().splitlines()
            return [(float(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]
        return []

    def at(self, what: str) -> float:
        return next(when for when, said in self.log() if said == what)


class Boxes:
    """A folder with boxes, a play of the role boot_trial (``tasks`` are others), and an inventory."""

    def __init__(self, folder: Path, kinds: list[str], down: float) -> None:
        self.folder = folder
        # The path of a socket is short: pytest's own folders are not.
        self.sockets = Path(tempfile.mkdtemp(prefix="tc-ssh-"))
        weakref.finalize(self, shutil.rmtree, self.sockets, True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host_key")], check=True)
        self._programs()
        self.boxes = [self._box(number, kind, down) for number, kind in enumerate(kinds, 1)]
        self.inventory = folder / "hosts.json"
        self.say({})

    def _programs(self) -> None:
        for path, text in {"shell": _SHELL.format(folder=self.folder), **{
                f"bin/{name}": f"#!/bin/sh\n{body}\n" for name, body in _PROGRAMS.items()}}.items():
            (self.folder / path).parent.mkdir(exist_ok=True)
            (self.folder / path).write_text(text)
            (self.folder / path).chmod(0o755)
        (self.folder / "library").mkdir()
        for name, (options, body) in _MODULES.items():
            (self.folder / f"library/{name}.py").write_text(_MODULE.format(options=options, body=body))
        role = shutil.copytree(ROOT / "roles/boot_trial", self.folder / "roles/boot_trial")
        verify = role / "tasks/verify.yml"
        verify.write_text(verify.read_text().replace("/opt/tunecheck/bin/tunecheck", "tunecheck"))

    def _box(self, number: int, kind: str, down: float) -> Box:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        box = Box(f"box{number:03d}", self.folder / f"box{number:03d}", port, down, kind)
        box.folder.mkdir()
        finding = {"id": "acs-redirect", "layer": "effective", "outcome": "fail", "message": "redirects"}
        for name, text in {"boot_id": str(uuid.uuid4()), "trial": "",
                           "identity": '{"serials": [], "uuid": ""}', "outcome": str(int(kind == UNPROVEN)),
                           "proof": json.dumps({"findings": [finding] if kind == UNPROVEN else []})}.items():
            box.write(name, text)
        box.write("server", _SERVER.format(port=port, folder=self.folder, box=box.folder))
        return box

    def say(self, variables: dict[str, Any], **hosts: dict[str, Any]) -> None:
        """Set variables for all boxes in the inventory, and for some."""
        each = {box.name: {"ansible_port": box.port, **hosts.get(box.name, {})} for box in self.boxes}
        self.inventory.write_text(json.dumps({"all": {"hosts": each, "vars": {**self.reached(), **variables}}}))

    def reached(self) -> dict[str, Any]:
        """The variables by which Ansible reaches them; the port is each box's own."""
        return {"ansible_host": "127.0.0.1", "ansible_python_interpreter": sys.executable, "ansible_become": False,
                "ansible_ssh_private_key_file": str(self.folder / "key"),
                "ansible_ssh_common_args": "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
                                           f" -o LogLevel=ERROR -o ControlPath={self.sockets}/%C"}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(0.1):
                for box in self.boxes:
                    box.tick()

        for box in self.boxes:
            box.start()
        thread = threading.Thread(target=tick)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            for box in self.boxes:
                box.end()

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        program = str(Path(sys.executable).parent / "ansible-playbook")
        return ([program, "play.yml", "-i", str(self.inventory), *arguments],
                environment(ANSIBLE_FORKS="5", ANSIBLE_HOME=str(self.folder / "ansible"), SSH_AUTH_SOCK=""))

    def run(self, *arguments: str, seconds: float = 300) -> tuple[int, str]:
        """Exit code, and the output as one line."""
        argv, variables = self.command(*arguments)
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=variables, timeout=seconds, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


def settled(timeout: int, confirm: int, on_trial: bool = True) -> dict[str, Any]:
    """The variables that the roles before boot_trial leave, of a box that is to reboot."""
    boot = {"reboot": "auto", "reboot_when_busy": False, "timeout_seconds": timeout}
    return {"kernel_cmdline_phase": "staged" if on_trial else "merged",
            "kernel_modules_pending": [] if on_trial else ["a parameter"],
            "kernel_cmdline_merged": ["a"], "kernel_cmdline_trial_id": "abc", "kernel_cmdline_confirm": confirm,
            "pcie_acs_registers": {}, "box_info": {"receipt": {"spec_digest": "d"}},
            "box_spec_frozen": {"digest": "d", "spec": {"boot": boot}}}
