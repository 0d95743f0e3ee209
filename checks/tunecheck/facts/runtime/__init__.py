"""Containers, services, and what the box serves."""
