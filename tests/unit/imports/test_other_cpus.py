"""lscpu and the kernel log of two machines are refused by their CPUs; those of one machine never are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.refusing import refused

from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage

_EPYC = "AMD EPYC 9575F 64-Core Processor"


def _lscpu(model: str = _EPYC, online: str = "0-255", count: int = 256) -> str:
    return (f"Architecture:            x86_64\nCPU(s):                  {count}\n"
            f"On-line CPU(s) list:     {online}\nVendor ID:               AuthenticAMD\n"
            f"Model name:              {model}\nThread(s) per core:      2\n")


def _log(model: str = _EPYC, possible: int = 256) -> str:
    return ("[    0.000000] Linux version 6.12.1 (a@b) #1 SMP\n"
            f"[    0.000000] setup_percpu: NR_CPUS:8192 nr_cpumask_bits:{possible} nr_cpu_ids:{possible} "
            "nr_node_ids:1\n"
            f"[    0.519624] smpboot: CPU0: {model} (family: 0x1a, model: 0x2, stepping: 0x1)\n")


def _folder(path: Path, *texts: str) -> str:
    for number, text in enumerate(texts):
        (path / f"{number}.txt").write_text(text)
    return str(path)


@pytest.mark.parametrize(("lscpu", "log", "said"), [
    (_lscpu(), _log("AMD QEMU Virtual CPU version 2.5+", 1), "QEMU Virtual CPU"),
    (_lscpu(), _log("Intel(R) Xeon(R) Platinum 8592+"), "Platinum 8592"),
    (_lscpu(), _log(possible=128), "higher number than 127")])
@pytest.mark.parametrize("turned", [True, False])
def test_two_machines_are_refused(tmp_path: Path, lscpu: str, log: str, said: str, turned: bool) -> None:
    with refused(Damage.CONTRADICTS, "lscpu shows", said):
        load_import(_folder(tmp_path, *((log, lscpu) if turned else (lscpu, log))))


@pytest.mark.parametrize(("lscpu", "log"), [
    (_lscpu(), _log()),
    (_lscpu(online="0-238,240-255"), _log()),
    (_lscpu(online="0-127", count=128), _log(possible=512)),
    (_lscpu("Virtual CPU 3"), _log("AMD Virtual CPU 3")),
    (_lscpu("AMD  EPYC 9575F 64-Core Processor   "), _log()),
    (_lscpu(), _log("AMD QEMU Virtual CPU version 2.5+", 1) + _log()),
    (_lscpu(), _log().partition("[    0.519624]")[0])])
def test_one_machine_is_not(tmp_path: Path, lscpu: str, log: str) -> None:
    load_import(_folder(tmp_path, lscpu, log))
