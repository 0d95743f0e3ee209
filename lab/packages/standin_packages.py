"""Stand-ins for what only NVIDIA's repositories have: packages of the same names and versions, other contents.

Real: the kernel modules (built by DKMS on the box), ELF libraries, units, maintainer scripts, dependencies.
Not real: anything that would touch a GPU. Names and dependencies: NVIDIA's debian13 repository, read by
``tunecheck.parsers.packages.driver_packages``; only ``KINDS`` below says what a package holds.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from lab import standin_gpus
from lab.errors import LabError
from lab.packages.apt_repo import Link, Package

_HERE = standin_gpus.STANDINS
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
#: Packages of one driver version: what tunecheck.parsers.packages.driver_packages has for NVIDIA's debian13 (a test
#: compares).
DRIVER = (
    "nvidia-kernel-open-dkms", "nvidia-kernel-support", "firmware-nvidia-gsp", "nvidia-modprobe",
    "nvidia-persistenced", "nvidia-smi", "libnvidia-ml1", "libcuda1", "libnvidia-cfg1", "libnvidia-nvvm4",
    "libnvidia-ptxjitcompiler1", "nvidia-driver-cuda",
)  # fmt: skip
NVSWITCH = ("nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm")
TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools",
           "libnvidia-container1")  # fmt: skip
_SONAMES = {
    "libnvidia-ml1": "libnvidia-ml.so.1", "libcuda1": "libcuda.so.1", "libnvidia-cfg1": "libnvidia-cfg.so.1",
    "libnvidia-nvvm4": "libnvidia-nvvm.so.4", "libnvidia-ptxjitcompiler1": "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-container1": "libnvidia-container.so.1",
    "libnvidia-nscq": "libnvidia-nscq.so.2", "libnvsdm": "libnvsdm.so.1",
}  # fmt: skip
_DEPENDS = {
    "nvidia-kernel-open-dkms": "nvidia-kernel-support (= {v}), firmware-nvidia-gsp (= {v}), dkms (>= 3.0.11)",
    "nvidia-persistenced": "libnvidia-cfg1 (= {v})",
    "nvidia-smi": "libnvidia-ml1 (= {v})",
    "libcuda1": "libnvidia-nvvm4 (= {v}), libnvidia-ptxjitcompiler1 (= {v})",
    "nvidia-driver-cuda": "libcuda1 (= {v}), nvidia-smi (= {v}), nvidia-persistenced (= {v}), "
                          "nvidia-modprobe (= {v}), nvidia-kernel-open-dkms (= {v})",
    "nvidia-container-toolkit": "nvidia-container-toolkit-base (= {v}), libnvidia-container-tools (= {v})",
    "libnvidia-container-tools": "libnvidia-container1 (>= {v})",
}  # fmt: skip


def driver(version: str, names: tuple[str, ...] = DRIVER, mismatch: bool = False) -> list[Package]:
    """Return the packages of driver ``version`` (595.71.05) and its pinning package; with ``mismatch`` the kernel
    module does not compile on any kernel."""
    made = [_package(name, version, f"{version}-1", mismatch) for name in names]
    return [*made, pinning(version)]


def toolkit(version: str) -> list[Package]:
    """Return the four packages of the container toolkit ``version`` (1.18.1)."""
    return [_package(name, version, f"{version}-1", False) for name in TOOLKIT]


def pinning(version: str) -> Package:
    """Return nvidia-driver-pinning-<version>: as NVIDIA's, nothing but a file of apt preferences."""
    name = f"nvidia-driver-pinning-{version}"
    text = "".join(f"Package: {glob}\nPin: version {version}-*\nPin-Priority: 1000\n\n"
                   for glob in ("*nvidia*", "libcuda1", "cuda-drivers*"))  # fmt: skip
    return Package(name, f"{version}-1", "all", {"Conflicts": "nvidia-driver-pinning",
                   "Provides": "nvidia-driver-pinning"}, {f"/etc/apt/preferences.d/{name}": text})  # fmt: skip


def kernel(release: str, version: str) -> list[Package]:
    """Return a kernel of the given release without headers, and the metapackage that brings it. Its image is a copy of
    the running one and it has no module: it is there to be found, not to be booted."""
    script = (f"#!/bin/sh\nset -e\n[ \"$1\" = configure ] || exit 0\nfor file in vmlinuz initrd.img config; do\n"
              f"  cp /boot/$file-$(uname -r) /boot/$file-{release}\ndone\nupdate-grub\n")  # fmt: skip
    gone = f"#!/bin/sh\nset -e\nrm -f /boot/*-{release}\n[ \"$1\" != remove ] || update-grub\n"
    image = Package(f"linux-image-{release}", version, files={f"/lib/modules/{release}/modules.builtin": ""},
                    scripts={"postinst": script, "postrm": gone})  # fmt: skip
    meta = Package("linux-image-amd64", version, fields={"Depends": f"linux-image-{release} (= {version})"})
    return [image, meta]


