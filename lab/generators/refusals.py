"""The sentences with a code of the modules that write on a box, as they stand in their source. Nothing runs: most of
them need a box with a fault. A module says one by ``SomeError(Why.CODE, "...")``, ``Refusal(Why.CODE, "...")`` or
``fail_json(code=Why.CODE.value, msg="...")``; "any" stands where the code comes from elsewhere, "none" where
there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["refusals"]

_PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"


def refusals() -> dict[str, list[tuple[str, str]]]:
    """Return {file without its ending: [(code, sentence with its placeholders)]}, in the order of the source."""
    found = {}
    for folder in ("library", "module_utils"):
        for path in sorted((_PLAYBOOKS / folder).rglob("*.py")):
            told = list(_told(ast.parse(path.read_text(encoding="utf-8"))))
            if told:
                found[str(path.relative_to(_PLAYBOOKS / folder).with_suffix(""))] = told
    return found


def _told(tree: ast.Module) -> Iterator[tuple[str, str]]:
    constants = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign)
                 for target in node.targets if isinstance(target, ast.Name)}
    calls = sorted((node for node in ast.walk(tree) if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = {each.arg: each.value for each in call.keywords}
        code, text = (given["code"], given.get("msg")) if "code" in given else (*call.args, None, None)[:2]
        fails = name.endswith(("Error", "Refusal", "fail_json"))
        words = _text(text, constants)
        if words and (_code(code) or fails):
            yield _code(code) or "any", words
        elif fails and (words := _text(given.get("msg", code), constants)):
            yield "none", words


def _code(node: ast.expr | None) -> str:
    """Return the code of ``Why.CODE`` or ``Why.CODE.value``, "" of anything else."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        node = node.value
    member = node.attr if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
    return member.lower().replace("_", "-") if member.isupper() else ""


def _text(node: ast.expr | None, constants: dict[str, ast.expr]) -> str:
    """Return the words of a sentence that is formatted or joined; what is put in by name stays out."""
    if isinstance(node, ast.Name):
        node = constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.Add)):
        return _text(node.left, constants) + (_text(node.right, constants) if isinstance(node.op, ast.Add) else "")
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
