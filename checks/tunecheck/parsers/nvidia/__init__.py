"""What NVIDIA's driver and tools print."""
