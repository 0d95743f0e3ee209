"""The driver in all its parts, and what NVML says of the GPUs."""
