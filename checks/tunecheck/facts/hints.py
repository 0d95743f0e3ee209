"""The types of a dataclass' fields, also where a module names them for the type checker only."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
from typing import Any

__all__ = ["hints"]


def hints(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass' fields by name. What a module imports under ``if TYPE_CHECKING:``, for the sake
    of start-up time, is imported now."""
    found: dict[str, Any] = {}
    for part in reversed(kind.__mro__):
        module = sys.modules.get(part.__module__)
        for name, hint in inspect.get_annotations(part).items():
            while isinstance(hint, str):
                hint = eval(hint, vars(module) if module else {}, _Names(module))
            found[name] = hint
    return found


class _Names(dict[str, Any]):
    """Looks up the names that a module imports for the type checker only. KeyError for any other name."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module

    def __missing__(self, name: str) -> Any:
        if self._module is None or name in vars(self._module) or hasattr(builtins, name):
            raise KeyError(name)
        for node in ast.walk(ast.parse(inspect.getsource(self._module))):
            if isinstance(node, ast.ImportFrom) and any((item.asname or item.name) == name for item in node.names):
                source = next(item.name for item in node.names if (item.asname or item.name) == name)
                module = importlib.import_module("." * node.level + (node.module or ""), self._module.__package__)
                return getattr(module, source)
        raise KeyError(name)
