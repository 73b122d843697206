"""Names faults a user can mend. The command line prints one line for them and exits with status 1.

PortmertError
├── InputError     a file, line or segment that does not say what it should
├── ConfigError    a configuration key, option or component name
├── ProgramError   an outside program or library that failed
│   └── AnnotatorError    an annotator that cannot work
└── StateError     a run folder that does not fit what is asked of it

Aligners know nothing of this package and have a fault of their own: they are called within
`aligner_faults`. `ValueError` stays what it is everywhere: a wrong call, that is, a fault of the
calling program.
"""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aligners._errors import AlignerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class PortmertError(Exception):
    """Covers all faults that a user can mend; its text is one line."""


class InputError(PortmertError):
    """Says that input is not what it should be: `where: found, expected, what to do`."""


class ConfigError(PortmertError):
    """Says that a configuration key, an option or the name of a component is wrong."""


class ProgramError(PortmertError):
    """Says that an outside program or embedded library failed."""


class AnnotatorError(ProgramError):
    """Says that an annotator cannot work (no library, no model, a crash), and what to do."""


class StateError(PortmertError):
    """Says that a run folder or saved state does not fit what is asked of it."""


@contextmanager
def aligner_faults() -> Iterator[None]:
    """Turn the fault of an aligner into a `ProgramError`."""
    try:
        yield
    except AlignerError as error:
        raise ProgramError(str(error)) from None


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known name; all of them if none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(names)}" if names else ""
