"""nccl-environment: no variable of a service is ignored, misspelt or known to harm."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import AS_ROOT, Finding, Remedy
from ...parsers.nvidia.nccl_env import problems
from ..check import RUNTIME, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver
from ..nvidia.peer_access import NO_PEERS, peers
from ..pcie.relation_advice import without_peers

CHECK = Check(
    "nccl-environment", "no variable of a service is ignored or known to harm",
    Heading.DRIVER, 210, Family.RUNTIME, RUNTIME, judges=("environment.*",),
)
_ID = CHECK.id
CODES = {
    "level-ignored": "NCCL ignores a level that is not written as it knows it.",
    "p2p-disabled": "NCCL_P2P_DISABLE=1 sends everything between GPUs through the host.",
    "proto-ll": "NCCL_PROTO=LL forbids the protocols for large messages.",
    "graph-file": "NCCL_GRAPH_FILE names a file that fits one set of ranks.",
    "expandable-segments": "Expandable segments of PyTorch's allocator crash all-reduce over CUDA IPC.",
    "launch-blocking": "CUDA_LAUNCH_BLOCKING makes every kernel launch wait.",
    "name-unknown": "NCCL reads no variable of this name.",
    "device-order": "GPUs are chosen by number, and CUDA need not number them as nvidia-smi does.",
    "process-unread": "The environment of a process on a GPU cannot be read.",
    "no-variable": "No service sets a variable of NCCL, CUDA or an engine.",
}


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    env = case.host.service_env
    if env.value is None:
        yield from_driver.unread(_ID, "environment", "the environment of services", env)
        return
    boards, wrong = [device.ids for device in case.snapshot.topology.devices], False
    # Peer traffic is declared where its path is.
    known = peers(case)
    peer = "fail" if case.spec.acs.peer_redirect == "off" else "warn"
    for place, each in sorted(env.value.found.items()):
        for problem in problems(each.values, frozenset(each.options), len(set(boards)), len(boards)):
            wrong = True
            yield Finding(_ID, problem.code, f"{place} {problem.name}",
                          peer if problem.severity == "peer" else problem.severity,
                          "configured", f"{place}: {problem.text}", problem.name, "", (place,),
                          without_peers(known) if problem.severity == "peer" and known.whole in NO_PEERS else
                          Remedy(problem.remedy))
    if env.value.refused:
        yield Finding(_ID, "process-unread", "processes", "unknown", "configured",
                      "the environment of a process on a GPU cannot be read"
                      ": no permission", "", "", ("/proc/<pid>/environ",), AS_ROOT)
    elif not wrong:
        count = sum(len(each.values) for each in env.value.found.values())
        yield Finding(_ID, OK if count else "no-variable", "environment", "pass" if count else "skip", "configured",
                      f"{count} variables in "
                      f"{len(env.value.found)} places, none ignored or known to harm" if count else
                      "no service sets a variable of NCCL, CUDA or an engine", "", "", tuple(sorted(env.value.found)))
