"""A stand-in for a tensor-parallel engine on real GPUs, and its faults."""
