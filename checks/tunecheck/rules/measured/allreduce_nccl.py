"""allreduce-nccl: there is an NCCL, of a version without known crashes, and it makes use of P2P."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALLREDUCE, Check, Family, Heading
from ..context import Case
from .pair_figures import measured
from .reduce_figures import ranks_of, single, unmeasured

CHECK = Check(
    "allreduce-nccl", "an NCCL without known crashes, that uses P2P",
    Heading.ALLREDUCE, 50, Family.MEASURED, ALLREDUCE,
)
_ID = CHECK.id
CODES = {
    "no-nccl": "NCCL is missing.",
    "version-unread": "NCCL did not get to say its version.",
    "known-crashes": "This version of NCCL is known for crashes.",
    "p2p-unused": "NCCL is no faster with peer-to-peer than without.",
}
#: Version code -> what is known of it. 2.26.2 on two RTX PRO 6000: NVIDIA/nccl#2418; 2.31.2 ran there.
_BAD = {22602: "illegal memory access from 512 KB on, on boards without NVLink"}
_GAIN, _SIZE = 0.95, 262144     # 8.4 us with P2P, 34.2 without on 2 x H200
_NEWER = Remedy("take a newer NCCL (2.31.2 ran on the same box), and the same in the engine's container")
_LEVEL = Remedy("pairs farther apart than NCCL_P2P_LEVEL go through the host, SYS allows all; see nccl-environment")


def judge(case: Case) -> Iterator[Finding]:
    trial, nothing = measured(case), unmeasured(case, _ID)
    version, missing = trial.notes.get("nccl version"), trial.notes.get("nccl missing")
    if nothing or missing or not isinstance(version, int):
        code, outcome = ("no-nccl", "skip") if missing else ("version-unread", "unknown")
        yield nothing or Finding(_ID, code, "NCCL", outcome, "behaviour",
                                 str(missing or "NCCL did not get to say its version"))
        return
    name = f"NCCL {version // 10000}.{version // 100 % 100}.{version % 100}"
    known = _BAD.get(version)
    yield Finding(_ID, "known-crashes" if known else "ok", "version", "warn" if known else "pass", "behaviour",
                  f"{name} ({trial.notes.get('nccl path')})"
                  + (f": known for {known}" if known else ""), name, "no version with known crashes",
                  (), _NEWER if known else None)
    for ranks in ranks_of(trial):
        direct, staged = (single(trial, what, ranks, _SIZE) for what in ("nccl", "nccl staged"))
        if direct and staged and direct.value > _GAIN * staged.value:
            yield Finding(_ID, "p2p-unused", f"{ranks} ranks", "warn", "behaviour",
                          f"{ranks} ranks: NCCL takes {direct.value:.1f} "
                          f"us for 256 KB, and {staged.value:.1f} with NCCL_P2P_DISABLE=1: it makes no use of P2P", "",
                          "less time than without P2P", (direct.method,), _LEVEL)
