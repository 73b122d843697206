"""Shows what `portmert report` says of one run: a document for the page, and plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import portmert
from portmert.tuner.evaluation.history.model import Pass, ReplicaHistory, RunHistory
from portmert.tuner.ground.documents import plain
from portmert.tuner.ground.tables import aligned, fold, inert

COLUMNS = (
    "dev: of the decoder's own best output under the iteration's weights. projected: of the "
    "weights then found, over the lists so far; the next dev score shows what came of it. oracle: "
    "of the best choice of hypotheses from these lists. change: of the weights, 0 to 2."
)
"""What the columns of an iteration mean."""


def document_of(run: RunHistory, test: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a document of a run, as `page.render` takes it.

    Parameters
    ----------
    test
        The comparison of the run's output of its test set with nothing, where there is one.
    """
    alone = {
        "kind": "run",
        "portmert": portmert.__version__,
        "headlines": headlines(run),
        "runs": [plain(run)],
    }
    return {"notes": [], **(test or {}), **alone}


def headlines(run: RunHistory) -> list[str]:
    """Return one sentence on the run, and one on each replica where there are several."""
    lines = [_progress(run, replica) for replica in run.replicas]
    if not lines:
        return [f"{run.name}: nothing has been scored yet"]
    if len(lines) == 1:
        return [f"{run.name}: {lines[0]}"]
    done = [replica for replica in run.replicas if replica.state == "finished"]
    whole = f"{run.name}: {len(done)} of {len(lines)} replicas begun are finished"
    named = zip(run.replicas, lines, strict=True)
    return [whole, *(f"{replica.name}: {line}" for replica, line in named)]


def _progress(run: RunHistory, replica: ReplicaHistory) -> str:
    """Return how far one tuning came."""
    scored = [one for one in replica.passes if one.dev_score is not None]
    if not scored or replica.best is None:
        return f"{replica.state}, nothing scored yet"
    best = replica.passes[replica.best - 1]
    return (
        f"dev {run.metric} {_shown(run, scored[0].dev_score)} → {_shown(run, best.dev_score)} "
        f"in iteration {best.number} of {len(scored)}, {replica.state}"
    )


def as_text(run: RunHistory) -> str:
    """Return the run as aligned tables."""
    labels = [label for label in run.percents or () if label != run.metric]
    columns = ["iteration", "hypotheses", "new", f"dev {run.metric}", "held out", "projected",
               "oracle", "change", *(f"dev {label}" for label in labels)]  # fmt: skip
    is_held_out = any(
        one.held_out_score is not None for replica in run.replicas for one in replica.passes
    )
    left_out = () if is_held_out else (columns.index("held out"),)
    blocks = ["\n".join(headlines(run))]
    for replica in run.replicas:
        table = aligned(
            _without(columns, left_out),
            [_without(_row(run, one, labels), left_out) for one in replica.passes],
            sides="r" * (len(columns) - len(left_out)),
        )
        counts = [one.annotations for one in replica.passes if one.annotations]
        if counts:
            hits, misses, failed = (
                sum(one[key] for one in counts) for key in ("hits", "misses", "failed")
            )
            table += (
                f"\n\nsentences annotated: {hits} from the cache, {misses} new, {failed} without "
                f"a parse"
            )
        state = replica.stopped or replica.doing
        title = f"{replica.name}: {replica.state}" + (f" ({state})" if state else "")
        blocks.append(f"{title}\n\n{table}")
    blocks.append(fold(COLUMNS))
    if run.weights:
        rows = [
            [weight.feature, f"{weight.start:.4f}", f"{weight.mean:.4f}",
             "" if weight.sd is None else f"{weight.sd:.4f}"]
            for weight in run.weights
        ]  # fmt: skip
        table = aligned(
            ["feature", "start", "mean", "s"], [[inert(cell) for cell in row] for row in rows]
        )
        blocks.append(
            f"weights, absolute values adding to 1; s: standard deviation over replicas\n\n{table}"
        )
    blocks += [f"note: {note}" for note in run.notes]
    return inert("\n\n".join(blocks))


def _without(cells: Sequence[str], places: Sequence[int]) -> list[str]:
    """Return the cells but those of these places, safe to print."""
    return [inert(cell) for place, cell in enumerate(cells) if place not in places]


def _row(run: RunHistory, one: Pass, labels: list[str]) -> list[str]:
    percents, scores = run.percents or {}, one.scores or {}
    return [
        str(one.number),
        "" if one.hypotheses is None else str(one.hypotheses),
        "" if one.new is None else str(one.new),
        _shown(run, one.dev_score),
        _shown(run, one.held_out_score),
        _shown(run, one.optimized_score),
        _shown(run, one.oracle_score),
        "" if one.change is None else f"{one.change:.4f}",
        *(_score(scores.get(label), percent=percents.get(label, True)) for label in labels),
    ]


def _shown(run: RunHistory, score: float | None) -> str:
    return _score(score, percent=run.in_percent)


def _score(score: float | None, *, percent: bool) -> str:
    if score is None:
        return ""
    return f"{100 * score:.2f}" if percent else f"{score:.4f}"
