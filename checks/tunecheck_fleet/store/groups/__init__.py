"""Who is in which group, and with whom it is compared there."""
