"""Run one of these programs: `python -m portmert.tuner.dropin NAME ARGUMENTS`."""

import sys
from importlib import import_module

if __name__ == "__main__":
    program = import_module(f"portmert.tuner.dropin.{sys.argv[1]}")
    sys.exit(program.main(sys.argv[2:]))
