"""engine-decisions: vLLM's or SGLang's log says that it uses peer access, and why where it does not; and that it did
not die."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import EVERY, Check, Family, Heading
from ..context import Case
from ..driver.nvml_remedies import MISMATCH
from ..nvidia.peer_access import NO_PEERS, peers
from ..pcie.relation_advice import without_peers

CHECK = Check(
    "engine-decisions", "vLLM or SGLang uses peer access, or says why not",
    Heading.ACCELERATORS, 110, Family.RUNTIME, EVERY, of_posts=True,
)
_ID = CHECK.id
CODES = {
    "p2p-refused": "The engine's own test of peer access failed.",
    "more-than-two": "The engine wants NVLink between more than two GPUs for its own all-reduce.",
    "world-size": "The engine's own all-reduce does not take this number of GPUs.",
    "several-nodes": "The engine's own all-reduce is off: the ranks run on several machines.",
    "no-library": "The library of the engine's own all-reduce is missing.",
    "setup-failed": "The set-up of the engine's own all-reduce failed.",
    "symm-mem": "Symmetric memory is not offered for this compute capability.",
    "by-option": "An option switches the engine's own all-reduce off.",
    "mismatch": "Library and kernel module of the driver are of different versions.",
    "driver-old": "The driver is too old for the engine's CUDA.",
    "not-ready": "CUDA error 802: the driver waits for Fabric Manager.",
    "out-of-memory": "The memory of a GPU did not suffice for the engine.",
    "uncorrectable-ecc": "CUDA met an error of memory or NVLink that cannot be corrected.",
    "illegal-access": "A kernel accessed memory that is not its own.",
    "launch-failure": "A kernel failed on the GPU, and CUDA does not say why.",
    "collective-timeout": "A collective of NCCL failed or did not end in its time.",
    "cuda-error": "CUDA, cuBLAS or cuDNN failed in another way.",
    "watchdog": "The engine's own watchdog ended it: a step did not come to its end.",
    "worker-died": "A process of the engine died or did not start.",
    "engine-died": "The engine is dead.",
    "hanging": "A process of the engine waited long for another one.",
    "no-decision": "The log holds no decision about peer access or all-reduce.",
}
_SEE = ("see `nvidia-smi topo -p2p r` for CNS, GNS, ..., ACS (acs-redirect) and the IOMMU; then: `sudo tunecheck p2p`; "
        "the engine keeps its answer in")
_OF_VLLM = Remedy.typed(f"{_SEE} ~/.cache/vllm/gpu_p2p_access_cache_for_*.json: delete that file after a repair")
_OF_SGLANG = Remedy.typed(f"{_SEE} ~/.cache/sglang/gpu_p2p_access_cache_for_*.json: delete that file after a repair")
_FABRIC = Remedy.typed("on a machine with NVSwitch: `systemctl status nvidia-fabricmanager`, and Fabric in `nvidia-smi "
                       "-q` for fabric-manager and fabric-state; in a guest look at Fabric Manager in the host")
_MEMORY = Remedy.typed("see in `nvidia-smi` what else holds memory of that GPU; then give the engine less "
                       "(--gpu-memory-utilization, --mem-fraction-static, a shorter context), or more GPUs")
_KERNELS = Remedy.typed("add `sudo dmesg`: Xid 13, 31 or 43 alone mean the engine's kernels (another version of it or "
                        "of its attention backend), other Xids mean the GPU or its link; then start the engine anew")
_HANG = Remedy.typed("add `sudo dmesg` for Xid and hung-task, and NCCL's log (NCCL_DEBUG=INFO): a rank that is lost "
                     "holds up all others; then: `sudo tunecheck allreduce`")
_ABOVE = Remedy.typed("the cause is the first error above it in the log; add the whole log and `sudo dmesg`, then "
                      "start the engine anew")
#: kind -> (outcome, what is so, what to do). The words are those of custom_all_reduce.py and symm_mem.py in vLLM's
#: distributed/device_communicators; SGLang's srt/distributed has copies of both, with the same words.
_KINDS: dict[str, tuple[str, str, Remedy | None]] = {
    "p2p refused": ("warn", "its test of GPU peer access failed, so its custom all-reduce is off and NCCL does the "
                    "work", None),
    "more than two": ("warn", "its custom all-reduce is off, as it asks NVML for NVLink between more than two GPUs and "
                      "never looks at PCIe peer access; NCCL does the work, which is slower for small batches",
                      Remedy("see that NCCL itself goes by P2P (NCCL_DEBUG=INFO; NCCL_P2P_LEVEL=SYS below a CPU); "
                             "faster for small batches: an engine with a PCIe all-reduce")),
    "world size": ("warn", "its custom all-reduce is off, as it takes 2, 4, 6 or 8 GPUs",
                   Remedy("use one of these sizes for tensor parallelism, or leave all-reduce to NCCL")),
    "several nodes": ("skip", "its custom all-reduce is off, as the ranks run on several machines", None),
    "no library": ("warn", "its custom all-reduce is off, as the library for it is missing",
                   Remedy("reinstall the engine: the build has no CUDA kernels for this GPU")),
    "setup failed": ("warn", "the setup of its custom all-reduce failed", None),
    "symm mem": ("skip", "symmetric memory is not offered for this compute capability", None),
    "by option": ("skip", "its custom all-reduce is switched off by an option", None),
    "mismatch": ("fail", "library and kernel module of the driver are of different versions", MISMATCH),
    "driver old": ("fail", "the driver is too old for the engine's CUDA",
                   Remedy("install a newer driver, or an image for an older CUDA (nvidia-smi shows the highest that "
                          "the driver takes)", words_open_driver=True)),
    "not ready": ("fail", "CUDA does not start (error 802): the driver waits until Fabric Manager has set NVLink up",
                  _FABRIC),
    "out of memory": ("warn", "the memory of a GPU did not suffice", _MEMORY),
    "uncorrectable ecc": ("fail", "CUDA met an error of memory or NVLink that cannot be corrected",
                          Remedy.typed("see `nvidia-smi -q` for gpu-ecc and gpu-recovery, and Xid 48, 63, 64, 94, 95 "
                                       "in `sudo dmesg`; stop the engine and reset the GPU before it serves again")),
    "illegal access": ("fail", "a kernel accessed memory that is not its own, and CUDA is lost for that process",
                       _KERNELS),
    "launch failure": ("fail", "a kernel failed on the GPU, and CUDA is lost for that process", _KERNELS),
    "collective timeout": ("fail", "a collective of NCCL failed, or did not end in its time", _HANG),
    "cuda error": ("fail", "CUDA or a library of it failed", _KERNELS),
    "watchdog": ("fail", "its watchdog ran out, as a step did not come to its end", _HANG),
    "worker died": ("fail", "a process of it died or did not start", _ABOVE),
    "engine died": ("fail", "the engine is dead: every request fails until it is started again", _ABOVE),
    "hanging": ("warn", "a process of it waited long for another one; it hangs, or compiles or loads for long", _HANG),
}
#: Those that a repair of peer access mends; the engine keeps the old answer.
_OF_PEERS = ("p2p refused", "setup failed")
#: What ended the engine: the words of its log are shown.
_ENDS = ("uncorrectable ecc", "illegal access", "launch failure", "collective timeout", "cuda error", "watchdog",
         "worker died", "engine died", "hanging")
_EXPECTED = {**dict.fromkeys(_ENDS, "an engine that runs"), "not ready": "CUDA that starts",
             "out of memory": "memory for what the engine was told to load"}


def judge(case: Case) -> Iterator[Finding]:
    known = peers(case)
    for log in case.snapshot.posted.engines:
        name = f"{log.engine} {log.version}".strip()
        parts = (f"NCCL {log.nccl}" if log.nccl else "", f"{log.size} GPUs" if log.size else "",
                 f"driver {log.driver}" if log.driver else "")
        more = ", ".join(part for part in parts if part)
        about = f"{name} ({more})" if more else name
        of_peers = without_peers(known) if known.whole in NO_PEERS else \
            _OF_SGLANG if log.engine == "SGLang" else _OF_VLLM
        for decision in log.decisions:
            outcome, text, fix = _KINDS[decision.kind]
            if decision.kind in _ENDS:
                text += f": {decision.text}"
            yield Finding(_ID, decision.kind.replace(" ", "-"), name, outcome, "behaviour", f"{about}: {text}",
                          decision.text,
                          _EXPECTED.get(decision.kind, "peer access in use") if outcome != "skip" else "",
                          (f"{log.engine}'s log",), of_peers if decision.kind in _OF_PEERS else
                          without_peers(known) if decision.kind == "more than two" and known.whole in NO_PEERS else fix)
        if not log.decisions:
            yield Finding(_ID, "no-decision", name, "unknown", "behaviour",
                          f"{about}: the log holds no decision about peer access or "
                          "all-reduce", "", "", (f"{log.engine}'s log",),
                          Remedy("give the whole start-up log; with NCCL_DEBUG=INFO it names NCCL's transports, too"))
