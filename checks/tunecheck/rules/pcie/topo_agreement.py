"""topo-agreement: the PCI tree, NVML and the table of `nvidia-smi topo -m` say the same about every pair.

They come from the same firmware tables by different code. Where they differ, one of them is of another machine or
boot, or a layer in between (virtual machine, ACPI) shows a tree that is not there. A tree that is hidden stays unknown:
what the driver makes of it (PHB in a flat virtual machine) does not take its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.pci.topo_text import TopoText
from ...facts.pci.topology import Pair
from ...model.fact import Absence, Fact
from ...model.finding import Finding, Remedy
from ...util.text import some
from ..check import TOPO, Check, Family, Heading, Needs
from ..codes import DEVICES_INCOMPLETE, NO_PAIR
from ..context import Case
from ..nvidia import from_driver
from ..part_of_devices import shown_by_a_part

CHECK = Check(
    "topo-agreement", "PCI tree, NVML and nvidia-smi tell the same relations",
    Heading.ACCELERATORS, 40, Family.PCIE, TOPO, needs=(Needs.TREE, Needs.WHOLE_TREE, Needs.WAY, Needs.PAIRS),
    could_not_look=("no-table", "not-comparable"),
)
_ID = CHECK.id
CODES = {
    "differ": "Two sources state another relation for the same pair of accelerators.",
    "no-table": "The driver has no table of relations to compare the PCI tree with.",
    "table-unread": "The driver's table of relations is there, and cannot be used.",
    "not-comparable": "No pair can be compared: NVLink hides the PCIe way in the table, or the tree hides it.",
}
_LOOK = Remedy.typed("make sure that all sources are of one boot of one machine; where they are, see `lspci -tv`: "
                     "the tree that this machine shows is not the real one")
#: nvmlGpuTopologyLevel_t; 0: two GPUs of one board.
_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_TABLE, _NVML, _TREE = "in the table", "by NVML", "in the tree"
_NAMES = {_TABLE: "nvidia-smi topo -m", _NVML: "NVML", _TREE: "the PCI tree"}


def judge(case: Case) -> Iterator[Finding]:
    topology, text, nvml = case.snapshot.topology, case.snapshot.topo_text, case.snapshot.nvml
    if not topology.pairs:
        yield Finding(_ID, NO_PAIR, "pairs", "skip", "effective", "fewer than two accelerators: no pair to compare")
        return
    by_source = [(pair.label, _relations(case, pair)) for pair in topology.pairs]
    if text.value is None and not any(_NVML in words for _, words in by_source):
        if from_driver.not_asked(text):
            yield from_driver.without(case, _ID, "pairs", text.source,
                                      text=f"no table of the driver to compare with: {text.why()}")
            return
        # A table that is there and cannot be trusted is no reason to trust the tree; none at all is no evidence.
        code, outcome = ("table-unread", "unknown") if _refused(text) else ("no-table", "skip")
        yield Finding(_ID, code, "pairs", outcome, "effective",
                      f"no table of the driver to compare with: {text.why()}", evidence=(text.source,),
                      absence=text.absence)
        return
    if _refused(text):
        yield Finding(_ID, "table-unread", "nvidia-smi topo -m", "unknown", "effective",
                      f"the driver's table is not compared: "
                      f"{text.why()}", evidence=(text.source,), absence=text.absence)
    apart = [(label, words) for label, words in by_source if len(set(words.values())) > 1]
    # The driver agreeing with itself about a hidden tree is no comparison.
    compared = [words for _, words in by_source if len(words) > 1 and (_TREE in words or len(set(words.values())) > 1)]
    witnesses = [name for key, name in _NAMES.items() if any(key in words for words in compared)]
    silent = len(by_source) - len(compared)
    named = {who for words in compared for who in words}
    yield _finding(apart, len(compared), silent, witnesses, (text.source, nvml.source, "/sys/bus/pci/devices"),
                   _not_in_tree(by_source) or (_guess(case) if _TABLE in named else ""))


def _not_in_tree(by_source: list[tuple[str, dict[str, str]]]) -> str:
    """Return why others of the pairs may disagree: the tree does not show where they meet, and another source does. ""
    where there is no such pair."""
    hidden = [label for label, words in by_source if words and _TREE not in words]
    return f"of {len(hidden)} others, {hidden[0]} first, the tree does not show where they meet" if hidden else ""


def _guess(case: Case) -> str:
    """Return why the rows of the table may be other GPUs, "" where they are not. The rows are the GPUs of NVIDIA's
    driver, and of at least one GPU it is not known whether that driver has it."""
    listed = {gpu.bdf for gpu in case.snapshot.nvml.value.gpus} if case.snapshot.nvml.value else set()
    hidden = [gpu for gpu in case.snapshot.topology.devices if gpu.bdf not in listed and not gpu.driver.known
            and (gpu.driver.silent or not gpu.driver.missing)]
    return ("which of these GPUs the rows of the table are is not known: the driver of "
            f"{hidden[0].bdf} is not known: {hidden[0].driver.why()}") if hidden else ""


def _refused(table: Fact[TopoText]) -> bool:
    return table.absence in (Absence.NOT_UNDERSTOOD, Absence.TIMED_OUT)


def _relations(case: Case, pair: Pair) -> dict[str, str]:
    """Return the relation of a pair by each source that knows it. NV# is left out: it hides the PCIe path, of which
    NVML's ancestor still speaks."""
    devices, text, nvml = case.snapshot.topology.devices, case.snapshot.topo_text.value, case.snapshot.nvml.value
    a, b = devices[pair.a].bdf, devices[pair.b].bdf
    table = text.relations.get((a, b)) if text else None
    code = (nvml.pairs.get((a, b)) or nvml.pairs.get((b, a)) or {}).get("ancestor") if nvml else None
    words = {_TABLE: None if table and table.startswith("NV") else table,
             _NVML: None if code is None else _ANCESTORS.get(code), _TREE: pair.relation.value}
    return {who: word for who, word in words.items() if word is not None}


def _finding(apart: list[tuple[str, dict[str, str]]], compared: int, silent: int, witnesses: list[str],
             evidence: tuple[str, ...], doubt: str) -> Finding:
    expected = "the same relation in all of them"
    rest = f"; {silent} not comparable (NVLink, or hidden from the tree)" if silent else ""
    who = " and ".join((", ".join(witnesses[:-1]), witnesses[-1])) if len(witnesses) > 1 else "".join(witnesses)
    if apart:
        lines = [f"{label} is " + " and ".join(f"{word} {where}" for where, word in words.items())
                 for label, words in apart]
        shown = some(lines, 4, ", ")
        return Finding(_ID, "differ", "pairs", "fail", "effective",
                       f"{who} disagree about {len(lines)} of {compared} pairs: "
                       f"{shown}{rest}", "; ".join(lines), expected, evidence, _LOOK)
    if compared and doubt:
        return shown_by_a_part(Finding(_ID, DEVICES_INCOMPLETE, "pairs", "unknown", "effective",
                                       f"{who} agree about {compared} of "
                                       f"{compared} pairs{rest}", "the same", expected, evidence), doubt)
    if compared:
        return Finding(_ID, "ok", "pairs", "pass", "effective",
                       f"{who} agree about {compared} of {compared} pairs{rest}",
                       "the same", expected, evidence)
    return Finding(_ID, "not-comparable", "pairs", "skip", "effective",
                   f"no pair can be compared: {silent} are NVLink in the table or "
                   "hidden from the tree", evidence=evidence)
