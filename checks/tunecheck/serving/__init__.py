"""Acceptance of a served model: what a streaming client measured, judged by honest counting."""
