"""`portmert annotate`: tags and parses a text, or trains a model for that."""

from pathlib import Path
from typing import Any

import click

from ..base.errors import counted
from . import _options, _outputs
from ._outputs import notice


@click.group(invoke_without_command=True)
@click.option(
    "--annotator",
    metavar="NAME[:OPTION=VALUE,...]",
    help="The tagger or parser, as udpipe, spacy or bllip (docs/how-to/annotators.md).",
)
@click.option(
    "--model", default="", help="Model of the annotator; for conllu and ptb the file of parses."
)
@click.option(
    "--in", "text", type=_options.OUT_FILE, help="Tokenised text, one segment a line; - is stdin."
)
@click.option(
    "--out",
    type=_options.OUT_FILE,
    help="File of CoNLL-U or JSON lines to write (.gz, .bz2, .xz, .zst too); - is stdout.",
)
@_options.defaulted(
    "--parses",
    _options.Whole(1),
    1,
    "Write up to this many weighted parses of each segment, if the annotator has them.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    type=click.Choice(["tags", "heads", "trees", "roles", "drs"]),
    help="What to write; repeat for several. Default: all that the annotator produces. roles and "
    "drs (discourse representations) are written as JSON lines.",
)
@click.option(
    "--processes", type=_options.Whole(1), help="Worker processes. Default: one for each core."
)
@_options.executor
@_options.defaulted(
    "--max-failed",
    _options.FiniteRange(0, 1),
    0.5,
    "Stop if a larger share of the segments has no parse.",
)
@_options.cache("annotation_cache")
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Tag and parse a text, and write CoNLL-U; or train a model for that.

    \b
    portmert annotate --annotator udpipe --model M --in TEXT --out FILE.conllu
    portmert annotate train --treebank FILE.conllu --out MODEL

    Tags and parses are kept in a cache. An interrupted command continues where it stopped, and
    tuning on the same text does not parse it again. An empty line has no tree.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if ctx.invoked_subcommand is not None:
        _options.refuse_all_but((), f"does not go with {ctx.invoked_subcommand}")
        return
    needed = {"--annotator": "annotator", "--in": "text", "--out": "out"}
    if missing := [option for option, name in needed.items() if given[name] is None]:
        raise click.UsageError(f"{', '.join(missing)} missing")

    import portmert  # noqa: PLC0415  start-up time

    with _outputs.decoding("annotating") as progress:
        done = portmert.annotate(notice=notice, progress=progress, **given)
    click.echo(
        f"{counted(done.lines, 'line')}, "
        f"{counted(done.cached + done.annotated, 'different sentence')}: "
        f"{done.cached} from the cache, {done.annotated} annotated, {done.failed} without a "
        f"parse, {done.seconds:.1f} s",
        err=True,
    )


@command.command()
@click.option(
    "--treebank",
    required=True,
    type=_options.OUT_FILE,
    help="Treebank to train on, in CoNLL-U (.gz, .bz2, .xz, .zst too).",
)
@click.option("--out", required=True, type=_options.OUT_FILE, help="File for the model.")
@_options.defaulted(
    "--size",
    click.Choice(["micro", "tiny", "full"]),
    "tiny",
    "How much to train on: micro, 300 sentences, takes seconds; tiny, 1,500, takes minutes; full "
    "takes all, a quarter of an hour for 200,000 words.",
)
@_options.defaulted(
    "--case",
    click.Choice(["keep", "lower", "both"]),
    "keep",
    "Train on words as they are, lowercased (for lowercased text), or on both.",
)
@click.option(
    "--check",
    type=_options.OUT_FILE,
    help="CoNLL-U on which the model's accuracy is measured.",
)
def train(*, out: Path, check: Path | None, **given: Any) -> None:
    """Train a model of UDPipe on a treebank: a tagger and a parser.

    \b
    portmert annotate train --treebank train.conllu --out model.udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    import portmert  # noqa: PLC0415  start-up time

    done = portmert.train_annotator(out=out, check=check, notice=notice, **given)
    click.echo(f"{out}: trained on {counted(done.sentences, 'sentence')}", err=True)
    for tagset, found in done.accuracy.items():
        click.echo(f"{tagset.upper()} {100 * found.tags:.1f}")
    if "upos" in done.accuracy:  # heads are read off the universal tags
        found = done.accuracy["upos"]
        click.echo(f"UAS {100 * found.heads:.1f}")
        click.echo(f"LAS {100 * found.links:.1f}")
        click.echo(
            f"{check}: {counted(found.sentences, 'sentence')}, {counted(found.words, 'word')}",
            err=True,
        )
