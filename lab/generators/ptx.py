"""The trials' kernels: tunecheck.cu compiled to the PTX text that is shipped. `make ptx` after every change of the .cu.

nvcc of one version: another one's text differs. It comes from PATH or from NVIDIA's wheels (the extra `ptx`, 125 MB).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import paths
from lab.errors import LabError

__all__ = ["ARCHITECTURES", "RELEASE", "SOURCE", "TARGET", "build", "code", "made_from", "program", "release", "stamp",
           "write"]

_KERNELS = paths.REPO / "checks/tunecheck/trials/kernels"
SOURCE, TARGET = _KERNELS / "tunecheck.cu", _KERNELS / "tunecheck.ptx"
RELEASE = "13.0"
#: What the shipped text is for: Turing to Blackwell.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121")
#: Nothing in it needs more; so every driver since CUDA 11.0 takes it.
_ISA = "7.0"
_WHEELS = "make setup, then .venv/bin/python -m pip install --editable '.[ptx]'"


def program(name: str) -> str | None:
    """``nvcc`` or ``ptxas`` of PATH, of the wheels, or of the place where NVIDIA's packages put it."""
    wheels = next(iter((paths.REPO / ".venv/lib").glob(f"python*/site-packages/nvidia/cu13/bin/{name}")), None)
    here = next((Path(folder) / "nvidia/cu13/bin" / name for folder in sys.path
                 if (Path(folder) / "nvidia/cu13/bin" / name).exists()), None)
    return shutil.which(name) or next((str(path) for path in (wheels, here) if path), None) or shutil.which(
        name, path="/usr/local/cuda/bin")


def release(nvcc: str) -> str:
    """As in "13.0"; "" where it does not tell."""
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=60)
    found = re.search(r"release ([\d.]+)", said.stdout)
    return found[1] if found else ""


def stamp() -> str:
    """SHA-256 of the .cu as it is now."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def made_from(text: str) -> str | None:
    """SHA-256 of the .cu that ``text`` says it was made of."""
    found = re.search(r"^// SHA-256 of tunecheck.cu: ([0-9a-f]{64})$", text, re.M)
    return found[1] if found else None


def code(text: str) -> list[str]:
    """The lines that are not comments: those name the compiler's build."""
    return [line for line in text.splitlines() if line and not line.startswith("//")]


def build(nvcc: str) -> str:
    """The PTX text. LabError with the compiler's words where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tunecheck.ptx"
        done = subprocess.run([nvcc, "-ptx", "-arch=compute_75", "-o", str(out), str(SOURCE)], capture_output=True,
                              text=True, timeout=300)
        if done.returncode:
            raise LabError(f"nvcc could not compile {SOURCE.name}: {done.stderr.strip()}")
        text, times = re.subn(r"^\.version .*$", f".version {_ISA}", out.read_text(), count=1, flags=re.M)
    if not times:
        raise LabError("nvcc wrote no .version line")
    return f"// Made by `make ptx` from tunecheck.cu: do not edit.\n// SHA-256 of tunecheck.cu: {stamp()}\n{text}"


def write() -> int:
    """Compile and replace the shipped text."""
    nvcc = program("nvcc")
    if nvcc is None:
        raise LabError(f"there is no nvcc; install CUDA {RELEASE}'s, or: {_WHEELS}")
    if release(nvcc) != RELEASE:
        raise LabError(f"{nvcc} is of CUDA {release(nvcc) or '(unknown)'}, whose PTX text differs; expected {RELEASE}: "
                       f"{_WHEELS}")
    text = build(nvcc)
    TARGET.write_text(text)
    print(f"{TARGET}: {len(code(text))} lines, from {nvcc}")
    return 0
