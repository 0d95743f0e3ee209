"""How nccl-tests, nvbandwidth (0.2 to 0.10) and p2pBandwidthLatencyTest say that a run ended with an error, and which
tests nvbandwidth left out. Written after their sources (common.h; error_handling.h, output.cpp; cuda-samples)."""

from __future__ import annotations

from typing import Dict, List, Tuple

from ...util.at_first_use import regex

__all__ = ["ENDED", "NCCL_ENDED", "failures", "waived"]

_MULTILINE = 8      # re.MULTILINE
_NCCL = (r"^(?:\S{1,100}: )?Test (?:NCCL|CUDA|MPI) failure \S{1,200}? '(?P<nccl>[^\n]{1,300})"
         r"|^(?:\S{1,100}: )?(?P<timeout>Test timeout \(\d{1,9}s\))")
#: What nccl-tests print where they end with an error.
NCCL_ENDED = regex(_NCCL, _MULTILINE)
#: The same of all three.
ENDED = regex(
    rf"{_NCCL}"
    r"|^\[(?P<name>(?:CUDA_ERROR|cudaError|NVML_ERROR)\w{0,60})\] (?P<told>[^\n]{1,200}?) in expression"
    r"|^ ?(?P<value>Invalid value when checking the pattern)"
    r"|^ ?(?P<assert>ASSERT in expression [^\n]{1,100})"
    r"|^E(?:rror|RROR): (?P<error>[^\n]{1,300})"
    r"|^Cuda failure \S{1,200}?: '(?P<sample>[^'\n]{1,200})'"
    r"|^CUDA error at \S{1,300} code=\d{1,5}\((?P<helper>\w{1,60})\)", _MULTILINE)
#: Each frame of nccl-tests that an error went through; the error itself may have been cut away.
_FRAME = regex(r"^ ?\.\. \S{1,100} pid \d{1,9}: Test failure \S{1,200}", _MULTILINE)
_RUNNING = regex(r"^Running (\w{1,100})\.", _MULTILINE)
_WAIVED = regex(r"^(?:(?P<old>\w{1,100}) [Ww]aived\.|Waiving (?P<oldest>\w{1,100})\.|(?:Waived|WAIVED):?[ \t]*$)",
                _MULTILINE)
_MOST = 100


def failures(text: str) -> "Tuple[str, ...]":
    """Return a sentence for each error that ended a run or a test, in their order, each once. Of nvbandwidth it begins
    with the test's name."""
    found: Dict[str, None] = {}
    tests = [(each.start(), each.group(1)) for each in _RUNNING.finditer(text)]
    for each in ENDED.finditer(text):
        told = {name: value for name, value in each.groupdict().items() if value}
        said = f"{told['name']}, {told['told']}" if "name" in told else next(iter(told.values()))
        said = " ".join(said.split()).rstrip("' /") if "nccl" in told else " ".join(said.split())
        # Several lines are of one error: its values, and the assertion that ends the test.
        if "assert" in told and "Invalid value" in next(reversed(found), ""):
            continue
        test = next((name for begin, name in reversed(tests) if begin < each.start()), "")
        if "error" in told and not test:        # any program's word
            continue
        found.setdefault(f"{test}: {said}" if test and "nccl" not in told else said)
        if len(found) >= _MOST:
            break
    if not found and _FRAME.search(text):
        found["an error whose own line is not in the text"] = None
    return tuple(found)


def waived(text: str) -> "Tuple[List[str], int]":
    """Return the names of the tests that nvbandwidth left out because this machine cannot run them, and how many it
    left out without their names (since 0.5)."""
    tests = [(each.end(), each.group(1)) for each in _RUNNING.finditer(text)]
    names: List[str] = []
    nameless = 0
    for each in _WAIVED.finditer(text):
        named = each.group("old") or each.group("oldest") or next(
            (name for end, name in tests if not text[end:each.start()].strip() and end <= each.start()), "")
        if named:
            names.append(named)
        else:
            nameless += 1
        if len(names) + nameless >= _MOST:
            break
    return names, nameless
