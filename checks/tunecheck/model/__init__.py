"""Plain data that all the folders above this one pass on: facts, absences, findings, commands, measurements."""
