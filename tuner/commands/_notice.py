"""Lines for the user that are not results."""

from __future__ import annotations

import click


def notice(line: str) -> None:
    """Show one line on stderr."""
    click.echo(f"portmert: note: {line}", err=True)
