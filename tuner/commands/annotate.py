"""Offers `portmert annotate`: tags and parses a text, and trains models for it."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from tuner.commands._annotating import cache_option
from tuner.commands._notice import notice
from tuner.commands._options import FiniteRange, defaulted, renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Need
    from tuner.annotation.annotating import TextAnnotator
    from tuner.annotation.annotators._base import Annotation
    from tuner.annotation.annotators._conllu import Tagset

FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)

LINES_AT_ONCE = 2048
"""So many are held in memory; a line of them is written when all of them are there."""


@click.group(invoke_without_command=True)
@click.option(
    "--annotator",
    "annotator_text",
    metavar="NAME[:OPTION=VALUE,...]",
    help="What tags and parses: udpipe, spacy, bllip ... (docs/how-to/annotators.md).",
)
@click.option("--model", help="Its model; of conllu and ptb, the file.")
@click.option("--in", "text", type=FILE, help="Tokenised text, one segment a line; - is stdin.")
@click.option("--out", type=FILE, help="CoNLL-U (.gz, .xz, .zst too); - is stdout.")
@defaulted(
    "--parses",
    click.IntRange(1),
    1,
    "Write so many weighted parses of each sentence, where the annotator gives them.",
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    type=click.Choice(["tags", "heads", "trees"]),
    help="What to write; repeat for more. Default: all that the annotator gives.",
)
@click.option("--processes", type=click.IntRange(1), help="Worker processes. Default: all cores.")
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
        _refuse_options(ctx)
        return
    if annotator_text is None or text is None or out is None:
        missing = [name for name, value in needed.items() if value is None]
        raise click.UsageError(f"{', '.join(missing)} missing")

    from tuner.annotation.annotating import TextAnnotator  # noqa: PLC0415
    from tuner.annotation.cache import default_folder  # noqa: PLC0415
    from tuner.commands._progress import decoding  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.files import check_writable, read_lines, writing  # noqa: PLC0415
    from tuner.processors import available_processors  # noqa: PLC0415

    check_writable(out)
    lines = [tuple(w.decode() for w in line.encode().split()) for line in read_lines(text)]
    with decoding("annotating") as progress:
        bar = _Bar(len(lines), progress)
        annotator = TextAnnotator(
            registry.annotator(annotator_text, model=model or ""),
            cache=default_folder() if cache is None else cache,
            processes=processes or available_processors(),
            notice=notice,
            progress=bar.part,
            max_failed=max_failed,
        )
        with writing(out) as file:
            _write(file, annotator, lines, bar, parses=parses, needs=layers)
    click.echo(
        f"{len(lines)} lines, {annotator.hits + annotator.misses} different sentences: "
        f"{annotator.hits} from the cache, {annotator.misses} annotated, {annotator.failed} "
        f"without a parse",
        err=True,
    )
    annotator.close()


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
@renamed(
    "--check",
    "test",
    old=["--test"],
    type=FILE,
    help="CoNLL-U: show how much of it the model gets right.",
)
def train(treebank: Path, out: Path, size: str, case: str, test: Path | None) -> None:
    """Train a model of UDPipe on a treebank: a tagger and a parser.

    \b
    portmert annotate train --treebank train.conllu --out model.udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from tuner.annotation.annotators import _udpipe_training as training  # noqa: PLC0415  start-up time
    from tuner.annotation.annotators.udpipe import Udpipe  # noqa: PLC0415

    gold = None if test is None else training.read_test(test)
    count = training.train(treebank, out, size=size, case=case, notice=notice)  # type: ignore[arg-type]  # click has checked
    click.echo(f"{out}: trained on {count} sentences", err=True)
    if gold is None:
        return
    tagsets: dict[str, Tagset] = {"XPOS": "xpos", "UPOS": "upos"}
    for name, tagset in tagsets.items():
        annotator = Udpipe(out, tagset, lowercase=case == "lower")
        found = training.accuracy(annotator, gold, tagset)
        click.echo(f"{name} {100 * found.tags:.1f}")
    click.echo(f"UAS {100 * found.heads:.1f}")
    click.echo(f"LAS {100 * found.links:.1f}")
    click.echo(f"{test}: {found.sentences} sentences, {found.words} words", err=True)


def _write(
    file: IO[bytes],
    annotator: TextAnnotator,
    lines: Sequence[tuple[str, ...]],
    bar: _Bar,
    *,
    parses: int,
    needs: Sequence[Need],
) -> None:
    first = [f"generator = portmert annotate, {annotator.fingerprint}"]
    for begin in range(0, len(lines), LINES_AT_ONCE):
        part = lines[begin : begin + LINES_AT_ONCE]
        bar.begin(begin, len(part))
        answers = annotator.annotations(part, needs=needs, parses=parses)
        for number, (words, answer) in enumerate(zip(part, answers, strict=True), begin + 1):
            if words:
                comments = [*first, f"sent_id = {number}"]
                file.write(_trees(words, answer, comments).encode())
                first = []
        bar.end()


def _trees(words: Sequence[str], answer: Annotation | None, comments: list[str]) -> str:
    """Return the CoNLL-U of one sentence."""
    from tuner.annotation.annotators import _conllu  # noqa: PLC0415  start-up time
    from tuner.errors import InputError  # noqa: PLC0415

    try:
        if answer is None:
            return _conllu.write(words, (), (), [*comments, "unparsed"])
        tree = [f"tree = {answer.tree}"] if answer.tree else []
        if not answer.parses:
            return _conllu.write(words, answer.tags, answer.heads, [*comments, *tree])
        text = []
        for score, heads in answer.parses:
            logprob = [f"parse_logprob = {score!r}"]
            text.append(_conllu.write(words, answer.tags, heads, [*comments, *logprob, *tree]))
            comments, tree = comments[-1:], []
        return "".join(text)
    except ValueError as error:
        raise InputError(f"{comments[-1]}: {error}") from None


class _Bar:
    """Shows one bar for a text that is annotated in parts."""

    def __init__(self, total: int, progress: Callable[[int, int], None]) -> None:
        self._total = total
        self._progress = progress
        self._begin = self._size = self._shown = 0

    def begin(self, begin: int, size: int) -> None:
        self._begin, self._size = begin, size

    def part(self, done: int, total: int) -> None:
        self._show(self._begin + self._size * done // total)

    def end(self) -> None:
        self._show(self._begin + self._size)

    def _show(self, done: int) -> None:
        if done > self._shown:
            self._shown = done
            self._progress(done, self._total)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options before a subcommand: they would mean nothing."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "")
        if given is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[0]} does not go with {ctx.invoked_subcommand}"
            )
