"""Tune recorded lists of a real system on BLEU and on PORT; show what changes on a test set."""

from typing import NamedTuple

import numpy as np

from portmert.tuner.api.lists import Lists
from portmert.tuner.api.optimizing import optimize
from portmert.tuner.api.reranking import rerank
from portmert.tuner.api.scoring import score
from portmert.tuner.base.files import read_lines, shipped

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
    segments
        The size of the test set.
    """

    scores: dict[str, list[float]]
    change: Change
    segments: int


def tune_recorded() -> Tuned:
    """Tune on dev lists of the right-to-left system of configs/tanaka; rerank its test lists."""
    dev, test = _lists("dev"), _lists("test")
    outputs = {"first": rerank(test)}
    for metric in TUNED_ON:
        outputs[metric] = rerank(test, optimize(dev, metric))
    source, reference, links = (
        read_lines(_file(f"test.{name}")) for name in ("src", "ref", "links")
    )
    scores = {
        name: score(
            output.lines,
            [reference],
            metric=METRICS,
            source=source,
            hyp_links=output.links,
            ref_links=[links],
        )
        for name, output in outputs.items()
    }
    first, tuned = (scores[name][METRICS.index("chrf")] for name in ("first", "bleu"))
    most = int(np.argmax(abs(tuned.segment_scores - first.segment_scores)))
    lines = (outputs["first"].lines, outputs["bleu"].lines)
    change = Change(*(texts[most] for texts in (source, reference, *lines)))
    values = {name: [each.score for each in of_system] for name, of_system in scores.items()}
    return Tuned(values, change, len(reference))


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
