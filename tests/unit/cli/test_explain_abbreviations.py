"""``tunecheck explain`` knows every abbreviation that this program's own texts use: findings, what they expect and
their fixes, the checks' pages, the pages of words themselves, and the words of NCCL's and NVIDIA's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.unit.report.all_reports import reports

from tunecheck.errors import UsageError
from tunecheck.report.check_pages import page
from tunecheck.report.words.terms import NAMES
from tunecheck.rules.index import CHECKS

#: Two capitals or more, also as a plural.
_SHORT = re.compile(r"(?<![\w./=*<$-])[A-Z][A-Z0-9]{1,9}s?(?![\w./=*>])")
#: What is shown as it is: commands, files, lines of logs, what stands in quotes.
_VERBATIM = re.compile(r"(?s)```.*?```|`[^`\n]*`|\"[^\"\n]*\"|\[[^\]]*\]\([^)]*\)")
#: Names of makers, boards and processors, which a reader has bought.
_PRODUCTS = re.compile(r"NVIDIA|AMD|ASUS|RTX|PRO|EPYC|VLLM|[ABH][123]00s?|GB[23]00|MI\d+X?|PEX?\d+|PM\d+|ESC\d+A?")
#: What a reader puts something in place of, and words of a sentence in capitals.
_PLACES = {"FILE", "HOST", "ID", "CHECK", "CODE", "ADDRESS", "VALUE", "NAME", "NUMBERS", "VERSION", "PACKAGE", "KEY",
           "NOTE", "HIGHEST", "LOWEST", "ALL", "BUSY", "README"}
#: What no reader of a report looks up.
_PLAIN = {"ALLREDUCE", "PCRC", "YAML", "JSON", "CSV", "PXBNODE", "INFO", "POWER", "PERFORMANCE", "RC"}


def _texts() -> Iterator[tuple[str, str]]:
    for each in reports():
        for found in each.findings:
            fix = found.remedy.text if found.remedy else ""
            yield found.id, f"{found.text}; {found.expected or ''}; {fix}"
    for check in CHECKS:
        yield f"page of {check.id}", page(check.id)
    for name in NAMES:
        if name not in ("NV#", "Xid N"):
            yield f"page of {name}", page(name).partition(": ")[2]


def _known(word: str) -> bool:
    try:
        return bool(page(word))
    except UsageError:
        return False


def test_every_abbreviation_in_our_texts_has_a_page() -> None:
    said: dict[str, str] = {}
    for where, text in _texts():
        for word in _SHORT.findall(_VERBATIM.sub(" ", text)):
            said.setdefault(word, where)
    assert len(said) > 100
    unknown = {word: where for word, where in said.items()
               if word not in _PLACES | _PLAIN and not _PRODUCTS.fullmatch(word) and not _known(word)}
    assert unknown == {}


@pytest.mark.parametrize("word", [
    # Algorithms and protocols, as NCCL_ALGO and NCCL_PROTO take them (NCCL 2.30).
    "Ring", "Tree", "CollNet", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT", "LL", "LL128", "Simple",
    # What NCCL's log says of a channel, which the report repeats.
    "P2P", "IPC", "CUMEM", "direct pointer", "SHM", "NET", "IB", "GDRDMA",
    # Columns of nccl-tests and of nvidia-smi topo -m.
    "redop", "algbw", "busbw", "#wrong", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID", "NIC", "X", "SOC", "N/A",
    # As a report counts them.
    "GPU0", "GPU12", "GPUs", "CPUs", "TPCs", "UUIDs", "Gen5", "Gen4", "x16", "x8"])
def test_a_word_of_a_table_has_a_page(word: str) -> None:
    for typed in (word, word.lower(), word.upper()):
        assert page(typed).lower().startswith(f"# {word.lower()}: "), typed

