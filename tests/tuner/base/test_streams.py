"""Streams of random numbers."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base import streams
from portmert.tuner.base.numbers import MOST

SEEDS = st.integers(0, 2**63 - 1)


def state(generator):
    return generator.bit_generator.state["state"]["state"]


@given(SEEDS)
def test_no_two_streams_of_a_run_are_the_same(seed):
    begun = [streams.iteration(seed, number) for number in range(1, 30)]
    begun += [streams.replica(seed, number) for number in range(1, 10)]
    begun.append(streams.weight_bootstrap(seed))
    held_out = streams.held_out(seed).bit_generator.seed_seq
    first = int(held_out.generate_state(1, np.uint64)[0]) >> 1
    assert len({*begun, first}) == len(begun) + 1


@given(SEEDS)
def test_no_two_streams_of_a_comparison_are_the_same(seed):
    found = [streams.score_bootstrap(seed), *(streams.randomization(seed, r) for r in (1, 2, 5))]
    found.append(streams.system_swaps(seed))
    assert all(state(one) != state(other) for one, other in combinations(found, 2))


@given(SEEDS)
def test_no_two_streams_of_a_cross_validation_are_the_same(seed):
    numbers = [(split, repeat) for split in range(1, 9) for repeat in range(1, 4)]
    searches = {streams.split_search(seed, *number) for number in numbers}
    assert len(searches) == len(numbers)
    halves = [streams.split(seed, split).bit_generator.seed_seq for split in range(1, 9)]
    assert not searches & {int(one.generate_state(1, np.uint64)[0]) >> 1 for one in halves}


@given(SEEDS)
def test_each_restart_has_a_stream_of_its_own(seed):
    assert len({state(streams.restart(seed, number)) for number in range(5)}) == 5


def test_streams_are_those_of_the_paths_written_down():
    """Numbers of earlier versions stay: a seed and a path name a stream for ever."""
    drawn = streams.held_out(7).integers(0, 1000, 3).tolist()
    sequence = np.random.SeedSequence((7, 0))
    assert drawn == np.random.default_rng(sequence).integers(0, 1000, 3).tolist()
    expected = np.random.SeedSequence((7, 3)).generate_state(1, np.uint64)[0].item() >> 1
    assert streams.iteration(7, 3) == int(expected)
    assert streams.replica(7, 1) == 7
    child = np.random.SeedSequence(7).spawn(2)[1]
    assert state(streams.restart(7, 1)) == state(np.random.default_rng(child))
    assert state(streams.whole(7)) == state(np.random.default_rng(7))


def test_the_seed_of_a_replica_can_be_given_by_hand():
    seeds = [streams.replica(seed, number) for seed in range(20) for number in range(1, 20)]
    assert max(seeds) <= MOST
    assert max(seeds) > 2**53
