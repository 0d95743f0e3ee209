"""Gives the paths that follow from the short outputs of an import: nvidia-smi's plain table, ``lsmod`` and
``modinfo``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.absence import Absence, Reason
from .posts import Post
from .texts import Texts

__all__ = ["from_short"]

_MODULES = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nouveau", "nvidia_peermem")


def from_short(posts: Mapping[str, Sequence[Post]], texts: Texts) -> None:
    """Fill in the paths that follow from the short outputs."""
    if posts.keys().isdisjoint(("nvidia-smi", "lsmod", "modinfo")):
        return
    from ...parsers.nvidia.small_outputs import loaded, modinfo  # start-up time
    from ...parsers.nvidia.smi_table import parse_table

    for post in posts.get("nvidia-smi", ()):
        table = parse_table(post.text)
        if table is None:
            continue
        texts.file("/sys/module/nvidia/version", str(table["driver"]))
        texts.lists.setdefault("/sys/module/nvidia", [])
        for gpu in table["gpus"]:
            if name := gpu["values"].get("name"):
                texts.file(f"/proc/driver/nvidia/gpus/{gpu['bdf']}/information", f"Model: {name}\n")
    for post in posts.get("lsmod", ()):
        found = loaded(post.text)
        for name in _MODULES:
            folder = f"/sys/module/{name}"
            if name in found.modules:
                texts.lists.setdefault(folder, [])
            elif found.whole and folder not in texts.lists:
                texts.errors.setdefault(f"list {folder}", Reason(Absence.NOT_PRESENT))
    for post in posts.get("modinfo", ()):
        told = modinfo(post.text)
        # modinfo speaks of the file on disk, of the kernel that it was built for.
        release = told.get("vermagic", "").split(" ")[0]
        if release and told.get("version"):
            texts.runs.setdefault(("modinfo", "-k", release, "nvidia"), post.text)
            texts.runs.setdefault(("modinfo", "-k", release, "nvidia-current"), post.text)
