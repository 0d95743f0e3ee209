"""Option tables of serving engines, generated from their own wheels: flags, choices and environment variables.

    pip download --no-deps -d WHEELS vllm==0.33.0          # one call for each version
    python3 -m lab.generators.option_tables WHEELS/*.whl

Nothing of a wheel is run: its sources are read. The tables land in checks/tunecheck/recipes/options, one a version,
with the wheel's name, its SHA-256 and the day. Run it again for a new version, and look at the difference."""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "checks/tunecheck/recipes/options"
#: Where each engine declares its options, and the classes whose fields are options.
_SOURCES = {"vllm": r"vllm/(engine/arg_utils|entrypoints/.*|config/.*|utils/argparse.*|"
                    r"model_executor/layers/quantization/__init__)\.py",
            "sglang": r"sglang/srt/(server_args.*|arg_groups/.*|configs/.*)\.py"}
_CLASSES = {"vllm": r"(Base)?FrontendArgs", "sglang": r".*"}
#: Options whose type is also open for plug-ins, with the type that has the engine's own values.
_KNOWN = {"--kv-cache-dtype": "CacheDType", "--moe-backend": "MoEBackend", "--quantization": "QuantizationMethods"}
#: Registries whose keys are an option's values, and the words that the engine adds to them.
_REGISTRIES = {
    "vllm": {"vllm/tool_parsers/__init__.py": ("_TOOL_PARSERS_TO_REGISTER", "--tool-call-parser", ()),
             "vllm/reasoning/__init__.py": ("_REASONING_PARSERS_TO_REGISTER", "--reasoning-parser", ())},
    "sglang": {"sglang/srt/function_call/function_call_parser.py": ("ToolCallParserEnum", "--tool-call-parser",
                                                                    ("auto",)),
               "sglang/srt/parser/reasoning_parser.py": ("DetectorMap", "--reasoning-parser", ("auto",))},
}
_VARIABLE = {"vllm": re.compile(r"VLLM_[A-Z0-9_]+"), "sglang": re.compile(r"(?:SGLANG|SGL)_[A-Z0-9_]+")}


def table(wheel: Path) -> dict[str, Any]:
    """The table of one wheel."""
    engine, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as held:
        names = [name for name in held.namelist() if name.endswith(".py") and name.startswith(f"{engine}/")]
        trees = [ast.parse(held.read(name)) for name in names if re.fullmatch(_SOURCES[engine], name)]
        registered = {option: [*more, *_keys(ast.parse(held.read(name)), registry)]
                      for name, (registry, option, more) in _REGISTRIES[engine].items() if name in names}
        variables = {found for name in names for found in _VARIABLE[engine].findall(held.read(name).decode())}
    literals = dict(found for tree in trees for found in _literals(tree))
    fields = dict(found for tree in trees for found in _fields(tree, literals))
    if engine == "vllm":
        known = {option: literals[name] for option, name in _KNOWN.items() if name in literals}
    else:
        known = {}
        trees = [tree for name, tree in zip((name for name in names if re.fullmatch(_SOURCES[engine], name)), trees,
                                            strict=True) if "/fields/" in name or name.endswith("server_args.py")]
    options: dict[str, list[str] | None] = {}
    for tree in trees:
        for names_, choices in _arguments(tree, fields):
            for name in names_:
                options[name] = choices or options.get(name)
        for name, choices in _declared(tree, _CLASSES[engine], literals):
            options[name] = choices or options.get(name)
    options.update({name: choices for name, choices in known.items() if name in options})
    options.update({name: sorted(choices) for name, choices in registered.items() if name in options and choices})
    return {"engine": engine, "version": version, "wheel": wheel.name,
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "generated": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "options": dict(sorted(options.items())), "variables": sorted(variables)}


def _literals(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """``Name = Literal[...]`` and ``NAME = ["...", ...]``."""
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(
            node, ast.AnnAssign) else None
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and value is not None and (found := _values(value, {})):
            yield target.id, found


def _keys(tree: ast.Module, registry: str) -> list[str]:
    """The texts that are keys of a dictionary of that name."""
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(
            node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == registry and isinstance(node.value, ast.Dict):  # type: ignore[union-attr]
            return [each.value for each in node.value.keys  # type: ignore[union-attr]
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return []


def _values(node: ast.expr, literals: dict[str, list[str]]) -> list[str] | None:
    """The texts that an annotation or a list allows; None where it allows more."""
    if isinstance(node, ast.Name):
        return literals.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice
        if node.value.id in ("Optional", "A", "Annotated"):
            return _values(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, literals)
        if node.value.id == "Literal":
            return _texts(inner.elts if isinstance(inner, ast.Tuple) else [inner])
    if isinstance(node, (ast.List, ast.Tuple)):
        return _texts(node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
        return _values(node.left, literals)
    return None


def _texts(nodes: list[ast.expr]) -> list[str] | None:
    found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return found if found and len(found) == len(nodes) else None


def _fields(tree: ast.Module, literals: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Class.field to the values of its type."""
    for held in ast.walk(tree):
        if isinstance(held, ast.ClassDef):
            for node in held.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and (
                        found := _values(node.annotation, literals)):
                    yield f"{held.name}.{node.target.id}", found


def _arguments(tree: ast.Module, fields: dict[str, list[str]]) -> Iterator[tuple[list[str], list[str] | None]]:
    """Names and choices of every ``add_argument``, and of every ``Arg`` with names of its own."""
    kwargs = {node.targets[0].id: node.value.args[0].id for node in ast.walk(tree) if isinstance(node, ast.Assign)
              and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)
              and getattr(node.value.func, "id", "") == "get_kwargs" and node.value.args
              and isinstance(node.value.args[0], ast.Name)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called not in ("add_argument", "Arg"):
            continue
        names = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)
                 and isinstance(each.value, str) and re.fullmatch(r"--?[A-Za-z][A-Za-z0-9_.-]*", each.value)]
        choices = None
        for keyword in node.keywords:
            if keyword.arg == "choices":
                choices = _values(keyword.value, {})
            elif keyword.arg is None and isinstance(keyword.value, ast.Subscript) and isinstance(
                    keyword.value.slice, ast.Constant):
                held = kwargs.get(getattr(keyword.value.value, "id", ""), "")
                choices = fields.get(f"{held}.{keyword.value.slice.value}")
        if names:
            yield names, choices


def _declared(tree: ast.Module, classes: str,
              literals: dict[str, list[str]]) -> Iterator[tuple[str, list[str] | None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and re.fullmatch(classes, node.name):
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield f"--{each.target.id.replace('_', '-')}", _given(each.annotation, literals)


def _given(annotation: ast.expr, literals: dict[str, list[str]]) -> list[str] | None:
    """The values of a type, or of the ``choices`` that stand beside it: A[str, Arg(choices=NAME)]."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.keyword) and node.arg == "choices":
            return _values(node.value, literals)
    return _values(annotation, literals)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    for wheel in parser.parse_args().wheels:
        found = table(wheel)
        place = FOLDER / f"{found['engine']}-{found['version']}.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(found, indent=1) + "\n")
        limited = sum(bool(each) for each in found["options"].values())
        print(f"{place.name}: {len(found['options'])} options, {limited} with choices, "
              f"{len(found['variables'])} variables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
