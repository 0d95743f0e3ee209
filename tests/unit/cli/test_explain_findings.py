"""Every technical word that a finding prints is known to ``tunecheck explain``; a word of several meanings has all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.unit.checks.test_cases import CASES, findings_of

from tunecheck.errors import UsageError
from tunecheck.host.nvml_absence import _THEIRS
from tunecheck.parsers.nvidia.nccl_env import LEVELS
from tunecheck.parsers.pci import aer, aer_status
from tunecheck.parsers.pci.acs import ACS_NAMES
from tunecheck.parsers.pci.aer_names import CORRECTABLE, UNCORRECTABLE
from tunecheck.report.check_pages import page
from tunecheck.report.words.terms import _SOURCES, NAMES, term

#: Capitals, or small letters with a capital behind them: AER, SDES, BadTLP, cuMemHostAlloc.
_WORD = re.compile(r"(?<![\w/.=-])(_?[A-Za-z]\w*[A-Z]\w*|_?[A-Z][A-Z0-9_]+)")
#: What everybody who has a server at hand knows.
_PLAIN = {"BIOSes", "ID", "JSON"}
#: Names of makers, products and programs.
_PRODUCTS = {"AMD", "NVIDIA", "RTX", "PRO", "GeForce", "H200", "MI300X", "PEX890xx", "PM50100", "SGLang", "vLLM",
             "p2pBandwidthLatencyTest", "emptyDir"}
#: Places to fill in, and settings with the file that they belong into beside them.
_TYPED = {"FILE", "HOST", "GRUB_CMDLINE_LINUX_DEFAULT", "LimitMEMLOCK", "SystemMaxUse", "POWER", "PERFORMANCE"}
#: Parts of what a program on the box logged, or of what somebody wrote on it, as it stands there.
_QUOTED = {"DistBackendError", "EngineCore", "EngineDeadError", "NCCLUtils", "VLLM", "Worker_TP", "cuMemHostAlloc",
           "cuStreamSynchronize", "cublasGemmEx", "socketProgress", "MeasuredPass", "RMForcP2PType",
           "NCCL_MIN_CHANNELS"}
#: VT-d is one word with a hyphen.
_WHOLE = {"VT": "VT-d"}


def _printed() -> Iterator[tuple[str, str]]:
    for path in CASES:
        for finding in findings_of(path):
            for word in _WORD.findall(finding.message):
                if not re.fullmatch(r"GPU\d+", word):
                    yield word, finding.id


def _known(word: str) -> bool:
    try:
        return bool(page(_WHOLE.get(word, word)))
    except UsageError:
        return False


def test_every_technical_word_of_a_finding_is_explained() -> None:
    printed = dict(_printed())
    excepted = _PLAIN | _PRODUCTS | _TYPED | _QUOTED
    assert {"BadTLP", "SDES", "EgressCtrl", "GPU_IS_LOST", "_OSC", "WPR2"} <= printed.keys()
    assert {word: check for word, check in printed.items() if word not in excepted and not _known(word)} == {}
    assert {word for word in excepted if word not in printed or _known(word)} == set(), "an exception that is none"


@pytest.mark.parametrize("error", [*CORRECTABLE, *UNCORRECTABLE], ids=lambda error: error.name)
def test_an_error_of_aer_is_explained_as_what_it_is(error: object) -> None:
    """By both its names, in any case, whatever else the word means."""
    assert isinstance(error, tuple)
    bit, name, meaning, in_lspci = error
    for typed in (name, in_lspci, name.lower(), in_lspci.upper()):
        text = page(typed)
        assert meaning in text and f"bit {bit}" in text and "`tunecheck explain aer-events`" in text, typed


def test_who_reads_errors_of_aer_has_them_from_one_table() -> None:
    assert {error.bit: error.name for error in CORRECTABLE} == aer._CORRECTABLE
    assert {error.bit: error.name for error in UNCORRECTABLE} == aer._UNCORRECTABLE
    assert {name for names in aer_status.NAMES.values() for name in names} <= {
        name for name in (*NAMES, "AdvNonFatalErr") if term(name)}


def test_names_of_other_tables_are_known() -> None:
    for name in (*ACS_NAMES, *_THEIRS, *LEVELS, "LnkSta", "DevSta", "UESta", "CESta"):
        assert _known(name) or name == "DEPRECATED", name


@pytest.mark.parametrize("word", [name for name in NAMES if sum(
    name.upper() == key.upper() for source in _SOURCES for key in source) > 1])
def test_a_word_of_several_meanings_has_them_all(word: str) -> None:
    told = [source[key] for source in _SOURCES for key in source if key.upper() == word.upper()]
    text = page(word)
    assert f"{len(told)} meanings" in text
    for words, more, check in told:
        assert f"- {words}." in text and more in text and check in text


def test_a_word_is_headed_as_it_is_written_in_the_field() -> None:
    """The kernel and the firmware take pci=noacs, and not PCI=NOACS."""
    for typed, shown in (("noacs", "pci=noacs"), ("PCI=NOACS", "pci=noacs"), ("iommu=PT", "iommu=pt"),
                         ("badtlp", "BadTLP"), ("reqredir", "ReqRedir"), ("nvreg_enablemsi", "NVreg_EnableMSI"),
                         ("l0S", "L0s")):
        assert page(typed).startswith(f"# {shown}: ")
