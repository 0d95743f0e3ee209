"""Rules about quantization, kernels and speculation."""
