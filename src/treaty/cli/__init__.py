"""The command line: one command a verb, a file each."""
