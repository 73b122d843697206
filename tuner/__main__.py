"""`python -m tuner` is the `portmert` command."""

from tuner.cli import main

main()
