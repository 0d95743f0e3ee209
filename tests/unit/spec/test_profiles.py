"""Profiles: each stands alone, and no value goes without a dated source."""

from __future__ import annotations

import re

import pytest

from tunecheck.spec import build, profile_files
from tunecheck.spec.merge import leaves


@pytest.mark.parametrize("name", profile_files.names())
def test_every_value_has_a_dated_source(name: str) -> None:
    profile = profile_files.load(name)
    paths = {path for path, _ in leaves(profile.values)}
    assert paths == set(profile.sources), "sources and values must name the same paths"
    for path, source in profile.sources.items():
        assert re.search(r"\b20\d\d-\d\d", source), f"{path}: {source}"


@pytest.mark.parametrize("name", profile_files.names())
def test_stands_alone(name: str) -> None:
    frozen = build("box1", {"profile": name})
    assert frozen.profile == name
    assert frozen.spec.accelerators.pci_ids


def test_names() -> None:
    assert profile_files.names() == [
        "b200-hgx",
        "b300-hgx",
        "h200-hgx",
        "lab",
        "passthrough-guest",
        "passthrough-host",
        "rtx-5090-direct",
        "rtx-pro-5000-direct",
        "rtx-pro-6000-direct",
        "rtx-pro-6000-switch",
        "rtx-pro-6000-switches",
    ]


def test_lab_lets_the_kernel_turn_acs_on() -> None:
    spec = build("lab", {"profile": "lab"}).spec
    assert (spec.iommu, spec.acs.peer_redirect, spec.acs.mechanism) == ("translated", "off", "disable_acs_redir")
    assert (spec.accelerators.pci_ids, spec.accelerators.count) == (("1234:1111",), 2)


@pytest.mark.parametrize(("one", "other", "apart"), [
    ("rtx-pro-6000-switch", "rtx-pro-6000-switches", ("accelerators.relation", "accelerators.groups.")),
    ("b200-hgx", "b300-hgx", ("accelerators.pci_ids",)),
])  # fmt: skip
def test_profiles_of_one_kind_differ_only_where_their_boxes_do(one: str, other: str, apart: tuple[str, ...]) -> None:
    same = [{path: value for path, value in leaves(profile_files.load(name).values) if not path.startswith(apart)}
            for name in (one, other)]
    assert same[0] == same[1]
