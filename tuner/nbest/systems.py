"""Join the lists of several systems, each with features of its own."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, offsets_of
from portmert.metrics._shared import flat
from portmert.metrics.kernels.pairs import first_equals

from ..base.errors import ConfigError, InputError, counted
from ..base.warn import notice
from ..texts.corpus import concatenate
from .model import NBest


def groups_of(systems: Sequence[str], lists: int) -> list[tuple[str, slice]]:
    """Return each system with its lists, which stand together.

    Parameters
    ----------
    systems
        The name of the system of each list.
    lists
        The number of lists.

    Raises
    ------
    ConfigError
        There are more or fewer names than lists, a name is no word, or the lists of a system do
        not stand together.
    """
    if len(systems) != lists:
        raise ConfigError(
            f"systems {','.join(systems)}: {counted(len(systems), 'name')} for "
            f"{counted(lists, 'n-best list')}; give the name of the system of each list"
        )
    groups, begin = [], 0
    for name, same in groupby(systems):
        size = len(list(same))
        groups.append((name, slice(begin, begin + size)))
        begin += size
        if len(name.split()) != 1 or set(name) & set("=-,"):
            raise ConfigError(f"systems: '{name}' is not a word without = and hyphen")
    names = [name for name, _ in groups]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"systems: put the lists of {twice} one behind the other")
    return groups


def joined_systems(lists: Sequence[NBest], systems: Sequence[str]) -> NBest:
    """Return one list with the hypotheses of all systems, each text once in its segment.

    The feature F of system A is called `A.F` (`-F`: `-A.F`). Where A has not the hypothesis, it is
    0. The feature `A` is 1 for the hypotheses that A has, otherwise 0. If a system has a text more
    than once, the first one counts. Hypotheses stand in the order of the systems, then of their
    lists, and the model score is that of the first system that has it.

    Parameters
    ----------
    lists
        One of each system, with the same vocabulary.
    systems
        Their names.

    Raises
    ------
    InputError
        A list has sparse features, or other segments than the first.
    """
    _check_alike(lists, systems)
    count, segments = len(lists[0]), np.concatenate([nbest.segment_of_row for nbest in lists])
    order = np.argsort(segments, kind="stable")
    texts = concatenate([nbest.texts for nbest in lists]).take(order)
    tokens = flat(texts.tokens)
    first_places = first_equals(
        tokens.values, tokens.offsets, offsets_of(np.bincount(segments, minlength=count))
    )
    is_first = first_places == np.arange(len(first_places))
    hypotheses = order[is_first]  # rows of all lists, one after the other
    hypothesis_of_row = np.empty(len(order), dtype=np.int64)
    hypothesis_of_row[order] = (np.cumsum(is_first) - 1)[first_places]
    names, features = _features_of_systems(lists, systems, hypothesis_of_row, len(hypotheses))
    sizes = [f"{name} {len(nbest.texts)}" for name, nbest in zip(systems, lists, strict=True)]
    notice(f"{', '.join(sizes)}: {counted(len(hypotheses), 'different hypothesis')} together")
    lines, dropped = _lines_of_files(lists, order[~is_first], order[first_places[~is_first]])
    return NBest(
        texts=texts.take(np.flatnonzero(is_first)),
        offsets=offsets_of(np.bincount(segments[hypotheses], minlength=count)),
        features=features,
        feature_names=names,
        model_scores=np.concatenate([nbest.model_scores for nbest in lists])[hypotheses],
        lines=lines[hypotheses],
        list_sizes=tuple(size for nbest in lists for size in nbest.list_sizes),
        ranks=np.concatenate([nbest.ranks for nbest in lists])[hypotheses],
        ids=lists[0].ids,
        dropped=dropped,
    )


def _check_alike(lists: Sequence[NBest], systems: Sequence[str]) -> None:
    for name, nbest in zip(systems, lists, strict=True):
        if nbest.sparse is not None:
            raise InputError(
                f"system {name}: some hypotheses lack the feature {nbest.sparse.names[0]}; lists "
                f"that are joined have all features at all hypotheses"
            )
        if len(nbest) != len(lists[0]):
            raise InputError(
                f"system {name} has {counted(len(nbest), 'segment')}, {systems[0]} "
                f"{len(lists[0])}; each system needs a hypothesis for each segment"
            )


def _features_of_systems(
    lists: Sequence[NBest], systems: Sequence[str], hypothesis_of_row: IntArray, count: int
) -> tuple[tuple[tuple[str, int], ...], FloatArray]:
    """Return names with sizes, and (count, F): the features of each system, and whether it has it.

    `hypothesis_of_row` is the joined hypothesis of each row of all lists, one after the other.
    """
    starts = offsets_of([len(nbest.texts) for nbest in lists])
    columns, names = list[FloatArray](), list[tuple[str, int]]()
    for number, (name, nbest) in enumerate(zip(systems, lists, strict=True)):
        hypotheses = hypothesis_of_row[starts[number] : starts[number + 1]]
        hypotheses, rows = np.unique(hypotheses, return_index=True)
        values = np.zeros((count, nbest.features.shape[1] + 1))
        values[hypotheses, :-1], values[hypotheses, -1] = nbest.features[rows], 1.0
        columns.append(values)
        names += [(_named(name, feature), size) for feature, size in nbest.feature_names]
        names.append((name, 1))
    return tuple(names), np.asfortranarray(np.hstack(columns))


def _lines_of_files(
    lists: Sequence[NBest], dropped_rows: IntArray, kept_rows: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the lines of all rows, as if all files were one, and `NBest.dropped` of the join.

    A row of `dropped` is the line, segment and rank of what was left out, and the line kept.
    """
    first_lines = offsets_of([sum(nbest.list_sizes) for nbest in lists])[:-1]
    pairs = list(zip(lists, first_lines.tolist(), strict=True))
    lines = np.concatenate([begin + np.asarray(nbest.lines) for nbest, begin in pairs])
    segments = np.concatenate([nbest.segment_of_row for nbest in lists])
    ranks = np.concatenate([nbest.ranks for nbest in lists])
    of_join = [lines[dropped_rows], segments[dropped_rows], ranks[dropped_rows], lines[kept_rows]]
    of_lists = [
        np.asarray(nbest.dropped) + np.array([begin, 0, 0, begin]) for nbest, begin in pairs
    ]
    dropped = np.concatenate([np.column_stack(of_join), *of_lists])
    return lines, dropped.astype(np.int64, copy=False)


def _named(system: str, feature: str) -> str:
    """Return the name of a feature of a system; a hyphen stays at the beginning."""
    return f"-{system}.{feature[1:]}" if feature.startswith("-") else f"{system}.{feature}"
