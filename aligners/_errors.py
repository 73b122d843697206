"""Holds the fault of aligners, apart from their base: it is caught where none is loaded."""

PLURALS = {"entry": "entries", "hypothesis": "hypotheses", "search": "searches"}


class AlignerError(Exception):
    """Says in one line what a user can mend: a file, an option or an outside library."""


def counted(count: int, noun: str) -> str:
    """Return a number of things as messages have it: `1 line`, `2 lines`."""
    if count == 1:
        return f"1 {noun}"
    *kind, last = noun.split()
    return " ".join((str(count), *kind, PLURALS.get(last, f"{last}s")))
