"""The box's side of push: a spool, and the way to the receiver."""
