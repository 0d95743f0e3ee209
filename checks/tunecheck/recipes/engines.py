"""How each engine is told what a recipe says: the words of its command line, its caches, its API key.

Sources, read 2026-11: docs.vllm.ai (`vllm serve`, environment variables), sgl-project/sglang server_args.py and
server_args_config_parser.py, ggml-org/llama.cpp tools/server/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .frozen import Recipe

__all__ = ["MODEL", "SECRETS", "NoCommandError", "NoWay", "Secret", "Words", "derived", "of", "repeated", "start"]

#: Where things are inside the container.
MODEL, DRAFTER, CACHE, SECRETS = "/model", "/drafter", "/cache", "/run/secrets/tunecheck"


class NoWay(StrEnum):
    """Why a recipe has no command line."""

    NOT_PINNED = "not-pinned"
    UNKNOWN_ENGINE = "unknown-engine"
    OTHER_RUNTIME = "other-runtime"
    OTHER_NETWORK = "other-network"
    #: The image's own launcher might listen on every address of the host.
    EVERY_ADDRESS = "every-address"
    LAUNCHER_KEY = "launcher-key"


class NoCommandError(ValueError):
    """A recipe that cannot be started like this; ``why`` says the reason to a program."""

    def __init__(self, why: NoWay, text: str) -> None:
        self.why = why
        super().__init__(text)


@dataclass(frozen=True)
class Secret:
    """How the engine gets its API key without the key standing on a command line. ``file``: in the folder of secrets;
    ``line``: its content, with {key}; ``how``: "env" (an environment file) or the option that takes the file."""

    file: str
    line: str
    how: str


@dataclass(frozen=True)
class Words:
    """The options of an engine's command line, by what they say. "" for the model: it comes first, without an option.
    None: the engine has no such option."""

    start: tuple[str, ...]
    model: str
    name: str
    context: str
    secret: Secret
    tp: str | None = None
    pp: str | None = None
    dp: str | None = None
    ep: str | None = None
    always: tuple[str, ...] = ()
    same: tuple[tuple[str, str], ...] = ()


_ENGINES = {
    "vllm": Words(
        ("vllm", "serve"), "", "--served-model-name", "--max-model-len",
        Secret("vllm.env", "VLLM_API_KEY={key}\n", "env"),
        "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size", "--enable-expert-parallel",
        same=(("--model", "model"), ("-tp", "parallel.tp"), ("-pp", "parallel.pp"), ("-dp", "parallel.dp"))),
    # The configuration file is merged inside the process: unlike --api-key it is in no process list. Quoted: YAML reads
    # 0123456789012345 and 1234567890123e45 as numbers, and SGLang would ask for the text of that number.
    "sglang": Words(
        ("python3", "-m", "sglang.launch_server"), "--model-path", "--served-model-name", "--context-length",
        Secret("sglang.yaml", "api-key: \"{key}\"\n", "--config"), "--tp-size", "--pp-size", "--dp-size", "--ep-size",
        always=("--enable-metrics",),
        same=(("--model", "model"), ("--tensor-parallel-size", "parallel.tp"), ("--tp", "parallel.tp"),
              ("--pipeline-parallel-size", "parallel.pp"), ("--data-parallel-size", "parallel.dp"),
              ("--dp", "parallel.dp"), ("--expert-parallel-size", "parallel.ep"), ("--ep", "parallel.ep"))),
    "llama.cpp": Words(
        ("/app/llama-server",), "--model", "--alias", "--ctx-size",
        Secret("api-keys", "{key}\n", "--api-key-file"), always=("--metrics",),
        same=(("-m", "model"), ("-a", "serve.name"), ("-c", "max_context"))),
}


def of(engine: str) -> Words | None:
    """Return the words of an engine; None where nothing is known of starting it (tensorrt-llm)."""
    return _ENGINES.get(engine)


def start(recipe: Recipe) -> tuple[str, ...]:
    """Return what is started in the image; () is the image's own launcher. ValueError where nothing is known of it."""
    if recipe.serve.command is not None:
        return recipe.serve.command
    words = of(recipe.engine.name)
    if words is None:
        raise NoCommandError(NoWay.UNKNOWN_ENGINE,
                             f"nothing is known of starting {recipe.engine.name}; state serve.command")
    return words.start


def derived(recipe: Recipe, host: str) -> tuple[str, ...]:
    """Return the words of the command line that follow from the recipe's fields. ``host``: the address to listen on
    inside the container."""
    words = of(recipe.engine.name)
    if words is None or recipe.serve.command == ():
        return ()
    split = recipe.parallel
    model = f"{MODEL}/{recipe.model.entry}" if recipe.model.entry else MODEL
    found = [words.model, model] if words.model else [model]
    found += [words.name, recipe.serve.name, "--host", host, "--port", str(recipe.serve.port)]
    for option, count in ((words.tp, split.tp), (words.pp, split.pp), (words.dp, split.dp), (words.ep, split.ep)):
        if option is not None and count > 1:
            found += [option] if option == "--enable-expert-parallel" else [option, str(count)]
    if recipe.max_context is not None:
        found += [words.context, str(recipe.max_context)]
    return (*found, *words.always)


def repeated(engine: str, args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the words of ``args`` that a field says already, with that field."""
    words = of(engine)
    if words is None:
        return
    fields = {words.name: "serve.name", words.context: "max_context", "--host": "the network", "--port": "serve.port",
              "--api-key": "the secret", words.secret.how: "the secret", **dict(words.same)}
    fields |= {option: f"parallel.{name}" for name in ("tp", "pp", "dp", "ep")
               if (option := getattr(words, name)) is not None}
    fields |= {words.model: "model"} if words.model else {}
    for word in args:
        option = word.partition("=")[0]
        if option in fields:
            yield option, fields[option]
