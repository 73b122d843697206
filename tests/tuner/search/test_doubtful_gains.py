"""Gains that negative weights carry, and choices worse than chance, are told."""

import numpy as np
import pytest

import portmert
from portmert.tuner.base.warn import collected_warnings

SEGMENTS, SIZE = 150, 5


def frame_of(seed, *, authorship):
    """The right answer is by one writer, whom two judges mark apart; neither knows it well."""
    rng = np.random.default_rng(seed)
    count = SEGMENTS * SIZE
    right = np.tile(np.arange(SIZE) == 0, SEGMENTS).astype(float)
    style = right * authorship
    judge = 0.3 * right + style + rng.standard_normal(count)
    other = 0.3 * right + rng.standard_normal(count)
    # The second judge has the noise of the first: without it the style is left.
    other = np.where(authorship > 0, 0.4 * right + judge - style, other)
    return {
        "q": np.repeat([f"s{seed}-{n}" for n in range(SEGMENTS)], SIZE).tolist(),
        "judge": judge.tolist(),
        "other": other.tolist(),
        "right": right.tolist(),
    }


def lists_of(frame):
    return portmert.Lists.from_frame(
        frame, segment="q", features=["judge", "other"], outcomes=["right"]
    )


@pytest.mark.parametrize("authorship", [0.0, 1.0])
def test_a_gain_by_negative_weights_is_told_with_the_gain_without(authorship):
    lists = lists_of(frame_of(1, authorship=authorship))
    found = portmert.optimize(lists, "right", optimizer="mert:restarts=1")
    lines = [line for line in found.warnings if line.startswith("negative weights carry")]
    if not authorship:
        assert not lines
        return
    (line,) = lines
    above = portmert.optimize(
        lists, "right", optimizer="mert:restarts=1",
        constraints={"signs": {"judge": "+", "other": "+"}},
    )  # fmt: skip
    shown = found.metric.shown
    assert above.score < found.score - 0.1
    assert f"right {shown(found.score)}, with weights at 0 or above {shown(above.score)}" in line
    assert not any("negative weights" in line for line in above.warnings)


def test_choices_worse_than_chance_are_told_on_the_page():
    dev, test = (frame_of(seed, authorship=0.0) for seed in (1, 2))
    for frame in (dev, test):
        frame["judge"] = [a + 2 * b for a, b in zip(frame["judge"], frame["right"], strict=True)]
    test["right"] = [1 - right for right in test["right"]]
    with collected_warnings() as said:
        run = portmert.rerank_tune(
            lists_of(dev), "right", test=lists_of(test), replicas=1, optimizer="mert:restarts=1"
        )
    assert any("right: the tuned choices are worse than chance" in line for line in said)
    assert "worse than chance" in run.compared.as_html()