def _package(name: str, upstream: str, version: str, mismatch: bool) -> Package:
    fields = {"Depends": _DEPENDS[name].format(v=version)} if name in _DEPENDS else {}
    if name.endswith("-dkms"):
        return _dkms(name, upstream, version, fields, mismatch)
    if soname := _SONAMES.get(name):
        base = soname.rpartition(".")[0]
        file = f"{base}.{upstream}"
        # The link as the package ships it; ldconfig would make the same one from the soname.
        files: dict[str, str | bytes | Link] = {f"{LIBRARIES}/{file}": _library(soname, upstream),
                                                f"{LIBRARIES}/{soname}": Link(file)}
        return Package(name, version, fields=fields, files=files, scripts={"postinst": "#!/bin/sh\nldconfig\n"})
    files = {path: text.replace("@VERSION@", upstream) for path, text in _files(name, upstream).items()}
    programs = frozenset(path for path in files if path.startswith("/usr/bin/"))
    return Package(name, version, fields=fields, files={**files}, programs=programs)


def _files(name: str, upstream: str) -> dict[str, str]:
    if name == "firmware-nvidia-gsp":
        return {f"/usr/lib/firmware/nvidia/{upstream}/{file}": "stand-in\n" for file in
                ("gsp_ga10x.bin", "gsp_tu10x.bin")}  # fmt: skip
    if name == "nvidia-container-toolkit-base":
        return {"/usr/bin/nvidia-ctk": (_HERE / "nvidia-ctk").read_text()}
    if name == "nvidia-modprobe":
        return {"/usr/bin/nvidia-modprobe": (_HERE / "nvidia-modprobe").read_text()}
    if name == "nvidia-smi":
        return {"/usr/bin/nvidia-smi": "#!/bin/sh\necho 'No devices were found'\nexit 6\n"}
    if name == "nvidia-persistenced":
        return {**_daemon("nvidia-persistenced"), "/usr/share/doc/nvidia-persistenced/version": upstream}
    if name.startswith("nvidia-fabricmanager"):
        return _daemon("nv-fabricmanager", "nvidia-fabricmanager")
    return {f"/usr/share/doc/{name}/version": f"{upstream}\n"}


def _daemon(program: str, unit: str = "") -> dict[str, str]:
    return {
        f"/usr/bin/{program}": "#!/bin/sh\n[ \"$1\" != --version ] || { echo @VERSION@; exit; }\nexec sleep infinity\n",
        f"/usr/lib/systemd/system/{unit or program}.service":
            f"[Unit]\nDescription={program} (stand-in)\n[Service]\nExecStart=/usr/bin/{program}\n"
            "[Install]\nWantedBy=multi-user.target\n",
    }  # fmt: skip


def _dkms(name: str, upstream: str, version: str, fields: dict[str, str], mismatch: bool) -> Package:
    """The layout of NVIDIA's and Debian's packages: /usr/src/nvidia-<version>, built by dkms's common.postinst."""
    flags = f"-DSTANDIN_VERSION='\"{upstream}\"'" + (" -DSTANDIN_MISMATCH" if mismatch else "")
    conf = (
        f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{upstream}"\nAUTOINSTALL="yes"\n'
        'MAKE[0]="make modules KERNEL_UNAME=${kernelver}"\nCLEAN="true"\n'
        'BUILT_MODULE_NAME[0]="nvidia"\nDEST_MODULE_LOCATION[0]="/updates/dkms"\n'
        'BUILT_MODULE_NAME[1]="nvidia-uvm"\nDEST_MODULE_LOCATION[1]="/updates/dkms"\n'
    )
    source = f"/usr/src/nvidia-{upstream}"
    files: dict[str, str | bytes | Link] = {
        f"{source}/dkms.conf": conf,
        f"{source}/Makefile": standin_gpus.MAKEFILE,
        f"{source}/Kbuild": standin_gpus.KBUILD.format(flags=flags),
        **{f"{source}/{name}": (_HERE / name).read_text() for name in standin_gpus.MODULES},
    }
    # As dh_dkms writes them (Debian's nvidia-open-kernel-dkms 550.163.01-4~bpo13+1, read 2026-11-21).
    configure = ('#!/bin/sh\nset -e\n[ "$1" != configure ] || '
                 f'/usr/lib/dkms/common.postinst nvidia {upstream} /usr/share/nvidia-dkms "" "$2"\n')  # fmt: skip
    remove = ('#!/bin/sh\nset -e\ncase "$1" in remove|upgrade|deconfigure)\n'
              f'  [ -z "$(dkms status -m nvidia -v {upstream})" ] || dkms remove -m nvidia -v {upstream} --all\nesac\n')
    return Package(name, version, fields=fields, files=files, scripts={"postinst": configure, "prerm": remove})


@functools.cache
def _library(soname: str, version: str) -> bytes:
    """Compile the library: NVML's stand-in for libnvidia-ml, else one that holds nothing but its soname."""
    with tempfile.TemporaryDirectory(prefix="tc-so-") as folder:
        target = Path(folder, f"{soname.rpartition('.')[0]}.{version}")
        if soname.startswith("libnvidia-ml."):
            return standin_gpus.library("nvml.c", target, soname).read_bytes()
        compiler = standin_gpus.compiler()
        if compiler is None:
            raise LabError("the stand-in libraries need a C compiler; run: apt-get install gcc libc6-dev")
        source = Path(folder, "empty.c")
        source.write_text(f'const char version[] = "{version}";\n')
        done = subprocess.run([compiler, "-shared", "-fPIC", "-s", f"-Wl,-soname,{soname}", "-o", str(target),
                               str(source)], capture_output=True, text=True, timeout=60)  # fmt: skip
        if done.returncode != 0:
            raise LabError(f"compiling {soname} failed: {done.stderr.strip()}")
        return target.read_bytes()
