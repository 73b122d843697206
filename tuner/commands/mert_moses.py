"""`portmert mert-moses`: mert-moses.pl's command line and files."""

from __future__ import annotations

import click

from portmert.tuner.commands._outputs import announce_compiling, decoding, log, notice

USAGE = """Usage: portmert mert-moses SRC REF DECODER INI [options]

  Tune a Moses system as mert-moses.pl does: the same options (abbreviated as
  there), the same files in the same folder, --continue on a folder that
  either of them began. REF is a file, or the stem of REF0, REF1, ...

  --working-dir=DIR         where all files are made (mert-work)
  --nbest=N                 size of the n-best lists (100)
  --decoder-flags=STRING    more switches of the decoder
  --jobs=N                  decoder processes, each of a part of SRC
  --executor=PLACE          where they run: local, dask:ADDRESS, dask-slurm:JOBS
                            or FILE.toml (docs/how-to/cluster.md)
  --sctype=NAME --scconfig=KEY:VALUE,...
                            the metric, also in --mertargs: any of `portmert
                            metrics`; PORT needs source:FILE,reflinks:FILE
  --mertargs='--type NAME'  the search: powell is Moses' own kind, for the
                            highest score on the lists; bagged, for unseen text,
                            where neither this nor a start (--historic-bests,
                            --pro-starting-point, --range) is given
  --closest --average --shortest --nocase
  --pairwise-ranked --batch-mira --batch-mira-args=STRING
  --pro-starting-point --historic-interpolation=F
  --mertargs=STRING --mertmertargs=STRING --extractorargs=STRING
  --proargs=STRING          '--set KEY=VALUE' in these sets our search
  --random-directions --historic-bests --predictable-seeds --threads=N
  --seed=N                  other random numbers, other weights of equal standing
  --replicas=N              N tunings, a seed each, in DIR/replica-1 and so on,
                            from one first decoding
  --range=NAME:LOW..HIGH,LOW..HIGH   random starting weights
  --activate-features=NAME_0,...     tune these, keep the others
  --prev-aggregate-nbestlist=N       earlier lists to use (-1: all)
  --maximum-iterations=N    (25)
  --minimum-required-change-in-weights=F   (0.00001)
  --return-best-dev --use-config-weights-for-first-run
  --no-filter-phrase-table  or --filtercmd=STRING --filterfile=FILE (by default
                            Moses' filter-model-given-input.pl, where it is
                            among the scripts beside --mertdir or DECODER)
  --inputtype=N --continue --skip-decoder

  Options that cannot be honoured are errors that say why; those of no use
  here (--mertdir, --queue-flags, ...) are ignored with a note."""


class _Raw(click.Command):
    """A command whose words are not parsed, as they follow another program's syntax."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep all words."""
        ctx.args = list(args)
        return []

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002  click's signature
        """Return our text."""
        return USAGE


@click.command(
    cls=_Raw,
    add_help_option=False,
    short_help="Tune a Moses system with mert-moses.pl's command line and files.",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Tune a Moses system with mert-moses.pl's command line and files."""
    from portmert.tuner.dropin._request import read_request  # noqa: PLC0415  start-up time
    from portmert.tuner.dropin.mert_moses import run  # noqa: PLC0415

    if context.args in ([], ["-h"]):
        click.echo(USAGE)
        return
    request = read_request(context.args, notice)
    if request is None:
        click.echo(USAGE)
        return
    announce_compiling()
    with decoding() as progress:
        results = run(request, log=log, progress=progress)
    for path, score in results:
        click.echo(f"{request.scorer.metric.signature}: {score}")
        click.echo(f"tuned: {path}")
