"""Why nvidia-smi gave no answer, in its own words: for nvml-answers. It was asked and failed, which is evidence."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.absence import Absence
from ...model.finding import Finding, Remedy
from ..context import Case
from . import module_flavour, nouveau_loaded
from .nvml_remedies import LOST, MISMATCH, VERSIONS
from .version_refused import MISMATCH as OF_VERSIONS

__all__ = ["refused"]

_LOG = "`sudo journalctl -k -b -g 'nvrm|nvidia|nouveau|secure boot'`"
_KINDS = {
    "no driver": ("driver-does-not-answer",
                  "the NVIDIA driver does not answer: its kernel module is not loaded, or did not get to its end",
                  Remedy.typed(f"the kernel log says why: {_LOG}. The usual reasons: no module was built for the "
                               "running kernel (`dkms status`; then `sudo dkms autoinstall`), Secure Boot refuses its "
                               "signature (`mokutil --sb-state`), nouveau holds the GPU (`lsmod` lists it)")),
    "no library": ("no-library", "nvidia-smi finds no libnvidia-ml.so",
                   Remedy("install the library in the loaded module's version (Debian: libnvidia-ml1, Ubuntu: "
                          "libnvidia-compute-BRANCH, Fedora and Rocky: nvidia-driver-cuda-libs); in a container the "
                          "toolkit brings it: --device nvidia.com/gpu=all")),
    OF_VERSIONS: ("library-mismatch", VERSIONS, MISMATCH),
    "no permission": ("permission-refused", "the driver refuses this user",
                      Remedy.typed("look again as root, or see the mode of the device files: "
                                   "`find /dev -maxdepth 1 -name 'nvidia*' -ls`")),
    "no gpu": ("driver-without-gpu", "the driver is loaded and has no GPU",
               Remedy.typed(f"see {_LOG} (RmInitAdapter failed, or no GPU that this driver supports), and "
                            "`lspci -nn -d 10de:`")),
    "no program": ("no-nvidia-smi", "nvidia-smi is not installed here",
                   Remedy("install the driver's utilities (Debian: nvidia-smi, Ubuntu: nvidia-utils-BRANCH, Fedora and "
                          "Rocky: nvidia-driver-cuda); in a container the toolkit brings it: "
                          "--device nvidia.com/gpu=all", words_open_driver=True)),
    "refused": ("nvml-does-not-start", "NVML does not start: the driver is loaded and gives an unknown error",
                Remedy.typed(f"see {_LOG}; in a container, the device nodes were lost (a daemon-reload does that): "
                             "start it again, with CDI")),
    "lost": ("gpu-lost", "a GPU is lost: it does not answer on the bus", LOST),
    "no handle": ("gpu-not-opened", "the driver cannot open a GPU",
                  Remedy.typed(f"see {_LOG} (RmInitAdapter failed, Xid 79, GSP); then reset it or switch the machine "
                               "off and on", words_open_driver=True)),
}


#: No module of NVIDIA's is loaded, or the one that is drives no GPU.
_WITHOUT_MODULE = ("no driver", "no gpu")


def refused(case: Case, check: str) -> Iterator[Finding]:
    """Yield one finding for each way in which nvidia-smi failed."""
    kinds: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for failure in case.snapshot.posted.failures:
        kinds.setdefault(failure.kind, []).extend([failure.gpu] if failure.gpu else [])
        words.setdefault(failure.kind, failure.text)
    for kind, gpus in kinds.items():
        code, text, fix = _KINDS[kind]
        about = f"{', '.join(gpus)}: " if gpus else ""
        beside = " (another text in the import shows an answer: they are of different times)" \
            if case.snapshot.nvml.value is not None and not gpus else ""
        if kind == OF_VERSIONS and case.snapshot.host is not None:
            # One cause is one failure: driver-coherence compares the driver's parts, and says how to join them.
            yield Finding(check, code, "NVML", "unknown", "effective", "not known before driver-coherence "
                          f"passes: {text}{beside}", words[kind], "an answer", ("nvidia-smi",),
                          absence=Absence.MISMATCH)
            continue
        if kind in _WITHOUT_MODULE and case.snapshot.host is not None and (cause := _cause(case)):
            yield Finding(check, code, "NVML", "unknown", "effective", f"not known before {cause} passes: "
                          f"{text}{beside}", words[kind], "an answer", ("nvidia-smi",), absence=Absence.NO_DRIVER)
            continue
        yield Finding(check, code, ", ".join(gpus) or "NVML", "fail", "effective", f"{about}{text}{beside}",
                      words[kind], "an answer", ("nvidia-smi",), fix)


def _cause(case: Case) -> str:
    """Return the check that fails and says why the driver drives nothing; "" where none does."""
    return next((each.CHECK.id for each in (nouveau_loaded, module_flavour)
                 if any(finding.outcome == "fail" for finding in each.judge(case))), "")
