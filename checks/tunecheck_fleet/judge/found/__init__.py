"""What was found on a host before, and what is told of it now."""
