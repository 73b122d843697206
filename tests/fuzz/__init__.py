"""Throws damaged input at the command line: `make fuzz`."""
