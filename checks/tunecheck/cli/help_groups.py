"""What `tunecheck --help` shows: the verbs in the order in which an operator meets them, and calls to copy."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["EXAMPLES", "GROUPS", "MEANT", "examples", "groups", "meant"]

#: (heading, verbs). Every verb is in one group; a test keeps it so.
GROUPS = (
    ("Look at a box (reads only)", ("preflight", "topo", "host", "driver", "runtime", "pins")),
    ("Understand a finding", ("explain", "checks")),
    ("Keep what was read, or send it", ("record", "snapshot", "push")),
    ("Measure the GPUs", ("p2p", "allreduce", "trial")),
    ("Set up a box (on the control node)", ("init", "spec")),
    ("Serve a model", ("recipe", "gate", "accept", "watch", "recover")),
    ("Watch many boxes (on the control node)", ("audit", "fleet", "drift", "blame", "history", "approve", "acknowledge",
                                                "waive", "export", "ingest")),
    ("The command itself", ("completion", "man")),
)
#: (call, what it does).
EXAMPLES = (
    ("sudo tunecheck preflight", "is this box all right?"),
    ("tunecheck preflight --from -", "the same of pasted text: lspci, nvidia-smi, dmesg"),
    ("tunecheck explain acs-redirect", "what a finding means and how to fix it"),
    ('tunecheck explain "Xid 79"', "what the driver's error means"),
    ("sudo tunecheck record -o box.tar.zst", "keep everything for somebody else to look at"),
    ("tunecheck init admin@192.0.2.10", "write an inventory for a box from the box"),
    ("tunecheck audit -i inventory/mybox", "who drifted, from what and since when"),
)
#: A word that is no verb -> what its user means.
MEANT = {
    "list": ("checks", "recipe list", "fleet"), "ls": ("checks", "recipe list", "fleet"),
    "check": ("preflight",), "doctor": ("preflight", "fleet doctor"), "diagnose": ("preflight",),
    "verify": ("preflight",), "validate": ("preflight", "spec show"), "run": ("preflight",), "all": ("preflight",),
    "scan": ("preflight",),
    "status": ("preflight", "fleet"), "report": ("preflight", "fleet"), "health": ("preflight",),
    "inspect": ("topo", "preflight"), "tree": ("topo",), "topology": ("topo",), "pci": ("topo",), "pcie": ("topo",),
    "lspci": ("topo",), "acs": ("topo",), "gpu": ("topo", "driver"), "gpus": ("topo", "driver"),
    "matrix": ("topo",), "kernel": ("host",), "cmdline": ("host",), "iommu": ("host",), "xid": ("host",),
    "nvidia": ("driver",), "smi": ("driver", "topo"), "docker": ("runtime",), "podman": ("runtime",),
    "container": ("runtime",), "why": ("explain",), "what": ("explain",), "man-page": ("man",), "info": ("explain",),
    "describe": ("explain",), "docs": ("explain",), "bench": ("p2p", "allreduce"), "benchmark": ("p2p", "allreduce"),
    "bandwidth": ("p2p",), "measure": ("p2p", "preflight --full"), "nccl": ("allreduce",),
    "test": ("preflight --full",),
    "fix": ("explain",), "repair": ("explain",), "apply": ("spec show",), "dump": ("record", "snapshot"),
    "save": ("record",), "capture": ("record",), "export-facts": ("snapshot",), "facts": ("snapshot",),
    "lock": ("pins",), "versions": ("pins",), "freeze": ("pins", "spec freeze"), "diff": ("drift", "pins --diff"),
    "changes": ("drift", "blame"), "log": ("history",), "ignore": ("waive",), "suppress": ("waive",),
    "silence": ("waive", "acknowledge"), "ack": ("acknowledge",), "accept-change": ("approve",),
    "baseline": ("approve",),
    "new": ("init",), "create": ("init",), "setup": ("init",), "inventory": ("init",), "config": ("spec show",),
    "profile": ("spec show",), "profiles": ("spec show",), "show": ("spec show", "recipe show"),
    "serve": ("recipe", "gate"), "model": ("recipe",), "models": ("recipe list",), "recipes": ("recipe list",),
    "restart": ("recover",), "incidents": ("recover --list",), "incident": ("recover --list",),
    "monitor": ("watch",), "wedge": ("watch", "allreduce"), "stall": ("watch",), "hang": ("watch", "allreduce"),
    "send": ("push",), "receive": ("ingest",), "server": ("ingest",), "complete": ("completion",),
    "completions": ("completion",), "version": ("--version",), "help": ("--help",), "hosts": ("fleet",),
}


def groups(offered: Collection[str]) -> list[tuple[str, list[str]]]:
    """Return the groups with the verbs that are installed here: a GPU host has none of the control node's."""
    found = [(heading, [verb for verb in verbs if verb in offered]) for heading, verbs in GROUPS]
    return [(heading, verbs) for heading, verbs in found if verbs]


def examples(offered: Collection[str]) -> list[tuple[str, str]]:
    """Return the example calls of the offered verbs, each with what it does."""
    return [(call, does) for call, does in EXAMPLES if call.removeprefix("sudo ").split()[1] in offered]


def meant(word: str, verbs: list[str]) -> list[str]:
    """Return what to type in place of ``word``: by meaning, then by spelling."""
    from ..util.suggestions import nearest

    word = word.lower()
    if word in MEANT:
        # It may also be a slip: "check" means preflight, or is checks without its last letter.
        slips = [verb for verb in nearest(word, verbs, 1, alike=0.85)
                 if verb not in {each.partition(" ")[0] for each in MEANT[word]}]
        return [*MEANT[word], *slips]
    begins = [verb for verb in verbs if len(word) > 2 and verb.startswith(word)]
    near = begins[:3] or nearest(word, verbs, 3)
    if near:
        return near
    like = nearest(word, MEANT, alike=0.8)
    return list(MEANT[like[0]]) if like else []
