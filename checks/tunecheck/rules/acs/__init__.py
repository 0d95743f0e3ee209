"""Checks of who sends peer traffic up."""
