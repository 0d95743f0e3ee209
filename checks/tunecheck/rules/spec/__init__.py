"""Checks of the desired state itself."""
