"""How statements are sent to a database, and what it refuses."""
