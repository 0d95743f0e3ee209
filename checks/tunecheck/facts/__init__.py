"""Read only: one file per subject turns what a host says into typed facts. Nothing here judges or writes."""
