"""cmdline-conflict: nothing else on the command line takes back what was declared."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.kernel_params import MULTI_VALUE, name_of
from ..spec.frozen import declared_tokens
from .finding import Case, Finding, Remedy

_ID = "cmdline-conflict"

#: A declared token and what contradicts it under another name.
_ALIASES = {
    "iommu=pt": ("iommu.passthrough=0", "intel_iommu=off", "amd_iommu=off", "iommu.strict=1"),
    "iommu=off": ("iommu=force", "intel_iommu=on"),
}


def judge(case: Case) -> Iterator[Finding]:
    running = case.host.kernel.cmdline
    if running.value is None:
        yield Finding(_ID, "kernel command line", "unknown", "effective",
                      f"the running command line cannot be read: {running.why()}", evidence=(running.source,))
        return
    declared = declared_tokens(case.spec)
    if not declared:
        yield Finding(_ID, "kernel command line", "skip", "declared", "the spec declares no kernel parameter"
                      if case.frozen else "no spec given: nothing is declared that something could contradict")
        return
    yield from list(_contradictions(declared, running.value, running.source)) or [
        Finding(_ID, "kernel command line", "pass", "effective", "nothing on the command line contradicts the declared "
                "parameters", evidence=(running.source,))]


def _contradictions(declared: tuple[str, ...], running: tuple[str, ...], source: str) -> Iterator[Finding]:
    for token in declared:
        name = name_of(token)
        rivals = [other for other in running if name_of(other) == name and other != token]
        if name in MULTI_VALUE:
            rivals = []
        # The kernel takes the last one; an earlier rival is only clutter.
        last = next((other for other in reversed(running) if name_of(other) == name), token)
        for rival in dict.fromkeys([*rivals, *(other for other in _ALIASES.get(token, ()) if other in running)]):
            wins = name_of(rival) != name or last != token
            yield Finding(_ID, token, "fail" if wins else "warn", "effective",
                          f"{rival} {'takes back' if wins else 'stands before'} the declared {token} on the running "
                          "command line", rival, f"{token} alone", (source,),
                          Remedy(f"remove {rival} from the boot configuration that sets it (look in /etc/default/grub "
                                 "and /etc/default/grub.d)", ("cmdline",), True))
