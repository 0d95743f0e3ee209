"""The receiver of `tunecheck push`: snapshots come in over HTTPS, and audits come out of them.

    request -> app (who, how large, how long) -> inbox (the newest snapshot of each host, on disk) -> writer -> store

A push is answered once its snapshot is checked and on disk in the inbox. The store hears of it later, in one go: a
window opens with the first snapshot that waits, and closes when every known host has pushed, or after --window (1 h).
Then the writer opens one audit (trigger "push") of all hosts that have a token, puts what waits, notes who was silent,
and finishes it within seconds. Why not put each push at once: spans are ordered by audits, so an audit that stays open
for an hour would keep every other audit of that store out, or be overtaken by it. Within a window the newest snapshot
of a host counts. What waits survives a kill: an audit that was being written then is written anew, as another one.

A host is who its token (or client certificate) says, never who the body says. Nothing that was sent is executed, or
used as a path, or logged.
"""
