"""Offers `portmert optimize`: one optimization over given lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands._compiling import announce_compiling
from portmert.tuner.commands._lists import list_options, options_of_test
from portmert.tuner.commands._notice import notice
from portmert.tuner.commands._options import (
    FILE,
    FOLDER,
    Whole,
    executor_option,
    metrics_option,
)
from portmert.tuner.commands._outputs import check_outputs, json_option, print_json
from portmert.tuner.commands._progress import searching, tuning
from portmert.tuner.commands._searching import search_options, take_search
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.files import write_text

if TYPE_CHECKING:
    from portmert import Optimized

_OF_LISTS = ("refs", "source", "ref_links", "ids")
_OF_TEST = ("test_refs", "test_source", "test_ref_links", "test_features")
_OF_REPLICAS = ("replicas", "out_dir", "fresh", "test_lists", *_OF_TEST)
_WITHOUT_POOL = ("also", "ids", "extra_features", "annotator", "length_penalty", "samples")
_OF_TEXTS = ("text", "text_model", "length_penalty", "annotator", "also")


@click.command()
@click.option(
    "--metric",
    "metric",
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="What to tune on, as port or bleu:smooth=add1 (`portmert metrics` lists all), "
    'scores:FILE or command:"PROGRAM ...".',
)
@click.option(
    "--nbest",
    "lists",
    multiple=True,
    type=FILE,
    help="N-best list; repeat to merge several: their order counts, as of equal "
    "hypotheses the first stays.",
)
@list_options
@metrics_option(
    "Say too what this metric makes of the weights; repeat for more.", name="also", option="--also"
)
@click.option(
    "--pool",
    type=FOLDER,
    help="Keep features and statistics of the lists in this folder in place of memory, for lists "
    "larger than that: the result is the same. Used again where lists, references and metric are "
    "the same, else made anew.",
)
@click.option("--features", multiple=True, type=FILE, help="Moses' features.dat, repeatable.")
@click.option("--scores", multiple=True, type=FILE, help="Moses' scores.dat, one a --features.")
@search_options
@click.option(
    "--bootstrap",
    "samples",
    type=Whole(0),
    default=0,
    help="Tune again on so many resampled sets of segments; report how weights vary.",
)
@click.option("--out", type=FILE, help="Where the weights go (JSON).")
@click.option(
    "--replicas",
    type=Whole(1),
    help="Search so often, with different seeds, and average; everything goes to --out-dir.",
)
@click.option(
    "--out-dir",
    type=FOLDER,
    help="Folder of --replicas, in the form that compare takes; an interrupted one goes on.",
)
@options_of_test()
@executor_option
@click.option("--fresh", is_flag=True, help="Remove what --out-dir holds and start over.")
@json_option
def command(
    *,
    lists: tuple[Path, ...],
    features: tuple[Path, ...],
    scores: tuple[Path, ...],
    out: Path | None,
    json_out: Path | None,
    **given: Any,
) -> None:
    """Find the weights under which the lists' best hypotheses score highest.

    Give n-best lists and references, or Moses' features.dat and scores.dat.

    \b
    portmert optimize --metric port --nbest dev.nbest.gz --ref dev.ref --source dev.src \\
        --ref-links dev.links --out weights.json
    portmert optimize --metric bleu --nbest dev.nbest.gz --ref dev.ref --replicas 3 \\
        --test-nbest test.nbest.gz --test-ref test.ref --out-dir runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    announce_compiling()
    check_outputs(out, json_out)
    _check_usage(lists, features, scores, given)
    _check_pool(features, given)
    _check_replicas(out, features, given)
    take_search(given)
    if given["replicas"] is not None:
        del given["samples"], given["also"], given["pool"]
        with tuning(given["annotator"], replicas_on=given["executor"]) as shown:
            shown.pop("sampling", None)
            replicas = portmert.replicate(
                lists, given.pop("refs"), notice=notice, **shown, **given
            )
        if not print_json(json_out, replicas.as_json()):
            click.echo(str(replicas))
            click.echo(f"weights: {given['out_dir'] / 'weights.json'}")
        return
    for name in _OF_REPLICAS:
        del given[name]
    if features:
        for name in (
            *_OF_LISTS,
            *_OF_TEXTS,
            "nbest_format",
            "extra_features",
            "annotation_cache",
            "pool",
        ):
            del given[name]
        with searching() as shown:
            found = portmert.optimize_dat(features, scores, notice=notice, **shown, **given)
    else:
        with tuning(given["annotator"]) as shown:
            found = portmert.optimize(lists, given.pop("refs"), notice=notice, **shown, **given)
    assert out is not None  # noqa: S101  else it is wrong usage
    write_text(out, found.to_json())
    if not print_json(json_out, found.as_json()):
        _show(found, out)


