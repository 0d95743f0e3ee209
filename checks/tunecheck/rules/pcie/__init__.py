"""Checks of links, switches and how the accelerators relate."""
