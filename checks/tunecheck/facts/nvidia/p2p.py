"""Whether the driver would let one GPU read or write another's memory: NVML's P2P status, or `nvidia-smi topo -p2p`.

A statement of the driver before anything was copied: capability, not proof."""

from __future__ import annotations

from collections.abc import Mapping

from ...host import Host
from ...host.nvml_absence import NOT_READ, nvml_reason
from ...model.fact import Absence, Fact, absent, known, not_understood
from ..pci.topo_text import driver_rows, parsed_table
from .nvml import Nvml

__all__ = ["LETTERS", "P2p", "p2p"]

#: By the number of nvmlGpuP2PStatus_t; the words of `nvidia-smi topo -p2p`.
LETTERS = ("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")
#: (from, to, "read" or "write") -> a letter, or why there is none.
P2p = Mapping[tuple[str, str, str], Fact[str]]

_AWAY = (Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST, Absence.NOT_RECORDED)
#: Both tables, of which one tells half.
_BOTH = "nvidia-smi topo -p2p"
_WAYS = (("read", "r"), ("write", "w"))


def p2p(host: Host, nvml: Fact[Nvml]) -> Fact[P2p]:
    """Return the P2P status of every ordered pair of addresses. NVML's answer counts. The text of nvidia-smi is used
    only where this is no live machine: on a live one nvidia-smi would only ask NVML once more."""
    if nvml.value is not None and nvml.value.pairs:
        return known(dict(_from_nvml(nvml.value)), "NVML P2P status")
    if nvml.value is None and nvml.absence not in _AWAY:
        return absent("NVML P2P status", nvml.reason or Absence.NOT_READ)
    rows = driver_rows(host)
    if len(rows) < 2:
        return absent("nvidia-smi topo -p2p r", Absence.NO_BOARDS.because(
            "not asked: NVIDIA's driver has fewer than two of the boards"))
    found: dict[tuple[str, str, str], Fact[str]] = {}
    tables = {}
    for way, letter in _WAYS:
        table = tables[way] = parsed_table(host, ("nvidia-smi", "topo", "-p2p", letter), "topo -p2p", dict)
        for a in rows:
            for b in rows:
                if a != b:
                    found[a, b, way] = known(table.value[a, b], table.source) if table.value else absent(
                        table.source, table.reason or Absence.NOT_READ)
    if not any(table.known for table in tables.values()):
        if all(table.absence is Absence.NOT_IN_IMPORT for table in tables.values()):
            from ...host.imported.outputs import output_for  # of texts alone: the collector does not bring it to a box
            return absent(_BOTH, Absence.NOT_IN_IMPORT.because(f"not in the import; add: {output_for(_BOTH)}"))
        return absent(tables["read"].source, tables["read"].reason or Absence.NOT_READ)
    # A table nobody saved is no question of its own beside the other one.
    given = {way for way, table in tables.items() if table.known or table.absence not in _AWAY}
    return known({key: fact for key, fact in found.items() if key[2] in given}, _BOTH)


def _from_nvml(nvml: Nvml) -> list[tuple[tuple[str, str, str], Fact[str]]]:
    found: list[tuple[tuple[str, str, str], Fact[str]]] = []
    for (a, b), values in nvml.pairs.items():
        for way, _ in _WAYS:
            source = f"NVML P2P status {way} {a} -> {b}"
            code = values.get(f"p2p_{way}")
            if code is None:
                reason = nvml_reason(nvml.pair_errors.get((a, b), {}).get(f"p2p_{way}", NOT_READ))
                found.append(((a, b, way), absent(source, reason)))
            else:
                found.append(((a, b, way), known(LETTERS[code], source) if 0 <= code < len(LETTERS) else not_understood(
                    source, f"status {code}")))
    return found
