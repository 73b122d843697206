"""Holds the fault of aligners, apart from their base: it is caught where none is loaded."""


class AlignerError(Exception):
    """Says in one line what a user can mend: a file, an option or an outside library."""
