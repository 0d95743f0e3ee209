"""Trials inside the inference image: the container from outside and from inside."""
