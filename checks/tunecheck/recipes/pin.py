"""Make a lock: resolve the names of image and models that a recipe states, once."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import folder, hub, registry
from .lock import Lock
from .to_pin import stated_first
from .unpinned import Unpinned

if TYPE_CHECKING:
    from ..host import Host
    from .model import Source

__all__ = ["pin"]


def pin(host: Host, source: Source, which: str, engine: str, model_folder: str | None, revision: str | None) -> Lock:
    """Return the lock of a recipe. ``which``: its id or file; ``engine``: whose storage holds images named
    localhost/...; ``model_folder``: the model's files where no hub has it; ``revision``: a branch, tag or commit in
    place of the recipe's own. UsageError where the recipe leaves open what would be pinned."""
    if source.image.ref is None:
        raise UsageError(f"{source.id}: image.ref is null: nobody published the image; where you have one "
                         f"(registry/path:tag): {stated_first(which, 'image.ref')}", Unpinned.NOT_STATED)
    if source.serve.args is None:
        raise UsageError(f"{source.id}: serve.args is null: nobody published the command line; where you know it: "
                         f"{stated_first(which, 'serve.args')}", Unpinned.NOT_STATED)
    if revision is not None and source.model.revision is not None and revision != source.model.revision:
        raise UsageError(f"{source.id}: states model.revision {source.model.revision}; change it there",
                         Unpinned.OTHER_REVISION)
    image = registry.resolve(host, source.image.ref, engine)
    for name, stated, found in (("digest", source.image.digest, image.digest),
                                ("image_id", source.image.image_id, image.image_id)):
        if stated is not None and stated != found:
            raise UsageError(f"{source.id}: states image.{name} {stated}, {source.image.ref} has {found} now; name the "
                             "image by its digest", Unpinned.OTHER_IMAGE)
    wanted, include = source.model, source.model.include
    model = folder.resolve(wanted.id, model_folder, include) if model_folder else hub.resolve(
        wanted.id, revision or wanted.revision or "main", include)
    if wanted.entry is not None and wanted.entry not in model.files:
        raise UsageError(f"{source.id}: model.entry {wanted.entry} is none of the model's files: "
                         f"{', '.join(list(model.files)[:5])}", Unpinned.NO_ENTRY)
    extra = source.speculative.drafter
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Lock(source.id, created, image, model, hub.resolve(extra, "main") if extra else None)
