"""What a hypervisor made up turns no traffic: no report says of its ports that they redirect. Where a specification
asks for their ACS, as in a lab, it is judged and shown."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from tests.unit.facts.trees import full, switches

from tunecheck.facts.snapshot import gather
from tunecheck.model.fact import known
from tunecheck.report.document import Run, document
from tunecheck.report.html import html
from tunecheck.report.html.tree import grow
from tunecheck.report.short_tree import short_tree_lines
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.report.text_parts import made_up_ports
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_SNAPSHOT = gather(full(switches(2, 2, ctl=0x1D)).host(), None, True)


def _said(guest: str, verb: str) -> dict[str, str]:
    case = Case(replace(_SNAPSHOT, guest=known(guest, "DMI")))
    findings = judge(case, verb)
    data = document(verb, case, findings)
    texts = {f"{width} {verbose}": render(verb, case, findings, Style(width), verbose)
             for width in (0, 80) for verbose in (True, False)}
    texts["short"] = "\n".join(short_tree_lines(case.snapshot.topology, True, made_up_ports(case)))
    texts["tree"] = " ".join(node.mark for node in grow(data).values())
    texts["page"] = html(Run(data, findings, datetime.datetime.now(datetime.UTC), "x")).partition("<h2")[0]
    return texts


@pytest.mark.parametrize("verb", ["topo", "preflight"])
@pytest.mark.parametrize("guest", ["KVM", ""])
def test_ports_of_a_hypervisor_redirect_nothing(guest: str, verb: str) -> None:
    said = _said(guest, verb)
    tree = {name: text.partition("\nGPU0")[0].partition("GPU0  GPU1")[0] for name, text in said.items()
            if name != "page"}
    assert {name for name, text in tree.items() if " redirects" in f" {text}"} == (set() if guest else set(tree))
    if guest:
        assert all("virtual port" in text for name, text in tree.items() if name[0] in "08")


@pytest.mark.parametrize("guest", ["KVM", ""])
def test_ports_that_a_hypervisor_made_up_pass_nothing(guest: str) -> None:
    case = Case(replace(_SNAPSHOT, guest=known(guest, "DMI")))
    widths = {(each.outcome, each.code) for each in judge(case, "preflight") if each.id == "link-width"}
    assert widths == ({("skip", "virtual-ports")} if guest else {("pass", "ok")})
