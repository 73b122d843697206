"""Weights stay what they were: tests/data/digests.json has a digest for each way to find them.

A change of a digest needs a line in CHANGELOG.md under "Scores changed" that has the new hash of
the file. `python -m tests.end_to_end.test_digests` writes the file anew. Weights are rounded to
six digits: another system's exponentials may differ in the last ones.
"""

import hashlib
import json
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import portmert
from tests.support.clusters import NEEDS_DASK, cluster
from tests.support.places import INVENTED, ROOT, TESTS

FILE = TESTS / "data" / "digests.json"
RECORDED = INVENTED / "recorded"
METRICS = ("bleu", "port", "ter", "chrf", "0.5*bleu + 0.5*port")
OPTIMIZERS = (
    "bagged:folds=3,epochs=5,iterations=3",
    "mert:searches_per_feature=50,restarts=1",
    "coordinate",
    "powell",
    "random-directions",
    "kbmira",
    "pro",
    "min-risk",
)


REMOTE = "bleu mert:searches_per_feature=50,restarts=3 dask"
"""The restarts of this search run at workers of a Dask cluster."""


def tuned(metric, optimizer, threads=1, executor="local"):
    """Return what one search finds."""
    lists = portmert.Lists.read(
        [RECORDED / "1.nbest.gz", RECORDED / "2.nbest.gz"],
        refs=[RECORDED / "dev.tgt"],
        source=RECORDED / "dev.src",
        ref_links=[RECORDED / "dev.links"],
    )
    return portmert.optimize(
        lists, metric, optimizer=optimizer, seed=3, threads=threads, executor=executor,
        )  # fmt: skip


def found(metric, optimizer, threads, executor="local"):
    """Return the digest of the weights of one search."""
    result = tuned(metric, optimizer, threads, executor)
    rounded = {name: f"{value:.6g}" for name, value in flat(result.weights.values)}
    text = json.dumps([rounded, f"{result.score:.9g}"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def flat(weights):
    for name, values in weights.items():
        for n, value in enumerate(values if isinstance(values, (list, tuple)) else [values]):
            yield f"{name} {n}", value


def ways():
    for n, (metric, optimizer) in enumerate(product(METRICS, OPTIMIZERS)):
        yield metric, optimizer, 1 + n % 2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weights_are_those_of_the_committed_digests(optimizer):
    committed = json.loads(FILE.read_text(encoding="utf-8"))
    for metric, by, threads in ways():
        if by == optimizer:
            assert found(metric, by, threads) == committed[f"{metric} {by}"], (metric, by)


ANOTHER = """
import sys
from tests.end_to_end.test_digests import tuned
for optimizer in sys.argv[1:]:
    print({name: value for name, value in tuned("port", optimizer).weights.values.items()})
"""


def test_weights_do_not_depend_on_the_processor():
    """To the last bit: NumPy and its matrix library run the code for an older processor."""
    found = np._core._multiarray_umath if np.__version__ >= "2" else np.core._multiarray_umath
    newer = [name for name in found.__cpu_dispatch__ if found.__cpu_features__[name]]
    older = {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", ANOTHER, *OPTIMIZERS], capture_output=True, text=True,
            check=True, cwd=ROOT, env=os.environ | more,
        ).stdout
        for more in ({}, older if newer else {})
    ]  # fmt: skip
    assert outputs[0].count("\n") == len(OPTIMIZERS)
    assert outputs[0] == outputs[1]


@NEEDS_DASK
def test_weights_found_at_workers_are_those_of_the_committed_digests():
    committed = json.loads(FILE.read_text(encoding="utf-8"))[REMOTE]
    metric, by, _ = REMOTE.split()
    with cluster(2) as started:
        assert found(metric, by, 1, f"dask:{started.scheduler_address}") == committed
    assert found(metric, by, 3) == committed


def test_a_change_of_the_digests_is_a_line_of_the_changelog():
    """Under "Scores changed", with the hash of the file."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = text[text.index("### Scores changed") :].partition("\n### ")[0]
    assert f"`{hashlib.sha256(FILE.read_bytes()).hexdigest()[:12]}`" in section


if __name__ == "__main__":
    digests = {f"{metric} {by}": found(metric, by, threads) for metric, by, threads in ways()}
    digests[REMOTE] = found(*REMOTE.split()[:2], 1)
    FILE.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
