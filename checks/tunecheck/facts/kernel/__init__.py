"""The running kernel, the next boot, processors and memory."""
