"""Snapshots of a small fleet, as files for `tunecheck audit --from`: the recording of a real box with two H200s, a few
facts edited, and every box a machine of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tunecheck.app.read_host import look
from tunecheck.cli.main import cli
from tunecheck.errors import TunecheckError
from tunecheck.facts.identity import Identity
from tunecheck.facts.kernel.modules import Module
from tunecheck.facts.receipt import Receipt, Run
from tunecheck.facts.runtime.incidents import Incidents
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.model.fact import Fact, absent, known
from tunecheck.parsers.packages.packages import Package
from tunecheck.spec import build
from tunecheck.util import left_behind

ROOT = Path(__file__).resolve().parents[3]
_TIME = int(time.time()) - 3600
#: The line of docs/fleet.md, and all that can be failed on.
NIGHTLY = ("--fail-on", "drift", "--fail-on", "fail", "--fail-on", "unknown", "--fail-on", "coverage")


@cache
def _recorded() -> Stored:
    frozen, snapshot = look("preflight", None, str(ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst"))
    return Stored(snapshot, frozen)


def box(number: int, *, iommu: str | None = "pt", hmm: str = "1", held: bool = True, word: str = "",
        spec: dict[str, Any] | None = None, run: float | None = None, created: float | None = None, watts: int = 700,
        gpus: int = 2, limited: int = 1, errors: int = 0, silent: str = "",
        incidents: Fact[Incidents] | None = None) -> bytes:
    """A snapshot of box ``number``. ``iommu``: of the kernel's command line. ``word``: another one in it. ``hmm``:
    nvidia_uvm's uvm_disable_hmm. ``held``: whether the driver's package is. ``spec``: box_spec, that the box was
    provisioned with; ``run``: and when (by its receipt). ``created``: the snapshot's time. ``watts``: the power limit
    of the first ``limited`` GPUs. ``gpus``: that are left. ``errors``: that GPU0's memory ever had. ``silent``: why
    NVML does not answer. ``incidents``: what its journal tells."""
    stored = _recorded()
    host = stored.snapshot.host
    assert host is not None and host.kernel.cmdline.value is not None
    words = tuple(each for each in (f"iommu={iommu}" if iommu else "", word) if each)
    # Without what the recorded machine says of PCIe errors (pcie_ports=compat): a warning that every box would have.
    recorded = tuple(each for each in host.kernel.cmdline.value if each != "pcie_ports=compat")
    log = host.kernel.log
    assert log.value is not None
    quiet = known(replace(log.value, events=replace(log.value.events, osc={})), log.source)
    host = replace(
        host, kernel=replace(host.kernel, cmdline=known((*words, *recorded), "/proc/cmdline"), log=quiet),
        modules={"nvidia-uvm": Module("nvidia-uvm", known(True, "modinfo"), known(True, "/sys"), known(
            {"uvm_disable_hmm": "1"}, "/etc/modprobe.d"), {"uvm_disable_hmm": known(hmm, "/sys/module")})},
        packages=replace(host.packages, installed=known(
            (Package("nvidia-driver-580", "580.159.04-1", held),), "dpkg-query"), others=known((), "dpkg-query")),
        identity=known(Identity(machine=known(f"{number:032x}", "/etc/machine-id"),
                                board=known(f"SN{number:05}", "board_serial"), **_rest(host.identity.value)), "files"))
    if incidents is not None:
        host = replace(host, incidents=incidents)
    snapshot = replace(stored.snapshot, host=host, hostname=known(f"gpu{number}", "hostname"))
    nvml, topology = snapshot.nvml, snapshot.topology
    assert nvml is not None and nvml.value is not None and topology.accelerators.value is not None
    first, *others = (replace(gpu, values={**gpu.values, "power_limit_mw": watts * 1000,
                                                   "power_limit_enforced_mw": watts * 1000}) if place < limited else gpu
                      for place, gpu in enumerate(nvml.value.gpus))
    first = replace(first, values={**first.values, "ecc_aggregate_uncorrected": errors})
    snapshot = replace(
        snapshot, nvml=absent("NVML", reason_of_text(silent)) if silent else replace(
            nvml, value=replace(nvml.value, gpus=(first, *others)[:gpus])),
        topology=topology if gpus == 2 else replace(
            topology, names=topology.names[:gpus], pairs=(),
            accelerators=replace(topology.accelerators, value=topology.accelerators.value[:gpus])))
    if run is not None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run))
        runs = (Run(at, "committed", "run 7"),)
        snapshot = replace(snapshot, receipt=known(Receipt("committed", runs=runs), "receipt"))
    return packed(Stored(snapshot, build(f"gpu{number}", spec) if spec else None),
                  _TIME + number if created is None else created)


def _rest(identity: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(identity).items() if name not in ("machine", "board")}


def one_line(text: str) -> str:
    """A message as it was before it was folded for the terminal."""
    return " ".join(text.split())


def naming(texts: Sequence[str], *names: str) -> list[str]:
    """Those of the texts that have these names in them, in this order and each as a word of its own."""
    order = re.compile(".*".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in names))
    return [text for text in texts if order.search(text)]


class Fleet:
    """``folder`` holds the snapshots, the history and every output. ``flaw``: why the last call of ``run`` was
    refused."""

    flaw: Enum | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = folder / "boxes"
        self.files.mkdir()
        self.store = folder / "state/fleet.db"
        self.store.parent.mkdir(mode=0o700)

    def put(self, number: int, **facts: Any) -> None:
        (self.files / f"gpu{number}.json").write_bytes(box(number, **facts))

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT / "checks"), "TUNECHECK_STORE": str(self.store),
                "LC_ALL": "C.UTF-8"}

    def popen(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A process of its own. ``program``: Python in place of the command."""
        env, program = {**self.env, **options.pop("env", {})}, options.pop("program", "")
        started = ["-c", program] if program else ["-m", "tunecheck"]
        return subprocess.Popen([sys.executable, *started, *arguments], cwd=self.folder, env=env, text=True,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                   **options})

    def process(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error, of a process of its own."""
        with self.popen(*arguments) as process:
            said, complained = process.communicate(timeout=120)
        return process.returncode, said, complained

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The same without the second that a process takes to start. Errors are told as main() tells them."""
        left_behind.written.clear()
        left_behind.tellers.clear()
        with contextlib.chdir(self.folder):
            done = CliRunner().invoke(cli, arguments, env={"TUNECHECK_STORE": str(self.store),
                                                           "TUNECHECK_WEBHOOK": None})
        self.flaw = getattr(done.exception, "flaw", None)
        if done.stderr.endswith("\nAborted!\n"):
            return 130, done.stdout, done.stderr.replace("\nAborted!", f"interrupted; {left_behind.left_behind()}")
        if isinstance(done.exception, TunecheckError):
            return done.exception.exit_code, done.stdout, done.stderr + str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    def audit(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("audit", "--from", "boxes", *arguments)

    def seen(self, *arguments: str, source: str = "boxes") -> tuple[int, dict[str, Any]]:
        """An audit of the folder: its exit code, its document."""
        code, out, err = self.run("audit", "--from", source, *arguments, "--json")
        assert out, err
        return code, json.loads(out)

    def refused(self, *arguments: str) -> tuple[Enum | None, str]:
        """Why the call is refused, and what is said of it."""
        code, out, err = self.run(*arguments)
        assert (code, out) == (2, ""), (out, err)
        return self.flaw, one_line(err)


def statuses(document: dict[str, Any]) -> dict[str, str]:
    """Host -> what became of it."""
    return {row["host"]: row["status"] for row in document["hosts"]}


def reason(document: dict[str, Any], host: str) -> str:
    """Why the host says nothing, or not all."""
    return str(next(row["reason"] for row in document["hosts"] if row["host"] == host))
