"""Is it as fast as it was accepted, for hours? Pure.

One stream's speed is known. At least four requests at once give more than one does on any engine that batches, so the
sum of all of them is held to a share of one stream's: a floor that long contexts, other text for a drafter and guided
decoding do not reach, while a GPU at a tenth of its clock does. Prompts take their time too, by the speed that the
acceptance saw a long one read with; without that a prompt token counts as much as an answer's, which is on the safe
side, as are prompts from the prefix cache."""

from __future__ import annotations

from collections import deque

from ..serving.accepted import Accepted
from .model import Code, Look, Reason

__all__ = ["STREAMS", "WINDOW", "Floor"]

#: Fewer requests at once are not judged: a single stream has its own pace.
STREAMS = 4
#: In seconds of such time: bursts of prompts and the tail of a long answer are in it several times.
WINDOW = 600.0
#: Without so many requests for so long, what was seen before is another load.
_FORGET = 300.0
#: A floor that was missed is reached again at this many times itself, so that it does not come and go.
_AGAIN = 1.25
_PIECE = 10.0           # seconds that are held together
_LATE = 30.0            # looks further apart say nothing of the time between


class _Piece:
    def __init__(self) -> None:
        self.seconds = self.tokens = self.stepped = self.prompts = self.streams = 0.0


class Floor:
    """``share`` of what was accepted; 0 judges nothing."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._accepted: Accepted | None = None
        self._pieces: deque[_Piece] = deque()
        self._before: Look | None = None
        self._busy_at = 0.0
        self._reasons: list[Reason] = []

    def judge(self, look: Look, paused: bool) -> list[Reason]:
        """Whether it is slow, as of this look."""
        if look.accepted != self._accepted or look.accepted is None or not self._share or paused:
            self._forget()
            self._accepted, self._before = look.accepted, look
            return []
        before, self._before = self._before, look
        if before is not None and look.at - before.at <= _LATE:
            self._count(before, look)
        if look.at - self._busy_at > _FORGET:
            self._forget()
        elif sum(each.seconds for each in self._pieces) >= WINDOW:
            self._reasons = self._verdict(look.accepted)
        return self._reasons

    def _forget(self) -> None:
        self._pieces.clear()
        self._reasons = []

    def _count(self, before: Look, look: Look) -> None:
        then, now = before.engine, look.engine
        if then.running is None or now.running is None:
            return
        if [each.name for each in then.parts] != [each.name for each in now.parts]:
            return      # a replica came or went, with all that it has ever counted
        pairs = [(then.decoded, now.decoded), (then.steps, now.steps), (then.generated, now.generated),
                 (then.prompted, now.prompted)]
        grown = [None if old is None or new is None else new - old for old, new in pairs]
        if any(each is not None and each < 0 for each in grown):        # it was started again
            self._forget()
            return
        decoded, steps, generated, prompted = grown
        streams = min(then.running, now.running)
        if streams < STREAMS or (decoded is None and steps is None):
            return
        if not self._pieces or self._pieces[-1].seconds >= _PIECE:
            self._pieces.append(_Piece())
        last, passed = self._pieces[-1], look.at - before.at
        last.seconds, last.streams = last.seconds + passed, last.streams + streams * passed
        last.tokens += (generated or 0.0) if decoded is None else decoded
        # A step gives a token to each request of the batch, and tells of it before the request's end.
        last.stepped += (steps or 0.0) * streams if decoded is None else 0.0
        last.prompts += prompted or 0.0
        self._busy_at = look.at
        while sum(each.seconds for each in self._pieces) - self._pieces[0].seconds >= WINDOW:
            self._pieces.popleft()

    def _verdict(self, accepted: Accepted) -> list[Reason]:
        seconds, counted, stepped, prompts, streams = (sum(getattr(each, name) for each in self._pieces) for name in (
            "seconds", "tokens", "stepped", "prompts", "streams"))
        tokens = max(counted, stepped)
        alone = tokens / accepted.tok_s + prompts / (accepted.prompt_tok_s or accepted.tok_s)
        share, wanted = alone / seconds, self._share * (_AGAIN if self._reasons else 1.0)
        if share >= wanted:
            return []
        return [Reason(Code.TOKENS_SLOW, numbers=(
            ("share", round(share, 3)), ("floor", self._share), ("tok_s", round(tokens / seconds, 2)),
            ("accepted", round(accepted.tok_s, 2)), ("streams", round(streams / seconds, 1)),
            ("seconds", round(seconds, 1))))]
