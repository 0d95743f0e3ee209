"""Why an import holds nothing to judge, and what to give in its place."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import UsageError
from ...parsers.text.damage import Damage
from .files import GIVE
from .folders import below
from .packed import NoText
from .window import Unjoined

__all__ = ["nothing_of_use"]

_EXPECTED = ("the output of sudo lspci -nnvvv, nvidia-smi -q, nvidia-smi topo -m or sudo dmesg, a recording (sudo "
             "tunecheck record), or another text that the README lists below \"What --from takes\"")
#: How many files are named.
_NAMED = 5


def nothing_of_use(path: str, files: int, blank: bool, advice: Sequence[tuple[str, str]], holes: Sequence[str]
                   ) -> UsageError:
    """Return the error for texts of which none tells of a box. ``files``: how many there are; ``blank``: all are empty;
    ``advice``: files, and what is known of each; ``holes``: what is wrong with files."""
    folders = below(path)
    if blank and not holes:
        what = "all files in this folder are empty" if files > 1 else "there is no text in it"
        return UsageError(f"{path}: {what}; {folders or GIVE}", Damage.EMPTY)
    if advice:
        known = "; ".join(f"{origin} is {better}" for origin, better in advice[:_NAMED])
        text = f"nothing in it can be used; {folders}; {known}" if folders else f"nothing in it can be used: {known}"
        return UsageError(f"{path}: {text}", Damage.TOO_LITTLE)
    text = f"nothing in it is recognised; {folders}" if folders else "nothing in it is recognised"
    broken = "; ".join(holes[:_NAMED]) if any(isinstance(each, (NoText, Unjoined)) for each in holes) else ""
    return UsageError(f"{path}: {text}; expected {_EXPECTED}{'; ' * bool(broken)}{broken}", Damage.UNKNOWN_PART)
