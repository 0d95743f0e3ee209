"""What the lab can fail with: sentences for people, never tracebacks."""


class LabError(Exception):
    """The lab cannot do what was asked; the text says what is wrong and how to fix it."""


class NoMeansError(LabError):
    """This machine lacks the means for a lab (a program, the architecture)."""
