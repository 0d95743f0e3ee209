"""One incident as a page for the browser."""
