"""Images with more on them than the base image, made from it natively: unpack it, apt-get in a chroot, pack it.

Measured on 2 quiet cores, no boot: 40 s for the drivers' layer. The demo's box is the serving layer.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO

from lab import engine, image, needs, paths, process, recipe, standin_gpus, tree
from lab.errors import LabError
from lab.progress import progress


def path(layer: recipe.Layer) -> Path:
    """Return where the layer's image of the present recipe is (or will be)."""
    return paths.images() / recipe.layer_digest(layer) / image.DISK


def build(layer: recipe.Layer) -> Path:
    """Return the layer's image, built if it is not there yet, and the base image before it."""
    if not path(layer).exists():
        needs.check(needs.BTRFS if layer is recipe.BTRFS else needs.LAYER)
        image.build(layer)
    return path(layer)


def build_as_root(layer: recipe.Layer) -> None:
    """Build it; the caller holds the lock. Nothing half-built stays."""
    progress(f"image `{layer.name}`: {' '.join(layer.packages)} (downloads about {layer.download} MB)")
    work = Path(tempfile.mkdtemp(prefix=image.BUILDING, dir=paths.images()))
    work.chmod(0o755)
    try:
        with open(paths.images() / "layer.log", "wb") as log:
            root = work / "root"
            tree.unpack(image.path(), root, log)
            release = next((root / "lib/modules").iterdir()).name
            shutil.copy(layer.script, root / "root/layer.sh")
            packages = [name.format(release=release) for name in layer.packages]
            brought: Path | None = None
            esp: Path | None = None
            if layer is recipe.SERVING:
                brought = work / "brought"
                engine.bring(brought, log)
                standin_gpus.bring(brought / "gpus")
            elif layer.on or layer in (recipe.SYSTEMD_BOOT, recipe.PROXMOX_BOOT, recipe.SECURE_BOOT):
                brought = work / "brought"
                esp = _empty_esp(brought, log)
                for file in layer.files:
                    shutil.copy(file, brought)
            code, output = tree.enter(root, ["sh", "/root/layer.sh", release, *packages], brought)
            log.write(output.encode())
            if code != 0:
                end = "\n".join(f"    {line}" for line in output.splitlines()[-15:])
                raise LabError(f"building the image `{layer.name}` failed; its output ended with:\n{end}\nif the "
                               f"kernel's headers are not found: the mirror has a newer kernel than the base image; "
                               f"remove {image.path().parent} and build again")
            (root / "root/layer.sh").unlink()
            (work / tree.MODES).write_text(tree.modes(root))
            core = brought / "core.img" if brought and layer.on else None
            tree.pack(root, image.path(), work / image.DISK, log, esp=esp, core=core, on=layer.on)
        shutil.rmtree(root)
        if layer is recipe.SERVING:
            engine.pin(work / "brought", work / engine.LOCK)
        if brought is not None:
            shutil.rmtree(brought)
        image.own(work)
        work.rename(path(layer).parent)
        (paths.images() / "layer.log").unlink()
        progress(f"image `{layer.name}` ready: {path(layer).stat().st_blocks * 512 // 2**20} MiB on disk")
    finally:
        if work.exists():
            image.remove(work)


def _empty_esp(folder: Path, log: IO[bytes]) -> Path:
    """Return the file of an ESP that the layer's script fills, in a folder of its own."""
    folder.mkdir()
    esp = folder / "esp.img"
    with open(esp, "wb") as file:
        file.truncate(recipe.ESP_MIB * 2**20)
    if process.run(recipe.make_esp(esp), log, needs.environment()) != 0:
        raise LabError(f"mkfs.vfat could not make {esp}; its output is in {log.name}")
    return esp
