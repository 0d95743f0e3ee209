"""What vLLM and SGLang say at start-up about driver, peer access and all-reduce: their decisions, each with its reason,
and what ended them later (engine_failures.py).
Wordings of vLLM 0.4 to 0.28 and SGLang 0.3 to 0.5 (custom_all_reduce.py, symm_mem.py, pynccl.py of both)."""

from __future__ import annotations

import re
from typing import Tuple

from ...util.at_first_use import dataclass, regex
from .engine_failures import failures

__all__ = ["MARK", "Decision", "EngineLog", "parse_engine"]

#: An engine's own sentences and fronts of lines; its name only in a line with a time, as prose names engines, too. What
#: stands in back-ticks is quoted.
MARK = regex(r"(?<!`)(?:is using nccl==\d|SymmMemCommunicator: |LLM engine \(v\d|server_args=ServerArgs"
             r"|Init torch distributed (?:begin|ends)|EngineDeadError: |SIGQUIT received\. signum"
             r"|custom.?all.?reduce is disabled (?:because|due)|Setup custom.?all.?reduce failed"
             r"|disable_custom_all_reduce=(?:True|False)|custom_all_reduce\.py:\d"
             r"|\((?:EngineCore|Worker|APIServer)\w{0,20} pid=\d"
             r"|(?:INFO|WARNING|ERROR) \d\d-\d\d [\d:]{8} \[\w{1,60}\.py:"
             r"|\[\d{4}-\d\d-\d\d [\d:]{8}(?: DP\d{1,4})? TP\d{1,4}[^\]\n]{0,20}\] )"
             r"|\d\d:\d\d:\d\d[^\n]{0,200}?(?:sglang\b|\bvllm[./ ])",
             re.IGNORECASE)
_LINES = regex(r"^.*(?:[Cc]ustom.?all.?[Rr]educe|custom_all_reduce|SymmMemCommunicator|nccl==|P2P|server_args=|"
               r"LLM engine \(v|SGLang|driver version|All-?reduce|all_reduce|Driver/library).*$", re.MULTILINE)
_OFF = r"custom allreduce is disabled "
#: kind -> the words
_WORDS = (
    ("p2p refused", _OFF + r"because (?:your )?platform lacks GPU P2P capability"),
    ("more than two", _OFF + r"because it'?s not supported on more than two PCIe"),
    ("world size", _OFF + r"due to an unsupported world size: ?(\d{1,4})?"),
    ("several nodes", _OFF + r"because this process group"),
    ("no library", _OFF + r"because of missing custom allreduce library"),
    ("setup failed", r"Setup Custom allreduce failed"),
    ("symm mem", r"SymmMemCommunicator: Device capability ([\d.]{1,6}) not supported"),
    ("by option", r"disable_custom_all_reduce=True(?! explicitly)"),
    ("mismatch", r"Driver/library version mismatch"),
    ("driver old", r"(?:NVIDIA driver on your system is too old|driver version is insufficient for CUDA)[^\n]{0,80}"),
    ("not ready", r"(?:Error 802\b|cudaErrorSystemNotReady|system not yet initialized)[^\n]{0,80}"),
    ("out of memory", r"(?:CUDA (?:error: )?out of memory|torch\.(?:cuda\.)?OutOfMemoryError)[^\n]{0,300}"),
)
_TEXTS = {kind: regex(words, re.IGNORECASE) for kind, words in _WORDS}
#: Those that stand in long lines of options, or in an exception.
_ANYWHERE = ("by option", "mismatch", "driver old", "not ready", "out of memory")
_VLLM = regex(r"LLM engine \(v([\w.+-]{1,40})\)|vLLM (?:API server )?version ([\w.+-]{1,40})")
_SGLANG = regex(r"sglang(?: version|==| v)[ :=]{0,3}([\d][\w.+-]{1,30})", re.IGNORECASE)
_IS_SGLANG = regex(r"sglang|server_args=|SIGQUIT received\. signum|Init torch distributed"
                    r"|^\[\d{4}-\d\d-\d\d [\d:]{8}(?: DP\d{1,4})? TP\d{1,4}[^\]\n]{0,20}\] ",
                    re.IGNORECASE | re.MULTILINE)
_NCCL = regex(r"using nccl==([\d.]{3,12})", re.IGNORECASE)
_SIZE = regex(r"(?:\btensor_parallel_size=|\btp_size=|--tensor-parallel-size[ =]|--tp(?:-size)?[ =])(\d{1,4})")
_DRIVER = regex(r"(?:Nvidia driver version|CUDA Driver Version) ?: *(\d{3}\.\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE)
_MOST = 4 << 20


@dataclass(frozen=True)
class Decision:
    """One decision of an engine, or its end. ``kind`` is one of the names above or in engine_failures.py, ``text`` the
    words of the log."""

    kind: str
    text: str


@dataclass(frozen=True)
class EngineLog:
    """What one log of an engine tells. ``engine`` is vLLM or SGLang; versions are empty and the size is 0 where the log
    does not tell them."""

    engine: str
    version: str
    nccl: str
    driver: str
    size: int
    decisions: "Tuple[Decision, ...]"


def parse_engine(text: str) -> EngineLog:
    """Return everything that the log tells. Never fails."""
    died = tuple(Decision(each.kind, each.text) for each in failures(text))
    text = text[:_MOST]
    kept = "\n".join(line[:1500] for line in _LINES.findall(text)[:20_000])
    found = {kind: match for kind, pattern in _TEXTS.items()
             if (match := pattern.search(text if kind in _ANYWHERE else kept)) is not None}
    vllm, sglang = _VLLM.search(text), _SGLANG.search(text)
    is_sglang = sglang is not None or (vllm is None and _IS_SGLANG.search(text) is not None)
    version = sglang.group(1) if sglang else ""
    if vllm and not is_sglang:
        version = next(each for each in vllm.groups() if each)
    size, nccl, driver = _SIZE.search(text), _NCCL.search(text), _DRIVER.search(text)
    return EngineLog("SGLang" if is_sglang else "vLLM", version.rstrip(".,"), nccl.group(1).rstrip(".") if nccl else "",
                     driver.group(1) if driver else "", int(size.group(1)) if size else 0,
                     (*(Decision(kind, found[kind].group()[:160]) for kind in _TEXTS if kind in found), *died))
