"""spec-present: there is a desired state to judge against."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import ALL, Check, Family, Heading
from ..context import Case

CHECK = Check(
    "spec-present", "there is a desired state to judge against",
    Heading.ACCELERATORS, 10, Family.SPEC, ALL, judges=("spec", "spec.profile"),
)
CODES = {
    "no-spec": "No specification is given.",
    "other-spec": "In an audit: the host was judged by its own specification or none, not by the one asked for.",
    "other-boards": "In an audit: none of the host's accelerators is one that the inventory's specification asks for.",
    "sent-spec": "The receiver holds no specification for the host, so it was judged by the one that it sent.",
}
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    if case.frozen is None:
        yield Finding(_ID, "no-spec", "spec", "skip", "declared", "no spec: judged by what holds for every box and by "
                      "the boards' own data; what only a spec can ask for is skipped",
                      remedy=Remedy("give one with --spec FILE"))
    else:
        yield Finding(_ID, "ok", "spec", "pass", "declared", f"judged against {case.frozen.host} "
                      f"({case.frozen.profile})", case.frozen.digest, "", ("/etc/tunecheck/spec.json or --spec",))
