"""Checks of kernel, its command line, the next boot."""
