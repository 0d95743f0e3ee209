"""Why a push is not taken: a status and a sentence, nothing of the server's insides."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):  # noqa: N818 - an answer to somebody else, not an error of ours
    """``status`` as in HTTP; ``after``: the seconds of Retry-After, where trying again helps; ``costly``: to look at it
    took more than any snapshot may."""

    def __init__(self, status: int, sentence: str, after: float | None = None, costly: bool = False) -> None:
        self.status, self.sentence, self.after, self.costly = status, sentence, after, costly
        super().__init__(sentence)
