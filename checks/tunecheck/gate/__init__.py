"""The gate: an inference container starts only on a box whose preflight passed, in this boot, as it is now."""
