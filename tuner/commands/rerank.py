"""`portmert rerank`: the best hypothesis of each segment under given weights."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from tuner.commands._notice import notice


@click.command()
@click.option(
    "--nbest",
    "nbest_paths",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Moses n-best list (plain, .gz, .xz, .zst, or - for stdin); several are merged.",
)
@click.option(
    "--weights",
    "weights_path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Our JSON, a moses.ini, or a runN.dense of mert-moses.pl.",
)
@click.option("--out", default="-", metavar="FILE", help="One hypothesis a line; default stdout.")
@click.option("--links-out", metavar="FILE", help="Their word alignments, `0-0 1-2` a line.")
def command(
    nbest_paths: tuple[str, ...], weights_path: Path, out: str, links_out: str | None
) -> None:
    """Write the best hypothesis of each segment under the weights.

    Of hypotheses with equal scores the first in the list is taken.
    """
    from metrics._base import Vocabulary  # noqa: PLC0415  start-up time
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.files import writing  # noqa: PLC0415
    from tuner.nbest import best_hypotheses, model_scores, read_nbest  # noqa: PLC0415
    from tuner.weights import read_weights  # noqa: PLC0415

    if links_out == out:
        raise click.UsageError("--out and --links-out name the same file")
    announce_compiling()
    weights = read_weights(weights_path)
    nbest = read_nbest(nbest_paths, Vocabulary(), notice=notice)
    links = nbest.texts.links
    if links_out is not None and links is None:
        raise InputError(
            f"{nbest_paths[0]}: the list has no word alignment for --links-out; let the decoder "
            f"print it"
        )
    best = best_hypotheses(nbest, model_scores(nbest, weights, origin=str(weights_path)))
    with ExitStack() as files:
        text = files.enter_context(writing(out))
        text.write("".join(f"{' '.join(nbest.texts.words(row))}\n" for row in best).encode())
        if links_out is not None and links is not None:
            lines = (" ".join(f"{i}-{j}" for i, j in links.row(row)) for row in best)
            file = files.enter_context(writing(links_out))
            file.write("".join(f"{line}\n" for line in lines).encode())
