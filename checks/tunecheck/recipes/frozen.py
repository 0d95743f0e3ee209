"""The frozen recipe: what lands on the box as ``/etc/tunecheck/recipe.json``, and what ``gate`` and ``accept`` read.

Plain dataclasses and the standard library only, like the frozen specification; YAML recipes are read and checked on the
control node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["SCHEMA", "Canary", "Engine", "Expected", "Image", "Model", "Parallel", "Recipe", "Requires", "Serve",
           "Speculative"]  # fmt: skip

SCHEMA = "tunecheck/recipe/1"


@dataclass(frozen=True)
class Engine:
    """The serving engine. ``name``: sglang, vllm, llama.cpp, tensorrt-llm. ``cuda_graphs``: full, piecewise, eager,
    none; None: unknown. ``python``: the image's, as "3.12". ``versions``: bounds where no version is stated, as
    ">=0.17.0,<0.28.0". ``fork``: owner/repository@branch that the image is built from; None: a release, or not known to
    be a fork."""

    name: str
    version: str | None = None
    moe_backend: str | None = None
    cuda_graphs: str | None = None
    python: str | None = None
    versions: str | None = None
    fork: str | None = None


@dataclass(frozen=True)
class Image:
    """The container image. ``ref`` names a repository (and tag) to resolve; ``digest`` is the manifest's, good for a
    pull; ``image_id`` the configuration's, which also survives an archive. Both "sha256:<64 hex>"."""

    ref: str | None = None
    digest: str | None = None
    image_id: str | None = None


@dataclass(frozen=True)
class Model:
    """The served model. ``revision``: 40 hex digits of the hub's commit. ``files``: path in the repository to
    "sha256:<64 hex>". ``entry``: the file that the engine opens (GGUF); None: the folder. ``kv_layers``: layers whose
    cache grows with the context, with ``kv_heads`` of ``head_dim`` each; None: unknown."""

    id: str
    revision: str | None = None
    format: str | None = None
    moe: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    entry: str | None = None
    kv_layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None


@dataclass(frozen=True)
class Parallel:
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1


@dataclass(frozen=True)
class Speculative:
    """Speculative decoding. ``method``: none, mtp, nextn, eagle, dflash, ngram, draft. ``drafter``: the hub's id of a
    second model, with its revision and files as in Model."""

    method: str = "none"
    tokens: int | None = None
    drafter: str | None = None
    drafter_revision: str | None = None
    drafter_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Requires:
    """What the box must have. ``sm``: compute capabilities such as "12.0"; ``topology``: PIX, NVLINK, any."""

    gpus: int = 1
    sm: tuple[str, ...] = ()
    vram_gib: int | None = None
    topology: str = "any"
    p2p: bool = False
    driver_min: str | None = None


@dataclass(frozen=True)
class Expected:
    """A figure and who counted it. ``metric``: decode_tok_s_c1 (one stream, wall clock) or aggregate_tok_s.

    ``counted_by``: usage_wallclock (usage over wall time), chars_div_4, unknown. ``ttft_s``: tokens of prompt:
    seconds. Percentages are of ``value``. Only a figure of a golden recipe may refuse a box."""

    metric: str = "decode_tok_s_c1"
    value: float | None = None
    tol_pct: float = 10.0
    spread_pct: float = 5.0
    counted_by: str = "unknown"
    ttft_s: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Serve:
    """How the engine is started and reached. ``args``: words for the engine beyond those that recipes/engines.py
    derives. ``command``: what is started in the image; None: the engine's usual one; (): the image's own launcher, for
    which nothing is derived. ``shm_gib``: size of the container's own /dev/shm; None: the host's (--ipc=host)."""

    port: int = 30000
    name: str = "model"
    ready_seconds: int = 1800
    args: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None
    shm_gib: int | None = 16


@dataclass(frozen=True)
class Canary:
    """A greedy question with a known answer: ``expect`` must occur in the text. ``context``: prompt tokens of filler
    before it, 0 for none."""

    prompt: str
    expect: str
    tokens: int = 32
    context: int = 0


@dataclass(frozen=True)
class Recipe:
    """A frozen recipe. ``status``: draft (never served), pinned (image and model are exact), golden (its figure is our
    counter's). ``overrides``: rule to the reason for which its rejection does not count here."""

    id: str
    engine: Engine
    model: Model
    image: Image = field(default_factory=Image)
    parallel: Parallel = field(default_factory=Parallel)
    speculative: Speculative = field(default_factory=Speculative)
    requires: Requires = field(default_factory=Requires)
    expected: Expected = field(default_factory=Expected)
    serve: Serve = field(default_factory=Serve)
    canaries: tuple[Canary, ...] = ()
    max_context: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    status: str = "draft"
    source: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def models(self) -> tuple[Model, ...]:
        """What has to lie on the box: the model, and the drafter where there is one."""
        extra = self.speculative
        drafter = (Model(extra.drafter, extra.drafter_revision, files=extra.drafter_files),) if extra.drafter else ()
        return (self.model, *drafter)
