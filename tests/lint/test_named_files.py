"""A comment or docstring that names a file of ours names one that is there: after a move it would mislead."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"(?<![\w./-])((?:[a-z0-9_]+/)*[a-z0-9_*]+\.py)\b")
#: Files of other projects that ours name, by who has them.
FOREIGN = frozenset((
    "custom_all_reduce.py", "symm_mem.py", "pynccl.py", "constants.py", "server_args.py",   # vLLM, SGLang
    "server_args_config_parser.py", "humming.py", "speculative.py", "serve.py", "serving.py",
    "perf_constants.py",                                    # aiperf
    "hf_api.py",                                            # huggingface_hub
    "statistics.py",                                        # Python
))


@cache
def _ours() -> tuple[str, ...]:
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.py"], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    return tuple(done.stdout.splitlines())


def _prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings with the line where each begins."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


@cache
def _there(name: str) -> bool:
    pattern = re.compile(rf"(?:.*/)?{re.escape(name).replace(re.escape('*'), '[a-z0-9_]*')}")
    return any(pattern.fullmatch(each) for each in _ours())


@pytest.mark.parametrize("folder", ["checks", "lab", "playbooks", "roles", "tests"])
def test_named_files_are_there(folder: str) -> None:
    stale = []
    for path in (each for each in _ours() if each.startswith(f"{folder}/")):
        source = (ROOT / path).read_text(encoding="utf-8")
        for number, text in _prose(source) if ".py" in source else ():
            for name in _NAME.findall(text):
                if name.rpartition("/")[2] not in FOREIGN and not _there(name):
                    stale.append(f"{path}:{number}: {name}")
    assert stale == []
