"""p2p-capability: the driver would let every GPU read and write the memory of every other."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy
from .p2p_words import WORDS, needs_patch

_ID = "p2p-capability"


def judge(case: Case) -> Iterator[Finding]:
    said, topology, spec = case.snapshot.p2p, case.snapshot.topology, case.spec
    label = {device.bdf: f"GPU{number}" for number, device in enumerate(topology.devices)}
    if len(label) < 2 or said.value is None:
        reason = said.why() if len(label) > 1 else "fewer than two accelerators"
        skip = len(label) < 2 or (said.reason or "").startswith(("not asked", "not present: the NVIDIA driver"))
        yield Finding(_ID, "pairs", "skip" if skip else "unknown", "effective", reason, evidence=(said.source,))
        return
    groups: dict[str, list[str]] = {}
    for (a, b, way), fact in said.value.items():
        groups.setdefault(fact.value or fact.reason or "", []).append(f"{label.get(a, a)}->{label.get(b, b)} {way}")
    wanted = spec.accelerators.how_close or spec.acs.peer_redirect == "off"
    for word, pairs in groups.items():
        shown = ", ".join(pairs[:4]) + (f", and {len(pairs) - 4} more" if len(pairs) > 4 else "")
        meaning, remedy = WORDS.get(word, ("", ""))
        mild = not wanted or (word == "GNS" and needs_patch(topology))
        outcome = "pass" if word == "OK" else "unknown" if not meaning else "warn" if mild else "fail"
        text = f"{shown}: {word} ({meaning})" if meaning else f"{shown}: the driver does not say ({word})"
        if word == "OK":
            text = f"the driver says OK for {len(pairs)} of {len(said.value)} reads and writes between two GPUs"
        yield Finding(_ID, ", ".join(pairs[:4]), outcome, "effective", text, word, "OK", (said.source,),
                      Remedy(remedy) if meaning else None)
