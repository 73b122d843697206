"""Tune recorded lists of a real system on BLEU and on PORT; show what changes on a test set."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..api.lists import Lists
from ..api.optimizing import optimize
from ..api.reranking import Reranked, rerank
from ..api.scoring import score
from ..base.files import read_lines, shipped

METRICS = ("bleu", "port", "chrf")
TUNED_ON = ("bleu", "port")


class Change(NamedTuple):
    """A sentence of the test set whose translation changes."""

    source: str
    reference: str
    first: str
    tuned: str


class Tuned(NamedTuple):
    """The result on the test set.

    Parameters
    ----------
    scores
        System (`first`, or the metric it was tuned on) -> its score by each of `METRICS`.
    change
        The sentence for which chrF changes most between the first hypotheses and those that tuning
        on BLEU chooses.
    """

    scores: dict[str, list[float]]
    change: Change


@cache
def tune_recorded() -> Tuned:
    """Tune on dev lists of the right-to-left system of configs/tanaka; rerank its test lists."""
    dev, test = _lists("dev"), _lists("test")
    outputs = {"first": rerank(test)}
    for metric in TUNED_ON:
        outputs[metric] = rerank(test, optimize(dev, metric))
    known = {name: read_lines(_file(f"test.{name}")) for name in ("src", "ref", "links")}
    scores = {
        name: [
            found.score
            for found in score(
                output.lines,
                [known["ref"]],
                metric=METRICS,
                source=known["src"],
                hyp_links=output.links,
                ref_links=[known["links"]],
            )
        ]
        for name, output in outputs.items()
    }
    changes = _changes(outputs["first"], outputs["bleu"], known["src"], known["ref"])
    return Tuned(scores, max(changes, key=_size))


def _changes(
    first: Reranked, tuned: Reranked, source: list[str], references: list[str]
) -> Iterator[Change]:
    rows = zip(source, references, first.lines, tuned.lines, strict=True)
    return (change for row in rows if (change := Change(*row)).first != change.tuned)


def _size(change: Change) -> float:
    """Return how much chrF changes, up or down."""
    before, after = (
        score([line], [[change.reference]], metric="chrf").score
        for line in (change.first, change.tuned)
    )
    return abs(after - before)


def _lists(part: str) -> Lists:
    return Lists.read(
        _file(f"r2l.{part}.nbest.gz"),
        refs=_file(f"{part}.ref"),
        source=_file(f"{part}.src"),
        ref_links=[_file(f"{part}.links")],
        features=["length", f"qe={_file(f'r2l.{part}.qe.gz')}"],
    )


def _file(name: str) -> str:
    return str(shipped(f"configs/tanaka/{name}"))
