"""Run the command line: `portmert`, or `python -m portmert`."""

from __future__ import annotations

from portmert.tuner.cli import main

if __name__ == "__main__":
    main()
