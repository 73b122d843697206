"""Run one of these programs: `python -m portmert.tuner.dropin NAME ARGUMENTS`."""

import sys
from importlib import import_module

from ..base.interrupts import signals_as_interrupts, status_after
from ..base.warn import shown_messages
from ._program import say

NAMES = ("evaluator", "extractor", "kbmira", "megam", "mert", "pro")

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in NAMES:
        sys.stderr.write(f"usage: python -m portmert.tuner.dropin {'|'.join(NAMES)} ARGUMENTS\n")
        sys.exit(2)
    name = sys.argv[1]

    def show(line: str) -> None:
        """Show a warning on stderr."""
        sys.stderr.write(f"{name}: warning: {line}\n")

    with signals_as_interrupts(), shown_messages(show, say):
        try:
            status = import_module(f"portmert.tuner.dropin.{name}").main(sys.argv[2:])
        except KeyboardInterrupt as error:
            status = status_after(error, name)
    sys.exit(status)
