"""The shipped PTX text is what tunecheck.cu says, and every GPU from Turing to Blackwell takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lab.generators import ptx

TEXT = ptx.TARGET.read_text()


def test_the_text_was_made_of_this_source() -> None:
    """Runs everywhere; the tests below only where a compiler is."""
    assert ptx.made_from(TEXT) == ptx.stamp(), "tunecheck.cu has changed since: run make ptx"


def test_the_text_is_for_every_driver_since_cuda_11() -> None:
    assert re.findall(r"^\.(?:version|target) .*$", TEXT, re.M) == [".version 7.0", ".target sm_75"]


def test_every_kernel_of_the_source_is_in_the_text() -> None:
    kernels = set(re.findall(r"\b(tc_\w+)\(", ptx.SOURCE.read_text()))
    assert len(kernels) == 7 and kernels == set(re.findall(r"^\.visible \.entry (\w+)\(", TEXT, re.M))


def _program(name: str) -> str:
    found = ptx.program(name)
    if found is None:
        pytest.skip(f"no {name} here; it comes with the extra `ptx` (125 MB)")
    return found


def test_the_text_is_what_the_compiler_makes() -> None:
    nvcc = _program("nvcc")
    if shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to read a source file; install gcc")
    if ptx.release(nvcc) != ptx.RELEASE:
        pytest.skip(f"{nvcc} is of CUDA {ptx.release(nvcc)}, whose PTX text may differ from that of {ptx.RELEASE}")
    assert ptx.code(ptx.build(nvcc)) == ptx.code(TEXT)


@pytest.mark.parametrize("architecture", ptx.ARCHITECTURES)
def test_it_assembles(architecture: str, tmp_path: Path) -> None:
    done = subprocess.run([_program("ptxas"), f"-arch={architecture}", "-o", str(tmp_path / "out.cubin"),
                           str(ptx.TARGET)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
