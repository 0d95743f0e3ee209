"""What an engine's log says when it dies: errors of CUDA, of its processes and of its watchdogs. Wordings of CUDA's
error strings (cudaGetErrorString), of vLLM 0.4 to 0.28 and of SGLang 0.3 to 0.5."""

from __future__ import annotations

from typing import List, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["Failure", "failures"]

_MOST = 4 << 20
#: What cudaGetErrorString() may say that engine_log.py knows as something else.
_ELSEWHERE = r"(?!\s*(?:out of memory|CUDA driver version is insuff|system not yet|no error))"
#: engine_log.py has this line, too.
_NONE = "setup custom allreduce failed"
#: kind -> (words without one of which no line of it is there, in small letters; its lines). A line is of the first kind
#: that it fits.
_KINDS: "Tuple[Tuple[str, Tuple[str, ...], str], ...]" = (
    ("uncorrectable ecc", ("uncorrectable", "eccuncorrectable"),
     r"uncorrectable (?:ECC|NVLink) error|cudaErrorECCUncorrectable|cudaErrorNvlinkUncorrectable"),
    ("illegal access", ("illegal memory access", "illegaladdress", "illegal_address"),
     r"illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS"),
    ("launch failure", ("unspecified launch failure", "launchfailure", "launch_failed"),
     r"unspecified launch failure|cudaErrorLaunchFailure|CUDA_ERROR_LAUNCH_FAILED"),
    ("collective timeout", ("collective operation timeout", "nccl operations have failed", "distbackenderror"),
     r"Watchdog caught collective operation timeout|NCCL operations have failed or timed out|DistBackendError: NCCL"),
    ("cuda error", ("cuda error", "cuda_error", "cuda failure", "cublas_status", "cudnn_status", "device-side assert"),
     r"CUDA (?:runtime |driver )?(?:error|failure)(?: \d{1,4}| \([^)\n]{1,200}\))?\s?[:=]"
     rf"{_ELSEWHERE} ?\S|device-side assert triggered"
     r"|CUDA_ERROR_(?!OUT_OF_MEMORY|SYSTEM_NOT_READY)[A-Z_]{4}|(?:CUBLAS|CUDNN)_STATUS_(?!SUCCESS)[A-Z_]{4}"),
    ("watchdog", ("watchdog", "heartbeat"),
     r"Watchdog timeout|watchdog timed? ?out|heartbeat (?:monitor )?timed? ?out"),
    ("worker died", ("workerproc", "worker proc", "died", "hit an exception", "child process", "sigquit received"),
     r"WorkerProc (?:failed|hit|initialization failed)|Worker proc(?:ess)? \S{1,60} died|(?:Scheduler|Detokenizer"
     r"|Tokenizer\w{0,12}|TpModelWorker\w{0,12}|DataParallelController) hit an exception|SIGQUIT received\. signum"
     r"|(?:Worker|Rank \d{1,4} scheduler)[^\n]{0,60} (?:is dead|died)\b"),
    ("engine died", ("engine",),
     r"EngineDeadError|EngineCore (?:encountered (?:an issue|a fatal)|failed to start|died)"
     r"|Engine core (?:proc\S{0,4}|initiali[sz]ation)[^\n]{0,40} (?:died|failed)|Engine (?:loop is not running"
     r"|loop has died|process (?:failed|died|is dead))|Engine background loop|Background loop (?:has errored|is not)"),
    ("hanging", ("shared memory broadcast", "timed out"),
     r"No available shared memory broadcast block|(?:RPC call to|execute_model|sample_tokens)[^\n]{0,60} timed out"
     r"|Execution of \S{1,40} timed out"),
)
_PATTERNS = {kind: regex(words, 2) for kind, _, words in _KINDS}     # 2: re.IGNORECASE


@dataclass(frozen=True)
class Failure:
    """``kind`` is one of the names above, ``text`` its first line and how many more there are."""

    kind: str
    text: str


def failures(text: str) -> List[Failure]:
    """Return every kind of failure of the log, in the order of _KINDS. Of a long log its begin and its end count."""
    if len(text) > 2 * _MOST:
        text = text[:_MOST] + "\n" + text[-_MOST:]
    small = text.lower()
    kinds = [kind for kind, words, _ in _KINDS if any(word in small for word in words)]
    if not kinds:
        return []
    every = tuple(word for _, words, _ in _KINDS for word in words)
    first: "dict[str, str]" = {}
    times: "dict[str, int]" = {}
    for line in text.split("\n"):
        low = line[:2000].lower()
        if not any(word in low for word in every) or _NONE in low:
            continue
        for kind in kinds:
            found = _PATTERNS[kind].search(line[:2000])
            if found:
                first.setdefault(kind, line[found.start():].rstrip()[:160])
                times[kind] = times.get(kind, 0) + 1
                break
    return [Failure(kind, first[kind] + (f" (and {times[kind] - 1} more)" if times[kind] > 1 else ""))
            for kind in kinds if kind in first]
