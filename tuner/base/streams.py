"""The streams of random numbers: their generators, or seeds for the next step.

The user's seed determines all random numbers. A stream is numpy's `SeedSequence` of a seed
and a path of numbers. All paths stand in this module, so that no two streams of one command are
the same by accident. Numpy pads a path with zeros: (), (0,) and (0, 0) are one stream.
"""

import numpy as np


def whole(seed: int) -> np.random.Generator:
    """Return the only stream of a task that needs one: items of judges, halves of documents.

    Or samples of segments for a standard error: their seed is drawn from a restart's generator.
    """
    return _generator(seed)


# A run of `portmert tune`.


def held_out(seed: int) -> np.random.Generator:
    """Return the generator that chooses the held-out segments."""
    return _generator(seed, 0)


def iteration(seed: int, number: int) -> int:
    """Return the seed of the search of an iteration, counted from 1."""
    return _seed(_sequence(seed, number))


def graph_weights(seed: int, number: int) -> np.random.Generator:
    """Return the generator of random weights for the search graphs of an iteration."""
    return _generator(seed, number, 1)


def weight_bootstrap(seed: int) -> int:
    """Return the seed of all samples of the bootstrap of weights."""
    return _seed(_sequence(seed, 0, 1))


def replica(seed: int, number: int) -> int:
    """Return the seed of a replica, counted from 1; the first one has the run's own."""
    return seed if number == 1 else _seed(_sequence(seed, 0, number))


# A search.


def restart(seed: int, number: int) -> np.random.Generator:
    """Return the generator of a restart of an optimizer, counted from 0."""
    return np.random.default_rng(np.random.SeedSequence((seed,), spawn_key=(number,)))


def weight_sample(seed: int, sample: int) -> tuple[np.random.Generator, int]:
    """Return the generator of a sample of the bootstrap of weights, and its search's seed."""
    sequence = _sequence(seed, sample)
    return np.random.default_rng(sequence), _seed(sequence)


# Tuning on some segments, judging on others.


def split(seed: int, number: int) -> np.random.Generator:
    """Return the generator that halves the segments; splits are counted from 1."""
    return _generator(seed, number)


def split_search(seed: int, number: int, repeat: int) -> int:
    """Return the seed of a search on a half; searches on one are counted from 1."""
    return _seed(_sequence(seed, number, repeat))


# Judging systems.


def score_bootstrap(seed: int) -> np.random.Generator:
    """Return the generator that draws test sets for intervals of scores."""
    return _generator(seed, 0)


def blocks(seed: int, units: int) -> np.random.Generator:
    """Return the generator that deals many segments, or groups, into blocks."""
    return _generator(seed, 0, 1, units)


def randomization(seed: int, replicas: int) -> np.random.Generator:
    """Return the generator that swaps the first system's outputs with a replica's."""
    return _generator(seed, 1, replicas)


def system_swaps(seed: int) -> np.random.Generator:
    """Return the generator that swaps two systems' segments, for metrics and people alike."""
    return _generator(seed, 5)


def training_bootstrap(seed: int) -> np.random.Generator:
    """Return the generator that resamples segments that learnt metrics are tested on."""
    return _generator(seed, 1)


def _sequence(seed: int, *path: int) -> np.random.SeedSequence:
    return np.random.SeedSequence((seed, *path))


def _generator(seed: int, *path: int) -> np.random.Generator:
    return np.random.default_rng(_sequence(seed, *path))


def _seed(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1, np.uint64)[0]) >> 1
