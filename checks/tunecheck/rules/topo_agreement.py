"""topo-agreement: the driver's table of relations and the PCI tree say the same about every pair.

Both are read from the same firmware tables by different code. Where they differ, one of them is of another machine or
boot, or a layer in between (virtual machine, ACPI) shows a tree that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "topo-agreement"
_LOOK = Remedy("make sure that both texts come from the same boot of the same machine; where they do, see `lspci -tv`: "
               "the tree that this machine shows is not the real one")


def judge(case: Case) -> Iterator[Finding]:
    topology, text = case.snapshot.topology, case.snapshot.topo_text
    if not topology.pairs:
        yield Finding(_ID, "pairs", "skip", "effective", "fewer than two accelerators: no pair to compare")
        return
    if text.value is None:
        # A table that is there and cannot be trusted is no reason to trust the tree; none at all is no evidence.
        refused = (text.reason or "").startswith(("not understood", "timed out"))
        yield Finding(_ID, "pairs", "unknown" if refused else "skip", "effective",
                      f"no table of the driver to compare with: {text.why()}", evidence=(text.source,))
        return
    compared, apart, silent = 0, [], []
    for pair in topology.pairs:
        a, b = topology.devices[pair.a].bdf, topology.devices[pair.b].bdf
        told, seen = text.value.relations.get((a, b)), pair.relation.value
        if told is None or seen is None or told.startswith("NV"):
            silent.append(pair.label)
            continue
        compared += 1
        if told != seen:
            apart.append(f"{pair.label} is {told} in the table and {seen} in the tree")
    yield from _findings(compared, apart, silent, text.source)


def _findings(compared: int, apart: list[str], silent: list[str], source: str) -> Iterator[Finding]:
    evidence = (source, "/sys/bus/pci/devices")
    expected = "the same relation in both"
    rest = f"; {len(silent)} not comparable (NVLink, or hidden from the tree)" if silent else ""
    if apart:
        shown = ", ".join(apart[:4]) + (f", and {len(apart) - 4} more" if len(apart) > 4 else "")
        yield Finding(_ID, "pairs", "fail", "effective", f"nvidia-smi topo -m and the PCI tree disagree about "
                      f"{len(apart)} of {compared} pairs: {shown}{rest}", "; ".join(apart), expected, evidence, _LOOK)
    elif compared:
        yield Finding(_ID, "pairs", "pass", "effective", f"nvidia-smi topo -m and the PCI tree agree about {compared} "
                      f"of {compared} pairs{rest}", "the same", expected, evidence)
    else:
        yield Finding(_ID, "pairs", "skip", "effective", f"no pair can be compared: {len(silent)} are NVLink in the "
                      "table or hidden from the tree", evidence=evidence)
