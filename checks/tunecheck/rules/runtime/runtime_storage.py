"""runtime-storage: where images and model go has the declared free space."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import RUNTIME, Check, Family, Heading
from ..codes import NOT_DECLARED, UNREAD
from ..context import Case

CHECK = Check(
    "runtime-storage", "images and model have the declared space",
    Heading.RUNTIME, 90, Family.RUNTIME, RUNTIME, happening=True,
)
_ID = CHECK.id
CODES = {
    "too-little": "The storage of images and models has less free space than declared.",
}


def judge(case: Case) -> Iterator[Finding]:
    want, runtime = case.spec.runtime, case.host.runtime
    if want.engine == "leave" or not want.storage_free_gib:
        yield Finding(_ID, NOT_DECLARED, "storage", "skip", "declared", "the spec declares no free space")
        return
    storage = runtime.value.storage if runtime.value else None
    if storage is None or storage.value is None:
        fact = storage or runtime
        yield Finding(_ID, UNREAD, "storage", "unknown", "effective", f"the free space cannot be told: {fact.why()}",
                      absence=fact.absence)
        return
    free, path = storage.value.free >> 20, storage.value.path
    good = free >= want.storage_free_gib
    yield Finding(_ID, "ok" if good else "too-little", path, "pass" if good else "fail", "effective",
                  f"{path} has {free} GiB free", f"{free} GiB",
                  f"at least {want.storage_free_gib} GiB", (storage.source,), None if good else
                  Remedy("remove images that nothing uses, or declare runtime.storage on a larger disk"))
