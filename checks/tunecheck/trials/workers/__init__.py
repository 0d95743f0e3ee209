"""What runs in a worker, on the GPUs. The parent never imports these."""
