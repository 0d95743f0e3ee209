"""A value of the profile that contradicts one of the inventory: the refusal says which of them the reader wrote, which
one the profile brings, and how to be without that one. Asked of every contradiction that a case under ``cases/refused``
shows, in both directions: whatever the case writes is told apart field by field."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tunecheck.errors import SpecError
from tunecheck.spec import build, profile_files, refusals
from tunecheck.spec.contradiction import Contradiction, way_out
from tunecheck.spec.frozen import from_plain
from tunecheck.spec.merge import Layer, merge
from tunecheck.spec.models import Spec as Model

REFUSED = sorted((Path(__file__).parent / "cases" / "refused").glob("*.yml"))


def _of(values: dict[str, Any]) -> list[Contradiction]:
    try:
        plain = Model.model_validate({**values, "profile": "made"}).model_dump(exclude={"profile"})
    except ValueError:
        return []
    return refusals.contradictions(from_plain(plain))


def _pairs() -> list[Any]:
    found: dict[str, Any] = {}
    for path in REFUSED:
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        try:
            profile = profile_files.load({**case["box_spec"], **(case.get("box_spec_host") or {})}["profile"]).values
            whole = merge(Layer("", profile), Layer("", case["box_spec"]), Layer("", case.get("box_spec_host") or {}))
        except (SpecError, KeyError, TypeError):
            continue
        whole.values.pop("profile", None)
        for each in _of(whole.values):
            told = each.path.partition("[")[0]
            others = [other for other in each.others if _at(whole.values, other) is not None]
            if others and _at(whole.values, told) is not None:
                found.setdefault(f"{told} against {'+'.join(others)}", (whole.values, told, others))
    return [pytest.param(*each, id=name) for name, each in found.items()]


def _at(values: Any, path: str) -> Any:
    for part in path.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _split(values: dict[str, Any], mine: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the profile has left, and what the inventory writes."""
    left: dict[str, Any] = deepcopy(values)
    own: dict[str, Any] = {}
    for path in mine:
        *above, name = path.split(".")
        there, here = left, own
        for part in above:
            there, here = there[part], here.setdefault(part, {})
        here[name] = there.pop(name)
    return left, own


PAIRS = _pairs()


def test_the_cases_show_each_kind_of_contradiction() -> None:
    told = {pair.values[1] for pair in PAIRS}
    assert {"accelerators.relation", "accelerators.groups.across", "accelerators.groups.size", "boot.timeout_seconds",
            "boot.confirm_seconds", "kernel.cmdline", "driver.flavour", "driver.version", "driver.source", "iommu",
            "gpu.power_limit_watts", "runtime.user"} <= told


@pytest.mark.parametrize("written", ["told", "others"])
@pytest.mark.parametrize(("values", "told", "others"), PAIRS)
def test_each_names_both_sources_and_the_way_out(values: dict[str, Any], told: str, others: list[str], written: str,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = ([told], others) if written == "told" else (others, [told])
    left, own = _split(values, mine)
    load = profile_files.load
    monkeypatch.setattr(profile_files, "load", lambda name: profile_files.Profile("made", left, {}, "for a test")
                        if name == "made" else load(name))
    with pytest.raises(SpecError) as caught:
        build("box1", {"profile": "made", **own})
    text = next(problem for problem in caught.value.problems if problem.startswith(f"box_spec.{told}")
                and "made (for a test)" in problem and way_out(theirs, "box_spec") in problem)
    assert all(path in text for path in (told, *others))


def test_null_is_offered_where_the_field_takes_it_and_ends_the_contradiction() -> None:
    text = way_out(["accelerators.groups.inside", "accelerators.groups.across"], "box_spec_host")
    assert "`inside: null` and `across: null`" in text and "box_spec_host.accelerators.groups" in text
    assert "null" not in way_out(["boot.panic_seconds"], "box_spec")
    build("box1", {"profile": "rtx-pro-6000-switches", "accelerators": {
        "relation": "PIX", "groups": {"inside": None, "across": None}}})


def test_the_profile_that_fits_what_is_written_is_named() -> None:
    groups = {"size": 4, "inside": "PIX", "across": "SYS"}
    with pytest.raises(SpecError) as caught:
        build("box1", {"profile": "rtx-pro-6000-switch", "accelerators": {"count": 8, "groups": groups}})
    text, = caught.value.problems
    assert "profile rtx-pro-6000-switches" in text and "`relation: null` below box_spec.accelerators" in text
    assert profile_files.load("rtx-pro-6000-switch").summary in text


def test_every_profile_says_what_it_is_for() -> None:
    said = [profile_files.load(name).summary for name in profile_files.names()]
    assert all(said) and len(set(said)) == len(said)
