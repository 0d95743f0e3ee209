"""The command line that starts a recipe's container: pure, for podman and docker.

What is decided here, and why:
- The image is named by its id. It survives `podman save` and `load`, which change the digest, and it is what the gate
  looked at; `--pull=never` keeps the engine from asking anybody.
- GPUs come by CDI: with the older hook, `systemctl daemon-reload` takes /dev/nvidia* away (issue 48 of NVIDIA's
  nvidia-container-toolkit).
- The container has its own network, and one port is published on 127.0.0.1. Serving engines open more ports than the
  API's (ZeroMQ, torch.distributed), on every address and unauthenticated: on the host's network they were open to all.
- `--ipc=host` or a /dev/shm of its own: podman refuses both together (measured with 4.3), and one is enough.
- The API key comes from a file: a command line is in every process list.
- No capability, no new privileges, SELinux' label off, as for a trial (confinement.py). So root inside reads only files
  that are its own or readable by everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from ..model.confinement import CONFINEMENT
from . import engines
from .engines import NoCommandError, NoWay
from .frozen import Model, Recipe
from .to_pin import to_pin

__all__ = ["Paths", "argv", "folder", "secret"]

#: Nothing is asked of a hub, nothing is told to anybody (huggingface_hub constants.py, vLLM usage statistics; 2026-11);
#: GPUs are numbered by address, as nvidia-smi does.
_ENVIRONMENT = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
#: What is compiled at the first start, and what autotuners found: kept per image, since another one's is wrong for it.
_CACHES = {
    "CUDA_CACHE_PATH": "cuda", "FLASHINFER_WORKSPACE_BASE": "flashinfer", "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton", "VLLM_CACHE_ROOT": "vllm", "XDG_CACHE_HOME": "xdg",
}


@dataclass(frozen=True)
class Paths:
    """Where things are on the box. ``models``, ``cache`` and ``secrets`` are folders. ``gpus``: CDI names of GPUs,
    "all" or "0", "1" or UUIDs. ``network``: private (a port published on ``bind``) or host (listening on
    127.0.0.1). ``secret``: whether the engine asks for a key."""

    models: str = "/srv/models"
    cache: str = "/var/cache/tunecheck/jit"
    secrets: str = "/etc/tunecheck/secrets"
    name: str = "tunecheck-inference"
    gpus: tuple[str, ...] = ("all",)
    network: str = "private"
    bind: str = "127.0.0.1"
    log_max_mib: int = 100
    secret: bool = True


def folder(models: str, model: Model) -> str:
    """Return the folder where a revision of a model lies, as gate/model_files.py looks for it."""
    return str(PurePosixPath(models) / model.id.replace("/", "--") / (model.revision or "none"))


def secret(recipe: Recipe, key: str) -> tuple[str, str]:
    """Return name and content of the file in the folder of secrets that gives the engine its key. ValueError where the
    engine takes no key from a file."""
    words = engines.of(recipe.engine.name)
    if words is None:
        raise NoCommandError(NoWay.UNKNOWN_ENGINE, f"nothing is known of giving {recipe.engine.name} a key")
    return words.secret.file, words.secret.line.format(key=key)


def argv(recipe: Recipe, engine: str, paths: Paths | None = None) -> list[str]:
    """Return the command line that starts the recipe's container. ``engine``: podman or docker. ValueError where the
    recipe is not pinned, or the engine's command is unknown."""
    paths = paths or Paths()
    if recipe.image.image_id is None or any(model.revision is None for model in recipe.models):
        raise NoCommandError(NoWay.NOT_PINNED, f"{recipe.id} is not pinned; {to_pin(recipe)}")
    start = engines.start(recipe)
    if not start and paths.network == "host":
        raise NoCommandError(NoWay.EVERY_ADDRESS, "the image's own launcher decides where it listens; on the "
                             "host's network that may be every address: use the private one")
    image = recipe.image.image_id.removeprefix("sha256:")
    given, said = _secret(recipe, paths)
    inside = "127.0.0.1" if paths.network == "host" else "0.0.0.0"
    tail = [*start[1:], *engines.derived(recipe, inside), *said, *recipe.serve.args]
    entry = [f"--entrypoint={start[0]}"] if start else []
    return [*_engine(engine, paths), *_gpus(recipe, paths), *_reach(recipe, paths), *_limits(recipe),
            *_mounts(recipe, paths, image), *given, *_variables(recipe), *entry, image, *tail]


def _engine(engine: str, paths: Paths) -> list[str]:
    common = ["run", "--rm", f"--name={paths.name}", "--pull=never"]
    if engine == "podman":
        # In the unit's own cgroup, so that systemd's kill and accounting reach it; its output goes to the journal.
        return ["podman", *common, "--replace", "--cgroups=split", "--sdnotify=conmon", "--log-driver=passthrough"]
    if engine == "docker":
        return ["docker", *common, "--log-driver=local", f"--log-opt=max-size={paths.log_max_mib}m",
                "--log-opt=max-file=2"]
    raise NoCommandError(NoWay.OTHER_RUNTIME, f"{engine}: expected podman or docker")


def _gpus(recipe: Recipe, paths: Paths) -> list[str]:
    return [f"--device=nvidia.com/gpu={name}" for name in paths.gpus] if recipe.requires.gpus else []


def _reach(recipe: Recipe, paths: Paths) -> list[str]:
    if paths.network == "host":
        return ["--network=host"]
    if paths.network != "private":
        raise NoCommandError(NoWay.OTHER_NETWORK, f"network {paths.network}: expected private or host")
    return [f"--publish={paths.bind}:{recipe.serve.port}:{recipe.serve.port}"]


def _limits(recipe: Recipe) -> list[str]:
    shared = recipe.serve.shm_gib
    return [f"--shm-size={shared}g" if shared is not None else "--ipc=host", "--ulimit=memlock=-1:-1",
            "--ulimit=stack=67108864:67108864", *CONFINEMENT]


def _mounts(recipe: Recipe, paths: Paths, image: str) -> list[str]:
    inside = (engines.MODEL, engines.DRAFTER)
    found = [_bind(folder(paths.models, model), place, ",readonly") for model, place in zip(recipe.models, inside,
                                                                                       strict=False)]
    return [*found, _bind(f"{paths.cache}/{image}", engines.CACHE)]


def _bind(source: str, target: str, more: str = "") -> str:
    # Not --volume: docker makes an empty folder of what is missing, and a key's file would be one.
    return f"--mount=type=bind,source={source},target={target}{more}"


def _secret(recipe: Recipe, paths: Paths) -> tuple[list[str], list[str]]:
    """Return options of the container engine, and words for the serving engine, that give it its key. ValueError where
    nothing is known of that."""
    words = engines.of(recipe.engine.name)
    if not paths.secret or words is None:
        return [], []
    file = f"{paths.secrets}/{words.secret.file}"
    if words.secret.how == "env":
        return [f"--env-file={file}"], []
    if recipe.serve.command == ():
        raise NoCommandError(NoWay.LAUNCHER_KEY, "nothing is known of giving the image's own launcher of "
                             f"{recipe.engine.name} a key")
    inside = f"{engines.SECRETS}/{words.secret.file}"
    return [_bind(file, inside, ",readonly")], [words.secret.how, inside]


def _variables(recipe: Recipe) -> list[str]:
    caches = {name: f"{engines.CACHE}/{place}" for name, place in _CACHES.items()}
    return [f"--env={name}={value}" for name, value in sorted({**_ENVIRONMENT, **caches, **recipe.env}.items())]
