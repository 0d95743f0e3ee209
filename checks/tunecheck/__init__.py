"""tunecheck: prove that an inference host really is what its specification says."""

__version__ = "0.1.0"
