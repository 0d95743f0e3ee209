"""What NVML says about the GPUs: one document, read in a child with a deadline, or made from `nvidia-smi -q`.

The document (schema in host/base.py: Host.nvml) holds plain values; which keys there are, and their units, is in
parsers/nvidia/nvml_keys.py. A value that NVML refused has the name of its error instead (NOT_SUPPORTED,
GPU_IS_LOST)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from ...host import Host, Unreadable
from ...host.nvml_absence import NOT_READ, OLDER, nvml_reason
from ...model.fact import Absence, Fact, Reason, absent, known, not_understood
from ...parsers.nvidia.nvml_keys import LATER
from ...parsers.pci.bdf import BDF
from ...parsers.text.bounds import MOST_GPUS, few
from ...util.at_first_use import dataclass

__all__ = ["Gpu", "Nvml", "cut_off", "name_of", "nvml", "shown_error"]

_SOURCE = "NVML"
_OLDER = f"{OLDER}: not in it: recorded by an earlier version"
#: Its process crashed, or its answer did not come in time.
_CUT_OFF = (Absence.CUT_OFF, Absence.TIMED_OUT)
#: What every board tells or does not have. An error in place of one of them may be a sensor; of two, the board is ill.
_VITAL = ("name", "persistence", "pstate", "temperature_c", "power_draw_mw", "memory_used_mib", "clock_sm_mhz",
          "utilization_gpu", "fan_percent")
#: One error in place of one of these is no sensor, and says little; beside another error it is of the same illness.
_BESIDE = ("memory_total_mib", "power_limit_mw", "ecc_mode", "mig_mode", "compute_mode")


#: As nvidia-smi and its users call them; the rest are words already.
_NAMES = {"pstate": "performance state", "temperature_c": "temperature", "power_draw_mw": "power draw",
          "memory_used_mib": "memory used", "memory_total_mib": "memory size", "board": "values",
          "clock_sm_mhz": "SM clock", "utilization_gpu": "utilization",
          "fan_percent": "fan", "persistence": "persistence mode", "power_limit_mw": "power limit",
          "power_limit_enforced_mw": "enforced power limit", "bar1_total_mib": "BAR1 size", "mig_mode": "MIG mode",
          "ecc_mode": "ECC mode", "ecc_pending": "ECC mode after a reset",
          "ecc_aggregate_uncorrected": "uncorrectable errors of all time", "remap_pending": "pending row remapping",
          "remap_failed": "failed row remapping", "retire_pending": "pending page retirement",
          "tpc_repair_pending": "pending TPC repair", "channel_repair_pending": "pending channel repair",
          "sram_threshold_exceeded": "SRAM threshold",
          "temperature_slowdown_c": "slowdown temperature"}


def name_of(key: str) -> str:
    """Return what people call this value."""
    return _NAMES.get(key, key.replace("_", " "))


def shown_error(error: str) -> str:
    """Return NVML's error as nvidia-smi shows it, where its name is a verdict's word, too."""
    return "ERR!" if error == "UNKNOWN" else error


def cut_off(reason: Reason | None) -> bool:
    """Return whether NVML's process crashed or hung. Any other reason is an answer of NVML, or nobody asked."""
    return reason is not None and reason.absence in _CUT_OFF


