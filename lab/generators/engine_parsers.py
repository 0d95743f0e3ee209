"""The engines' own parsers, out of their wheels, over every shipped recipe: do they take its words?

    pip download --no-deps -d WHEELS vllm==0.27.1
    pip download --no-deps -d WHEELS sglang==0.5.23        # one call for each version
    .venv/bin/pip install msgspec                          # SGLang's options are its records
    .venv/bin/python -m lab.generators.engine_parsers WHEELS/*.whl [--fork lukealonso/sglang@a5b9575=FOLDER]

A recipe is given to the parser of the version that it names; where it names none, to every wheel within its bounds, or
to every wheel where it has none. A fork's recipe is given to forks alone: their sources are a FOLDER with the engine's
package in it (git archive). Sources alone are unpacked; what they import beside themselves and the standard library
(PyTorch, Transformers, ...) is replaced by modules whose every name is an empty class, so that neither a GPU nor
PyTorch is needed. Parsing is the engine's own: argparse, choices, JSON. What an engine checks after it has parsed (a
model's config.json, say) is not seen. Exit code 1 where a parser refuses the words of a recipe that names it: by its
version, its bounds, its fork, or by no word about which of them it is for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tunecheck.recipes import engines
from tunecheck.recipes.frozen import Recipe
from tunecheck.recipes.load import load, names
from tunecheck.recipes.options import within

#: Where each engine makes its parser, newest first; run in a process of its own with the wheel's sources.
_PARSER = {
    "vllm": """
import vllm.platforms
from vllm.platforms.interface import Platform
class Stand(Platform):
    device_type = device_name = dist_backend = "cuda"
vllm.platforms._current_platform = Stand()
try:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError:
    from vllm.utils import FlexibleArgumentParser
try:
    from vllm.entrypoints.common.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
""",
    "sglang": """
import argparse
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser(prog="sglang.launch_server")
ServerArgs.add_cli_args(parser)
""",
}
#: Reads lists of words from its standard input, one JSON a line, and answers each with "" or what the parser said.
_CHILD = """
import contextlib, io, json, sys
sys.path[:0] = [{root!r}, {wheel!r}]
from lab import engine_stubs
engine_stubs.install({engine!r})
{parser}
print(len(parser._actions), flush=True)
for line in sys.stdin:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            parser.parse_args(json.loads(line))
        answer = ""
    except SystemExit:
        answer = said.getvalue().strip().splitlines()[-1]
    except Exception as error:
        answer = f"{{type(error).__name__}}: {{error}}"
    print(json.dumps(answer), flush=True)
"""


class Parser:
    """The parser of one wheel, or of a fork's sources, in a child."""

    def __init__(self, source: Path, folder: Path, fork: str | None = None) -> None:
        self.fork = fork
        if fork is not None:
            self.engine = next(each for each in _PARSER if (source / each).is_dir())
            self.version, place = fork, source
        else:
            self.engine, self.version = source.name.split("-")[:2]
            place = folder / source.stem
            with zipfile.ZipFile(source) as held:
                for name in held.namelist():
                    if name.endswith((".py", ".json")):
                        held.extract(name, place)
        root = str(Path(__file__).resolve().parents[1])
        code = _CHILD.format(root=root, wheel=str(place), engine=self.engine, parser=_PARSER[self.engine])
        self._child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True, cwd=folder,
                                       env={**os.environ, "VLLM_LOGGING_LEVEL": "CRITICAL", "HF_HUB_OFFLINE": "1"})
        self.options = int(self._line() or 0)

    def refuses(self, words: list[str]) -> str:
        """What it says against them, "" for nothing."""
        assert self._child.stdin
        self._child.stdin.write(json.dumps(words) + "\n")
        self._child.stdin.flush()
        return str(json.loads(self._line()))

    def _line(self) -> str:
        assert self._child.stdout
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"the parser of {self.engine} {self.version} does not start here")
        return line

    def close(self) -> None:
        assert self._child.stdin and self._child.stdout
        self._child.stdin.close()
        self._child.wait(20)
        self._child.stdout.close()


def words(recipe: Recipe) -> list[str] | None:
    """What stands behind the engine's start; None where the image's own launcher is told by variables."""
    if recipe.serve.command == () or engines.of(recipe.engine.name) is None:
        return None
    return [*engines.derived(recipe, "127.0.0.1"), *recipe.serve.args]


def means(recipe: Recipe, parser: Parser) -> bool:
    """Whether the recipe names this parser's engine: a fork, a version, bounds, or any release of the engine."""
    engine = recipe.engine
    if engine.fork or parser.fork:
        return engine.fork == parser.fork
    if engine.version is not None:
        return engine.version == parser.version
    return engine.versions is None or within(parser.version, engine.versions)


def judged(parsers: list[Parser]) -> list[tuple[str, str, bool, str]]:
    """Recipe, engine and version, whether it names that engine, and what the parser said."""
    found = []
    for name in names():
        recipe = load(name, pinned=False).frozen
        given = words(recipe)
        own = [each for each in parsers if each.engine == recipe.engine.name
               and bool(each.fork) == bool(recipe.engine.fork)]
        exact = [each for each in own if means(recipe, each)]
        if given is None:
            found.append((name, recipe.engine.name, False, "the image's own launcher: no words of the engine's"))
        elif not own:
            fork = recipe.engine.fork
            found.append((name, recipe.engine.name, False,
                          f"no sources of a fork; it is {fork}" if fork else "no wheel of this engine"))
        else:
            found += [(name, f"{each.engine} {each.version}", bool(exact), each.refuses(given))
                      for each in exact or own]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--fork", action="append", default=[], metavar="NAME=FOLDER")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parsers = [Parser(each.resolve(), Path(folder)) for each in args.wheels]
        parsers += [Parser(Path(place).resolve(), Path(folder), name)
                    for name, _, place in (each.partition("=") for each in args.fork)]
        for each in parsers:
            print(f"{each.engine} {each.version}: {each.options} options")
        refused = 0
        for name, engine, exact, said in judged(parsers):
            refused += exact and bool(said)
            print(f"{name:<36} {engine:<14} {'meant' if exact else 'another':<8} {said or 'taken'}"[:200])
        for each in parsers:
            each.close()
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())
