"""Checks of what the logs and the error registers hold."""
