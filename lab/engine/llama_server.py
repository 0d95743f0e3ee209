"""llama.cpp's server in the container of the tests: the words that recipes/engines.py gives, on xllamacpp."""

import ctypes
import signal
import sys
import threading

import xllamacpp

ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
# SIGUSR1 to one of its threads hangs that thread, and no other: /health still answers, and no token comes. For tests.
libc = ctypes.CDLL(None)
libc.signal(signal.SIGUSR1, ctypes.cast(libc.pause, ctypes.c_void_p))
given = dict(zip(sys.argv[1:], sys.argv[2:], strict=False))
wanted = xllamacpp.CommonParams()
wanted.model.path, wanted.model_alias = given["--model"], {given["--alias"]}
wanted.hostnames, wanted.port = [given["--host"]], int(given["--port"])
wanted.n_ctx, wanted.n_parallel, wanted.kv_unified = int(given["--ctx-size"]), 1, True
wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
wanted.endpoint_metrics = "--metrics" in sys.argv
with open(given["--api-key-file"], encoding="ascii") as file:
    wanted.api_keys = file.read().split()
server = xllamacpp.Server(wanted)
print("serving on", server.listening_address, flush=True)
ended.wait()
