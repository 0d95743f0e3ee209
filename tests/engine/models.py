"""The committed model made ill: one NaN in the final norm, or noise on every weight. Standard library only."""

from __future__ import annotations

import random
import statistics
import struct
from collections.abc import Iterator
from pathlib import Path

__all__ = ["GOOD", "nan", "noisy"]

GOOD = Path(__file__).resolve().parents[1] / "fixtures/engine/tiny.gguf"
#: GGUF's scalar value types -> size; 8 is a string, 9 an array (ggml/docs/gguf.md).
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_F32, _F16 = 0, 1


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self.content, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def text(self) -> str:
        size = self.take("Q")
        self.at += size
        return self.content[self.at - size : self.at].decode()

    def skip(self, kind: int) -> None:
        if kind == 8:
            self.text()
        elif kind == 9:
            inner, count = self.take("I"), self.take("Q")
            for _ in range(count):
                self.skip(inner)
        else:
            self.at += _SIZES[kind]


def _tensors(content: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Name, kind, place and number of values of each tensor."""
    reader = _Reader(content)
    if content[:4] != b"GGUF":
        raise ValueError("not a GGUF file")
    reader.at = 8
    count, pairs = reader.take("Q"), reader.take("Q")
    for _ in range(pairs):
        reader.text()
        reader.skip(reader.take("I"))
    found = []
    for _ in range(count):
        name, size = reader.text(), 1
        for _ in range(reader.take("I")):
            size *= reader.take("Q")
        found.append((name, reader.take("I"), reader.take("Q"), size))
    start = -(-reader.at // 32) * 32
    for name, kind, offset, size in found:
        yield name, kind, start + offset, size


def nan(place: Path) -> Path:
    """Every logit becomes NaN; the engine goes on as fast as ever."""
    content = bytearray(GOOD.read_bytes())
    at = next(at for name, kind, at, _ in _tensors(bytes(content)) if name == "output_norm.weight" and kind == _F32)
    struct.pack_into("<f", content, at + 12, float("nan"))
    place.write_bytes(content)
    return place


def noisy(place: Path, scale: float = 0.8) -> Path:
    """Matrices with noise of ``scale`` of their own deviation."""
    content, rng = bytearray(GOOD.read_bytes()), random.Random(0)
    for _, kind, at, size in _tensors(bytes(content)):
        if kind == _F16:
            values = struct.unpack_from(f"<{size}e", content, at)
            noise = scale * statistics.pstdev(values)
            struct.pack_into(f"<{size}e", content, at, *(value + rng.gauss(0, noise) for value in values))
    place.write_bytes(content)
    return place
