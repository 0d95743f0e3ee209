"""What only one host can have, and several do: now, at the audit before, and ever."""
