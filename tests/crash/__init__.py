"""Ends the command line at any moment, and takes away what it needs: `make crash`."""
