"""The acceptance of a served model as a page for the browser."""
