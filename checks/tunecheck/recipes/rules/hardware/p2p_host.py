"""p2p-host: the driver lets the GPUs reach each other's memory, and nothing on the way makes that traffic hang
collectives or wedge GPUs: a redirecting port, or HMM.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, Unknown, workstation_blackwell


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if box is None or not recipe.requires.p2p or recipe.requires.gpus < 2:
        return None
    count = recipe.requires.gpus
    reach = box.reaching(count) if len(box.boards.value or ()) >= count else True       # gpu-count speaks of fewer
    if reach is False:
        return (f"the driver does not let {count} GPUs of this box reach each other's memory (see: tunecheck explain "
                "p2p-capability)")
    if box.redirects.value:
        return f"{', '.join(box.redirects.value)} redirects peer traffic (see: tunecheck explain acs-redirect)"
    boards = box.boards.value or ()
    if workstation_blackwell(recipe) and any(board.addressing == "HMM" for board in boards):
        return "HMM is on; set uvm_disable_hmm=1 (see: tunecheck explain hmm-addressing)"
    if not box.redirects.known:
        return Unknown(f"whether a port redirects peer traffic is not known ({box.redirects.why()})")
    if reach is None:
        return Unknown(f"whether the driver lets {count} GPUs reach each other's memory is not known: NVIDIA's own "
                       "does not on GeForce; add: nvidia-smi topo -p2p r and nvidia-smi topo -p2p w")
    if workstation_blackwell(recipe) and (not boards or any(board.addressing is None for board in boards)):
        return Unknown("whether HMM is on is not known; NVML did not say")
    return None


RULE = Rule(
    "p2p-host", "reject",
    "without peer access every copy goes through host memory; with it, a redirecting port or HMM hangs collectives "
    "and can wedge GPUs until a power cycle",
    "author of the 198 tok/s configuration, 2026-04-08; vllm issues 33041 and 51513; observed here, never taken "
    "from the command line",
    violation, asks_box=True,
    unbounded="it is about the hardware and its kernel module, not about an engine",
)
