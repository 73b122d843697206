"""The parts of scores, as `score` shows them: by hand arithmetic, from given statistics."""

import numpy as np
import pytest

from portmert.tuner.components import registry

NTH = 0.2**0.25
"""The geometric mean of 4/5, 3/4, 2/3 and 1/2."""
BY_HAND = {
    "hwcm:depth=2": ([4, 5, 8, 1, 4, 2], {"precision": (0.8 + 0.25) / 2, "recall": 0.5,
                                          "p1": 0.8, "p2": 0.25, "r1": 0.5, "r2": 0.5}),
    "dr-or": ([3, 4, 1, 0.5, 5], {"available": 3 / 4, "lexical": 1.5 / 5, "present": 4 / 5,
                                  "segments": 5}),
    "sr-or": ([0, 0, 1, 0, 2], {"available": 0, "lexical": 1 / 2, "present": 0, "segments": 2}),
    "dr-stm": ([0, 0, 0, 0, 0], {"available": 0, "lexical": 0, "present": 0, "segments": 0}),
    "dpm:of=1g+2g+dlh": ([3, 4, 6, 1, 2, 8, 0, 0, 0], {
        "p_1g": 3 / 4, "r_1g": 3 / 6, "p_2g": 1 / 2, "r_2g": 1 / 8, "p_dlh": 0, "r_dlh": 0}),
    "meteor": ([8, 5, 4, 2], {"precision": 4 / 8, "recall": 4 / 5, "fragmentation": 2 / 4,
                              "matched_words": 4, "total_chunks": 2, "hyp_len": 8, "ref_len": 5}),
    "posf": ([4, 5, 8, 3, 4, 6, 2, 3, 4, 1, 2, 2], {
        "precision": NTH, "recall": 0.5, "F": 2 * NTH * 0.5 / (NTH + 0.5),
        "p1": 0.8, "p2": 0.75, "p3": 2 / 3, "p4": 0.5, "r1": 0.5, "r2": 0.5, "r3": 0.5,
        "r4": 0.5}),
    "chrf:max_order=2": ([4, 8, 2, 2, 4, 1], {"precision": 0.5, "recall": 0.25}),
    "lr-hamming": ([1.5, 2, 4, 5, 3, 4, 2, 3, 1, 2, 5], {"hamming": 0.75, "BLEU": NTH, "BP": 1,
                                                         "p1": 0.8, "p4": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_parts_are_those_by_hand(name):
    stats, expected = BY_HAND[name]
    metric = registry.metric(name)
    parts = metric.parts(np.array(stats, float))
    named = dict(zip(metric.stat_names, stats, strict=True))
    for key, value in parts.items():
        if key in expected or key in named:
            assert value == pytest.approx({**named, **expected}[key], abs=1e-15), key
    assert expected.keys() <= parts.keys()
