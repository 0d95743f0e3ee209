"""Serving recipes: what is served, from which pinned image and model revision, and what it is expected to do."""
