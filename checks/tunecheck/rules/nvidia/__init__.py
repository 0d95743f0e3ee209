"""What checks of several families ask about NVIDIA's driver, and what NVML and nvidia-smi say of the GPUs."""
