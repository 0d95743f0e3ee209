"""Which packages a driver with open kernel modules, and NVIDIA's container toolkit, are made of, per repository.

The one place where these names stand. Each part, family and repository says where its names were read and when;
``verified`` is false where nothing of the kind was found, and then the plan says so. How to read the columns: ``Part``.
Sources, cited below by their letters:

D  Debian's own indexes (bookworm, trixie, their security, updates and backports; contrib, non-free, non-free-firmware),
   resolved by apt on 2026-11-21; tests/unit/parsers/test_driver_names.py asks the reachable mirror again.
N  dpkg -l of a Debian box with NVIDIA's repository, 595.58.03, and install notes for 575.57.08, 580.126.20 and
   595.91.07 (published 2025-07 to 2026-08); NVIDIA's driver installation guide, debian: nvidia-driver-cuda with
   nvidia-kernel-open-dkms is the compute-only system.
U  NVIDIA's driver installation guide, "Ubuntu 590 and later packages": from 590 on the names lose their branch; names
   and versions 595.71.05-1ubuntu1 of ubuntu2404 and ubuntu2604 in published lock files, and 580.95.05-0ubuntu1 in a
   dpkg -l of ubuntu2404 (2025-09 to 2026-08).
C  NVIDIA/gpu-driver-container: debian13/install.sh, rhel9/install.sh, rhel10/install.sh, ubuntu24.04/precompiled,
   ubuntu26.04/install.sh (read 2026-11-21): fabric manager, nscq, nvsdm, nvlsm; from 580 on without the branch.
A  Ubuntu's archive, 595-server: pool paths and dpkg -l of 22.04, 24.04 and 26.04 boxes (published 2026-05 to 2026-10).
E  A mirror tool for NVIDIA's rhel9 repository, 580.178.04 (published 2026-10), with the module stream 580-open; dnf's
   versionlock list in NVIDIA's driver installation guide, "Version locking" (kmod-nvidia-open-dkms-3:575.51-1...).
T  Install guide of the container toolkit; the four packages at one version in published lock files, 1.19.1-1 (2026).
K  Fingerprints: published scripts that pin them, at least two per key (2025-2026)."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

__all__ = ["CUDA_REPOSITORY", "FAMILIES", "KEYS", "RELEASES", "TOOLKIT", "TOOLKIT_KEY", "TOOLKIT_REPOSITORY", "Family",
           "Key", "Part", "Release"]


class Part(NamedTuple):
    """One package of a driver. ``name`` may hold {branch}, {version}, {kernel} (once per kernel that must boot) and
    {flavour} of the kernel.

    ``follows``: ``driver`` has the driver's version; ``own`` has its own, apt's or dnf's candidate unless it is there.
    ``on``: always, dkms, precompiled, nvswitch. ``optional``: goes along where it is offered at the right version.
    ``branches``: first and last driver branch with this name. ``machines``: uname -m, empty for all."""

    name: str
    source: str
    follows: str = "driver"
    on: str = "always"
    optional: bool = False
    branches: Tuple[int, int] = (0, 9999)
    machines: Tuple[str, ...] = ()
    verified: bool = True


class Family(NamedTuple):
    """The packages of one repository. ``globs`` name every package of the family that has the driver's version, for
    pins: nothing of another version may come in. They must not match the container toolkit, settings, or what has
    versions of its own. ``components`` must be enabled for it; ``dkms``: packages that bring the module's source,
    between spaces."""

    parts: Tuple[Part, ...]
    globs: Tuple[str, ...]
    date: str
    components: Tuple[str, ...] = ()
    dkms: str = ""


class Key(NamedTuple):
    """The key that signs NVIDIA's repository of a release; ``file`` lies beside the repository's index."""

    file: str
    fingerprint: Optional[str]
    source: str
    date: str


class Release(NamedTuple):
    """One release of a distribution. ``path`` is the folder of NVIDIA's repository. ``nvidia`` and ``distribution`` are
    names in ``FAMILIES``, empty for none."""

    path: str
    nvidia: str
    distribution: str
    manager: str
    key: str
    machines: Tuple[str, ...] = ("x86_64", "aarch64")
    stream: str = ""


CUDA_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos/{path}/{machine}/"
_OLD, _NEW = (0, 579), (580, 9999)

_PINNING = Part("nvidia-driver-pinning-{version}", "N U C", optional=True)
_NVLINK5 = (Part("nvlsm", "C", "own", "nvswitch"), Part("infiniband-diags", "C", "own", "nvswitch"))
_SWITCH_DEB = (
    Part("nvidia-fabricmanager", "C U", on="nvswitch", branches=_NEW),
    Part("nvidia-fabricmanager-{branch}", "C", on="nvswitch", branches=_OLD),
    Part("libnvidia-nscq", "C U", on="nvswitch", branches=_NEW),
    Part("libnvidia-nscq-{branch}", "C", on="nvswitch", branches=_OLD),
    # Not built for arm64; from 570 on.
    Part("libnvsdm", "C U", on="nvswitch", branches=_NEW, machines=("x86_64",)),
    Part("libnvsdm-{branch}", "C", on="nvswitch", branches=(570, 579), machines=("x86_64",)), *_NVLINK5)

_DEBIAN = Family((
    Part("nvidia-open-kernel-dkms", "D", on="dkms"),
    Part("nvidia-open-kernel-support", "D"), Part("nvidia-alternative", "D"), Part("nvidia-legacy-check", "D"),
    Part("firmware-nvidia-gsp", "D"), Part("libcuda1", "D"), Part("libnvidia-ptxjitcompiler1", "D"),
    Part("libnvidia-pkcs11-openssl3", "D"), Part("libnvidia-nvvm4", "D"), Part("libnvidia-ml1", "D"),
    Part("libnvidia-cfg1", "D"), Part("nvidia-smi", "D"),
    # Sources of their own: trixie has persistenced 550.163.01-1 and modprobe 570.133.07-1 with a driver 550.163.01-2.
    Part("nvidia-persistenced", "D", "own"), Part("nvidia-modprobe", "D", "own")),
    ("nvidia-open-kernel-*", "nvidia-kernel-dkms", "nvidia-kernel-source", "nvidia-kernel-support",
     "nvidia-alternative", "nvidia-legacy-check", "nvidia-driver", "nvidia-driver-[b-o]*", "nvidia-smi",
     "nvidia-egl-*", "nvidia-vulkan-icd", "nvidia-opencl-icd", "nvidia-cuda-mps", "firmware-nvidia-gsp", "libcuda1",
     "libcudadebugger1", "libnvcuvid1", "libnvidia-ml1", "libnvidia-cfg1", "libnvidia-ptxjit*", "libnvidia-nvvm4",
     "libnvidia-pkcs11-*", "libnvidia-encode1", "libnvidia-fbc1", "libnvidia-opticalflow1", "libnvidia-allocator1",
     "libnvidia-api1", "libnvidia-glcore", "libnvidia-eglcore", "libnvidia-rtcore", "libnvidia-ngx1"),
    "2026-11-21", ("main", "contrib", "non-free", "non-free-firmware"), "nvidia-open-kernel-dkms")

_NVIDIA_DEBIAN = Family((
    _PINNING, Part("nvidia-kernel-open-dkms", "N", on="dkms"), Part("nvidia-kernel-support", "N"),
    Part("firmware-nvidia-gsp", "N"), Part("nvidia-driver-cuda", "N"), Part("libcuda1", "N"),
    Part("libnvidia-ml1", "N"), Part("libnvidia-ptxjitcompiler1", "N"), Part("libnvidia-cfg1", "N"),
    Part("nvidia-persistenced", "N"), Part("nvidia-modprobe", "N"),
    # Which of these libcuda1 of a branch needs is not known here: whatever is offered goes along at one version.
    *(Part(name, "N", optional=True) for name in (
        "nvidia-smi", "nvidia-alternative", "nvidia-legacy-check", "nvidia-driver-bin", "nvidia-opencl-icd",
        "libnvidia-nvvm4", "libnvidia-nvvm704", "libnvidia-pkcs11-openssl3", "libnvidia-gpucomp",
        "libnvidia-sandboxutils", "libnvidia-tileiras", "libcudadebugger1")),
    *_SWITCH_DEB),
    ("nvidia-kernel-*dkms", "nvidia-kernel-support", "nvidia-open*", "nvidia-driver", "nvidia-driver-[b-o]*",
     "nvidia-driver-pinning-*", "nvidia-smi", "nvidia-alternative", "nvidia-legacy-check", "nvidia-egl-icd",
     "nvidia-vulkan-icd",
     "nvidia-opencl-icd", "nvidia-modprobe", "nvidia-persistenced", "nvidia-fabricmanager*", "nvidia-imex*",
     "firmware-nvidia-gsp", "cuda-drivers*", "libcuda1", "libcudadebugger1", "libnvcuvid1", "libnvoptix1", "libnvsdm*",
     "libnvidia-ml1", "libnvidia-cfg1", "libnvidia-ptxjit*", "libnvidia-nvvm*", "libnvidia-pkcs11-*",
     "libnvidia-gpucomp", "libnvidia-sandboxutils", "libnvidia-tileiras", "libnvidia-encode1", "libnvidia-fbc1",
     "libnvidia-opticalflow1", "libnvidia-allocator1", "libnvidia-api1", "libnvidia-glcore", "libnvidia-eglcore",
     "libnvidia-glvkspirv", "libnvidia-rtcore", "libnvidia-ngx1", "libnvidia-nscq*", "xserver-xorg-video-nvidia"),
    "2026-11-21", dkms="nvidia-kernel-open-dkms")

_UBUNTU_BEFORE, _UBUNTU_SINCE = (0, 589), (590, 9999)
_UBUNTU_GLOBS = (
    "nvidia-dkms*", "nvidia-kernel-source*", "nvidia-kernel-common*", "nvidia-firmware*", "nvidia-open*",
    "nvidia-driver-[0-9]*", "nvidia-driver-open", "nvidia-driver", "nvidia-headless*", "nvidia-utils*",
    "nvidia-compute-utils*", "nvidia-fabricmanager*", "nvidia-imex*", "cuda-drivers*", "libnvidia-compute*",
    "libnvidia-common*", "libnvidia-cfg1*", "libnvidia-gpucomp*", "libnvidia-decode*", "libnvidia-encode*",
    "libnvidia-extra*", "libnvidia-fbc1*", "libnvidia-gl", "libnvidia-gl-[0-9]*", "libnvidia-nscq*", "libnvsdm*",
    "xserver-xorg-video-nvidia*")

_NVIDIA_UBUNTU = Family((
    _PINNING,
    Part("nvidia-dkms-open", "U", on="dkms", branches=_UBUNTU_SINCE),
    *(Part(name, "U", branches=_UBUNTU_SINCE) for name in (
        "nvidia-kernel-common", "nvidia-firmware", "libnvidia-compute", "libnvidia-cfg1", "libnvidia-gpucomp")),
    Part("nvidia-kernel-source-open", "U", on="dkms", branches=_UBUNTU_SINCE),
    Part("nvidia-dkms-{branch}-open", "U", on="dkms", branches=_UBUNTU_BEFORE),
    Part("nvidia-kernel-source-{branch}-open", "U", on="dkms", branches=_UBUNTU_BEFORE),
    *(Part(name, "U", branches=_UBUNTU_BEFORE) for name in (
        "nvidia-kernel-common-{branch}", "nvidia-firmware-{branch}", "libnvidia-compute-{branch}",
        "libnvidia-cfg1-{branch}")),
    Part("libnvidia-gpucomp-{branch}", "U", optional=True, branches=_UBUNTU_BEFORE),
    Part("libnvidia-decode", "U", optional=True, branches=_UBUNTU_SINCE),
    Part("nvidia-persistenced", "U"), Part("nvidia-modprobe", "U"), *_SWITCH_DEB),
    (*_UBUNTU_GLOBS, "nvidia-driver-pinning-*", "nvidia-persistenced", "nvidia-modprobe"), "2026-11-21",
    dkms="nvidia-dkms-open nvidia-dkms-{branch}-open")

_UBUNTU = Family((
    Part("nvidia-dkms-{branch}-server-open", "A", on="dkms"),
    Part("nvidia-kernel-source-{branch}-server-open", "A"),
    Part("linux-modules-nvidia-{branch}-server-open-{kernel}", "A C", "own", "precompiled"),
    Part("linux-modules-nvidia-{branch}-server-open-{flavour}", "A", "own", "precompiled"),
    Part("nvidia-headless-no-dkms-{branch}-server-open", "A"),
    Part("nvidia-kernel-common-{branch}-server", "A"), Part("nvidia-firmware-{branch}-server-{version}", "A"),
    Part("libnvidia-compute-{branch}-server", "A"), Part("libnvidia-cfg1-{branch}-server", "A"),
    Part("libnvidia-gpucomp-{branch}-server", "", optional=True, verified=False),
    Part("nvidia-utils-{branch}-server", "A"),
    # Brings nvidia-persistenced.
    Part("nvidia-compute-utils-{branch}-server", "A"),
    Part("nvidia-fabricmanager-{branch}", "A", on="nvswitch"), Part("libnvidia-nscq-{branch}", "A", on="nvswitch"),
    # Seen only in NVIDIA's repository.
    Part("nvlsm", "", "own", "nvswitch", optional=True, verified=False)),
    _UBUNTU_GLOBS, "2026-11-21", ("main", "restricted", "universe", "multiverse"),
    "nvidia-dkms-{branch}-server-open")

_NVIDIA_EL = Family((
    Part("kmod-nvidia-open-dkms", "E", on="dkms"), Part("nvidia-kmod-common", "E"), Part("nvidia-driver-cuda", "E"),
    Part("nvidia-driver-cuda-libs", "E"), Part("libnvidia-ml", "E"), Part("libnvidia-cfg", "E"),
    Part("libnvidia-gpucomp", "E", optional=True), Part("nvidia-modprobe", "E"), Part("nvidia-persistenced", "E"),
    Part("nvidia-fabricmanager", "C", on="nvswitch", branches=_NEW),
    Part("nvidia-fabric-manager", "C", on="nvswitch", branches=_OLD),
    Part("libnvidia-nscq", "C", on="nvswitch", branches=_NEW),
    Part("libnvidia-nscq-{branch}", "C", on="nvswitch", branches=_OLD),
    Part("libnvsdm", "C", on="nvswitch", branches=_NEW, machines=("x86_64",)),
    Part("libnvsdm-{branch}", "C", on="nvswitch", branches=(570, 579), machines=("x86_64",)), *_NVLINK5),
    (), "2026-11-21", dkms="kmod-nvidia-open-dkms")

FAMILIES = {"debian": _DEBIAN, "nvidia-debian": _NVIDIA_DEBIAN, "nvidia-ubuntu": _NVIDIA_UBUNTU, "ubuntu": _UBUNTU,
            "nvidia-el": _NVIDIA_EL}

KEYS = {
    "cudatools": Key("3bf863cc.pub", "EB693B3035CD5710E231E123A4B469963BF863CC", "K", "2026-11-21"),
    "debian13": Key("8793F200.pub", "02182E60104FCDC26EAE1B8597A5D4CB8793F200", "K", "2026-11-21"),
    "ubuntu2604": Key("60DF8A40.pub", "14BAFBC7562AD710CA04E69905FBB6DA60DF8A40", "K", "2026-11-21"),
    "rhel9": Key("D42D0685.pub", "610C7B14E068A878070DA4E99CD0A493D42D0685", "K", "2026-11-21"),
    # Only the short id was found, and a short id proves nothing.
    "rhel10": Key("CDF6BA43.pub", None, "K", "2026-11-21"),
}

#: By distribution and release. NVIDIA's debian12 repository was seen for x86_64 only.
RELEASES = {
    ("debian", "12"): Release("debian12", "nvidia-debian", "debian", "apt", "cudatools", ("x86_64",)),
    ("debian", "13"): Release("debian13", "nvidia-debian", "debian", "apt", "debian13"),
    ("ubuntu", "22.04"): Release("ubuntu2204", "nvidia-ubuntu", "ubuntu", "apt", "cudatools"),
    ("ubuntu", "24.04"): Release("ubuntu2404", "nvidia-ubuntu", "ubuntu", "apt", "cudatools"),
    ("ubuntu", "26.04"): Release("ubuntu2604", "nvidia-ubuntu", "ubuntu", "apt", "ubuntu2604"),
    ("el", "9"): Release("rhel9", "nvidia-el", "", "dnf", "rhel9", stream="nvidia-driver:{branch}-open"),
    # Modularity is gone from EL 10: C enables a stream for 9 and none for 10.
    ("el", "10"): Release("rhel10", "nvidia-el", "", "dnf", "rhel10"),
}

TOOLKIT = Family((
    Part("nvidia-container-toolkit", "T"), Part("nvidia-container-toolkit-base", "T"),
    Part("libnvidia-container-tools", "T"), Part("libnvidia-container1", "T")),
    ("nvidia-container-toolkit*", "libnvidia-container*"), "2026-11-21")
TOOLKIT_REPOSITORY = "https://nvidia.github.io/libnvidia-container/stable/{kind}/{machine}/"
TOOLKIT_KEY = Key("https://nvidia.github.io/libnvidia-container/gpgkey", "C95B321B61E88C1809C4F759DDCAE044F796ECB0",
                  "K", "2026-11-21")
