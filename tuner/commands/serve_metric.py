"""`portmert serve-metric`: a metric for programs that speak METEOR's protocol."""

import os
import sys

import click

import portmert

from ..base.errors import InputError
from . import _outputs


@click.command()
@click.argument("metric_text", metavar="NAME[:OPTION=VALUE,...]")
def command(*, metric_text: str) -> None:
    """Answer each line on stdin with a line on stdout, until stdin ends.

    \b
    SCORE ||| reference ||| reference ||| hypothesis    the statistics of the hypothesis
    EVAL ||| summed statistics                          the score, in 0..1

    \b
    portmert serve-metric bleu

    With it, cdec and other programs that speak METEOR's protocol can use any metric of tokens. A
    metric of word order needs word alignments too, in a last field of SCORE: the number of source
    tokens, then the links of each reference, then those of the hypothesis:

    \b
    SCORE ||| the cat ||| cat the ||| links: 2 ; 0-0 1-1 ; 1-0 0-1
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..components.metric_server import (  # noqa: PLC0415  start-up time
        MOST_IN_A_LINE,
        MetricServer,
    )

    _outputs.announce_compiling()
    server = MetricServer(portmert.metric(metric_text))
    descriptor = sys.stdin.fileno()
    unread = b""
    while chunk := os.read(descriptor, 1 << 16):
        # All lines that have arrived are answered together: this is fast if there are many, and
        # nobody waits who sends one line and listens.
        *lines, unread = (unread + chunk).split(b"\n")
        sys.stdout.writelines(f"{answer}\n" for answer in server.answers(lines))
        sys.stdout.flush()
        if len(unread) > MOST_IN_A_LINE:
            raise InputError(f"stdin: a line of more than {MOST_IN_A_LINE} bytes")
    sys.stdout.writelines(f"{answer}\n" for answer in server.answers([unread] if unread else []))
