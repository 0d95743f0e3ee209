"""Checks of the NVIDIA driver in all its parts."""
