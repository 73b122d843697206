"""Lists and describes metrics: `portmert components metric` by its shorter name."""

import click

from .components import json_option, show


@click.command()
@click.argument("name", required=False)
@json_option
def command(*, name: str | None, as_json: bool) -> None:
    """List metrics, or describe one.

    \b
    Example:
      portmert metrics port:alpha=0.5
    """  # noqa: D301  click's mark of lines that stay as they are
    show("metric", name, as_json=as_json)