def _check_replicas(out: Path | None, features: tuple[Path, ...], given: dict[str, Any]) -> None:
    if given["replicas"] is None:
        if out is None:
            raise click.UsageError("give --out, or --replicas and --out-dir")
        if any(given[name] for name in _OF_REPLICAS):
            raise click.UsageError(
                "--out-dir, --fresh and the options of a test set need --replicas"
            )
        return
    if given["out_dir"] is None or out is not None:
        raise click.UsageError("--replicas write to --out-dir, not to --out")
    if features or given["samples"] or given["also"]:
        raise click.UsageError("--replicas go with --nbest, without --bootstrap and --also")
    if not given["test_lists"] and any(given[name] for name in _OF_TEST):
        raise click.UsageError("what is said of a test set needs --test-nbest")


def _check_pool(features: tuple[Path, ...], given: dict[str, Any]) -> None:
    if given["pool"] is None:
        return
    if features or given["replicas"] is not None:
        raise click.UsageError("--pool goes with --nbest, without --replicas")
    if given["executor"] != "local":
        raise click.UsageError("--pool goes without --executor: it is searched where it lies")
    if any(given[name] for name in _WITHOUT_POOL):
        raise click.UsageError(
            "--pool goes without --also, --ids, --feature, --annotator, --length-penalty and "
            "--bootstrap"
        )


def _check_usage(
    lists: tuple[Path, ...],
    features: tuple[Path, ...],
    scores: tuple[Path, ...],
    given: dict[str, Any],
) -> None:
    if bool(lists) == bool(features):
        raise click.UsageError("give --nbest and --ref, or --features and --scores")
    if lists and not given["refs"] and portmert.metric(given["metric"]).reads_references:
        raise click.UsageError("--nbest needs --ref")
    if lists and scores:
        raise click.UsageError("--scores goes with --features")
    if features and len(features) != len(scores):
        raise click.UsageError(
            f"{len(features)} --features and {len(scores)} --scores; give one for each"
        )
    if features and any(given[name] for name in _OF_LISTS):
        raise click.UsageError(
            "--features and --scores need no --ref, --source, --ref-links or --ids"
        )
    if given["ref_links"] and given["source"] is None:
        raise click.UsageError("--ref-links need --source to be checked against")
    of_texts = (given[name] for name in _OF_TEXTS)
    of_format = given["extra_features"] or given["nbest_format"] != "auto"
    if features and (any(of_texts) or of_format):
        raise click.UsageError(
            "--text, --text-model, --length-penalty, --annotator, --also, --feature and "
            "--nbest-format go "
            "with --nbest"
        )


def _show(found: Optimized, out: Path) -> None:
    def say(line: str) -> None:
        click.echo(line, err=str(out) == "-")

    shown, search, known = found.metric.shown, found.found, found.annotations
    penalised = (
        "" if found.length_penalty is None else f" with length penalty {found.length_penalty:.4g}"
    )
    unseen = ""
    if found.unseen_score is not None and found.unseen_error is not None:
        unseen = f", unseen {shown(found.unseen_score)} +- {shown(found.unseen_error)}"
    searches = f"{search.line_searches} line searches, " if search.line_searches else ""
    say(
        f"{found.signature}: {shown(found.start_score)} -> "
        f"{shown(found.score)}{unseen}{penalised} (oracle "
        f"{shown(found.oracle_score)}{' of those annotated' if known else ''}; "
        f"{counted(search.hypotheses, 'hypothesis')}, {searches}{found.seconds['total']:.1f} s)"
    )
    if known:
        say(
            f"annotated: {counted(known['annotated'], 'hypothesis')} "
            f"({known['annotated'] / search.hypotheses:.1%}); sentences: {known['hits']} from the "
            f"cache, {known['misses']} new, {known['failed']} without a parse; "
            f"{found.seconds['annotating']:.1f} s; by {found.annotated_by}"
        )
    for other in found.also:
        say(f"also {other}")
    say(f"weights: {out}")
    if found.bootstrap is not None:
        say(found.bootstrap.as_text())
