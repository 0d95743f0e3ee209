"""What happens together on a host, and what happened to its GPUs."""
