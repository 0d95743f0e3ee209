"""Checks of containers and what services get."""
