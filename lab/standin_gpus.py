"""Stand-in GPUs for the lab's box: kernel modules and libraries with NVIDIA's names, on QEMU's bochs-display functions.

Real: modules, /proc/driver/nvidia, device nodes, memory, copies, sums, processes. Made up: the boards' values, and all
times (`standins/gpu`, which the unit tests use too). On a disk they are compiled in its own tree, for its kernel.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError

__all__ = ["FILES", "KBUILD", "MAKEFILE", "VERSION", "bring", "compiler", "library"]

VERSION, NCCL = "595.71.05", "2.28.9"
STANDINS = Path(__file__).resolve().parent / "standins"
LIBRARIES = STANDINS / "gpu"
#: Source -> soname and version.
_LIBRARIES = {"cuda.c": ("libcuda.so.1", VERSION), "nvml.c": ("libnvidia-ml.so.1", VERSION),
              "nccl.c": ("libnccl.so.2", NCCL)}  # fmt: skip
# Without vectors: emulated, they make pattern and check four times slower.
_FLAGS = ("-std=gnu11", "-O2", "-fno-tree-vectorize", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread")
# Without debug information (and what pahole makes of it) a build takes two thirds of the time, which counts where
# nothing runs natively.
MAKEFILE = ("modules:\n\t$(MAKE) -C /lib/modules/$(KERNEL_UNAME)/build M=$(CURDIR) KCFLAGS=-g0 "
            "CONFIG_DEBUG_INFO_BTF_MODULES= modules\n")  # fmt: skip
KBUILD = "obj-m := nvidia.o nvidia-uvm.o\nccflags-y := {flags}\n"
MODULES = ("nvidia.c", "nvidia-uvm.c")
_PROGRAMS = ("nvidia-smi", "nvidia-ctk", "tunecheck-standin")
#: Path on the box -> content.
_CONFIGURATION = {
    "etc/modules-load.d/nvidia.conf": "nvidia\nnvidia-uvm\n",
    "etc/modprobe.d/nvidia-standin.conf": "options nvidia standin_boards=1\n",
    "etc/systemd/system/nvidia-cdi-refresh.service":
        "[Unit]\nDescription=CDI specification of the stand-in GPUs\nAfter=systemd-modules-load.service\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        "ExecStart=/usr/bin/nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml\n"
        "[Install]\nWantedBy=multi-user.target\n",
}  # fmt: skip
#: What an image with them is made of.
FILES = (Path(__file__), *sorted(LIBRARIES.iterdir()), *(STANDINS / name for name in (*MODULES, *_PROGRAMS)))


def compiler() -> str | None:
    """Return this machine's C compiler."""
    return shutil.which("cc") or shutil.which("gcc")


def library(source: str, target: Path, soname: str) -> Path:
    """Compile ``standins/gpu/<source>`` to the file ``target``; its version is what the file's name says."""
    program = compiler()
    if program is None:
        raise LabError("the stand-in libraries need a C compiler; run: apt-get install gcc libc6-dev")
    made = subprocess.run([program, *_FLAGS, "-s", f"-Wl,-soname,{soname}", "-o", str(target),
                           str(LIBRARIES / source)], capture_output=True, text=True, timeout=120)  # fmt: skip
    if made.returncode != 0:
        raise LabError(f"compiling {soname} failed: {made.stderr.strip()}")
    return target


def bring(folder: Path) -> None:
    """Put into a folder what serving.sh compiles and copies: sources, a script of the compiler's calls, a tree."""
    shutil.copytree(LIBRARIES, folder / "gpu")
    for name in MODULES:
        shutil.copy(STANDINS / name, folder)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "Kbuild").write_text(KBUILD.format(flags=f"-DSTANDIN_VERSION='\"{VERSION}\"'"))
    calls = [f"gcc {' '.join(_FLAGS)} -s -Wl,-soname,{soname} -o {soname.rpartition('.')[0]}.{version} gpu/{source}"
             for source, (soname, version) in _LIBRARIES.items()]  # fmt: skip
    (folder / "libraries.sh").write_text("\n".join(["set -e", *calls, ""]))
    root = folder / "root"
    for path, text in _CONFIGURATION.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "usr/bin").mkdir(parents=True)
    for name in _PROGRAMS:
        program = root / "usr/bin" / name
        program.write_text((STANDINS / name).read_text().replace("@VERSION@", "1.18.1"))
        program.chmod(0o755)
    (root / "etc/tunecheck-standin").mkdir()
