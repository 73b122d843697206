"""Score weights: decode a set, read its list, add links, compute the metric.

Each step writes a whole file and a file that exists is not made again. So a run that was killed
gets the same values when it goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Texts, Vocabulary

from ..base import errors, streams
from ..base.files import read_lines, write_text
from ..base.warn import collected_warnings, notice, warn
from ..decoders._base import Decoding
from ..nbest.model import NBest
from ..nbest.read import read_nbest
from ..search.list_statistics import statistics_table
from ..search.stat_table import StatTable
from ..search.unseen import scores_without_folds
from ..texts.annotator import TextAnnotator, open_annotator
from ..texts.corpus import References, read_references
from ..texts.links import Linker
from ..texts.prepare import Preparation
from ..texts.statistics import compute_stats, notices
from ..weights.feature_weights import FeatureWeights
from .config import Experiment
from .folder import RunFolder, Shared
from .records import Scored, finish, is_finished, read_file


@dataclass(eq=False, repr=False)
class Evaluator:
    """Decodes and scores the sets of one experiment.

    Parameters
    ----------
    folder
        The folder of the run, for links and the decoder's logs.
    shared
        Folder of links and seed of the segments held out, if replicas share them.

    Attributes
    ----------
    signature
        The metric and all other settings that a score depends on; complete after a first score.
    """

    experiment: Experiment
    folder: RunFolder
    shared: Shared | None = None

    def __post_init__(self) -> None:
        experiment = self.experiment
        self.signature = experiment.metric.signature
        self.vocabulary = Vocabulary()
        # Separate, so that the dev set's grows in one order wherever a run was interrupted.
        self._held_out_vocabulary = Vocabulary()
        self._linked = "links" in experiment.metric.needs
        self.linker = Linker(
            experiment.aligner,
            (self.shared or self.folder).annotations,
            source=experiment.data.source,
            references=experiment.data.references,
        )

    @cached_property
    def preparation(self) -> Preparation:
        """The steps that prepare texts for the metric."""
        experiment = self.experiment

        def opened() -> TextAnnotator | None:
            if experiment.annotator is None:
                return None
            return open_annotator(experiment.annotator, processes=experiment.threads)

        return Preparation.of([experiment.metric], experiment.data.pipeline, opened)

    def close(self) -> None:
        """Close the annotator's cache and the decoder. Do not use the evaluator after it."""
        self.experiment.decoder.close()
        preparation: Preparation | None = self.__dict__.get("preparation")  # maybe not needed
        if preparation is not None and preparation.annotator is not None:
            preparation.annotator.close()

    def decode(
        self,
        weights: FeatureWeights,
        out: Path,
        *,
        source: Path,
        size: int,
        graphs: Path | None = None,
    ) -> None:
        """Decode a set to `out`, and its search graphs to `graphs`."""
        _ = self._checked_sources  # all of them, before anything is decoded
        self.folder.scratch.mkdir(exist_ok=True)
        request = Decoding(source=source, size=size, out=out, workdir=self.folder.scratch)
        if graphs is not None:
            request["graphs"] = graphs
        self.experiment.decoder.decode(weights, **request)

    @cached_property
    def _checked_sources(self) -> tuple[Path, ...]:
        """The texts to decode; raise `InputError` if one does not fit its references."""
        sources = []
        data = self.experiment.data
        for prefix in ("", "held_out_", "test_"):
            source: Path | None = getattr(data, f"{prefix}source")
            references: tuple[Path, ...] = getattr(data, f"{prefix}references")
            if source is not None and references:
                with collected_warnings():
                    read = read_references(references, vocabulary=Vocabulary(), source=source)
                self.experiment.decoder.check_texts(source, read.texts, linked=self._linked)
                sources.append(source)
        return tuple(sources)

    def read(self, path: Path) -> NBest:
        """Read one n-best list of the dev set, with links where the metric needs them."""
        return self._read(path, self.experiment.data.source, self.vocabulary)

    def linked(self, nbest: NBest) -> NBest:
        """Return hypotheses of the dev set with links, where the metric needs them."""
        return self._with_links(nbest, read_lines(self.experiment.data.source))

    def _read(self, path: Path, source: Path, vocabulary: Vocabulary) -> NBest:
        sources = read_lines(source)
        try:
            nbest = read_nbest(
                [path],
                vocabulary,
                segments=len(sources),
                dense=self.experiment.decoder.dense_features,
            )
        except errors.InputError as error:
            decoder = self.experiment.decoder
            raise errors.InputError(
                f"{error}; decoder {decoder.name()}{decoder.of_package()} wrote this list: delete "
                f"it, and it is decoded again"
            ) from None
        return self._with_links(nbest, sources)

    def _with_links(self, nbest: NBest, sources: Sequence[str]) -> NBest:
        if not self._linked:
            return nbest
        texts = self.linker.hypothesis_links(nbest.texts, offsets=nbest.offsets, sources=sources)
        return replace(nbest, texts=texts)

    @cached_property
    def references(self) -> References:
        """The references of the dev set, with links where the metric needs them."""
        return self._references("dev", self.vocabulary)

    @cached_property
    def parts(self) -> tuple[IntArray, IntArray] | None:
        """The dev segments that are tuned on and those held out; None: all are tuned on."""
        share = self.experiment.tune.held_out
        if share == 0:
            return None
        count = len(self.references)
        seed = self.shared.split_seed if self.shared else self.experiment.tune.seed
        tuned, held_out = held_out_split(count, share, seed)
        if not len(tuned):
            raise errors.ConfigError(
                f"{self.experiment.path}: [tune] held_out: {share:g} of "
                f"{errors.counted(count, 'segment')} leaves none to tune on"
            )
        return tuned, held_out

    @property
    def tuned(self) -> IntArray | None:
        """The dev segments tuned on; None: all."""
        return None if self.parts is None else self.parts[0]

    @cached_property
    def folds(self) -> IntArray:
        """The (S,) folds of the segments tuned on, see `Optimizer.folds_of`."""
        count = len(self.references if self.tuned is None else self.tuned)
        seed = streams.iteration(self.experiment.tune.seed, 1)
        return self.experiment.optimizer.folds_of(count, seed)

    def dev(self, nbest: NBest, *, check: bool = True) -> tuple[Scored, Scored | None]:
        """Score the best output of the dev set: of the part tuned on and of the part held out.

        `check` gives the warnings about the texts.
        """
        stats = self._stats(nbest, self.references, check=check)
        tuned = stats if self.tuned is None else stats[self.tuned]
        without = scores_without_folds(self.experiment.metric, tuned, self.folds)
        scored = replace(self._scored(tuned), without=tuple(without.tolist()))
        return scored, None if self.parts is None else self._scored(stats[self.parts[1]])

    def held_out(self, weights: FeatureWeights, folder: Path) -> Scored | None:
        """Decode and score the held-out set that has its own files, if there is one."""
        data = self.experiment.data
        if data.held_out_source is None:
            return None
        out = folder / "held-out.gz"
        if not out.exists():
            self.decode(weights, out, source=data.held_out_source, size=1)
        nbest = self._read(out, data.held_out_source, self._held_out_vocabulary)
        return self._scored(self._stats(nbest, self._held_out_references, check=False))

    def test(self, weights: FeatureWeights, folder: Path, *, under: str = "") -> Scored | None:
        """Decode and score the test set, if there is one; its output goes into `folder`.

        `under` names the weights in the log, if they are not the result.
        """
        data = self.experiment.data
        if data.test_source is None:
            return None
        out, scores = folder / "nbest.gz", folder / "scores.json"
        if not is_finished(scores):
            folder.mkdir(exist_ok=True)
            if not out.exists():
                notice(f"decoding the test set{under}")
                self.decode(weights, out, source=data.test_source, size=1)
            vocabulary = Vocabulary()
            nbest = self._read(out, data.test_source, vocabulary)
            best = nbest.texts.take(nbest.offsets[:-1])
            lines = (" ".join(best.words(row)) + "\n" for row in range(len(best)))
            write_text(folder / "output.txt", "".join(lines))
            scored = self._scored(self._stats(nbest, self._references("test", vocabulary)))
            finish(
                scores, {"metric": self.signature, "score": scored.score, "parts": scored.parts}
            )
        return read_file(scores, Scored)

    def for_metric(self, nbest: NBest) -> tuple[NBest, Callable[[IntArray], Texts] | None]:
        """Return a list with texts as the metric sees them, and a function that annotates them."""
        scored, annotate = self.preparation.lazily(nbest.texts)
        return replace(nbest, texts=scored), annotate

    def statistics(self, nbest: NBest) -> StatTable:
        """Return the statistics of all hypotheses of a list of the dev set."""
        scored, annotate = self.for_metric(nbest)
        return statistics_table(
            scored, self.references, self.experiment.metric, annotate=annotate, check=False
        )

    @cached_property
    def _held_out_references(self) -> References:
        return self._references("held_out", self._held_out_vocabulary)

    def _references(self, name: str, vocabulary: Vocabulary) -> References:
        """Read the references of the set `dev`, `held_out` or `test`."""
        data, prefix = self.experiment.data, "" if name == "dev" else f"{name}_"
        source: Path = getattr(data, f"{prefix}source")
        references: Sequence[Path] = getattr(data, f"{prefix}references")
        links: Sequence[Path] = ()
        if self._linked:
            links = getattr(data, f"{prefix}reference_links")
            links = links or self.linker.reference_links(
                name.replace("_", "-"), source, references
            )
        texts = read_references(references, vocabulary=vocabulary, source=source, links=links)
        return self.preparation.references(texts)

    def _stats(self, nbest: NBest, references: References, *, check: bool = True) -> FloatArray:
        """Return (S, K): the statistics of the first hypothesis of each segment.

        `check` gives the warnings about the texts.
        """
        metric = self.experiment.metric
        batch = self.preparation.batch(nbest.texts.take(nbest.offsets[:-1]), references)
        for line in notices(metric, batch) if check else ():
            warn(line)
        self.signature = self.preparation.signature(metric, references.offsets)
        return compute_stats(metric, batch)

    def _scored(self, stats: FloatArray) -> Scored:
        return Scored.of(self.experiment.metric, stats.sum(axis=0))


def held_out_split(count: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the segments tuned on and those held out, both sorted; at least one is held out."""
    size = max(1, round(share * count))
    order = streams.held_out(seed).permutation(count)
    return np.sort(order[size:]), np.sort(order[:size])
