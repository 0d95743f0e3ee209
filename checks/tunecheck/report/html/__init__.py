"""The report for the browser: one file that asks the network for nothing.

Everything a host says is data: the template escapes it, and the policy in the page's head lets run exactly the one
script and the one style sheet that are in it, by their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...model.finding import Finding
from ...model.measurement import Measured
from ..measured_document import measured_of
from ..pasted_evidence import of_texts
from ..text_parts import nothing_wrong
from .heat import Heat, heat
from .layout import arrange, outline
from .reduce import reduce
from .shell import render
from .tree import Node, grow

if TYPE_CHECKING:
    from ..document import Run

__all__ = ["html"]

_VERDICTS = {"fail": "A check failed", "unknown": "Not everything could be determined",
             "warn": "Passed with warnings", "pass": "Passed", "skip": "Nothing was judged"}
#: Above this the pairs are only in the matrix: a list of thousands is for `--json`.
_LISTED_PAIRS = 500


def html(run: Run) -> str:
    """Return the whole page as text."""
    data = run.document
    nodes = grow(data)
    boards = data.get("accelerators", [])
    pairs = _pairs(data, nodes)
    predicted = any(pair["predicted"] for pair in pairs)
    found = measured_of(data["measured"]) if "measured" in data else Measured()
    matrices = heat(found, data)
    texts: dict[str | None, int] = {None: 0}
    return render(
        "page.html.j2", ("page.css", "measured.css"), run.findings,
        data=data, verdict=_VERDICTS[data["outcome"]], when=run.when, source=run.source,
        wide=arrange(nodes) if boards else None, narrow=outline(nodes) if boards else None,
        boards=boards, matrix=_matrix(data), pairs=pairs,
        predicted=predicted, listed=len(pairs) <= _LISTED_PAIRS, described=len(boards) <= 32,
        proof=of_texts if run.pasted else list,
        calm=nothing_wrong(run.findings, run.pasted),
        no_tree=_no_tree(run.findings),
        hangs=found.hangs, bundle_note=found.notes.get("bundle", ""), failures=found.failures, heat=matrices,
        reduced=reduce(found),
        page={"nodes": {node.id: [node.parent, node.kind, node.title, node.link, node.redirects]
                        for node in nodes.values()},
              "predicted": predicted,
              "boards": [board["bdf"] for board in boards],
              "pairs": _compact(pairs, texts), "heat": _heat_document(matrices, texts), "texts": list(texts)},
    )


def _no_tree(findings: Sequence[Finding]) -> str:
    """Return what stands in the place of the tree where there is no accelerator to draw."""
    beside = next((each.text for each in findings if each.code == "other-makers"), "")
    if beside:
        return f"No NVIDIA GPU was found, but {beside}."
    open_ = next((each.text for each in findings if each.id == "accelerator-count" and each.outcome == "unknown"), "")
    return f"Not known: {open_}." if open_ else "No accelerator was found."


def _matrix(data: dict[str, Any]) -> list[list[str]]:
    """Return the relation of each pair by row and column of GPU numbers; "" on the diagonal."""
    numbers = {board["bdf"]: board["index"] for board in data.get("accelerators", [])}
    rows = [["?" if row != column else "" for column in numbers] for row in numbers]
    for pair in data.get("pairs", ()):
        a, b = numbers[pair["a"]], numbers[pair["b"]]
        rows[a][b] = rows[b][a] = pair["relation"] or "?"
    return rows


def _pairs(data: dict[str, Any], nodes: dict[str, Node]) -> list[dict[str, Any]]:
    """Return one entry per pair in the order of the document: (0,1), (0,2), ... What the tree tells is not repeated."""
    numbers = {board["bdf"]: board["index"] for board in data.get("accelerators", [])}
    return [_pair(pair, numbers, nodes) for pair in data.get("pairs", ())]


def _pair(pair: dict[str, Any], numbers: dict[str, int], nodes: dict[str, Node]) -> dict[str, Any]:
    path = pair.get("path") or {}
    ports = [nodes[bdf] for bdf in pair["bridges"] if bdf in nodes]
    redirectors = list(path.get("redirectors") or [port.id for port in ports if port.redirects])
    predicted = _predicted(path)
    return {"a": numbers[pair["a"]], "b": numbers[pair["b"]], "relation": pair["relation"] or "?",
            "reason": pair["reason"] or path.get("reason"), "ports": pair["bridges"], "redirectors": redirectors,
            "blind": [port.id for port in ports if port.redirects is None], "predicted": predicted}


def _compact(pairs: list[dict[str, Any]], texts: dict[str | None, int]) -> list[list[Any]]:
    """Return the pairs for the script: [reason, redirectors, prediction, relation]. Each text stands once in ``texts``,
    and a pair holds its place there."""
    return [[texts.setdefault(pair["reason"], len(texts)), pair["redirectors"],
             texts.setdefault(pair["predicted"], len(texts)), texts.setdefault(pair["relation"], len(texts))]
            for pair in pairs]


def _heat_document(matrices: Heat | None, texts: dict[str | None, int]) -> dict[str, Any]:
    """Return the facts of every measured cell for the script: [name, text, name, text, ...] by their places in
    ``texts``."""
    if matrices is None:
        return {}
    return {"gpus": matrices.gpus,
            "of": {quantity.id: [[cell and [texts.setdefault(text, len(texts)) for fact in cell.facts for text in fact]
                                  for cell in row] for row in quantity.rows] for quantity in matrices.quantities}}


def _predicted(path: dict[str, Any]) -> str | None:
    """Return the result of the path prediction in one line; None where the document holds none."""
    if path.get("one_way_gb_s") is None:
        return None
    parts = [f"{path['one_way_gb_s']:g} GB/s one way"]
    if path.get("two_way_gb_s") is not None:
        parts.append(f"{path['two_way_gb_s']:g} GB/s both ways")
    slowest = path.get("slowest")
    if slowest:
        parts.append(f"slowest link {slowest['link']} x{slowest['width']} Gen{slowest['gen']}")
    if path.get("mps"):
        parts.append(f"MPS {path['mps']}")
    if path.get("latency_class"):
        parts.append(f"latency class {path['latency_class']}")
    return ", ".join(parts)
