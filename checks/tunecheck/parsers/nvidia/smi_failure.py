"""What ``nvidia-smi`` prints in place of an answer, and why: its own texts, as drivers 390 to 610 word them."""

from __future__ import annotations

import re
from typing import List, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["Failure", "failures"]

_MOST = 64
_LINES = 20_000
#: A line without one of these is none of them.
_KEYS = ("NVIDIA-SMI", "NVML", "device handle", "No devices", "lost", "not found")
#: kind -> the beginning of a line. Other programs quote these words in the middle of theirs.
_WORDS = (
    ("no driver", r"^[ \t]*NVIDIA-SMI has failed because it couldn['\u2019]t communicate with the NVIDIA driver"),
    ("no library", r"^[ \t]*NVIDIA-SMI couldn['\u2019]t find libnvidia-ml\.so"),
    ("mismatch", r"^[ \t]*Failed to initialize NVML: Driver/library version mismatch"),
    ("no driver", r"^[ \t]*Failed to initialize NVML: Driver Not Loaded"),
    ("no driver", r"^[ \t]*Failed to initialize NVML: (?:Not Found|Uninitialized)"),
    ("no permission", r"^[ \t]*Failed to initialize NVML: Insufficient Permissions"),
    ("lost", r"^[ \t]*Failed to initialize NVML: GPU is lost"),
    ("refused", r"^[ \t]*Failed to initialize NVML: Unknown Error"),
    ("no library", r"^[ \t]*Failed to initialize NVML: Shared Library Not Found"),
    ("no gpu", r"^[ \t]*No devices were found[ \t]*$"),
    ("lost", r"^[ \t]*(?:GPU is lost\b|.{0,40}Gpu is lost\.)"),
    ("no program", r"^[ \t]*(?:(?:-?bash|-?zsh|-?sh|/bin/sh|sudo|dash)(?:: line \d{1,6}|: \d{1,6})?: )?"
                   r"(?:command not found: nvidia-smi|nvidia-smi: (?:command )?not found)"),
    ("no program", r"^[ \t]*Command ['\u2018\"]nvidia-smi['\u2019\"] not found"),
)
_TEXTS = tuple((kind, regex(pattern, re.IGNORECASE)) for kind, pattern in _WORDS)
_HANDLE = regex(r"^[ \t]*Unable to determine the device handle for gpu ?(?:(\d{1,3}): ?(?=[0-9a-f]{4,8}:))?"
                r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])?(\d{1,3})?: ?([^\n]{1,100})",
                re.IGNORECASE)


@dataclass(frozen=True)
class Failure:
    """One failure. ``kind``: "no driver", "no library", "mismatch", "no permission", "no gpu", "no program", "refused",
    "lost" or "no handle"; ``gpu`` as the text names it, "" where it names none; ``text`` is the line, shortened."""

    kind: str
    gpu: str
    text: str


def failures(text: str) -> "Tuple[Failure, ...]":
    """Return every failure that the text holds, each once."""
    found: List[Failure] = []
    for line in text[:1 << 20].split("\n", _LINES)[:_LINES]:
        line = line[:400]
        if not any(word in line for word in _KEYS):
            continue
        kind = next((kind for kind, pattern in _TEXTS if pattern.match(line)), None)
        handle = _HANDLE.match(line) if kind is None else None
        if handle:
            kind = "lost" if "lost" in handle.group(4).lower() else "no handle"
            gpu = (handle.group(2) or handle.group(1) or handle.group(3) or "").lower()
            found.append(Failure(kind, gpu, line.strip()[:160]))
        elif kind is not None and kind not in (each.kind for each in found):
            found.append(Failure(kind, "", line.strip()[:160]))
        if len(found) >= _MOST:
            break
    return tuple(dict.fromkeys(found))[:_MOST]
