"""What the kernel, its boot loaders and its logs print."""
