"""`portmert annotate`: tags and parses a text, or trains a model for that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from portmert.tuner.commands._options import (
    FiniteRange,
    Whole,
    cache_option,
    defaulted,
    executor_option,
    refuse_all_but,
)
from portmert.tuner.commands._outputs import decoding, notice
from portmert.tuner.ground.errors import counted

if TYPE_CHECKING:
    from portmert.metrics._base import Need
    from portmert.tuner.annotation.annotators._udpipe_training import Case, Size

FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


@click.group(invoke_without_command=True)
@click.option(
    "--annotator",
    "annotator_text",
    metavar="NAME[:OPTION=VALUE,...]",
    help="The tagger or parser: udpipe, spacy, bllip ... (docs/how-to/annotators.md).",
)
@click.option("--model", help="Its model; of conllu and ptb, the file.")
@click.option("--in", "text", type=FILE, help="Tokenised text, one segment a line; - is stdin.")
@click.option("--out", type=FILE, help="CoNLL-U or JSON lines (.gz, .xz, .zst too); - is stdout.")
@defaulted(
    "--parses",
    Whole(1),
    1,
    "Write this many weighted parses of each sentence, if the annotator gives them.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    type=click.Choice(["tags", "heads", "trees", "roles", "drs"]),
    help="A layer to write; repeat for more. Default: all that the annotator gives. With roles or "
    "drs (discourse representations) the output is JSON lines.",
)
@click.option("--processes", type=Whole(1), help="Worker processes. Default: all cores.")
@executor_option
@defaulted(
    "--max-failed", FiniteRange(0, 1), 0.5, "Stop if a larger share of the sentences has no parse."
)
@cache_option("cache")
@click.pass_context
def command(
    ctx: click.Context,
    annotator_text: str | None,
    model: str | None,
    text: Path | None,
    out: Path | None,
    parses: int,
    layers: tuple[Need, ...],
    processes: int | None,
    executor: str,
    max_failed: float,
    cache: Path | None,
) -> None:
    """Tag and parse a text, and write CoNLL-U; or train a model for that.

    \b
    portmert annotate --annotator udpipe --model M --in TEXT --out FILE.conllu
    portmert annotate train --treebank FILE.conllu --out MODEL

    Answers are kept in the cache: interrupted and started again, it goes on where it was, and
    tuning on the same text need not parse again. An empty line gives no tree.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    needed = {"--annotator": annotator_text, "--in": text, "--out": out}
    if ctx.invoked_subcommand is not None:
        refuse_all_but((), f"does not go with {ctx.invoked_subcommand}")
        return
    if annotator_text is None or text is None or out is None:
        missing = [name for name, value in needed.items() if value is None]
        raise click.UsageError(f"{', '.join(missing)} missing")

    import portmert  # noqa: PLC0415  start-up time

    with decoding("annotating") as progress:
        done = portmert.annotate(
            text,
            out,
            annotator=annotator_text,
            model=model or "",
            parses=parses,
            layers=layers,
            processes=processes,
            executor=executor,
            max_failed=max_failed,
            annotation_cache=cache,
            notice=notice,
            progress=progress,
        )
    click.echo(
        f"{counted(done.lines, 'line')}, "
        f"{counted(done.cached + done.annotated, 'different sentence')}: "
        f"{done.cached} from the cache, {done.annotated} annotated, {done.failed} without a "
        f"parse, {done.seconds:.1f} s",
        err=True,
    )


@command.command()
@click.option("--treebank", required=True, type=FILE, help="CoNLL-U (.gz, .xz, .zst too).")
@click.option("--out", required=True, type=FILE, help="The model.")
@defaulted(
    "--size",
    click.Choice(["micro", "tiny", "full"]),
    "tiny",
    "Seconds on 300 sentences; minutes on 1,500; a quarter of an hour on 200,000 words.",
)
@defaulted(
    "--case",
    click.Choice(["keep", "lower", "both"]),
    "keep",
    "Words as they are, lowercased (for lowercased text), or each sentence both ways.",
)
@click.option(
    "--check",
    "test",
    type=FILE,
    help="CoNLL-U: show how much of it the model gets right.",
)
def train(treebank: Path, out: Path, size: Size, case: Case, test: Path | None) -> None:
    """Train a model of UDPipe on a treebank: a tagger and a parser.

    \b
    portmert annotate train --treebank train.conllu --out model.udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    import portmert  # noqa: PLC0415  start-up time

    done = portmert.train_annotator(treebank, out, size=size, case=case, check=test, notice=notice)
    click.echo(f"{out}: trained on {counted(done.sentences, 'sentence')}", err=True)
    for tagset, found in done.accuracy.items():
        click.echo(f"{tagset.upper()} {100 * found.tags:.1f}")
    if "upos" in done.accuracy:  # heads are read off the universal tags
        found = done.accuracy["upos"]
        click.echo(f"UAS {100 * found.heads:.1f}")
        click.echo(f"LAS {100 * found.links:.1f}")
        click.echo(
            f"{test}: {counted(found.sentences, 'sentence')}, {counted(found.words, 'word')}",
            err=True,
        )
