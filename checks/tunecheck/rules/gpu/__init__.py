"""Checks of the boards and what NVML says of them."""
