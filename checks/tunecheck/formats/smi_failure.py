"""What ``nvidia-smi`` prints in place of an answer, and why: its own texts, as drivers 390 to 610 word them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Tuple

__all__ = ["Failure", "failures"]

_MOST = 64
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
_TEXTS = tuple((kind, re.compile(pattern, re.MULTILINE | re.IGNORECASE)) for kind, pattern in _WORDS)
_HANDLE = re.compile(r"^[ \t]*Unable to determine the device handle for gpu ?(?:(\d{1,3}): ?(?=[0-9a-f]{4,8}:))?"
                     r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])?(\d{1,3})?: ?([^\n]{1,100})",
                     re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Failure:
    """``kind``: "no driver", "no library", "mismatch", "no permission", "no gpu", "no program", "refused", "lost" or
    "no handle"; ``gpu`` as the text names it, "" where it names none; ``text`` is the line, shortened."""

    kind: str
    gpu: str
    text: str


def failures(text: str) -> "Tuple[Failure, ...]":
    """Every failure that the text holds, each once."""
    text = text[:1 << 20]
    found: List[Failure] = []
    for kind, pattern in _TEXTS:
        match = pattern.search(text)
        if match:
            end = text.find("\n", match.start() + 1)
            line = text[match.start():end if end >= 0 else len(text)].strip()
            found.append(Failure(kind, "", line[:160]))
    for match in list(_HANDLE.finditer(text))[:_MOST]:
        kind = "lost" if "lost" in match.group(4).lower() else "no handle"
        gpu = (match.group(2) or match.group(1) or match.group(3) or "").lower()
        found.append(Failure(kind, gpu, match.group().strip()[:160]))
    return tuple(dict.fromkeys(found))[:_MOST]
