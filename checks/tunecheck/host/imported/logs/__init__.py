"""Kernel logs of an import: what is one, which lines are of which boot, and which are of several machines."""
