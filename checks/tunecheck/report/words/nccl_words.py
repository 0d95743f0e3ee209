"""Words of NCCL, its log and the tables of nccl-tests that `tunecheck explain` knows.
Word -> (in words, what to do or to know, the check to read on)."""

from __future__ import annotations

__all__ = ["NCCL_LEVELS", "NCCL_WORDS"]

_Told = tuple[str, str, str]
_LEVEL = "A value of NCCL_P2P_LEVEL: how far apart two GPUs may be for NCCL to copy directly between them."
#: NCCL's own names of how near two devices are (NCCL 2.30, src/graph/topo.h), without those of nvidia-smi topo -m.
NCCL_LEVELS: dict[str, _Told] = {name: (f"NCCL's name of a way between two devices: {what}", _LEVEL,
                                        "nccl-environment") for name, what in {
    "LOC": "the device itself",
    "NVL": "NVLink",
    "NVB": "NVLink, over another GPU between them",
    "C2C": "NVIDIA's link between a CPU and its GPU (NVLink-C2C)",
    "P2C": "PCIe from a network card to the CPU, and from there NVLink-C2C to the GPU",
    "PXN": "to a network card over another GPU that is near to it",
}.items()}
_CHOICE = "NCCL chooses it by itself: leave NCCL_ALGO unset."
_PROTOCOL = "NCCL chooses it by the size: leave NCCL_PROTO unset."
_WAY = "A word of NCCL's log, where it says which way two ranks take (via ...)."
#: NCCL's own names (NCCL 2.30: algorithms, protocols and what its log says of a channel).
NCCL_WORDS: dict[str, _Told] = {
    "NVLS": ("NVLink SHARP, an algorithm of NCCL: the NVSwitch itself adds up what the GPUs send",
             "It needs GPUs of Hopper or later behind an NVSwitch, and a fabric that is up. A bus bandwidth with it "
             "may be above what one GPU's NVLinks carry.", "fabric-state"),
    "NVLSTree": ("an algorithm of NCCL: NVLS inside of each host, a tree between the hosts", _CHOICE, "fabric-state"),
    "SHARP": ("a switch adds up what its senders send, so that they need not: NVLS does it in an NVSwitch, CollNet in "
              "switches of InfiniBand", "", "fabric-state"),
    "CollNet": ("an algorithm of NCCL: switches of InfiniBand (SHARP) add up what the hosts send",
                "It has no use on a single box.", "nccl-environment"),
    "CollNetDirect": ("CollNet, where each GPU exchanges its data with all others of its host", _CHOICE,
                      "nccl-environment"),
    "CollNetChain": ("CollNet, where the GPUs of a host are in a row", _CHOICE, "nccl-environment"),
    "RING": ("an algorithm of NCCL: data goes from rank to rank in a circle; the fastest for large sizes", _CHOICE,
             "nccl-environment"),
    "TREE": ("an algorithm of NCCL: data goes up and down a tree of ranks; fast for small sizes and many hosts",
             _CHOICE, "nccl-environment"),
    "PAT": ("an algorithm of NCCL for all-gather and reduce-scatter between hosts (parallel aggregated trees)",
            _CHOICE, "nccl-environment"),
    "LL": ("a protocol of NCCL for small messages (low latency)", f"LL alone makes large messages slow. {_PROTOCOL}",
           "nccl-environment"),
    "LL128": ("a protocol of NCCL for middle sizes, in pieces of 128 bytes", "", "nccl-environment"),
    "SIMPLE": ("a protocol of NCCL for large messages", _PROTOCOL, "nccl-environment"),
    "IPC": ("inter-process communication: a process uses the memory of a GPU that another process has, by CUDA's "
            "handles", _WAY, "nccl-transport"),
    "CUMEM": ("peer-to-peer between processes by CUDA's virtual memory (cuMem), the newer way beside IPC", _WAY,
              "nccl-transport"),
    "DIRECT POINTER": ("peer-to-peer between GPUs of one process", _WAY, "nccl-transport"),
    "NET": ("over a network card; inside of one box it is the slowest way", _WAY, "nccl-transport"),
    "GDR": ("GPUDirect RDMA: a network card reads and writes a GPU's memory directly", "", "nccl-transport"),
    "GDRDMA": ("GPUDirect RDMA: a network card reads and writes a GPU's memory directly", _WAY, "nccl-transport"),
    "MNNVL": ("multi-node NVLink: NVLink between GPUs of several hosts, as in a rack of GB200", "", "fabric-state"),
    "RANK": ("one of the parties of a collective: mostly one process with one GPU", "", "allreduce-bus"),
    "ALL-REDUCE": ("a collective: every rank gets the sum of what all ranks have", "Engines that are tensor parallel "
                  "(TP) do one for each layer.", "allreduce-bus"),
    "WorkNCCL": ("PyTorch's word for one collective that runs; where it times out, one rank did not come",
                 "", "engine-decisions"),
    "SeqNum": ("in PyTorch's log: which of the collectives, counted from the start", "", "engine-decisions"),
    "OpType": ("in PyTorch's log: the kind of a collective, such as ALLREDUCE", "", "engine-decisions"),
    "REDOP": ("a column of nccl-tests: what is done with the values, mostly sum", "", "bench-figures"),
    "#WRONG": ("a column of nccl-tests: how many values came out wrong; N/A where they were not checked",
               "Run it with -c 1. Any number but 0 is a fault of the data path.", "bench-figures"),
}
