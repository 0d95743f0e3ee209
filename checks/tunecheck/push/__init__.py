"""The box's side of push: the spool of snapshots, and how they get to the receiver."""
