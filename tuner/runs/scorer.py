"""Score weights: decode a set, read its list, add links, compute the metric.

Each step writes a whole file and a file that exists is not made again. So a run that was killed
gets the same values when it goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Texts, Vocabulary

from ..base import documents, errors, streams
from ..base.files import file_digest, read_lines, text_digest, write_text
from ..base.warn import notice, warn
from ..decoders._base import Decoding
from ..nbest.model import NBest
from ..nbest.read import read_nbest
from ..search.unseen import worths_without
from ..texts.annotator import TextAnnotator, open_annotator
from ..texts.corpus import References, read_references
from ..texts.links import Linker
from ..texts.prepare import Preparation
from ..texts.statistics import compute_stats, finite_scores, notices
from ..weights.feature_weights import FeatureWeights
from .config import Experiment
from .folder import ANNOTATION_NAME


@dataclass(frozen=True)
class Scored:
    """The score of one translation of a whole set.

    Parameters
    ----------
    score
        On the metric's own scale.
    parts
        The parts that papers tabulate: precisions, penalties, lengths.
    without
        The objective without each fold of `Evaluator.folds`, of the segments tuned on.
    """

    score: float
    parts: dict[str, float]
    without: tuple[float, ...] = ()


@dataclass(eq=False, repr=False)
class Evaluator:
    """Decodes and scores the sets of one experiment.

    Parameters
    ----------
    annotations
        Folder of links.
    scratch
        Folder of the decoder's logs.
    split_seed
        Seed that chooses the segments held out.

    Attributes
    ----------
    signature
        The metric and all other settings that a score depends on; complete after a first score.
    """

    experiment: Experiment
    _: KW_ONLY
    annotations: Path
    scratch: Path
    split_seed: int

    def __post_init__(self) -> None:
        experiment = self.experiment
        self.signature = experiment.metric.signature
        self.vocabulary = Vocabulary()
        # Separate, so that the dev set's grows in one order wherever a run was interrupted.
        self._held_out_vocabulary = Vocabulary()
        self._linked = "links" in experiment.metric.needs
        self.linker = Linker(
            experiment.aligner,
            self.annotations,
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
            return open_annotator(
                experiment.annotator,
                processes=experiment.threads,
            )

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
        self.scratch.mkdir(exist_ok=True)
        request = Decoding(source=source, size=size, out=out, workdir=self.scratch)
        if graphs is not None:
            request["graphs"] = graphs
        self.experiment.decoder.decode(weights, **request)

    def read(self, path: Path) -> NBest:
        """Read one n-best list of the dev set, with links where the metric needs them."""
        return self._read(path, self.experiment.data.source, self.vocabulary)

    def _read(self, path: Path, source: Path, vocabulary: Vocabulary) -> NBest:
        sources = read_lines(source)
        try:
            nbest = read_nbest([path], vocabulary, segments=len(sources))
        except errors.InputError as error:
            decoder = self.experiment.decoder
            raise errors.InputError(
                f"{error}; decoder {decoder.name()}{decoder.of_package()} wrote this list: delete "
                f"it, and it is decoded again"
            ) from None
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
        tuned, held_out = held_out_split(count, share, self.split_seed)
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
        """The (S,) folds with which every search of the run holds out the segments tuned on."""
        count = len(self.references if self.tuned is None else self.tuned)
        seed = streams.iteration(self.experiment.tune.seed, 1)
        return self.experiment.optimizer.folds_of(count, seed)

    def dev(self, nbest: NBest, *, check: bool = True) -> tuple[Scored, Scored | None]:
        """Score the best output of the dev set: of the part tuned on and of the part held out.

        `check` gives the warnings about the texts.
        """
        stats = self._stats(nbest, self.references, check=check)
        tuned = stats if self.tuned is None else stats[self.tuned]
        without = worths_without(self.experiment.metric, tuned, self.folds)
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
        content = read_json(scores, score=NUMBER, parts=dict)
        return Scored(content["score"], content["parts"])

    def for_metric(self, nbest: NBest) -> tuple[NBest, Callable[[IntArray], Texts] | None]:
        """Return a list with texts as the metric sees them, and a function that annotates them."""
        scored, annotate = self.preparation.lazily(nbest.texts)
        return replace(nbest, texts=scored), annotate

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
        metric, total = self.experiment.metric, stats.sum(axis=0)
        return Scored(float(finite_scores(metric, total)), metric.parts(total))


def held_out_split(count: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the segments tuned on and those held out, both sorted; at least one is held out."""
    size = max(1, round(share * count))
    order = streams.held_out(seed).permutation(count)
    return np.sort(order[size:]), np.sort(order[:size])


DIGESTS = "digests.json"
"""The digests of all files of a finished part, in the part's folder."""

