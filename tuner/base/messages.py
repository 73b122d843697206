"""Messages name options on the command line, and arguments in Python.

They are written with options, as `give --ref`. The command line leaves out the advice to give an
option that the command lacks; a public function in Python replaces options by arguments.
"""

import re
from contextvars import ContextVar

from .errors import PortmertError

OPTIONS: ContextVar[frozenset[str] | None] = ContextVar("OPTIONS", default=None)
"""The options of the command that is at work; empty for mert-moses, None in Python."""
_ARGUMENTS = {
    "bound": "bounds", "confidence": "level", "drop-missing": "missing='segment'",
    "feature": "features", "fix": "fixed",
    "key": "keys", "layer": "layers", "nbest": "lists", "nbest-format": "format",
    "oracle": "oracle_metric", "ref": "refs", "set": "overrides", "sign": "signs",
    "system": "systems", "tie": "tied", "tune-on": "tuned_on",
}  # fmt: skip
"""Option -> argument, where the name is another."""
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")
_COMMAND_LINE = re.compile(r"(`[^`]*`|\bportmert .*)")


def in_words_of_the_caller(error: PortmertError) -> None:
    """Change the message of an error to what its reader can give. Modified in place."""
    if error.args:
        message, options = str(error), OPTIONS.get()
        if options is None:
            error.args = (with_arguments(message),)
        elif options:
            error.args = (own(message, options),)


def own(message: str, options: frozenset[str]) -> str:
    """Return a message without the advice to give options that the command lacks.

    The advice stands behind semicolons. Text in backquotes, or behind `portmert`, is a command
    line of its own.
    """
    first, *advice = message.split("; ")
    possible = [
        part
        for part in advice
        if options.issuperset(f"--{name}" for name in _OPTION.findall(_COMMAND_LINE.sub("", part)))
    ]
    return "; ".join([first, *possible])


def with_arguments(message: str) -> str:
    """Return a message with arguments in place of options, but in command lines."""
    parts = _COMMAND_LINE.split(message)
    parts[::2] = [_OPTION.sub(lambda match: _argument(match[1]), part) for part in parts[::2]]
    return "".join(parts)


def _argument(option: str) -> str:
    """Return the name of an option in Python: `--test-x` is x of `test`, but for two options."""
    if option.startswith("test-") and option not in ("test-scores", "test-answers"):
        return f"{_argument(option.removeprefix('test-'))} of test"
    return _ARGUMENTS.get(option, option.replace("-", "_"))
