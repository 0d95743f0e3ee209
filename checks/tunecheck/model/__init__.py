"""Plain data that everything above passes on: facts, absences, findings, commands, measurements."""
