"""llama.cpp's own HTTP server on loopback, from the xllamacpp wheel: `serve.py MODEL.gguf [option=value ...]`.

Options: context, slots, draft (a GGUF that proposes), key, metrics (0 or 1). Says where it listens on its first line
and ends with its standard input. One thread: two that wait busily on a loaded two-core machine decode at 1.5 tok/s.
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    given = dict(each.split("=", 1) for each in sys.argv[2:])
    wanted = xllamacpp.CommonParams()
    wanted.model.path, wanted.model_alias = sys.argv[1], {"tiny"}
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.n_ctx, wanted.n_parallel = int(given.get("context", 8192)), int(given.get("slots", 1))
    wanted.kv_unified = True
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    wanted.endpoint_metrics = given.get("metrics", "1") == "1"
    if "key" in given:
        wanted.api_keys = [given["key"]]
    if "draft" in given:
        wanted.speculative.draft.mparams.path = given["draft"]
        wanted.speculative.draft.n_max = 5
        wanted.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
