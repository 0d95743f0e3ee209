"""A machine known only from texts that somebody posted."""
