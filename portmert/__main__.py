"""Runs the command line: `portmert`, or `python -m portmert`."""

from __future__ import annotations

import sys

from portmert._shadowed import shadowed


def main() -> None:
    """Run the command, unless packages of others would be run in the place of ours."""
    fault = shadowed()
    if fault:
        sys.exit(f"portmert: error: {fault}")
    from tuner.cli import main as command  # noqa: PLC0415  only ours

    command()


if __name__ == "__main__":
    main()
