"""Run the demo: one bitext, one decoder, tuned once on BLEU and once on PORT."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import Vocabulary
from portmert.tuner.api.texts import preparing
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError, StateError, counted
from portmert.tuner.base.files import (
    copy_file,
    make_folder,
    read_bytes,
    read_lines,
    shipped,
    write_text,
)
from portmert.tuner.base.warn import notice
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs import replicas
from portmert.tuner.runs.config import Experiment, load_config
from portmert.tuner.runs.experiment import open_folder
from portmert.tuner.texts.corpus import read_references
from portmert.tuner.texts.links import Linker
from portmert.tuner.texts.prepare import Preparation, Prepare
from portmert.tuner.texts.scoring import score_texts
from portmert.tuner.texts.text_pipeline import TextPipeline

SIZES = {"train": 4000, "dev": 200, "test": 300}
"""Sentence pairs: enough for tuning to matter, and few enough for minutes on two cores."""

CONFIGS = {name: f"demo-{name}.toml" for name in ("bleu", "port", "posf", "hwcm", "edpm")}
ALWAYS = ("bleu", "port")
"""The metrics that the demo always tunes on; `also` adds others."""

METRICS = ("bleu", "port", "qmean", "v")
SYNTAX_METRICS = ("bleu", "port", "ter", "posf", "hwcm-f", "edpm")
"""The metrics that score the systems if one is tuned on a metric of syntax."""

SETS = ("test", "dev")
SIDES = {"src": "src", "tgt": "ref"}
"""The sides of the bitext and those of configs/tanaka."""
PACKED = {"train": ".xz"}
TREEBANK = "treebank.conllu"
Scores = dict[str, dict[str, list[float]]]
PAGE = "comparison.html"
ANNOTATOR_MODEL = "treebank.udpipe"


class Demo(NamedTuple):
    """The result of the demo.

    Parameters
    ----------
    metrics
        The names of the metrics that score the systems.
    scores
        System (`untuned`, or the metric it was tuned on) -> set (`test`, `dev`) -> its score by
        each metric, then output length / reference length: means over all tunings.
    identical, segments
        Number of test outputs that are equal in the first tunings on BLEU and on PORT, and of all.
    verdicts
        Sentences on what the comparison of the tuned systems on the test set shows.
    page
        The HTML file of the comparison.
    """

    metrics: tuple[str, ...]
    scores: Scores
    identical: int
    segments: int
    verdicts: tuple[str, ...]
    page: Path


def experiments_in(
    folder: Path,
    *,
    also: Sequence[str] = (),
    overrides: Sequence[str] = (),
    threads: int | None = None,
    fresh: bool = False,
    train: int = SIZES["train"],
    dev: int = SIZES["dev"],
    test: int = SIZES["test"],
) -> dict[str, Experiment]:
    """Write texts and configurations of the demo to `folder`, and check them.

    Parameters
    ----------
    also
        More metrics to tune on, names of `CONFIGS`.
    overrides
        `table.key=value`, for all configurations.
    fresh
        Start over with new configurations and runs; trained models are kept if they fit.
    train, dev, test
        Sentence pairs of the bitext.

    Raises
    ------
    PortmertError
        The folder has other work.
    """
    make_folder(folder)
    corpus = folder / "corpus"
    _make_corpus(corpus, {"train": train, "dev": dev, "test": test}, fresh=fresh)
    names = [*ALWAYS, *(name for name in dict.fromkeys(also) if name not in ALWAYS)]
    if len(names) > len(ALWAYS):
        _train_annotator(corpus / TREEBANK, folder / ANNOTATOR_MODEL)
    experiments = {}
    for name in names:
        config = folder / CONFIGS[name]
        if fresh or not config.exists():
            write_text(config, shipped(f"configs/{config.name}").read_text(encoding="utf-8"))
        experiments[name] = load_config(config, overrides=overrides, threads=threads)
    return experiments


def run_demo(folder: Path, experiments: Mapping[str, Experiment], *, fresh: bool = False) -> Demo:
    """Run the demo, and go on where an earlier demo in `folder` was interrupted."""
    results = {}
    for name, loaded in experiments.items():
        notice(f"tuning on {name.upper()}: portmert tune {loaded.path}")
        _begin(loaded, experiments["bleu"], fresh=fresh)
        results[name] = _tuned(loaded)

    start = {"dev": results["bleu"]["start"], "test": results["bleu"]["start_test"]}
    lists = {"untuned": start, **results}
    annotated = next(
        (experiment for experiment in experiments.values() if experiment.annotator is not None),
        None,
    )
    metrics = METRICS if annotated is None else SYNTAX_METRICS
    annotator, cache = None, None
    if annotated is not None:
        annotator, cache = annotated.annotator, annotated.tune.annotation_cache
    measured = experiments["port"]
    with using(threads=measured.threads, annotation_cache=cache), preparing(annotator) as prepare:
        preparation = prepare(list(map(registry.metric, metrics)), TextPipeline(), None)
        scores, outputs = _score(measured, metrics, preparation, lists)
        notice("comparing the systems")
        runs = [loaded.tune.output for loaded in experiments.values()]
        verdicts, html = _comparison(runs, prepare)
    write_text(folder / PAGE, html)
    identical = sum(a == b for a, b in zip(outputs["bleu"], outputs["port"], strict=True))
    return Demo(metrics, scores, identical, len(outputs["bleu"]), verdicts, folder / PAGE)


def _tuned(loaded: Experiment) -> dict[str, tuple[Path, ...]]:
    """Tune as `portmert tune` does; return the lists of all results, and of the start weights."""
    outcome = replicas.run(loaded)
    results = outcome.results if isinstance(outcome, replicas.Replicas) else (outcome,)
    return {
        "start": (results[0].start_list,),
        "start_test": tuple(filter(None, (results[0].start_test_list,))),
        "dev": tuple(result.dev_list for result in results),
        "test": tuple(result.test_list for result in results if result.test_list is not None),
    }


def _begin(other: Experiment, first: Experiment, *, fresh: bool) -> None:
    """Open the folder of a tuning; copy the lists made under the start weights for the first."""
    before, after = (
        (loaded.decoder, loaded.data, loaded.constraints, loaded.tune.nbest, loaded.tune.weights)
        for loaded in (first, other)
    )
    is_alike = before == after and first.tune.replicas == other.tune.replicas == 1
    with open_folder(other, fresh=fresh) as folder:
        for part in ("iteration-01", "test-start") if is_alike else ():
            made, copied = (path / part / "nbest.gz" for path in (first.tune.output, folder.path))
            if made.exists() and not copied.exists():
                copied.parent.mkdir(exist_ok=True)
                copy_file(made, copied)


def _train_annotator(treebank: Path, model: Path) -> None:
    """Train the model of the configurations that compare syntax, once."""
    if model.exists():
        return
    from .parser import train  # noqa: PLC0415  only here

    notice(f"training a tagger and parser on {treebank}")
    train(treebank, model)


def _comparison(runs: Sequence[Path], prepare: Prepare) -> tuple[tuple[str, ...], str]:
    """Compare the tuned systems on the test set; return sentences, and an HTML page.

    Times are left out, so that the same demo writes the same bytes.
    """
    from portmert.tuner.evaluation.comparison.compare import CompareRequest, compare_systems  # noqa: PLC0415
    from portmert.tuner.evaluation.comparison.report import document_of  # noqa: PLC0415
    from portmert.tuner.evaluation.comparison.sentences import summaries  # noqa: PLC0415
    from portmert.tuner.evaluation.comparison.systems import SystemFiles  # noqa: PLC0415
    from portmert.tuner.evaluation.page.html import html  # noqa: PLC0415  heavy, and only here

    systems = tuple(SystemFiles(None, (run,)) for run in runs)
    request = CompareRequest(systems, prepare=prepare, timing=False)
    document = compare_systems(request)
    return tuple(summaries(document)), html(document_of(document))


def _make_corpus(corpus: Path, sizes: Mapping[str, int], *, fresh: bool) -> None:
    """Write the bitext, unless it is there; StateError if one of another size is."""
    for name, size in () if fresh else sizes.items():
        path = corpus / f"{name}.src"
        if path.exists() and (count := len(read_lines(path))) != size:
            raise StateError(
                f"{path}: holds {counted(count, 'sentence')}, but {size} are asked for; name "
                f"another folder, or give --fresh to start over"
            )
    paths = {(part, side): corpus / f"{part}.{side}" for part in sizes for side in SIDES}
    if not fresh and all(path.exists() for path in (*paths.values(), corpus / TREEBANK)):
        return
    texts = {}
    for (part, side), path in paths.items():
        lines = read_lines(shipped(f"configs/tanaka/{part}.{SIDES[side]}{PACKED.get(part, '')}"))
        if sizes[part] > len(lines):
            raise InputError(
                f"--{part} {sizes[part]}: the demo has {len(lines)} sentence pairs; ask for fewer"
            )
        texts[path] = "".join(f"{line}\n" for line in lines[: sizes[part]])
    numbers = " + ".join(map(str, sizes.values()))
    notice(f"writing a bitext of {numbers} sentence pairs into {corpus}")
    make_folder(corpus)
    for path, text in texts.items():
        write_text(path, text)
    parses = read_bytes(shipped("configs/tanaka/train.conllu.xz")).decode("utf-8")
    write_text(corpus / TREEBANK, parses)


def _score(
    measured: Experiment,
    names: Sequence[str],
    preparation: Preparation,
    lists: Mapping[str, Mapping[str, Sequence[Path]]],
) -> tuple[Scores, dict[str, list[str]]]:
    """Score the output of every system with every metric, with the same links of references.

    Returns the scores, see `Demo`, and the test output of each first tuning.

    Parameters
    ----------
    measured
        The experiment that gives data and aligner.
    names, preparation
        The metrics, and what prepares texts for them.
    lists
        System -> set -> the n-best list of each tuning.
    """
    data = measured.data
    linker = Linker(
        measured.aligner,
        measured.tune.output / "annotations",
        source=data.source,
        references=data.references,
    )
    metrics = [registry.metric(name) for name in names]
    sources = {"dev": data.source, "test": data.test_source or data.source}
    references = {"dev": data.references, "test": data.test_references}
    links = {
        "dev": linker.dev_links(),
        "test": linker.reference_links("test", sources["test"], references["test"]),
    }
    scores: Scores = {name: {} for name in lists}
    outputs: dict[str, list[str]] = {}
    for part in SETS:
        vocabulary = Vocabulary()
        gold = read_references(
            references[part], vocabulary=vocabulary, source=sources[part], links=links[part]
        )
        gold = preparation.references(gold)
        lines = read_lines(sources[part])
        for name, files in lists.items():
            rows = []
            for file in files[part]:
                nbest = read_nbest([file], vocabulary, segments=len(lines))
                texts = nbest.texts.take(nbest.offsets[:-1])
                offsets = np.arange(len(texts) + 1)
                texts = linker.hypothesis_links(texts, offsets=offsets, sources=lines)
                batch = preparation.batch(texts, gold)
                scored = score_texts(metrics, batch, preparation)
                length = texts.tokens.lengths.sum() / gold.texts.tokens.lengths.sum()
                rows.append([*(score.score for score in scored), length])
                if part == "test" and len(rows) == 1:
                    outputs[name] = [" ".join(texts.words(row)) for row in range(len(texts))]
            scores[name][part] = np.mean(rows, axis=0).tolist()
    return scores, outputs
