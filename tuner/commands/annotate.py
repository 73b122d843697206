"""`portmert annotate`: tags and parses a text, or trains a model for that."""

from pathlib import Path
from typing import Any

import click

from ..base.errors import counted
from . import _groups
from ._help import CommandGroup
from ._kinds import OUT_FILE
from ._signatures import options

ANNOTATE = "tuner.api.annotating.annotate"
TRAIN = "tuner.api.annotating.train_annotator"
OPTIONAL = {"required": False}


@click.group(cls=CommandGroup, invoke_without_command=True)
@options(
    ANNOTATE,
    "annotator model text--in out parses layers processes",
    annotator=OPTIONAL,
    text={**OPTIONAL, "type": OUT_FILE},
    out={**OPTIONAL, "type": OUT_FILE},
    layers={"type": click.Choice(["tags", "heads", "trees", "roles", "drs"])},
)
@_groups.executor
@options(ANNOTATE, "max_failed annotation_cache")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Tag and parse a text, and write CoNLL-U; or train a model for that.

    \b
    portmert annotate --annotator udpipe --model M --in TEXT --out FILE.conllu
    portmert annotate train --treebank FILE.conllu --out MODEL

    Tags and parses are kept in a cache. An interrupted command continues where it stopped, and
    tuning on the same text does not parse it again. An empty line has no tree.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if ctx.invoked_subcommand is not None:
        _groups.refuse_all_but((), f"does not go with {ctx.invoked_subcommand}")
        return
    needed = {"--annotator": "annotator", "--in": "text", "--out": "out"}
    if missing := [option for option, name in needed.items() if values[name] is None]:
        raise click.UsageError(f"{', '.join(missing)} missing")

    import portmert  # noqa: PLC0415  start-up time

    result = portmert.annotate(**values)
    click.echo(
        f"{counted(result.lines, 'line')}, "
        f"{counted(result.cached + result.annotated, 'different sentence')}: "
        f"{result.cached} from the cache, {result.annotated} annotated, {result.failed} without a "
        f"parse, {result.seconds:.1f} s",
        err=True,
    )


@command.command()
@options(
    TRAIN,
    "treebank out size case check",
    treebank={"type": OUT_FILE},
    out={"type": OUT_FILE},
    check={"type": OUT_FILE},
)
def train(*, out: Path, check: Path | None, **values: Any) -> None:
    """Train a model of UDPipe on a treebank: a tagger and a parser.

    \b
    portmert annotate train --treebank train.conllu --out model.udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    import portmert  # noqa: PLC0415  start-up time

    trained = portmert.train_annotator(out=out, check=check, **values)
    click.echo(f"{out}: trained on {counted(trained.sentences, 'sentence')}", err=True)
    for tagset, accuracy in trained.accuracy.items():
        click.echo(f"{tagset.upper()} {100 * accuracy.tags:.1f}")
    if "upos" in trained.accuracy:  # heads are read off the universal tags
        accuracy = trained.accuracy["upos"]
        click.echo(f"UAS {100 * accuracy.heads:.1f}")
        click.echo(f"LAS {100 * accuracy.links:.1f}")
        click.echo(
            f"{check}: {counted(accuracy.sentences, 'sentence')}, "
            f"{counted(accuracy.words, 'word')}",
            err=True,
        )
