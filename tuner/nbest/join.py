"""Join the lists of several systems, each with features of its own."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import IntArray, Ragged, offsets_of

from ..base.errors import ConfigError, InputError, counted
from ..base.warn import notice
from ..texts.corpus import concatenate
from .model import NBest

_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


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
    found, at = [], 0
    for name, same in groupby(systems):
        size = len(list(same))
        found.append((name, slice(at, at + size)))
        at += size
        if len(name.split()) != 1 or set(name) & set("=-,"):
            raise ConfigError(f"systems: '{name}' is not a word without = and hyphen")
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"systems: put the lists of {twice} one behind the other")
    return found


def joined(lists: Sequence[NBest], systems: Sequence[str]) -> NBest:
    """Return one list with the hypotheses of all systems, each text once in its segment.

    The feature F of system A is called `A.F` (`-F`: `-A.F`). Where A has not the hypothesis, it is
    0. The feature `A` is 1 for the hypotheses that A has, otherwise 0. If a system has a text more
    than once, the first one counts. Hypotheses stand in the order of the systems, then of their
    lists, and the model score is that of the first system that has it. Two texts are taken for
    equal if a hash of 64 bits is.

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
    first = lists[0]
    for name, one in zip(systems, lists, strict=True):
        if one.sparse is not None:
            raise InputError(
                f"system {name}: some hypotheses lack the feature {one.sparse.names[0]}; lists "
                f"that are joined have all features at all hypotheses"
            )
        if len(one) != len(first):
            raise InputError(
                f"system {name} has {counted(len(one), 'segment')}, {systems[0]} {len(first)}; "
                f"each system needs a hypothesis for each segment"
            )
    hashes = word_hashes(first.texts.vocabulary.words)
    keys = [text_keys(one.texts.tokens, hashes) for one in lists]
    segments = [np.repeat(np.arange(len(one)), np.diff(one.offsets)) for one in lists]
    both = np.stack([np.concatenate(segments), np.concatenate(keys)])
    _, kept, groups = np.unique(both, axis=1, return_index=True, return_inverse=True)
    # Rows by segment, then by place of their first occurrence.
    order = np.lexsort((kept, both[0, kept]))
    rows, place = kept[order], np.empty(len(kept), dtype=np.int64)
    place[order] = np.arange(len(kept))
    starts = offsets_of([len(one.texts) for one in lists])
    columns, names = [], []
    for number, (name, one) in enumerate(zip(systems, lists, strict=True)):
        own, at = np.unique(
            place[groups.reshape(-1)[starts[number] : starts[number + 1]]], return_index=True
        )
        values = np.zeros((len(rows), one.features.shape[1] + 1))
        values[own, :-1], values[own, -1] = one.features[at], 1.0
        columns.append(values)
        names += [(_named(name, feature), size) for feature, size in one.feature_names]
        names.append((name, 1))
    sizes = [f"{name} {len(one.texts)}" for name, one in zip(systems, lists, strict=True)]
    notice(f"{', '.join(sizes)}: {counted(len(rows), 'different hypothesis')} together")
    befores = offsets_of([sum(one.list_sizes) for one in lists])[:-1]
    # Places among the hypotheses of all files; the lists were read from files.
    lines = [before + np.asarray(one.lines) for one, before in zip(lists, befores, strict=True)]
    return NBest(
        texts=concatenate([one.texts for one in lists]).take(rows),
        offsets=offsets_of(np.bincount(both[0, rows], minlength=len(first))),
        features=np.asfortranarray(np.hstack(columns)),
        feature_names=tuple(names),
        model_scores=np.concatenate([one.model_scores for one in lists])[rows],
        lines=np.concatenate(lines)[rows],
        list_sizes=tuple(size for one in lists for size in one.list_sizes),
        ranks=np.concatenate([one.ranks for one in lists])[rows],
        ids=first.ids,
    )


def _named(system: str, feature: str) -> str:
    """Return the name of a feature of a system; a hyphen stays at the beginning."""
    return f"-{system}.{feature[1:]}" if feature.startswith("-") else f"{system}.{feature}"


def word_hashes(words: list[str]) -> NDArray[np.uint64]:
    """Return a hash of each word; the same word has the same in every process."""
    digests = (blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8) for word in words)
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def text_keys(tokens: Ragged, hashes: NDArray[np.uint64]) -> IntArray:
    """Return (n,) int64 keys: equal texts have equal keys, two others with chance 1 in 2^64.

    Parameters
    ----------
    hashes : (V,) uint64
        The hashes of the words of the vocabulary.
    """
    flat = tokens.alone()
    positions = np.arange(1, len(flat.values) + 1, dtype=np.uint64)
    positions -= np.repeat(flat.offsets[:-1].astype(np.uint64), np.diff(flat.offsets))
    mixed = _mixed(hashes[flat.values] + positions * np.uint64(0x9E3779B97F4A7C15))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed)])
    return np.diff(sums[flat.offsets]).view(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return values whose bits all depend on all bits (the finish of splitmix64)."""
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed
