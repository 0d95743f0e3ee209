"""Checks of what trials measured."""
