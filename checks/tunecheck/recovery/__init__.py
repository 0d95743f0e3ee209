"""What is done about a served engine that gives no token any more: evidence, stop, proof, start, acceptance.

`tunecheck watch` sees and asks; `tunecheck recover` does, in a unit of its own, by what watch.on_stall allows."""
