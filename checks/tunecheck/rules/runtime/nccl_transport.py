"""nccl-transport: NCCL's log says that the GPUs of one machine reach each other directly, not through host memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.posted import Channel, Nccl
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.nccl_failures import kind_of
from ...util.text import some
from ..check import EVERY, Check, Family, Heading
from ..context import Case
from ..nvidia.peer_access import NO_PEERS, Access, asked_for, peers
from ..pcie.p2p_letters import after_the_model
from ..pcie.relation_advice import BY_CPU, pairs_by_word, without_peers

CHECK = Check(
    "nccl-transport", "by NCCL's log, GPUs of one machine meet directly",
    Heading.ACCELERATORS, 90, Family.RUNTIME, EVERY, of_posts=True,
)
_ID = CHECK.id
CODES = {
    "shm": "NCCL sends between GPUs of one machine through host memory (SHM).",
    "net": "NCCL sends between GPUs of one machine over the network.",
    "shm-too-small": "NCCL cannot make its shared memory: /dev/shm is full or too small.",
    "collective-timeout": "A collective of NCCL did not end in its time.",
    "network-failed": "NCCL lost its network between ranks.",
    "cuda-failed": "CUDA failed below NCCL.",
    "nccl-failed": "NCCL failed in another way.",
    "warning": "NCCL wrote a warning to its log.",
    "more-warnings": "NCCL wrote more warnings than are shown.",
    "peer-access-off": "NCCL finds peer access off between ranks of one machine.",
    "one-rank": "NCCL has one rank, so it has no peer.",
    "log-in-part": "NCCL's log is not whole: some channels are not in it.",
}
_SEE = "see `nvidia-smi topo -p2p r` and `nvidia-smi topo -m`"
_THEN = "; then run `sudo tunecheck allreduce`"
_LETTER_FAR = Remedy.typed(
    f"{_SEE}: pairs that are PHB, NODE or SYS take NCCL_P2P_LEVEL=SYS where the letter is OK{_THEN}")
_LETTER_NEAR = Remedy.typed(
    f"{_SEE}: every pair is below a switch, where NCCL copies directly as soon as the letter is OK{_THEN}")
_SHOWN = 6
_WARNINGS = 3
#: kind -> (what is so, what to do)
_BROKEN = {
    "shm too small": ("NCCL cannot make its shared memory", Remedy(
        "start the container with --ipc=host or --shm-size=16g (Docker gives it 64 MB); in Kubernetes mount an "
        "emptyDir with medium Memory at /dev/shm; on the machine itself remove what fills /dev/shm")),
    "collective timeout": ("a collective of NCCL did not end in its time", Remedy.typed(
        "a rank died, hangs or is at another collective: find the rank whose log ends first, and add `sudo dmesg` "
        "for Xid and hung-task; then: `sudo tunecheck allreduce`")),
    "network failed": ("NCCL lost its network between ranks", Remedy.typed(
        "the other end died, or the link, its cable or its fabric's settings (MTU, GID, PFC) are at fault: see the log "
        "of the peer, `ibstat`, `rdma link show` and its error counters")),
    "cuda failed": ("CUDA failed below NCCL", Remedy.typed(
        "mostly an error of the program or of a GPU before it, which only shows here: see the first error in the log "
        "and Xid in `sudo dmesg`")),
    "nccl failed": ("NCCL failed, and the job with it", Remedy.typed(
        "run again with NCCL_DEBUG=INFO and see the first NCCL WARN of every rank; add `sudo dmesg`")),
}
_WHOLE = "run with NCCL_DEBUG=INFO and keep the whole log, of every rank"


def judge(case: Case) -> Iterator[Finding]:
    for log in case.snapshot.posted.nccl:
        yield from _judge(case, log)


def _judge(case: Case, log: Nccl) -> Iterator[Finding]:
    version = f"NCCL {log.version}" if log.version else "NCCL"
    staged = [each for each in log.channels if each.one_host and each.way == "SHM"]
    network = [each for each in log.channels if each.one_host and each.way == "NET"]
    direct = [each for each in log.channels if each.one_host and each.way not in ("SHM", "NET")]
    known = peers(case)
    wanted = asked_for(case, final=known.whole in NO_PEERS and known.final(known.pairs))
    for code, bad, words in (
            ("shm", staged, "through host memory (SHM); each byte crosses PCIe twice, and the CPU's memory"),
            ("net", network, "over the network (NET), though both run on one machine")):
        if bad:
            shown = _named(bad)
            yield Finding(_ID, code, shown, "fail" if wanted else "warn", "behaviour",
                          f"{version} sends {shown} {words}",
                          f"{len(bad)} of {len(log.channels)} directions", "P2P between the GPUs of one machine",
                          ("NCCL_DEBUG=INFO",), _fix(case, log))
    yield from _broken(log)
    others = [each for each in log.warnings if not kind_of(each)]
    for warning in others[:_WARNINGS]:
        yield Finding(_ID, "warning", "warning", "warn", "behaviour", f"{version} warns: {warning}", warning,
                      "no warning",
                      ("NCCL_DEBUG=INFO",), Remedy("see what NCCL names; a failure of NCCL stops every rank"))
    if len(others) > _WARNINGS:
        more = len(others) - _WARNINGS
        yield Finding(_ID, "more-warnings", "warning", "warn", "behaviour", f"{version} warns of {more} more",
                      str(more), "no warning", ("NCCL_DEBUG=INFO",), Remedy("see NCCL WARN in the log"))
    if staged or network:
        return
    if log.apart:
        pairs = ", ".join(f"{a}-{b}" for a, b in log.apart[:_SHOWN])
        yield Finding(_ID, "peer-access-off", pairs, "fail" if wanted else "warn", "behaviour",
                      f"{version} finds peer access off between "
                      f"ranks {pairs}", "off", "on", ("NCCL_DEBUG=INFO",), _fix(case, log))
    elif log.ranks == 1:
        yield Finding(_ID, "one-rank", "ranks", "skip", "behaviour", f"{version} has one rank: no peer", "1")
    elif not direct or not log.whole:
        seen = f"in what is here: {_named(direct)} by {', '.join(dict.fromkeys(each.way for each in direct))}" \
            if direct else "no line says by which transport"
        yield Finding(_ID, "log-in-part", "ranks", "unknown", "behaviour",
                      f"{version}'s log is not whole: not every channel of "
                      f"{log.ranks or 'its'} ranks is in it; {seen}", evidence=("NCCL_DEBUG=INFO",),
                      remedy=Remedy(_WHOLE))
    elif not log.warnings:
        ways = ", ".join(dict.fromkeys(f"{each.way}{each.how}" for each in direct))
        yield Finding(_ID, "ok", "ranks", "pass", "behaviour", f"{version} reaches every peer on one machine directly "
                      f"({ways}; {log.ranks} ranks)", ways, "P2P between the GPUs of one machine", ("NCCL_DEBUG=INFO",))


def _broken(log: Nccl) -> Iterator[Finding]:
    """Yield a finding for each kind of failure that the log names: its first line, and how many more there are."""
    for kind, (words, fix) in _BROKEN.items():
        lines = [each for each in log.warnings if kind_of(each) == kind]
        if lines:
            more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            yield Finding(_ID, kind.replace(" ", "-"), "job", "fail", "behaviour", f"{words}: {lines[0]}{more}",
                          lines[0], "a job without a failure of NCCL", ("NCCL's log",), fix)


def _named(channels: list[Channel]) -> str:
    pairs = list(dict.fromkeys(f"{each.a}->{each.b}" for each in channels))
    return f"rank {some(pairs, _SHOWN)}"


def _fix(case: Case, log: Nccl) -> Remedy:
    """Return how the GPUs get to meet directly, as far as the driver lets them: no variable of NCCL goes beyond it."""
    known = peers(case)
    fix = _of_nccl(case, log)
    if known.whole in NO_PEERS:
        return without_peers(known)
    return after_the_model(fix) if known.whole is Access.MODEL_UNKNOWN else fix


def _of_nccl(case: Case, log: Nccl) -> Remedy:
    if log.variables.get("NCCL_P2P_DISABLE", "0") not in ("0", ""):
        return Remedy(f"NCCL_P2P_DISABLE={log.variables['NCCL_P2P_DISABLE']} is set: unset it")
    level, far = log.variables.get("NCCL_P2P_LEVEL", ""), _far(case)
    if level in ("LOC", "NVL", "PIX", "PXB", "0", "1", "2") and (far or level not in ("PIX", "PXB", "1", "2")):
        return Remedy.typed("NCCL_P2P_LEVEL={level} allows nothing farther: set NCCL_P2P_LEVEL=SYS, then run `sudo "
                            "tunecheck allreduce`", level=level)
    if log.apart:
        return Remedy.typed(f"NCCL says that peer access is off between some of them: {_SEE}; in a container, whether "
                            "/dev/shm and --ipc=host are given and all GPUs are in one container")
    return _LETTER_FAR if far else _LETTER_NEAR


def _far(case: Case) -> bool:
    """Whether the way between two GPUs goes through the CPU, or may do so: NCCL_P2P_LEVEL is about these."""
    words = set(pairs_by_word(case))
    return not words or bool(words & {"", *BY_CPU})
