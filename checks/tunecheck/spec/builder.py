"""Builds a frozen specification from the variables of an inventory: profile, overlays, validation, sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from tunecheck.errors import SpecError
from tunecheck.spec import profile_files, refusals
from tunecheck.spec.contradiction import two_sources
from tunecheck.spec.emptied import GROUP, HOST, way_without
from tunecheck.spec.frozen import Frozen, Spec, from_plain
from tunecheck.spec.merge import Layer, Merged, leaves, merge
from tunecheck.spec.models import Spec as Model
from tunecheck.util.suggestions import nearest

__all__ = ["build"]



def build(host: str, box_spec: object, box_spec_host: object | None = None) -> Frozen:
    """Freeze ``box_spec`` laid over its profile and ``box_spec_host`` over both.

    Raises SpecError whose problems each begin with the variable's path.
    """
    group, own = _mappings(host, box_spec, box_spec_host)
    try:
        profile = _profile(group, own)
    except SpecError as error:
        raise SpecError([*error.problems, *_besides(group, own, error.problems)]) from error
    merged = merge(Layer(profile.name, profile.values), Layer(GROUP, group), Layer(HOST, own))
    forbidden = refusals.of_values(group, GROUP) + refusals.of_values(own, HOST)
    try:
        plain = Model.model_validate(merged.values).model_dump()
    except ValidationError as error:
        kernel = merged.values.get("kernel")
        tokens = refusals.of_tokens(kernel.get("cmdline")) if isinstance(kernel, dict) else []
        wrong = [(path, text + _without(path, merged, profile, group)) for path, text in refusals.of_model(error)]
        raise SpecError(_without_echoes(forbidden, _placed(wrong + tokens, merged))) from error
    name = plain.pop("profile")
    spec = from_plain(plain)
    contradictions = refusals.contradictions(spec)
    found = _placed([(each.path, each.text + two_sources(each, merged, profile, lambda written: _instead(
        profile, written, group, own))) for each in contradictions], merged)
    if forbidden or found:
        raise SpecError(_without_echoes(forbidden, found))
    return Frozen(host=host, profile=name, spec=spec, sources=_sources(spec, merged, profile))


def _without(path: str, merged: Merged, profile: profile_files.Profile, group: Mapping[str, Any]) -> str:
    """Return how to be without what stands below a mapping in whose place another value stands; "" where nothing
    does."""
    variable = merged.origin(path, "")
    layers = [Layer(profile.name, profile.values), *([Layer(GROUP, group)] if variable == HOST else [])]
    way = way_without(path, merge(*layers), variable)
    return f"; {way}" if way else ""


def _mappings(host: str, box_spec: object, own: object | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if box_spec is None:
        raise SpecError([
            f"{GROUP}: host {host} has none; put `{GROUP}: {{profile: <name>}}` into group_vars/<group>.yml or "
            f"host_vars/{host}.yml beside the inventory (profiles: {', '.join(profile_files.names())}), or take "
            f"{host} out of the play with -l"
        ])  # fmt: skip
    problems = [
        f"{variable}: " + (refusals.of_template(value) or f"expected a mapping, found {_kind(value)}; write "
                           f"{variable}: and its keys indented below")
        for variable, value in ((GROUP, box_spec), (HOST, own if own is not None else {}))
        if not isinstance(value, Mapping)
    ]
    if problems:
        raise SpecError(problems)
    assert isinstance(box_spec, Mapping)
    return box_spec, own if isinstance(own, Mapping) else {}


def _kind(value: object) -> str:
    names = {str: "text", list: "a list", bool: "true/false", int: "a number", float: "a number"}
    return f"{names.get(type(value), type(value).__name__)} ({value!r})"[:80]


def _profile(group: Mapping[str, Any], own: Mapping[str, Any]) -> profile_files.Profile:
    variable = HOST if "profile" in own else GROUP
    stated = own.get("profile", group.get("profile"))
    if stated is None:
        known = ", ".join(profile_files.names())
        slips = [
            f"{place}.{key}: unknown key; did you mean profile?"
            for place, keys in ((GROUP, group), (HOST, own))
            for key in map(str, keys)
            if key not in Model.model_fields and nearest(key, [*Model.model_fields]) == ["profile"]
        ]
        if "profile" in own and "profile" in group:
            raise SpecError([f"{HOST}.profile: is empty (null), and takes the one of {GROUP} away; remove the line",
                             *slips])
        raise SpecError([f"{GROUP}.profile: is missing; choose the one that fits the box: {known}", *slips])
    if template := refusals.of_template(stated):
        raise SpecError([f"{variable}.profile: {template}"])
    try:
        return profile_files.load(stated)
    except SpecError as error:
        raise SpecError([f"{variable}.profile: {problem}" for problem in error.problems]) from error


def _besides(group: Mapping[str, Any], own: Mapping[str, Any], known: list[str]) -> list[str]:
    """Return what is wrong with the values that the inventory itself holds, where no profile is there to lay them over:
    what a profile would fill in, or what contradicts its values, is not known. ``known``: problems that are told."""
    merged = merge(Layer(GROUP, group), Layer(HOST, own))
    forbidden = refusals.of_values(group, GROUP) + refusals.of_values(own, HOST)
    found: list[tuple[str, str]] = []
    try:
        Model.model_validate({**merged.values, "profile": "none"})
    except ValidationError as error:
        found = [(path, text) for path, text in refusals.of_model(error) if _is_given(path, merged.values)]
        kernel = merged.values.get("kernel")
        found += refusals.of_tokens(kernel.get("cmdline")) if isinstance(kernel, dict) else []
    told = {problem.partition(":")[0] for problem in known}
    return [problem for problem in _without_echoes(forbidden, _placed(found, merged))
            if problem.partition(":")[0] not in told]


def _instead(profile: profile_files.Profile, written: Sequence[str], group: Mapping[str, Any],
             own: Mapping[str, Any]) -> list[profile_files.Profile]:
    """Return the profiles for the same boards that give one of these fields the same value, and contradict nothing
    that the inventory writes."""
    wanted = dict(leaves(merge(Layer(GROUP, group), Layer(HOST, own)).values))
    found = []
    for name in profile_files.names():
        other = profile_files.load(name)
        same = [path for path, value in leaves(other.values) if path in written and value == wanted.get(path)]
        if name == profile.name or not same or \
                other.values["accelerators"]["pci_ids"] != profile.values["accelerators"].get("pci_ids"):
            continue
        values = merge(Layer(name, other.values), Layer(GROUP, group), Layer(HOST, own)).values
        try:
            plain = Model.model_validate({**values, "profile": name}).model_dump(exclude={"profile"})
        except ValidationError:
            continue
        found += [] if refusals.contradictions(from_plain(plain)) else [other]
    return found


def _is_given(path: str, values: Mapping[str, Any]) -> bool:
    """Whether the inventory has a value at this path, or at the list or text above it."""
    at: object = values
    for part in path.partition("[")[0].split("."):
        if not isinstance(at, Mapping):
            return True
        found = {str(key): value for key, value in at.items()}
        if part not in found:
            return False
        at = found[part]
    return True


def _placed(found: list[tuple[str, str]], merged: Merged) -> list[tuple[str, str]]:
    """Put the variable that really holds the value in front of each path."""
    placed = []
    for path, text in found:
        origin = merged.origin(path, GROUP)
        prefix = origin if origin in (GROUP, HOST) else GROUP
        placed.append((f"{prefix}.{path}", text))
    return placed


def _without_echoes(first: list[tuple[str, str]], more: list[tuple[str, str]]) -> list[str]:
    """Return all problems of ``first``, and those of ``more`` that do not speak of a value which ``first`` has refused
    already."""
    refused = {path for path, _ in first}
    news = [
        (path, text)
        for path, text in more
        if not any(path == known or path.startswith((known + ".", known + "[")) for known in refused)
    ]
    return [f"{path}: {text}" for path, text in (*first, *news)]


def _sources(spec: Spec, merged: Merged, profile: profile_files.Profile) -> dict[str, str]:
    sources = {}
    for path, _ in leaves(asdict(spec)):
        origin = merged.origins.get(path)
        if origin is None:
            sources[path] = "default"
        elif origin in (GROUP, HOST):
            sources[path] = f"inventory: {origin}"
        else:
            sources[path] = f"profile {profile.name}: {profile.sources.get(path, 'no source given')}"
    return sources
