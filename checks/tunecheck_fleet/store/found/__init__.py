"""What checks found: written, read again, and which warnings came with GPUs."""
