"""The demo: one bitext, one decoder, tuned once on BLEU and once on PORT, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

import tuner
from metrics._base import Vocabulary
from tuner import experiment, registry
from tuner.config import load_config
from tuner.corpus import make_batch, read_references
from tuner.demo.bitext import write_bitext
from tuner.errors import StateError
from tuner.files import read_lines, write_text
from tuner.links import Linker
from tuner.nbest import read_nbest
from tuner.scoring import score_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from metrics._base import Texts
    from tuner.config import Experiment
    from tuner.decoders._base import Progress

SIZES = {"train": 4000, "dev": 200, "test": 200}
"""Sentence pairs: enough that tuning matters, few enough for five minutes on two cores."""

SEED = 1
"""Of the bitext; that of tuning stands in the configurations."""

CONFIGS = {"bleu": "demo-bleu.toml", "port": "demo-port.toml"}
METRICS = ("bleu", "port", "qmean", "v")
SETS = ("dev", "test")


@dataclass(frozen=True)
class System:
    """One system's scores.

    Parameters
    ----------
    name
        `untuned`, or the metric it was tuned on.
    scores
        Set (`dev`, `test`) -> metric, or `length` (output length / reference length) -> value.
    """

    name: str
    scores: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Demo:
    """What the demo found.

    Parameters
    ----------
    systems
        Untuned, tuned on BLEU, tuned on PORT.
    identical, segments
        Number of test outputs that are the same in both tuned systems; of all.
    """

    systems: tuple[System, ...]
    identical: int
    segments: int


def run_demo(
    folder: Path,
    *,
    log: Callable[[str], None],
    progress: Progress,
    overrides: Sequence[str] = (),
    threads: int | None = None,
    fresh: bool = False,
    train: int = SIZES["train"],
    dev: int = SIZES["dev"],
    test: int = SIZES["test"],
) -> Demo:
    """Run the demo in `folder`, going on where an earlier demo there was interrupted.

    Parameters
    ----------
    overrides
        `table.key=value`, for both configurations.
    fresh
        Start over: configurations and runs; trained models are kept, they say what they are of.
    train, dev, test
        Sentence pairs of the bitext.

    Raises
    ------
    PortmertError
        The folder holds other work.
    """
    corpus, untuned = folder / "corpus", folder / "untuned" / "nbest.gz"
    if fresh:
        untuned.unlink(missing_ok=True)
    else:
        _check_sizes(corpus, {"train": train, "dev": dev, "test": test})
    parts = [corpus / f"{part}.{side}" for part in SIZES for side in ("src", "tgt")]
    if fresh or not all(part.exists() for part in parts):
        log(f"writing a bitext of {train} + {dev} + {test} sentence pairs into {corpus}")
        corpus.mkdir(parents=True, exist_ok=True)
        write_bitext(corpus, train=train, dev=dev, test=test, seed=SEED)
    experiments, results = {}, {}
    for metric, name in CONFIGS.items():
        config = folder / name
        if fresh or not config.exists():
            write_text(config, shipped_config(name))
        experiments[metric] = load_config(config, overrides=overrides, threads=threads)
    for metric, loaded in experiments.items():
        log(f"tuning on {metric.upper()}: portmert tune {loaded.path}")
        results[metric] = experiment.run(loaded, log=log, progress=progress, fresh=fresh)

    if not untuned.exists():
        log("decoding the test set with the start weights")
        untuned.parent.mkdir(exist_ok=True)
        decoder = experiments["bleu"].decoder
        decoder.decode(
            decoder.read_weights(),
            source=experiments["bleu"].data.test_source or folder,
            size=1,
            out=untuned,
            workdir=untuned.parent,
            progress=progress,
        )
    lists = {"untuned": {"dev": results["bleu"].start_list, "test": untuned}}
    for metric, result in results.items():
        lists[metric] = {"dev": result.dev_list, "test": result.test_list or folder}
    return _compare(experiments["port"], lists, log)


def _check_sizes(corpus: Path, sizes: Mapping[str, int]) -> None:
    """Refuse to write another bitext over the one that earlier work was made with."""
    for name, size in sizes.items():
        path = corpus / f"{name}.src"
        if path.exists() and (found := len(read_lines(path))) != size:
            raise StateError(
                f"{path}: holds {found} sentences, asked for are {size}; "
                f"name another folder, or give --fresh to start over"
            )


def shipped_config(name: str) -> str:
    """Return the text of a configuration of configs/, from a source tree or an installed wheel."""
    packaged = resources.files("tuner.demo") / "configs" / name
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    package = resources.files(tuner)
    return (package / ".." / "configs" / name).read_text(encoding="utf-8")


def _compare(
    measured: Experiment, lists: Mapping[str, Mapping[str, Path]], log: Callable[[str], None]
) -> Demo:
    """Score the output of every system with every metric, all with the same links of references.

    Parameters
    ----------
    measured
        The experiment whose data and aligner are used.
    lists
        System -> set -> n-best list.
    """
    data = measured.data
    annotator = Linker(
        measured.aligner,
        measured.tune.output / "annotations",
        source=data.source,
        references=data.references,
        notice=log,
    )
    sources = {"dev": data.source, "test": data.test_source or data.source}
    references = {"dev": data.references, "test": data.test_references}
    links = {
        "dev": annotator.dev_links(),
        "test": annotator.test_links(sources["test"], references["test"]),
    }
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in lists}
    outputs: dict[str, list[str]] = {}
    for part in SETS:
        vocabulary = Vocabulary()
        gold = read_references(
            references[part], vocabulary=vocabulary, source=sources[part], links=links[part]
        )
        lines = read_lines(sources[part])
        for name, files in lists.items():
            nbest = read_nbest([files[part]], vocabulary, segments=len(lines))
            texts = nbest.texts.take(nbest.offsets[:-1])
            offsets = np.arange(len(texts) + 1)
            texts = annotator.hypothesis_links(texts, offsets=offsets, sources=lines)
            found = score_texts(
                [registry.metric(metric) for metric in METRICS],
                make_batch(texts, offsets, gold),
                lowercase=False,
                threads=measured.threads,
            )
            scores[name][part] = {
                metric: score.score for metric, score in zip(METRICS, found, strict=True)
            }
            scores[name][part]["length"] = _length_ratio(texts, gold.texts)
            outputs[name] = [" ".join(texts.words(row)) for row in range(len(texts))]
    return Demo(
        tuple(System(name, found) for name, found in scores.items()),
        sum(a == b for a, b in zip(outputs["bleu"], outputs["port"], strict=True)),
        len(outputs["bleu"]),
    )


def _length_ratio(texts: Texts, references: Texts) -> float:
    """Return output length / reference length; the demo has one reference a segment."""
    return float(texts.tokens.lengths.sum() / references.tokens.lengths.sum())
