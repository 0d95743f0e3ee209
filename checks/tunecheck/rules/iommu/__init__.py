"""Checks of translation of the accelerators' addresses."""
