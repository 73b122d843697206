"""`portmert mert-moses`: mert-moses.pl's command line and files."""

import click

from portmert.tuner.base.warn import notices_to
from portmert.tuner.commands._outputs import VOICE, announce_compiling

USAGE = """Usage: portmert mert-moses SRC REF DECODER INI [options]

  Tune a Moses system as mert-moses.pl does. The options (and their
  abbreviations) and the files are the same, and either program can --continue
  a folder of the other. REF is a file, or the stem of REF0, REF1, ...

  --working-dir=DIR         folder for all files (mert-work)
  --nbest=N                 size of the n-best lists (100)
  --decoder-flags=STRING    more options for the decoder
  --jobs=N                  decoder processes; each decodes a part of SRC
  --executor=PLACE          where they run: local, dask:ADDRESS, dask-slurm:JOBS
                            or FILE.toml
  --sctype=NAME --scconfig=KEY:VALUE,...
                            the metric, any of `portmert metrics`; may also
                            stand in --mertargs. PORT needs
                            source:FILE,reflinks:FILE
  --mertargs='--type NAME'  the search. powell is our optimizer mert, for the
                            highest score on the lists. The default is bagged,
                            for unseen text; with --historic-bests,
                            --pro-starting-point or --range it is powell
  --closest --average --shortest --nocase
  --text=STEP,STEP          text steps for hypotheses and references (debpe,
                            unescape, ..., as of `portmert score`)
  --pairwise-ranked --batch-mira --batch-mira-args=STRING
  --pro-starting-point --historic-interpolation=F
  --mertargs=STRING --mertmertargs=STRING --extractorargs=STRING
  --proargs=STRING          '--set KEY=VALUE' in these sets an option of our
                            search
  --random-directions --historic-bests --predictable-seeds --threads=N
  --seed=N                  another seed gives other weights that are as good
  --replicas=N              N tunings with different seeds in DIR/replica-1 and
                            so on; they share the first decoding
  --range=NAME:LOW..HIGH,LOW..HIGH   random starting weights
  --activate-features=NAME_0,...     tune these, keep the others
  --prev-aggregate-nbestlist=N       earlier lists to use (-1: all)
  --maximum-iterations=N    (25)
  --minimum-required-change-in-weights=F   (0.00001)
  --required-gain=F         stop when new weights gain at most F standard errors
                            (0: off; 0.5 halves the decodings; `tune`: min_gain)
  --return-best-dev --use-config-weights-for-first-run
  --no-filter-phrase-table  or --filtercmd=STRING --filterfile=FILE (default:
                            Moses' filter-model-given-input.pl, if it is among
                            the scripts beside --mertdir or DECODER)
  --inputtype=N --continue --skip-decoder

  Options that cannot be followed are errors that say why. Options of no use
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
    short_help="Tune Moses in place of mert-moses.pl.",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Tune Moses in place of mert-moses.pl."""
    if context.args in ([], ["-h"], ["--help"]):
        click.echo(USAGE)
        return
    from ._mert_moses_options import read_request  # noqa: PLC0415  start-up time
    from .mert_moses import run  # noqa: PLC0415

    request = read_request(context.args)
    if request is None:
        click.echo(USAGE)
        return
    announce_compiling()
    with notices_to(VOICE.say):
        results = run(request)
    for tuned in results:
        click.echo(f"{request.scorer.metric.signature}: {tuned.score}")
        click.echo(f"tuned: {tuned.path}")
