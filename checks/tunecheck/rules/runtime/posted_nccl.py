"""For nccl-transport: what NCCL's log says of its transports."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.posted import Channel, Nccl
from ...model.finding import Finding, Remedy
from ..context import Case

__all__ = ["judge"]

_SEE = "see `nvidia-smi topo -p2p r` and `nvidia-smi topo -m`"
_ID = "nccl-transport"
_SHOWN = 6
_WHOLE = "run with NCCL_DEBUG=INFO and keep the whole log, of every rank"


def judge(case: Case) -> Iterator[Finding]:
    for log in case.snapshot.posted.nccl:
        yield from _judge(case, log)


def _judge(case: Case, log: Nccl) -> Iterator[Finding]:
    version = f"NCCL {log.version}" if log.version else "NCCL"
    staged = [each for each in log.channels if each.one_host and each.way == "SHM"]
    network = [each for each in log.channels if each.one_host and each.way == "NET"]
    direct = [each for each in log.channels if each.one_host and each.way not in ("SHM", "NET")]
    wanted = case.spec.accelerators.how_close or case.spec.acs.peer_redirect == "off"
    for bad, words in ((staged, "through host memory (SHM): each byte crosses PCIe twice, and the CPU's memory"),
                       (network, "over the network (NET), though both run on one machine")):
        if bad:
            shown = _named(bad)
            yield Finding(_ID, shown, "fail" if wanted else "warn", "behaviour", f"{version} sends {shown} {words}",
                          f"{len(bad)} of {len(log.channels)} directions", "P2P between the GPUs of one machine",
                          ("NCCL_DEBUG=INFO",), _fix(log))
    for warning in log.warnings[:3]:
        yield Finding(_ID, "warning", "warn", "behaviour", f"{version} warns: {warning}", warning, "no warning",
                      ("NCCL_DEBUG=INFO",), Remedy("see what it names; a failure of NCCL stops every rank"))
    if staged or network:
        return
    if log.apart:
        pairs = ", ".join(f"{a}-{b}" for a, b in log.apart[:_SHOWN])
        yield Finding(_ID, pairs, "fail" if wanted else "warn", "behaviour", f"{version} finds peer access off between "
                      f"ranks {pairs}", "off", "on", ("NCCL_DEBUG=INFO",), _fix(log))
    elif log.ranks == 1:
        yield Finding(_ID, "ranks", "skip", "behaviour", f"{version} has one rank: no peer", "1")
    elif not direct or not log.whole:
        seen = f"in what is here: {_named(direct)} by {', '.join(dict.fromkeys(each.way for each in direct))}" \
            if direct else "no line says by which transport"
        yield Finding(_ID, "ranks", "unknown", "behaviour", f"{version}'s log is not whole: not every channel of "
                      f"{log.ranks or 'its'} ranks is in it; {seen}", evidence=("NCCL_DEBUG=INFO",),
                      remedy=Remedy(_WHOLE))
    elif not log.warnings:
        ways = ", ".join(dict.fromkeys(f"{each.way}{each.how}" for each in direct))
        yield Finding(_ID, "ranks", "pass", "behaviour", f"{version} reaches every peer on one machine directly "
                      f"({ways}; {log.ranks} ranks)", ways, "P2P between the GPUs of one machine", ("NCCL_DEBUG=INFO",))


def _named(channels: list[Channel]) -> str:
    pairs = list(dict.fromkeys(f"{each.a}->{each.b}" for each in channels))
    return f"rank {', '.join(pairs[:_SHOWN])}" + (f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else "")


def _fix(log: Nccl) -> Remedy:
    if log.variables.get("NCCL_P2P_DISABLE", "0") not in ("0", ""):
        return Remedy(f"NCCL_P2P_DISABLE={log.variables['NCCL_P2P_DISABLE']} is set: unset it")
    level = log.variables.get("NCCL_P2P_LEVEL", "")
    if level in ("LOC", "NVL", "PIX", "PXB", "0", "1", "2"):
        return Remedy.typed("NCCL_P2P_LEVEL={level} allows nothing farther: set NCCL_P2P_LEVEL=SYS, then run `sudo "
                            "tunecheck allreduce`", level=level)
    if log.apart:
        return Remedy.typed(f"NCCL says that peer access is off between some of them: {_SEE}; in a container, whether "
                            "/dev/shm and --ipc=host are given and all GPUs are in one container")
    return Remedy.typed(f"{_SEE}: pairs that are PHB, NODE or SYS take NCCL_P2P_LEVEL=SYS where the letter is OK; then "
                        "run `sudo tunecheck allreduce`")
