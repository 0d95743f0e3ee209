"""The verbs of the control node, one a file."""
