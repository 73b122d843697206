"""Run one of these programs: `python -m portmert.tuner.dropin NAME ARGUMENTS`."""

import sys
from importlib import import_module

NAMES = ("evaluator", "extractor", "kbmira", "megam", "mert", "pro")

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in NAMES:
        sys.stderr.write(f"usage: python -m portmert.tuner.dropin {'|'.join(NAMES)} ARGUMENTS\n")
        sys.exit(2)
    program = import_module(f"portmert.tuner.dropin.{sys.argv[1]}")
    sys.exit(program.main(sys.argv[2:]))
