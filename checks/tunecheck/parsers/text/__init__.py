"""Text and bytes of any kind: limits, pasted text, secrets, names to replace, tar."""