@dataclass(frozen=True)
class Gpu:
    """One GPU. ``index`` is NVML's own, which is in address order; ``values`` and ``errors`` map keys to the value, or
    to the name of NVML's error."""

    bdf: str
    index: int
    values: Mapping[str, Any]
    errors: Mapping[str, str]

    def fact(self, key: str) -> Fact[Any]:
        """Return the value of ``key``, or the reason why there is none. A key that was never asked for is "not
        read"."""
        if key in self.values:
            return known(self.values[key], f"NVML {self.bdf} {key}")
        return absent(f"NVML {self.bdf} {key}", nvml_reason(self.errors.get(key, NOT_READ)))

    def number(self, key: str) -> Fact[int]:
        """Return the value of a key that holds a whole number. Any other value is "not understood"."""
        found = self.fact(key)
        if found.known and type(found.value) is not int:
            return not_understood(found.source, f"{str(found.value)[:60]!r}")
        return found

    @cached_property
    def refused(self) -> tuple[str, ...]:
        """The vital values in whose place NVML gave an error, "not supported" aside."""
        return self._failed(_VITAL)

    @cached_property
    def ill(self) -> tuple[str, ...]:
        """The values in whose place NVML gave an error, where they are several or a text says it of the whole board;
        empty for a board that answers, but for one value perhaps."""
        failed = self._failed((*_VITAL, *_BESIDE))
        if self.fact("board").absence is Absence.FAILED:
            return failed or ("board",)
        return failed if len(failed) > 1 else ()

    def _failed(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(key for key in keys if key not in self.values and self.fact(key).absence is Absence.FAILED)


@dataclass(frozen=True)
class Nvml:
    """NVML's answers about all GPUs. ``driver`` is the kernel module's version as the library states it, ``library``
    the library's own ("13.595.71.05"). ``pairs`` maps ordered pairs of addresses to {"ancestor": 10, "p2p_read": 0,
    ...}, in numbers of nvml.h, ``pair_errors`` to the errors in their place. ``errors`` are the document's own: {"gpu
    1": "GPU_IS_LOST"} for a board whose address is not known. ``attached``: how many GPUs a text of nvidia-smi counts,
    which may show fewer; 0 where none counts them."""

    driver: Fact[str]
    library: Fact[str]
    gpus: tuple[Gpu, ...]
    pairs: Mapping[tuple[str, str], Mapping[str, int]]
    pair_errors: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    attached: int = 0

    @cached_property
    def _by_address(self) -> dict[str, Gpu]:
        return {gpu.bdf: gpu for gpu in self.gpus}

    def gpu(self, bdf: str) -> Gpu | None:
        return self._by_address.get(bdf)

    def error(self, who: str) -> Reason | None:
        """Return why the document lacks a part: "gpu 1", or "gpus" for a list that was cut. None where it lacks
        nothing."""
        return nvml_reason(self.errors[who]) if who in self.errors else None

    def troubles(self) -> list[tuple[str, Reason, bool]]:
        """Return the boards that gave no answer, or not all of it: the address (or "gpu 1"), why, and whether NVML
        itself says that the board is lost. Otherwise its process crashed or hung, or the library refused the board, or
        gave errors in place of its values."""
        found = [(gpu.bdf, why, why.absence is Absence.LOST) for gpu in self.gpus
                 if (why := next((each for each in map(nvml_reason, gpu.errors.values())
                                  if each.absence is Absence.LOST or cut_off(each)), None))]
        known = {who for who, _, _ in found}
        found += [(gpu.bdf, Absence.FAILED.because(f"{shown_error(gpu.errors[gpu.ill[0]])} in place of "
                                                   f"{', '.join(name_of(key) for key in gpu.ill)}"), False)
                  for gpu in self.gpus if gpu.ill and gpu.bdf not in known]
        boards = [(who, nvml_reason(error)) for who, error in self.errors.items() if who.startswith("gpu ")]
        return found + [(who, why, why.absence is Absence.LOST) for who, why in boards]


def nvml(host: Host, wanted: bool, seconds: float = 10.0) -> Fact[Nvml]:
    """Ask NVML for the whole document, for at most ``seconds``. The reason of an absent fact names NVML's error, the
    signal or the deadline. Not ``wanted``: nothing is asked."""
    if not wanted:
        return absent(_SOURCE, Absence.NOT_ASKED)
    try:
        document = host.nvml(seconds)
    except Unreadable as error:
        return absent(_SOURCE, error.reason)
    try:
        return known(_decoded(document), _SOURCE)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return not_understood(_SOURCE, "its document is damaged")


def _decoded(document: Mapping[str, Any]) -> Nvml:
    few("GPUs", len(document["gpus"]), MOST_GPUS)
    # An import lacks the library's version. What it does not show is not read.
    older = dict.fromkeys(LATER, _OLDER) if isinstance(document.get("library"), str) else {}
    gpus = tuple(Gpu(_bdf(gpu["bdf"]), int(gpu["index"]), dict(gpu["values"]), {**older, **_texts(gpu["errors"])})
                 for gpu in document["gpus"])
    if len({gpu.bdf for gpu in gpus}) < len(gpus):
        raise ValueError("a GPU is listed twice")
    pairs = {(_bdf(pair["a"]), _bdf(pair["b"])): {str(key): int(value) for key, value in pair["values"].items()}
             for pair in document["pairs"]}
    errors = {(pair["a"], pair["b"]): _texts(pair["errors"]) for pair in document["pairs"] if pair.get("errors")}
    return Nvml(_version(document, "driver"), _version(document, "library"), gpus, pairs, errors,
                _texts(document.get("errors", {})), int(document.get("attached", 0)))


def _bdf(text: str) -> str:
    if not BDF.match(text):
        raise ValueError(text)
    return text


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value)[:120] for key, value in values.items()}


def _version(document: Mapping[str, Any], key: str) -> Fact[str]:
    value = document.get(key)
    if isinstance(value, str):
        return known(value, f"{_SOURCE} {key}")
    return absent(f"{_SOURCE} {key}", nvml_reason(_texts(document.get("errors", {})).get(key, NOT_READ)))
