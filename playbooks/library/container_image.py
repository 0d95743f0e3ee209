#!/usr/bin/python
"""Ansible module: one container image, by its id: pulled by digest, or loaded from an archive."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Have one container image on the box, known by its image id
description:
  - The image id (digest of the image's configuration) survives C(podman save) and C(podman load), the digest of the
    manifest does not. So the id decides, whatever way the image came.
  - Free space comes first. What is loaded or pulled and has another id is refused; nothing is removed.
options:
  engine: {description: Whose storage., type: str, choices: [podman, docker], required: true}
  image_id: {description: "sha256:<64 hex digits>", type: str, required: true}
  pull: {description: "repository@sha256:<64 hex digits>; empty where no registry has it.", type: str, default: ""}
  archive: {description: Path on the box of an archive of podman save or docker save., type: str, default: ""}
  recipe: {description: "What names the recipe in a command, for messages.", type: str, default: ID}
  free_gib: {description: GiB that the storage must have free before an image is brought., type: float, default: 0}
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
author: [tunecheck]
"""
RETURN = r"""
came: {description: "Where the image came from: present, archive or registry.", type: str, returned: success}
code: {description: "Of a failure, its reason.", type: str, returned: failure}
"""

import os
import re
from enum import Enum

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.image_store import existing, free_gib

ROOT = {"podman": "{{.Store.GraphRoot}}", "docker": "{{.DockerRootDir}}"}
#: An archive of compressed layers, unpacked, and the copy that the engine makes on its way.
UNPACKED = 3.0


def same(told, image_id):
    """Return whether an engine's answer is this id. Pure."""
    return re.sub(r"^sha256:", "", told.strip()) == re.sub(r"^sha256:", "", image_id)


def needed_gib(asked, archive_bytes):
    """Return the GiB that have to be free. Pure."""
    return max(asked, UNPACKED * archive_bytes / float(1 << 30))


def has(module, engine, image_id):
    code, out, _err = module.run_command([engine, "image", "inspect", "--format", "{{.Id}}",
                                          re.sub(r"^sha256:", "", image_id)])
    return code == 0 and same(out, image_id)


class NoImage(Enum):
    """Why the recipe's image is not on this box afterwards."""

    NO_ENGINE = "no-engine"
    ENGINE_FAILED = "engine-failed"
    NO_ARCHIVE = "no-archive"
    #: Neither an archive is given nor does a registry have it.
    NO_SOURCE = "no-source"
    NO_ROOM = "no-room"
    #: Pulling or loading it failed.
    NOT_BROUGHT = "not-brought"
    OTHER_IMAGE = "other-image"


def ids(module, engine):
    _code, out, _err = module.run_command([engine, "image", "ls", "--all", "--quiet", "--no-trunc"], check_rc=True)
    return set(out.split())


def room(module, engine, need):
    """Fail where the engine's storage has less than ``need`` GiB free."""
    code, out, err = module.run_command([engine, "info", "--format", ROOT[engine]])
    folder = out.strip()
    if code != 0 or not folder.startswith("/"):
        module.fail_json(code=NoImage.ENGINE_FAILED.value,
                         msg="%s info failed: %s. Repair the engine, then run the play again."
                         % (engine, (err.strip().splitlines() or ["no answer"])[-1][-300:]))
    free = free_gib(folder)
    if free < need:
        module.fail_json(code=NoImage.NO_ROOM.value,
                         msg="%s has %.1f GiB free on the file system of %s, the image needs %.1f GiB. Remove old "
                         "images (%s image ls), or set inference_image_free_gib if you know better."
                         % (existing(folder), free, folder, need, engine))


def bring(module, engine, words, what):
    """Pull or load the image. Return the start of the id that came, or "" where it cannot be told. The module fails
    where the engine does."""
    before = ids(module, engine)
    code, out, err = module.run_command([engine, *words])
    if code != 0:
        module.fail_json(code=NoImage.NOT_BROUGHT.value,
                         msg="%s %s failed: %s" % (engine, what, (err.strip() or out.strip())[-400:]))
    return ", ".join(sorted(each[:19] for each in ids(module, engine) - before))


def main():
    module = AnsibleModule(
        argument_spec={
            "engine": {"type": "str", "choices": ["podman", "docker"], "required": True},
            "image_id": {"type": "str", "required": True},
            "pull": {"type": "str", "default": ""},
            "archive": {"type": "str", "default": ""},
            "recipe": {"type": "str", "default": "ID"},
            "free_gib": {"type": "float", "default": 0},
        },
        supports_check_mode=True,
    )
    given = module.params
    engine, image_id, archive = given["engine"], given["image_id"], given["archive"]
    if module.get_bin_path(engine) is None:
        if module.check_mode:
            module.exit_json(changed=True, came="archive" if archive else "registry")
        module.fail_json(code=NoImage.NO_ENGINE.value,
                         msg="%s is not installed on this box. Set box_spec.runtime.engine: %s, or install it."
                         % (engine, engine))
    if has(module, engine, image_id):
        module.exit_json(changed=False, came="present")
    if archive and not os.path.isfile(archive):
        module.fail_json(code=NoImage.NO_ARCHIVE.value,
                         msg="inference_image_archive %s is not on this box. Copy the archive there first." % archive)
    if not archive and not given["pull"]:
        module.fail_json(code=NoImage.NO_SOURCE.value,
                         msg="image %s is not on this box, and the recipe names no registry that has it. Load it (%s "
                         "load), or set inference_image_archive." % (image_id[:19], engine))
    room(module, engine, needed_gib(given["free_gib"], os.path.getsize(archive) if archive else 0))
    came = "archive" if archive else "registry"
    if module.check_mode:
        module.exit_json(changed=True, came=came)
    if archive:
        new = bring(module, engine, ["load", "--input", archive], "load --input " + archive)
    else:
        new = bring(module, engine, ["pull", given["pull"]], "pull " + given["pull"])
    if not has(module, engine, image_id):
        module.fail_json(code=NoImage.OTHER_IMAGE.value,
                         msg="what %s brought is not the image of the recipe: it has id %s, the recipe pins %s. Bring "
                         "the image that was pinned, or pin again (tunecheck recipe pin %s)."
                         % (archive or given["pull"], new or "of an image that was here before", image_id[:19],
                            given["recipe"]))
    module.exit_json(changed=True, came=came)


if __name__ == "__main__":
    main()
