"""A recipe file, its lock, and the frozen recipe that both make. Control node only: needs PyYAML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CONTROL_NODE, Flaw, Misuse, SpecError, UsageError
from .frozen import SCHEMA, Canary, Engine, Expected, Image, Model, Parallel, Recipe, Requires, Serve, Speculative
from .lock import Lock, lock_beside, pin_again, read_lock
from .refusals import Clash, Refusal, clashes, of_model
from .to_pin import SHIPPED

if TYPE_CHECKING:
    from .model import Source

__all__ = ["Loaded", "load", "names"]

_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Loaded:
    """A recipe that was read. ``path`` is its file; ``lock`` what pins it, None where nothing does."""

    path: Path
    source: Source
    lock: Lock | None

    @property
    def which(self) -> str:
        """How a command names it: by its id, or by its file where that is no recipe of ours."""
        return self.source.id if self.path.parent == SHIPPED else str(self.path)

    @property
    def frozen(self) -> Recipe:
        """The recipe that would be served. A draft whose lock is complete is pinned."""
        return _frozen(self.source, self.lock)


def names() -> list[str]:
    """Return the ids of the recipes that ship with this package."""
    return sorted(path.stem for path in SHIPPED.glob("*.yml"))


def load(which: str, lock_file: str | None = None, pinned: bool = True) -> Loaded:
    """Read a recipe by id or file, with the lock beside it or the given one; without ``pinned`` a lock is not looked
    for. UsageError for an id that does not exist, SpecError with one sentence per problem."""
    path = SHIPPED / f"{which}.yml" if re.fullmatch(r"[a-z0-9-]+", which) else Path(which)
    if path.parent == SHIPPED and not path.is_file():
        raise UsageError(f"{which}: no such recipe; known are {', '.join(names())}; or name a file: "
                         f"./{which}.yml", Flaw.MISSING)
    source = _parsed(path, which)
    if path.stem != source.id:
        raise SpecError([f"{path}: id is {source.id!r}, the file's name says {path.stem!r}; they must be the same"],
                        codes=(Clash.OTHER_NAME,))
    beside = lock_beside(path)
    place = Path(lock_file) if lock_file else beside if pinned and beside.is_file() else None
    lock = read_lock(place, which) if place else None
    if lock is not None and lock.recipe != source.id:
        raise UsageError(f"{place}: is the lock of {lock.recipe}, not of {source.id}; run: "
                         f"{pin_again(which)}", Flaw.OF_ANOTHER)
    loaded = Loaded(path, source, lock)
    problems = clashes(source, lock, which)
    if problems:
        raise _refused(path, problems)
    return loaded


def _parsed(path: Path, which: str) -> Source:
    try:
        # Both are on the control node only, and cost more start-up time than everything else together.
        import yaml
        from pydantic import ValidationError

        from .model import Source
    except ImportError as error:
        raise UsageError(f"recipes are read on the control node: {error.name} is missing here; {CONTROL_NODE}",
                         Misuse.NOT_HERE) from None
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path}: larger than {_MAX_BYTES >> 20} MiB; no recipe is", Flaw.TOO_LARGE)
        data: Any = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); known recipes: tunecheck recipe list",
                         Flaw.UNREAD) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise SpecError([f"{path}: is not YAML{where} ({getattr(error, 'problem', None) or type(error).__name__})"],
                        Flaw.NOT_YAML) from None
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        raise UsageError(f"{path}: is a frozen recipe ({SCHEMA}), which a box serves; give the recipe it was rendered "
                         "from: its id, or its .yml", Flaw.OTHER_KIND)
    if not isinstance(data, dict):
        raise SpecError([f"{path}: expected a mapping with id, engine, image, model, ..."], Flaw.WRONG_TYPE)
    try:
        return Source.model_validate(data)
    except ValidationError as error:
        raise _refused(path, of_model(error, which)) from None


def _refused(path: Path, problems: list[Refusal]) -> SpecError:
    return SpecError([f"{path}: {each.text}" for each in problems], codes=tuple(each.code for each in problems))


def _frozen(source: Source, lock: Lock | None) -> Recipe:
    image, model, extra, serve = source.image, source.model, source.speculative, source.serve
    status: str = source.status
    if lock is not None and status == "draft":
        status = "pinned"
    drafter = lock.drafter if lock else None
    return Recipe(
        id=source.id, engine=Engine(**source.engine.model_dump()),
        image=Image(image.ref, lock.image.digest if lock else image.digest,
                    lock.image.image_id if lock else image.image_id),
        model=Model(model.id, lock.model.revision if lock else model.revision, model.format, model.moe,
                    dict(lock.model.files) if lock else {}, model.entry, model.kv_layers, model.kv_heads,
                    model.head_dim),
        parallel=Parallel(**source.parallel.model_dump()),
        speculative=Speculative(extra.method, extra.tokens, extra.drafter, drafter.revision if drafter else None,
                                dict(drafter.files) if drafter else {}),
        requires=Requires(**{**source.requires.model_dump(), "sm": tuple(source.requires.sm)}),
        expected=Expected(**source.expected.model_dump()),
        serve=Serve(serve.port, serve.name, serve.ready_seconds, tuple(serve.args or ()),
                    None if serve.command is None else tuple(serve.command), serve.shm_gib),
        canaries=tuple(Canary(**each.model_dump()) for each in source.canaries), max_context=source.max_context,
        env=dict(source.env), status=status, source="; ".join(source.sources), overrides=dict(source.overrides))

