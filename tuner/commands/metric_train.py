"""`portmert metric-train`: learn a metric from human scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.commands._annotating import annotator_options
from tuner.commands._judged import read_outputs
from tuner.commands._lists import pipeline_of, text_options
from tuner.commands._notice import notice
from tuner.commands._numbers import FiniteRange
from tuner.commands._outputs import check_outputs, output_options, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metrics._base import Need
    from metrics._learned import Features
    from tuner.evaluation.metric_training import Condition, Examples
    from tuner.texts.prepare import Preparation
    from tuner.texts.text_pipeline import TextPipeline

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--human",
    "human_path",
    required=True,
    type=_FILE,
    help="Human scores: columns system, segment (from 0), score and document, tabs between.",
)
@click.option(
    "--penalties", is_flag=True, help="The human scores are penalties (HTER): lower is better."
)
@click.option(
    "--outputs",
    required=True,
    type=_FOLDER,
    help="Folder of outputs named after their systems, SYSTEM.en, one segment a line.",
)
@click.option(
    "--ref", "refs", multiple=True, required=True, type=_FILE, help="References; repeat for more."
)
@click.option(
    "--system", "systems", multiple=True, help="Only this system; repeat for more. Default: all."
)
@text_options
@annotator_options
@click.option(
    "--groups",
    metavar="LETTERS",
    help="Features of the metric: E dependency links (needs --annotator), T edits of TERp, P its "
    "paraphrases (needs --paraphrases), N words and word pairs, B lengths. Default: all that can "
    "be.",
)
@click.option("--table", "with_table", is_flag=True, help="Try every set of features that can be.")
@click.option(
    "--parses",
    type=click.IntRange(0, 1000),
    default=50,
    show_default=True,
    help="Of E: best parses of each text; 0 is all, from a parser that knows them.",
)
@click.option(
    "--gamma",
    type=FiniteRange(0, 1),
    default=0.25,
    show_default=True,
    help="Of E: how much better parses count more.",
)
@click.option(
    "--costs",
    type=click.Choice(["terpa", "terph", "ter"]),
    default="terpa",
    show_default=True,
    help="Of T and P: what edits cost when texts are aligned.",
)
@click.option("--language", default="english", show_default=True, help="Of T: whose stems.")
@click.option("--synonyms", type=_FOLDER, help="Of T: the dict folder of WordNet.")
@click.option("--paraphrases", type=_FILE, help="Of P: a table of paraphrases.")
@click.option("--stop-words", type=_FILE, help="Of T: words that are not moved by themselves.")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Deals out documents."
)
@click.option("--out", type=_FILE, help="Write the metric, learnt on all documents, as JSON.")
@output_options
def command(
    *,
    human_path: Path,
    penalties: bool,
    outputs: Path,
    refs: tuple[Path, ...],
    systems: tuple[str, ...],
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    groups: str | None,
    with_table: bool,
    parses: int,
    gamma: float,
    costs: str,
    language: str,
    synonyms: Path | None,
    paraphrases: Path | None,
    stop_words: Path | None,
    seed: int,
    out: Path | None,
    json_out: Path | None,
    latex_out: Path | None,
) -> None:
    """Learn the weights of a metric's features from human scores.

    The table says how well each set of features does on documents it was not learnt on. The file
    of --out is a metric: learned:model=FILE.
    """
    import numpy as np  # noqa: PLC0415  start-up time

    from metrics._learned import Features, Model  # noqa: PLC0415
    from metrics._lexicon_files import content_hash  # noqa: PLC0415
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415
    from tuner.evaluation import metric_training as training  # noqa: PLC0415
    from tuner.evaluation.human_scores import read_human_scores  # noqa: PLC0415
    from tuner.evaluation.metaeval import data  # noqa: PLC0415
    from tuner.files import write_text  # noqa: PLC0415
    from tuner.tables import as_text  # noqa: PLC0415

    resources = {"synonyms": synonyms, "paraphrases": paraphrases, "stop_words": stop_words}
    available = _available(annotator_text, paraphrases)
    chosen = _chosen(groups, available)
    wanted = available if with_table else chosen
    check_outputs(out, json_out, latex_out)
    features = Features(wanted, parses, gamma, costs, language)
    lexicon = _lexicon(features, resources)
    human = read_human_scores(human_path)
    if systems:
        human = human.of_systems(systems)
    if penalties:
        human = human.negated()
    announce_compiling()
    pipeline = pipeline_of(text_steps, text_model)
    ready = _preparation(annotator_text, annotation_cache, features.need, pipeline)
    human, batch = read_outputs(human, outputs, refs, None, None, (), ready, others=bool(systems))
    judged, kept = data.judged(human, batch)
    if judged.documents is None:
        from tuner.errors import InputError  # noqa: PLC0415

        raise InputError(
            f"{human_path}:1: no column 'document'; metrics are tested on documents that they "
            f"were not learnt on"
        )
    if len(kept) < len(human):
        notice(
            f"{len(human) - len(kept)} of {len(human)} segments are left out: not every system "
            f"has a score of them"
        )
    values = features.values(batch, lexicon).reshape(len(batch), len(judged.systems), -1)[kept]
    examples = training.Examples(values, judged.human, judged.lengths)
    second = training.halves(judged.documents, judged.lengths, seed)
    conditions = [
        training.two_fold(examples, second, groups=each, available=wanted)
        for each in (training.all_conditions(available) if with_table else [chosen])
    ]
    documents = tuple(len(np.unique(judged.documents[half])) for half in (~second, second))
    if out is not None:
        own = Features(chosen, parses, gamma, costs, language)
        part = examples.of_features([features.names.index(name) for name in own.names])
        weights = training.train(part, own.names)
        used = {name: path for name, path in resources.items() if path is not None}
        model = Model(
            own,
            tuple(weights.tolist()),
            {name: content_hash(path) for name, path in used.items()},
            _trained(part, weights, conditions, chosen, ready),
        )
        write_text(out, model.text())
    listed = [training.table(conditions, (documents[0], documents[1]))]
    show(
        f"{judged.sizes}\n\n{as_text(listed)}",
        listed,
        {"seed": seed, "conditions": training.as_json(conditions)},
        json_out=json_out,
        latex_out=latex_out,
    )
    if out is not None:
        notice(f"the metric, learnt on all documents, is learned:model={out}")
        if not np.any(weights):
            notice("all its weights are 0: no feature differs between systems as human scores do")


def _available(annotator_text: str | None, paraphrases: Path | None) -> str:
    """Return the groups that what is given is enough for."""
    return "".join(
        group
        for group, there in (
            ("E", annotator_text is not None),
            ("T", True),
            ("P", paraphrases is not None),
            ("N", True),
            ("B", True),
        )
        if there
    )


def _chosen(groups: str | None, available: str) -> str:
    from metrics._learned import checked_groups  # noqa: PLC0415

    if groups is None:
        return available
    try:
        chosen = checked_groups(groups)
    except ValueError as error:
        raise click.UsageError(f"--groups: {error}") from None
    for group, what in (("E", "--annotator"), ("P", "--paraphrases")):
        if group in chosen and group not in available:
            raise click.UsageError(f"--groups {groups}: features {group} need {what}")
    return chosen


def _lexicon(features: Features, resources: Mapping[str, Path | None]) -> Any:
    from tuner.errors import InputError  # noqa: PLC0415

    try:
        return features.lexicon(resources)
    except ValueError as error:
        raise InputError(str(error)) from None


def _preparation(
    annotator_text: str | None, cache: Path | None, need: Need | None, pipeline: TextPipeline
) -> Preparation:
    from tuner.texts.prepare import Preparation  # noqa: PLC0415

    if annotator_text is None or need is None:
        if annotator_text is not None:
            notice("no features of dependency links are asked for: the annotator is not used")
        return Preparation(pipeline)
    from tuner.annotation.annotating import open_annotator  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415
    from tuner.processors import available_processors  # noqa: PLC0415

    opened = open_annotator(
        registry.annotator(annotator_text),
        cache=cache,
        processes=available_processors(),
        notice=notice,
    )
    return Preparation(pipeline, opened, frozenset({need}))


def _trained(
    examples: Examples,
    weights: Any,
    conditions: list[Condition],
    groups: str,
    ready: Preparation,
) -> dict[str, Any]:
    """Return what the file says about itself."""
    from tuner.evaluation import metric_training as training  # noqa: PLC0415

    scores = training.score(examples.values, weights)
    reached = training.agreement(scores, examples.human, examples.lengths)
    return {
        "segments": len(examples.human),
        "systems": examples.human.shape[1],
        "agreement": round(reached, training.DIGITS),
        "two_fold": training.as_json([one for one in conditions if one.groups == groups]),
        "text": ready.pipeline.signature,
        "annotator": "" if ready.annotator is None else ready.annotator.fingerprint,
    }