NUMBER = int | float
_MISSING = object()
_HINT = "is the disk damaged? --fresh starts the run over"


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object, whole or not at all."""
    write_text(path, documents.to_json(content) + "\n")


def finish(last: Path, content: Mapping[str, Any], *, alone: bool = False) -> None:
    """Write the digests of all files of a part of a run, then its last file, a JSON object.

    The counts of the annotator's cache have no digest: they depend on earlier runs. With `alone`
    only the last file has one.
    """
    folder, text = last.parent, documents.to_json(content) + "\n"
    files = [] if alone else [path for path in folder.rglob("*") if path.is_file()]
    digests = {
        str(path.relative_to(folder)): file_digest(path)
        for path in files
        if path not in (last, folder / DIGESTS, folder / ANNOTATION_NAME)
    }
    write_json(folder / DIGESTS, dict(sorted({**digests, last.name: text_digest(text)}.items())))
    write_text(last, text)


def is_finished(last: Path, *, later: str = "") -> bool:
    """Return whether `finish` wrote this file and no file of its folder has changed since.

    Changed files are removed, so that the caller makes the part again. The file `later`, which a
    second `finish` writes, may be missing.
    """
    if not last.exists():
        return False
    digests = _digests(last.parent) or {last.name: "", DIGESTS: ""}
    for name, digest in digests.items():
        path = last.parent / name
        if not path.exists() and name == later:
            continue
        if not path.is_file() or file_digest(path) != digest:
            notice(f"{path}: changed or gone since it was written; it is made again")
            path.unlink(missing_ok=True)
            last.unlink(missing_ok=True)
    return last.exists()


def keep(path: Path, text: str) -> None:
    """Write one file of a series and its digest; the digests of the others stay."""
    write_text(path, text)
    digests = {**_digests(path.parent), path.name: text_digest(text)}
    write_json(path.parent / DIGESTS, dict(sorted(digests.items())))


def is_kept(path: Path) -> bool:
    """Return whether `keep` wrote this file and it has not changed since."""
    if not path.is_file():
        return False
    is_same = _digests(path.parent).get(path.name) == file_digest(path)
    if not is_same:
        notice(f"{path}: changed since it was written; it is made again")
    return is_same


def _digests(folder: Path) -> dict[str, Any]:
    """Return the digests of a finished part, by names of files below its folder."""
    path = folder / DIGESTS
    digests = read_json(path) if path.exists() else {}
    for name in digests:
        is_inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        if not is_inside or not name.isprintable() or (folder / name).is_dir():
            raise errors.StateError(f"{path}: '{name}' is not a file in this folder; {_HINT}")
    return digests


def refuse_changed(folder: Path, *, whole: bool = False) -> None:
    """Raise StateError if a file of a finished part of a run has changed since.

    With `whole`, also if one is gone: in a run that goes on it may be still to come.
    """
    for name, digest in _digests(folder).items():
        path = folder / name
        if (whole or path.is_file()) and (not path.is_file() or file_digest(path) != digest):
            fault = "changed" if path.is_file() else "gone"
            raise errors.StateError(
                f"{path}: {fault} since it was written; the command that made the run makes it "
                f"again"
            )


def read_json(path: Path, **kinds: Any) -> dict[str, Any]:
    """Read a JSON object of a run that has at least these keys, with values of these types.

    Raises
    ------
    StateError
        It is not what portmert writes.
    """
    try:
        content = documents.parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise errors.StateError(f"{path}: {errors.reason(error)}; {_HINT}") from None
    if not isinstance(content, dict):
        raise errors.StateError(f"{path}: not what portmert writes; {_HINT}")
    for key, kind in kinds.items():
        if not isinstance(content.get(key, _MISSING), kind):
            raise errors.StateError(f"{path}: {key} is not what portmert writes there; {_HINT}")
    return content


def read_numbers(path: Path, key: str, shape: tuple[int, ...]) -> FloatArray:
    """Return an array of a JSON object of a run.

    Raises
    ------
    StateError
        It is not what portmert writes.
    """
    try:
        numbers = np.array(read_json(path).get(key), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape:
        raise errors.StateError(f"{path}: {key} is not what portmert writes there; {_HINT}")
    return numbers


def read_scored(path: Path, content: Mapping[str, Any], key: str) -> Scored | None:
    """Return a `Scored` of a JSON object of a run, None where it is null.

    Raises
    ------
    StateError
        It is not what portmert writes.
    """
    scored = content.get(key, _MISSING)
    if scored is None:
        return None
    if not (
        isinstance(scored, dict)
        and isinstance(scored.get("score"), NUMBER)
        and isinstance(scored.get("parts"), dict)
    ):
        raise errors.StateError(f"{path}: {key} is not what portmert writes there; {_HINT}")
    return Scored(scored["score"], scored["parts"])
