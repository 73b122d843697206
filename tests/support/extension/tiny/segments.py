"""The command `portmert segments`."""

import click


@click.command()
@click.argument("lists", type=click.Path(exists=True))
@click.option("--format", "form", default="auto", show_default=True)
def command(lists, form):
    """Print the number of segments in the n-best lists LISTS."""
    import portmert  # loads numpy: not for --help

    click.echo(len(portmert.Lists.read(lists, format=form)))
