"""One rank of the stand-in (standin.py): a CUDA graph with all-reduces, over and over, and what may go wrong.

PyTorch is imported once, in the process that all ranks are forked from, and touches no GPU there."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["FAULTS", "PIDS", "STEPS", "gpus", "run"]

#: Parts of the board.
STEPS, FAULTS, PIDS = 0, 1, 2
#: What a rank can be told: it does not enter a collective; a kernel that never ends, on all SMs, or one thread of it.
SKIP, GRID, THREAD = 1, 2, 3
_LAYERS, _BATCH, _WIDTH = 24, 8, 4096
#: Polls a word that is never set, as a lock or a flag that is lost.
_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry forever(.param .u64 flag) {
  .reg .u64 %p;
  .reg .u32 %v;
  .reg .pred %q;
  ld.param.u64 %p, [flag];
again:
  ld.volatile.global.u32 %v, [%p];
  setp.eq.u32 %q, %v, 0;
  @%q bra again;
  ret;
}
\0"""


def gpus() -> int:
    """How many there are, without touching one."""
    import torch  # type: ignore[import-not-found]
    import torch.distributed  # type: ignore[import-not-found]

    return int(torch.cuda.device_count())


class _Forever:
    """The kernel that never ends, by the driver's own interface: no compiler is needed."""

    def __init__(self, torch: Any, stream: Any) -> None:
        self._cuda, self._stream = ctypes.CDLL("libcuda.so.1"), stream
        self._flag = torch.zeros(1, dtype=torch.int32, device="cuda")
        module, self._kernel = ctypes.c_void_p(), ctypes.c_void_p()
        for code in (self._cuda.cuModuleLoadData(ctypes.byref(module), _PTX),
                     self._cuda.cuModuleGetFunction(ctypes.byref(self._kernel), module, b"forever")):
            if code:
                raise RuntimeError(f"the kernel cannot be loaded: CUDA error {code}")

    def launch(self, blocks: int, threads: int) -> None:
        place = ctypes.c_uint64(self._flag.data_ptr())
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(place), ctypes.c_void_p))
        code = self._cuda.cuLaunchKernel(self._kernel, blocks, 1, 1, threads, 1, 1, 0,
                                         ctypes.c_void_p(self._stream.cuda_stream), arguments, None)
        if code:
            raise RuntimeError(f"the kernel cannot be launched: CUDA error {code}")


def run(rank: int, count: int, store: str, board: Any, folder: Path) -> NoReturn:
    """Never returns: os._exit, also after an error, which is in FOLDER/rank-N.txt."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)     # it ends with the engine
        ctypes.CDLL(None).prctl(15, f"TP{rank}".encode(), 0, 0, 0)
        _steps(rank, count, store, board)
    except BaseException:
        (folder / f"rank-{rank}.txt").write_text(traceback.format_exc())
    finally:
        sys.stderr.flush()
        os._exit(1)


def _steps(rank: int, count: int, store: str, board: Any) -> None:
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=count,
                            device_id=torch.device("cuda", rank))
    inputs = torch.randn(_BATCH, _WIDTH, device="cuda", dtype=torch.bfloat16)
    weights = [torch.randn(_WIDTH, _WIDTH, device="cuda", dtype=torch.bfloat16) * 0.02 for _ in range(4)]
    outside = torch.ones(_WIDTH, device="cuda")

    def layers() -> Any:
        value = inputs
        for layer in range(_LAYERS):
            value = torch.tanh(value @ weights[layer % len(weights)])
            dist.all_reduce(value)
        return value

    stream = torch.cuda.Stream()
    forever = _Forever(torch, stream)
    with torch.cuda.stream(stream):
        layers()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            layers()
        done = 0
        while True:
            fault = board.get(FAULTS, rank)
            if fault in (GRID, THREAD):
                forever.launch(*((torch.cuda.get_device_properties(rank).multi_processor_count, 256)
                                 if fault == GRID else (1, 1)))
                board.set(FAULTS, rank, 0)
            graph.replay()
            while fault == SKIP:        # it waits for work that it was never told of
                time.sleep(1)
            dist.all_reduce(outside)
            outside.fill_(1.0)
            stream.synchronize()
            done += 1
            board.set(STEPS, rank, done)
