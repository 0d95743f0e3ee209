"""What arrived on a stream and when, kept as whole lines: linear time and bounded memory, whatever is sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["Arrival", "Arrivals", "most_bytes", "whole_lines"]

#: A read that ended at least one line: seconds since the request, its whole lines.
Arrival = tuple[float, bytes]
#: What an arrival costs beside its bytes.
_EACH = 128
#: An event is 250 to 400 bytes for each token with vLLM, SGLang and llama.cpp; some send the prompt back at the end.
_A_TOKEN, _BESIDE = 4096, 4 << 20


def most_bytes(tokens: int, asked: int) -> int:
    """Return a number of bytes that no honest stream of ``tokens`` exceeds after a request of ``asked`` bytes."""
    return _BESIDE + _A_TOKEN * tokens + 8 * asked


class Arrivals:
    """Collects reads. A line that comes in pieces is kept as one, with the time of the piece that ended it; pieces are
    joined once."""

    def __init__(self) -> None:
        self.items: list[Arrival] = []
        self.size = 0
        self._open: list[bytes] = []
        self._tail = b""

    def add(self, when: float, content: bytes) -> bytes:
        """Take a read at the time ``when``, and return the lines that it ended, b"" for none."""
        self.size += len(content) + _EACH
        self._tail = (self._tail + content[-32:])[-32:]
        end = _line_end(content)
        if end == 0:
            if content:
                self._open.append(content)
            return b""
        lines = b"".join((*self._open, content[:end]))
        self._open = [content[end:]] if end < len(content) else []
        self.items.append((when, lines))
        return lines

    @property
    def ended(self) -> bool:
        """Whether the last bytes are the end mark. Text cannot look like it: JSON closes after it."""
        return self._tail.rstrip().endswith((b"data: [DONE]", b"data:[DONE]"))

    def finished(self, when: float) -> list[Arrival]:
        """Return everything that arrived, with a last line that has no end at the time ``when``."""
        rest, self._open = b"".join(self._open), []
        return [*self.items, (when, rest + b"\n")] if rest else self.items


def whole_lines(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    """Yield the reads of a stream as whole lines, each with the time of the read that ended it."""
    held, last = Arrivals(), 0.0
    for when, content in arrivals:
        last = when
        held.add(when, content)
    yield from held.finished(last)


def _line_end(content: bytes) -> int:
    """Return the place behind the last line end; 0 for none. A CR at the very end may be half of a CRLF: it waits for
    the next read."""
    return max(content.rfind(b"\n"), content.rfind(b"\r", 0, -1) if content else -1) + 1
