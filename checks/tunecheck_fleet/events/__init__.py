"""What happens together on a host, what happened to its GPUs, and what has to be mended first."""
