"""The answers of a fleet are judged in a child with limits: one that is too much spoils its own row, and no other."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tunecheck.host.foreign import Bounds, Confined, DefectError, ExceededError, Limit
from tunecheck.model.command import Command

from .model import Answer, Change, Incident, Problem, Seen
from .uncollected import uncollected

if TYPE_CHECKING:
    from tunecheck.spec.frozen import Frozen

__all__ = ["Judge"]

_LENGTH = struct.Struct("!I")
#: The slowest honest snapshot takes a fiftieth of it.
_BOUNDS = Bounds(wall=10.0, most=120.0)
_CHANGE = [item.name for item in fields(Change)]
_APART = ("problems", "changes", "incidents", "document")
_PLAIN = [item.name for item in fields(Seen) if item.name not in _APART]


class Judge:
    """``specs``: host -> the spec to judge it by, in place of its own; ``fleet_key`` and ``pushed`` as for seen()."""

    def __init__(self, specs: Mapping[str, Frozen], fleet_key: bytes | None, pushed: bool = False,
                 bounds: Bounds = _BOUNDS) -> None:
        def answer(request: bytes) -> bytes:
            from .read import seen

            head, content = _parted(request)
            host, group, status, reason = head
            given = Answer(host, group, status, content, reason)
            with uncollected():
                return _packed(seen(given, specs.get(given.host), fleet_key, pushed), content)

        self._child = Confined(answer, bounds)

    def seen(self, answer: Answer) -> Seen:
        """As seen(); garbled with the limit where it is exceeded. Never raises for what is in the answer."""
        head = json.dumps([answer.host, answer.group, answer.status, answer.reason]).encode()
        try:
            found = self._child.ask(_LENGTH.pack(len(head)) + head + answer.content)
        except (ExceededError, DefectError) as error:
            return Seen(answer.host, answer.group, "garbled", _why(error))
        plain, document = _parted(found)
        problems = tuple(map(_problem, plain.pop("problems")))
        changes = tuple(Change(*each) for each in plain.pop("changes"))
        incidents = tuple(map(_incident, plain.pop("incidents")))
        content = answer.content if plain.pop("same") else document
        plain.update((name, tuple(plain[name])) for name in ("untold", "unasked"))
        plain["dark"] = {check: tuple(why) for check, why in plain["dark"].items()}
        return Seen(**plain, problems=problems, changes=changes, incidents=incidents, document=content)

    def start(self) -> None:
        """Have the child ready before the first answer."""
        self._child.start()

    def abandon(self) -> None:
        """For another thread: whatever is being judged is given up."""
        self._child.abandon()

    def close(self) -> None:
        self._child.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _why(error: ExceededError | DefectError) -> str:
    """Return the reason of a row. The answer is not blamed where this machine is why."""
    mine = isinstance(error, ExceededError) and error.limit in (Limit.WALL, Limit.BUSY, Limit.KILLED)
    return f"not judged: {error}" if mine else f"refused: {error}"


def _problem(item: dict[str, Any]) -> Problem:
    commands = tuple(Command(tuple(each["argv"]), each["where"]) for each in item["commands"])
    texts = {name: tuple(item[name]) for name in ("tags", "puts", "takes")}
    return Problem(**{**item, **texts, "commands": commands})


def _incident(item: dict[str, Any]) -> Incident:
    return Incident(**{**item, "codes": tuple(item["codes"]), "xids": tuple(item["xids"])})


def _packed(found: Seen, content: bytes) -> bytes:
    same = found.document == content
    plain: dict[str, Any] = {name: getattr(found, name) for name in _PLAIN}
    plain["problems"] = [each.plain() for each in found.problems]
    plain["changes"] = [[getattr(each, name) for name in _CHANGE] for each in found.changes]
    plain["incidents"] = [vars(each) for each in found.incidents]
    plain["same"] = same
    head = json.dumps(plain).encode()
    return _LENGTH.pack(len(head)) + head + (b"" if same else found.document)


def _parted(data: bytes) -> tuple[Any, bytes]:
    (length,) = _LENGTH.unpack_from(data)
    return json.loads(data[_LENGTH.size:_LENGTH.size + length]), data[_LENGTH.size + length:]
