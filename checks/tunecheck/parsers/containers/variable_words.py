"""What the environment variables do that a page or a recipe names: of NCCL, CUDA, the serving engines, and of
tunecheck itself. Sources: NCCL's user guide and NVIDIA/nccl 2.30.7, CUDA's programming guide, the engines' own pages;
read 2026-11."""

from __future__ import annotations

__all__ = ["VARIABLES", "variable_of"]

_LAUNCHER = ("a setting that the launcher in a recipe's image takes in place of an option",
             "The recipe says its value, and the image what it does: tunecheck recipe show ID.")
_HOOK = "See docs/fleet.md."
#: Name -> (what it does, what to do or to know).
VARIABLES: dict[str, tuple[str, str]] = {
    "NCCL_P2P_LEVEL": ("how far apart two GPUs may be for NCCL to copy directly between them (peer-to-peer)",
                       "Without it NCCL goes up to PXB, and copies through the host's memory (SHM) beyond; SYS allows "
                       "every pair. Where a model needs more GPUs than lie below one switch: set NCCL_P2P_LEVEL=SYS, "
                       "and measure with and without it (allreduce-bus). NCCL ignores a value that it does not know, "
                       "as NODE."),
    "NCCL_P2P_DISABLE": ("1: NCCL copies nothing directly between GPUs, all goes through the host",
                         "A workaround for hangs; take it out once peer traffic is proven."),
    "NCCL_NET_GDR_LEVEL": ("how far apart a GPU and a network card may be for GPUDirect RDMA", ""),
    "NCCL_SHM_DISABLE": ("1: NCCL does not use the host's shared memory between GPUs", ""),
    "NCCL_MIN_NCHANNELS": ("the least number of channels that NCCL uses for a collective",
                           "More channels can fill more of a PCIe link: measure with and without it."),
    "NCCL_IB_DISABLE": ("1: NCCL does not use InfiniBand or RoCE", "Right on a single box."),
    "NCCL_PROTO": ("which protocols NCCL may use (LL, LL128, Simple)",
                   "LL alone forbids those for large messages."),
    "NCCL_GRAPH_FILE": ("a file with the paths that NCCL is to use", "It fits the set of GPUs that it was made for."),
    "NCCL_ALLOC_P2P_NET_LL_BUFFERS": ("1: NCCL keeps buffers of its LL protocol for point-to-point over a network", ""),
    "NCCL_DEBUG": ("how much NCCL logs; INFO shows which way each pair of GPUs takes",
                   "Give that log to tunecheck preflight --from."),
    "NCCL_RAS_ENABLE": ("0: NCCL starts no thread that says which rank does not answer", "See docs/watch.md."),
    "NCCL_RAS_ADDR": ("where NCCL's RAS thread listens (default: localhost:28028)", "See docs/watch.md."),
    "NCCL_DEBUG_SUBSYS": ("which parts of NCCL log; INIT and P2P show the way of each pair", ""),
    "CUDA_VISIBLE_DEVICES": ("which GPUs a process sees, and in which order, by number or UUID",
                             "With CUDA_DEVICE_ORDER=PCI_BUS_ID the numbers are those of nvidia-smi."),
    "CUDA_DEVICE_ORDER": ("how CUDA numbers GPUs; PCI_BUS_ID: as nvidia-smi does",
                          "Without it CUDA puts the fastest board first."),
    "CUDA_LAUNCH_BLOCKING": ("1: every kernel launch waits for its end", "It is for debugging; take it out."),
    "PYTORCH_CUDA_ALLOC_CONF": ("how PyTorch's allocator divides a GPU's memory",
                                "expandable_segments:True breaks custom all-reduce over CUDA IPC."),
    "PYTORCH_ALLOC_CONF": ("the newer name of PYTORCH_CUDA_ALLOC_CONF", ""),
    "OMP_NUM_THREADS": ("so many CPU threads each process takes for its parallel loops",
                        "Several processes with the default, all cores, are in each other's way."),
    "SAFETENSORS_FAST_GPU": ("1: model files are loaded straight onto the GPU", ""),
    "VLLM_WORKER_MULTIPROC_METHOD": ("how vLLM starts its workers: fork or spawn",
                                     "spawn is needed where CUDA was in use before."),
    "VLLM_USE_DEEP_GEMM": ("0: vLLM does not use the DeepGEMM kernels", ""),
    "VLLM_MOE_FORCE_MARLIN": ("no variable that vLLM reads", "The option is --moe-backend marlin."),
    "SGLANG_ENABLE_SPEC_V2": ("True: SGLang's newer way of speculative decoding", ""),
    "HF_ENDPOINT": ("the address of the hub that models come from (default: https://huggingface.co)",
                    "tunecheck recipe pin asks it: docs/recipes.md."),
    "HF_TOKEN": ("the token for the hub that models come from", "It is sent to HF_ENDPOINT alone."),
    "DOCKER_HOST": ("the socket or address of the Docker daemon", ""),
    "ANSIBLE_FORKS": ("how many hosts Ansible works on at the same time", "See docs/rollout.md."),
    "ANSIBLE_HOST_KEY_CHECKING": ("False: ssh does not check a host's key", "Leave it on."),
    "NO_COLOR": ("set to anything: no colours on a terminal", ""),
    "XDG_STATE_HOME": ("the folder for what programs of a user keep (default: ~/.local/state)",
                       "The store of who is not root is below it."),
    "TUNECHECK_STORE": ("the file or the address in which the fleet's history is kept", "As --store: docs/fleet.md."),
    "TUNECHECK_FLEET_KEY": ("the file of the key by which secrets are compared without being kept", _HOOK),
    "TUNECHECK_WEBHOOK": ("the address that an audit tells of what is new", _HOOK),
    "TUNECHECK_WEBHOOK_SECRET": ("the secret by which a receiver knows that a message is of this fleet", _HOOK),
    "TUNECHECK_BMC_USER": ("the user by which a play reaches a box's BMC", "See roles/boot_trial/README.md."),
    "TUNECHECK_BMC_PASSWORD": ("the password of that user of a BMC", "See roles/boot_trial/README.md."),
    "TUNECHECK_API_KEY": ("the key that a served model asks for", "See docs/accept.md."),
    **dict.fromkeys((
        "CACHE_MODE", "CUDAGRAPH_MODE", "DCP", "FAIRNESS_ENGINE", "GPU_MEMORY_UTILIZATION", "HARDWARE_PROFILE",
        "KV_CACHE_QUANT", "MAX_MODEL_LEN", "MAX_NUM_BATCHED_TOKENS", "MAX_NUM_SEQS", "MODEL", "MTP_DEPTH", "PORT",
        "PREFILL_COMPUTE_SHARE", "PREFILL_SCHEDULE_INTERVAL", "SPECULATOR"), _LAUNCHER),
}


def variable_of(text: str) -> str:
    """Return the name of the variable that is meant: NCCL_P2P_LEVEL, also of ``$NCCL_P2P_LEVEL``, ``nccl_p2p_level``
    and ``NCCL_P2P_LEVEL=SYS``; "" where none is. A name of one word alone, as PORT, is meant in capitals only."""
    name = text.strip().removeprefix("$").partition("=")[0]
    name = name.upper() if "_" in name else name
    return name if name in VARIABLES else ""
