"""Finds texts of an import that cannot all be of one machine and one boot."""
