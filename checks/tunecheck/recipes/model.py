"""The one model of a recipe as people write it (YAML). Strict: no coercion, no unknown keys. Control node only.

What a source does not say is null, never a guess: a digest, a revision or a flag that nobody published stays unknown.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

__all__ = ["Source", "schema"]

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Revision = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
RecipeId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
ModelId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$")]
# Registry, path, then a tag or a digest: without either it would mean "latest".
ImageRef = Annotated[str, StringConstraints(
    pattern=r"^[a-z0-9][a-z0-9.:-]*(/[a-z0-9._-]+)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|@sha256:[0-9a-f]{64})$")]
Capability = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,2}\.[0-9]$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]*$")]
Bounds = Annotated[str, StringConstraints(pattern=r"^(>=|<)[0-9]+(\.[0-9]+){1,2}(,(>=|<)[0-9]+(\.[0-9]+){1,2})?$")]
Fork = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+(@[A-Za-z0-9._/-]+)?$")]
DriverVersion = Annotated[str, StringConstraints(pattern=r"^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$")]
PythonVersion = Annotated[str, StringConstraints(pattern=r"^3\.[0-9]{1,2}$")]
FileGlob = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9*?\[\]_.][A-Za-z0-9*?\[\]_./-]*$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
# Stands in a unit's ExecStart= and in `podman run --env`: one line, printable.
Word = Annotated[str, StringConstraints(pattern=r"^[ -~]+$", max_length=4096)]
RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Reason = Annotated[str, StringConstraints(min_length=8, max_length=400)]
Count = Annotated[int, Field(ge=1, le=1024)]
#: A percentage or a rate may be written without a decimal point.
Number = Annotated[float, BeforeValidator(lambda value: float(value) if type(value) is int else value)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Engine(_Part):
    name: Literal["sglang", "vllm", "llama.cpp", "tensorrt-llm"]
    version: Version | None
    versions: Bounds | None = Field(default=None, description="releases whose parsers take the words, as "
                                                              "\">=0.17.0,<0.28.0\"; only where version is null")
    fork: Fork | None = Field(default=None, description="owner/repository@branch that the image is built from; null: "
                                                        "a release of the engine, or not known to be a fork")
    moe_backend: Word | None = Field(description="of the experts; none: the model has none; null: the engine chooses")
    cuda_graphs: Literal["full", "piecewise", "eager", "none"] | None
    python: PythonVersion | None = Field(default=None, description="of the image, not of the host")


class Image(_Part):
    ref: ImageRef | None
    digest: Digest | None = Field(default=None, description="of the manifest; normally in the lock")
    image_id: Digest | None = Field(default=None, description="of the configuration; normally in the lock")


class Model(_Part):
    id: ModelId
    revision: Revision | None = Field(default=None, description="commit of the hub; normally in the lock")
    format: Word | None
    moe: bool
    include: list[FileGlob] | None = Field(default=None, description="files to pin and copy; null: all of them")
    entry: Word | None = Field(default=None, description="the file that the engine opens (GGUF); null: the folder")
    kv_layers: Count | None = Field(default=None, description="layers whose cache grows with the context, or null")
    kv_heads: Count | None = Field(default=None, description="num_key_value_heads of the model's config.json")
    head_dim: Count | None = Field(default=None, description="head_dim of the model's config.json")


class Parallel(_Part):
    tp: Count = 1
    pp: Count = 1
    dp: Count = 1
    ep: Count = 1


class Speculative(_Part):
    method: Literal["none", "mtp", "nextn", "eagle", "dflash", "ngram", "draft"]
    tokens: Count | None = None
    drafter: ModelId | None = None


class Requires(_Part):
    gpus: Annotated[int, Field(ge=0, le=1024)]
    sm: list[Capability] = []
    vram_gib: Count | None = None
    topology: Literal["PIX", "NVLINK", "any"] = "any"
    p2p: bool = False
    driver_min: DriverVersion | None = None


class Expected(_Part):
    metric: Literal["decode_tok_s_c1", "aggregate_tok_s"] = "decode_tok_s_c1"
    value: Annotated[Number, Field(gt=0)] | None
    tol_pct: Annotated[Number, Field(gt=0, le=100)] = 25.0
    spread_pct: Annotated[Number, Field(gt=0, le=100)] = 5.0
    counted_by: Literal["usage_wallclock", "chars_div_4", "unknown"]
    ttft_s: dict[Annotated[int, Field(ge=1)], Annotated[Number, Field(gt=0)]] = Field(
        default={}, description="prompt tokens: seconds"
    )


class Serve(_Part):
    port: Annotated[int, Field(ge=1024, le=65535)] = 30000
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]
    ready_seconds: Annotated[int, Field(ge=1, le=86400)] = 1800
    args: list[Word] | None = Field(description="words for the engine beyond the derived ones; null: nobody published "
                                                "them, and such a recipe cannot be rendered")
    command: list[Word] | None = Field(default=None, description="null: the engine's usual one; []: the image's own "
                                                                 "launcher, told by env and args alone")
    shm_gib: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=16, description="of the container's own /dev/shm; null: the host's (--ipc=host)"
    )


class Canary(_Part):
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    expect: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    tokens: Count = 32
    context: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class Source(_Part):
    """One recipe file. ``notes``: what the sources say that no field holds, and where they contradict each other."""

    id: RecipeId
    status: Literal["draft", "pinned", "golden"] = Field(
        default="draft", description="a draft with a lock is served as pinned; golden needs a lock and our figure"
    )
    engine: Engine
    image: Image
    model: Model
    parallel: Parallel = Parallel()
    speculative: Speculative
    max_context: Annotated[int, Field(ge=1)] | None
    env: dict[VariableName, Word] = {}
    requires: Requires
    serve: Serve
    expected: Expected
    canaries: list[Canary] = Field(default=[], description="none: those of tunecheck accept")
    overrides: dict[RuleId, Reason] = Field(default={}, description="rule: why its rejection does not count here")
    sources: Annotated[list[Reason], Field(min_length=1)]
    notes: list[Reason] = []
    unpinned: list[Reason] = Field(default=[], description="what keeps it from being pinned: what nobody published")


def schema() -> dict[str, Any]:
    """JSON Schema of a recipe file, for editors."""
    whole = Source.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole, "title": "tunecheck recipe file"}
