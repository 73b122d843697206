"""The average of the weights of several searches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from portmert.tuner.api import optimizing, texts
from portmert.tuner.api.lists import ListsLike, as_lists
from portmert.tuner.base.arguments import checked
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.search.averaging import averaged, spread_size
from portmert.tuner.search.length_penalty import penalised
from portmert.tuner.weights.feature_weights import FeatureWeights, absolute_size
from portmert.tuner.weights.weights_file import WeightsFile, read_weights_file


@dataclass(frozen=True, eq=False)
class WeightAverage:
    """Averaged weights.

    Parameters
    ----------
    weights : FeatureWeights
    sizes : tuple of float
        The size by which each of them was divided.
    first : WeightsFile
        The content of the first file; the average is written in its format.
    """

    weights: FeatureWeights
    sizes: tuple[float, ...]
    first: WeightsFile = field(repr=False)

    def write(self, path: texts.PathLike) -> None:
        """Write the weights in the format of the first file, or as JSON if there is none."""
        self.first.written(self.weights, Path(path))


@checked
def average(
    weights: Sequence[optimizing.WeightsLike],
    lists: ListsLike | None = None,
    *,
    missing_features: Literal["refuse", "zero"] = "refuse",
) -> WeightAverage:
    """Average the weights of several searches, each divided by its size first.

    The scale of weights changes no choice of a hypothesis, and a search may end at any scale. With
    lists, the size of weights is the spread of the model scores: their root mean square deviation
    from the mean of their segment. Without lists, it is the sum of the absolute weights. The
    average is multiplied by the mean of the sizes.

    Parameters
    ----------
    weights
        Two or more of: files (our JSON, a moses.ini, mert-moses.pl's dense weights, Moses' sparse
        ones), weights by name, results of `optimize`. Weights in a moses.ini that Moses does not
        tune stay as they are.
    lists : FILE
        N-best list; in Python also `Lists`. The weights are scaled so that their model scores on
        the lists have the same spread. Without lists, their absolute weights are scaled to the
        same sum.
    missing_features
        What happens if some weights lack a feature of others: an error, or its weight there is 0,
        as for sparse features.

    Raises
    ------
    PortmertError
        The weights have different features, numbers of values or length penalties, or the lists
        have features without weights.
    ValueError
        There are no weights.

    Examples
    --------
    >>> import portmert
    >>> portmert.average([{"LM": 1, "TM": 3}, {"LM": 4, "TM": 0}]).weights.values
    {'LM': (2.5,), 'TM': (1.5,)}
    """
    if not weights:
        raise ValueError("give the weights to average")
    read = [_read(source, number) for number, source in enumerate(weights, 1)]
    _check(read, zero=missing_features == "zero")
    files = [file for _, file in read]
    if lists is None:
        sizes = [absolute_size(file.weights) for file in files]
    else:
        nbest = as_lists(lists).nbest
        nbest = penalised(nbest, files[0].length_penalty)
        sizes = [
            spread_size(_filled(file.weights, files), nbest, origin=name) for name, file in read
        ]
    for (name, _), size in zip(read, sizes, strict=True):
        if size == 0 and lists is None:
            raise InputError(f"{name}: all weights are 0")
        if size == 0:
            raise InputError(
                f"{name}: under these weights all hypotheses of a segment have the same model "
                f"score"
            )
    return WeightAverage(averaged([file.weights for file in files], sizes), tuple(sizes), files[0])


def _read(source: optimizing.WeightsLike, number: int) -> tuple[str, WeightsFile]:
    """Return weights, and their name in messages."""
    if isinstance(source, Path | str):
        return str(source), read_weights_file(Path(source))
    values, alpha, _, tuned_on = optimizing.as_weights(source)
    if values is None:
        raise ValueError(f"weights {number} are None; give a file or weights by name")
    return f"weights {number}", WeightsFile(values, length_penalty=alpha, tuned_on=tuned_on)


def _check(read: Sequence[tuple[str, WeightsFile]], *, zero: bool) -> None:
    """Raise InputError if weights are not of the same features."""
    by_name: dict[str, tuple[str, int]] = {}
    for where, file in read:
        for name, numbers in file.weights.values.items():
            first, size = by_name.setdefault(name, (where, len(numbers)))
            if size != len(numbers):
                raise InputError(
                    f"{where}: {counted(len(numbers), 'weight')} of feature {name}, but {first} "
                    f"has {size}"
                )
    for where, file in read:
        missing = [name for name in by_name if name not in file.weights.values]
        if missing and not zero:
            suffix = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"{where}: no weight for feature {missing[0]}{suffix}, which "
                f"{by_name[missing[0]][0]} has; give --missing-features zero where it is 0"
            )
        if file.length_penalty != read[0][1].length_penalty:
            raise InputError(
                f"{where}: weights with length penalty {file.length_penalty:g}, those of "
                f"{read[0][0]} with {read[0][1].length_penalty:g}; tune with one of them"
            )


def _filled(weights: FeatureWeights, files: Sequence[WeightsFile]) -> FeatureWeights:
    """Return weights that name all features of all files, 0 where they did not."""
    zeros = {name: (0.0,) * size for file in files for name, size in file.weights.names}
    return type(weights)({**zeros, **weights.values})
