"""The files that the steps of mert-moses.pl leave in their folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.base import files, numbers
from portmert.tuner.base.errors import InputError, StateError, counted, faults_at
from portmert.tuner.decoders._moses_command import ShownFeatures
from portmert.tuner.nbest.model import NBest
from portmert.tuner.runs import records
from portmert.tuner.runs.records import IterationScores, IterationSearch
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights, read_weights
from portmert.tuner.weights.weights_file import read_sparse

from . import _program, _scorer, mert
from .dat_files import read_dat

FINISHED = "finished_step.txt"
TEXTS = "portmert.texts"
NOT_ESTIMATED = "--not-estimated--"
SMALLEST = 1e-8
"""Weights of sparse features below this are not written, as in Moses."""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """What a file of portmert says of a step; mert-moses.pl has no such file.

    The search is None if the step was the last one and needed none.
    """

    scores: IterationScores
    search: IterationSearch | None


@dataclass(frozen=True)
class StepFolder:
    """The folder of one run of mert-moses.pl.

    Parameters
    ----------
    path : Path
    names : FeatureNames
        The names of the decoder's dense features.
    scorer : Scorer
        The scorer that the weights are tuned by.
    """

    path: Path
    names: FeatureNames
    scorer: _scorer.Scorer

    def claim(self, texts: Sequence[Path]) -> None:
        """Write which texts the folder's tuning is on; raise StateError if it is on others."""
        content = "".join(f"{files.file_digest(path)}\n" for path in texts)
        path = self.path / TEXTS
        if path.is_file() and "\n".join(files.read_lines(path)) != content.rstrip("\n"):
            raise StateError(
                f"{self.path}: has a tuning on another source or other references ({TEXTS} has "
                f"their hashes); name another --working-dir"
            )
        files.write_text(path, content)

    def last_finished(self) -> int:
        """Return the last step that was finished, 0 for none."""
        path = self.path / FINISHED
        if not path.is_file():
            raise StateError(
                f"{path}: is not there, so there is nothing to --continue; leave it out"
            )
        lines = files.read_lines(path)
        if not lines or not re.fullmatch(r"\s*[0-9]{1,9}\s*", lines[0]):
            raise StateError(f"{path}: holds no number of a step")
        step = int(lines[0])
        if step > 1 and not (self.path / f"run{step}.features.dat").is_file():
            # mert-moses.pl counts one too many where --maximum-iterations ended it.
            step -= 1
        return step

    def lists(self, step: int) -> NBest:
        """Return the lists of a step."""
        features, scores = (self.path / f"run{step}.{kind}.dat" for kind in ("features", "scores"))
        return read_dat([features], [scores])

    def weights(self, step: int) -> FeatureWeights:
        """Return the weights that the decoding of a step had."""
        path = self.path / f"run{step}.dense"
        dense = read_weights(path)
        dense.vector(self.names, origin=str(path))  # checks that it names all of them
        return FeatureWeights({**dense.values, **self._sparse_of(step)})

    def _sparse_of(self, step: int) -> dict[str, tuple[float, ...]]:
        path = self.path / f"run{step}.sparse-weights"
        return dict(read_sparse(path)) if path.is_file() else {}

    def write(self, name: str, text: str, *, step: int | None = None) -> None:
        """Write a file of the folder, and a copy that a step keeps."""
        files.write_text(self.path / name, text)
        if step is not None:
            files.write_text(self.path / f"run{step}.{name}", text)

    def vector(self, weights: FeatureWeights) -> FloatArray:
        """Return the dense weights in the order of the features."""
        return weights.vector(self.names)

    def sparse(self, weights: FeatureWeights) -> dict[str, tuple[float, ...]]:
        """Return the sparse weights that are not 0."""
        dense = dict(self.names)
        return {name: v for name, v in weights.values.items() if name not in dense and v[0]}

    def write_features_list(self, features: ShownFeatures) -> None:
        """Write the output of -show-weights, for scripts that read it."""
        lines = []
        for name, size in features.names:
            values = iter(f"{value:.6f}" for value in features.weights.values[name])
            mask = features.tuned.get(name, (True,) * size)
            texts = [next(values) if tuned else "UNTUNEABLECOMPONENT" for tuned in mask]
            lines.append(f"{name}= {' '.join(texts)}\n")
        lines += [f"{name} UNTUNEABLE\n" for name in features.untuneable]
        self.write("features.list", "".join(lines))

    def write_search(
        self, step: int, weights: FeatureWeights, score: float, notes: Sequence[str]
    ) -> None:
        """Write the files that Moses' mert, pro or kbmira would have left."""
        point = self.vector(weights)
        best = f"Best point: {_program.row(point)} => {score:.6f}"  # mert-moses.pl looks for it
        lines = [*notes, best, f"Best BLEU = {score:.6f}"]
        self.write("mert.log", "".join(f"{line}\n" for line in lines), step=step)
        self.write("mert.out", _weights_text(weights, self.names), step=step)
        self.write("weights.txt", f"{_program.row(point)}\n", step=step)

    def _record_path(self, step: int) -> Path:
        return self.path / f"run{step}.portmert.json"

    def keep_record(self, step: int, record: StepRecord) -> None:
        """Write what is known of a step besides the files of mert-moses.pl."""
        records.write_json(self._record_path(step), record)

    def record(self, step: int) -> StepRecord | None:
        """Return what is known of a step; None if mert-moses.pl made it."""
        path = self._record_path(step)
        if not path.is_file():
            return None
        hint = "without it the step counts as one of mert-moses.pl"
        return records.read_file(path, StepRecord, hint=hint)

    def result_of(self, step: int) -> tuple[FeatureWeights, float | None]:
        """Return the weights that a finished step found, and their printed score if it has one."""
        width = sum(size for _, size in self.names)
        log = "\n".join(files.read_lines(self.path / f"run{step}.mert.log"))
        match = re.search(r"Best point:\s*([\s\d.\-e]+?)\s*=> ([\-\d.]+)", log)
        score = match[2] if match else None
        if match is not None:
            tokens = match[1].split()
        else:  # of pro or kbmira: by position, not yet normalised
            self.demand(f"run{step}.mert.out", step)
            lines = "\n".join(files.read_lines(self.path / f"run{step}.mert.out"))
            by_position = dict(re.findall(r"^F(\d+) (\S+)", lines, re.MULTILINE))
            tokens = [by_position.get(str(k), "0") for k in range(width)]
            best = re.search(r"Best BLEU = ([\-\d.]+)", log)
            score = best[1] if best else score
        values = [numbers.parse_number(token) for token in tokens]
        if len(values) != width or any(value is None for value in values):
            raise StateError(
                f"{self.path}: step {step} found {counted(len(values), 'weight')}, the decoder "
                f"has {counted(width, 'feature')}"
            )
        vector = np.array(values, dtype=np.float64)
        if match is None:
            vector /= float(np.abs(vector).sum()) or 1.0
        path = self.path / f"run{step}.mert.{'out' if match is None else 'log'}"
        with faults_at(path, InputError, StateError):
            weights = dict(FeatureWeights.from_vector(self.names, vector).values)
        printed = None if score is None else numbers.parse_number(score)
        return FeatureWeights({**weights, **self._sparse_of(step + 1)}), printed

    def check_step(self, step: int, lists: NBest) -> None:
        """Raise `StateError` if the lists of a step are not of this metric and these features."""
        scorer = self.scorer
        where = self.path / f"run{step}.scores.dat"
        rows, score_name, *_ = lists.counted
        if score_name.upper() != scorer.name:
            raise StateError(
                f"{where}: statistics of {score_name}, now {scorer.name} is asked for; name "
                f"another --working-dir"
            )
        width = len(scorer.metric.stat_names)
        if rows.shape[1] != width:
            raise StateError(f"{where}: {rows.shape[1]} statistics, {scorer.name} has {width}")
        if lists.feature_names != self.names:
            raise StateError(
                f"{self.path / f'run{step}.features.dat'}: features "
                f"{' '.join(mert.column_names(lists.feature_names))}, but the decoder said "
                f"{' '.join(mert.column_names(self.names))}"
            )

    def demand(self, name: str, step: int) -> None:
        """Raise `StateError` if a file of a step that is to be continued is not there."""
        if not (self.path / name).is_file():
            raise StateError(f"{self.path}: cannot go on behind step {step}: {name} is not there")


def _weights_text(weights: FeatureWeights, names: FeatureNames) -> str:
    """Return weights as mert-moses.pl reads them: `F0 0.1`, and sparse ones by name."""
    vector = weights.vector(names)
    lines = [f"F{k} {_program.number(value)}\n" for k, value in enumerate(vector)]
    dense = {name for name, _ in names}
    lines += [
        f"{name} {_program.number(values[0])}\n"
        for name, values in weights.values.items()
        if name not in dense and abs(values[0]) > SMALLEST
    ]
    return "".join(lines)
