"""Small mechanisms, each once: whole files, safe reads, processes that end together, late patterns."""
