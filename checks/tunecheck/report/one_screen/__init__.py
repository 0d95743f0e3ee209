"""What the report on one screen consists of: what fits, and the next step."""
