"""cuda-toolkit: nvcc can compile for the GPUs that are there.

Judged by what `nvcc --version` tells."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import EVERY, Check, Family, Heading
from ..context import Case

CHECK = Check(
    "cuda-toolkit", "nvcc can compile for the GPUs that are there",
    Heading.ACCELERATORS, 80, Family.DRIVER, EVERY, of_posts=True,
)
_ID = CHECK.id
CODES = {
    "too-old": "The compiler nvcc is too old to compile for GPUs that are there.",
    "gpus-not-given": "Which GPUs there are is not given.",
}
#: (architecture, beginnings of its device ids, words of its names, first CUDA release that compiles for it). Release
#: notes of CUDA 11.0, 11.8 and 12.8: Ampere sm_80, Ada and Hopper sm_89/sm_90, Blackwell sm_100 and sm_120.
_FIRST = (
    ("Blackwell", ("10de:29", "10de:2b", "10de:2c", "10de:2d", "10de:2f", "10de:31"),
     ("Blackwell", "B200", "B300", "GB200", "RTX 50"), (12, 8)),
    ("Hopper", ("10de:233", "10de:234"), ("H100", "H200", "GH200", "H20", "H800"), (11, 8)),
    ("Ada", ("10de:26", "10de:27", "10de:28"), ("RTX 40", "L40", "L4", "Ada"), (11, 8)),
    ("Ampere", ("10de:20", "10de:22", "10de:24", "10de:25"), ("RTX 30", "A100", "A40", "A10", "A6000"), (11, 0)),
)


def judge(case: Case) -> Iterator[Finding]:
    release = case.snapshot.posted.cuda
    if not release:
        return
    own = tuple(int(part) for part in release.split("."))
    source = "nvcc --version"
    needs = {name: first for name, ids, words, first in _FIRST if _there(case, ids, words)}
    late = {name: first for name, first in needs.items() if own < first}
    newest = next((name for name, _, _, first in _FIRST if own >= first), "boards before Ampere")
    if late:
        for name, first in late.items():
            wanted = ".".join(map(str, first))
            yield Finding(_ID, "too-old", name, "fail", "configured",
                          f"nvcc is of CUDA {release}, which cannot compile for "
                          f"{name}", release, f"{wanted} or later", (source,), Remedy("install the CUDA toolkit "
                          f"{wanted} or later; the driver need not change where nvidia-smi shows that CUDA version or "
                          "a higher one", words_open_driver=True))
    elif needs:
        yield Finding(_ID, "ok", "nvcc", "pass", "configured",
                      f"nvcc of CUDA {release} compiles for {', '.join(needs)}",
                      release, "", (source,))
    else:
        yield Finding(_ID, "gpus-not-given", "nvcc", "unknown", "configured",
                      "which GPUs there are is not given; add: nvidia-smi -L; nvcc of CUDA "
                      f"{release} compiles up to {newest} (Blackwell needs 12.8)", release, "",
                      (source,))


def _there(case: Case, ids: tuple[str, ...], words: tuple[str, ...]) -> bool:
    snapshot = case.snapshot
    names = [*snapshot.topology.names, *(name for _, name in snapshot.posted.names),
             *(str(gpu.values.get("name", "")) for gpu in (snapshot.nvml.value.gpus if snapshot.nvml.value else ()))]
    return any(device.ids.startswith(ids) for device in snapshot.topology.devices) or any(
        word in name for word in words for name in names)
