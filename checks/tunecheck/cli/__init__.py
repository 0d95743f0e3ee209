"""The command: one verb a file. It parses options and calls a use case of app/."""
