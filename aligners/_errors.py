"""Holds the fault of aligners, apart from their base: it is caught where none is loaded."""

PLURALS = {"entry": "entries", "hypothesis": "hypotheses", "search": "searches"}


class AlignerError(Exception):
    """Says in one line what a user can mend: a file, an option or an outside library."""


def counted(count: int, noun: str) -> str:
    """Return a number of things as messages have it: `1 line`, `2 lines`."""
    return f"{count} {noun if count == 1 else PLURALS.get(noun, f'{noun}s')}"
