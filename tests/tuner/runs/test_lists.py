"""The lists of a run's iterations, merged."""

from types import SimpleNamespace

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs import lists as module
from portmert.tuner.runs.lists import ListMerger
from portmert.tuner.weights.feature_weights import FeatureWeights

EXPERIMENT = SimpleNamespace(metric=None, decoder=SimpleNamespace(hides_features=False))


def test_lists_are_read_once_and_in_order(tmp_path):
    vocabulary, asked = Vocabulary(), []

    (tmp_path / "weights.json").write_text('{"weights": {"A": [0]}}')

    def read(path):
        number = path.stem
        asked.append(number)
        path.write_text(f"0 ||| same ||| A= 1 ||| 0\n0 ||| own{number} ||| A= 2 ||| 0\n")
        return read_nbest([path], vocabulary)

    evaluator = SimpleNamespace(
        references=None, read=read, for_metric=lambda nbest: (nbest, None), experiment=EXPERIMENT
    )
    lists = ListMerger(evaluator, lambda number: tmp_path / f"{number}.nbest")
    assert [lists.count(number) for number in (1, 3, 3)] == [2, 4, 4]
    assert asked == ["1", "2", "3"]
    last = lists.last(3)
    assert [" ".join(last.texts.words(row)) for row in range(2)] == ["same", "own3"]
    assert asked == ["1", "2", "3"]


@pytest.mark.parametrize("hidden", [0.0, 2.0])
def test_what_the_decoder_adds_to_the_features_of_its_lists_stays(tmp_path, monkeypatch, hidden):
    # The decoder has three features; the list shows two of them, or the third counts nothing.
    vocabulary, rng = Vocabulary(), np.random.default_rng(3)
    values = np.round(rng.normal(0, 3, (60, 3)), 3)
    decoded = {1: (1.0, 0.5), 2: (-0.25, 2.0)}
    for number, (first, second) in decoded.items():
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / "weights.json").write_text(f'{{"weights": {{"A": [{first}], "B": [{second}]}}}}')
        scores = values @ (first, second, hidden)
        lines = [
            f"{row // 12} ||| w{row} ||| A= {a:g} B= {b:g} ||| {score:.9g}\n"
            for row, ((a, b, _), score) in enumerate(zip(values, scores, strict=True))
            if (row + number) % 3
        ]
        (folder / "list").write_text("".join(lines))
    evaluator = SimpleNamespace(
        references=None, read=lambda path: read_nbest([path], vocabulary),
        for_metric=lambda nbest: (nbest, None), experiment=EXPERIMENT,
    )  # fmt: skip
    monkeypatch.setattr(module, "statistics_table", lambda *_, **__: None)
    lists = ListMerger(evaluator, lambda number: tmp_path / f"{number}" / "list")
    faults = [lists.last(number) and lists.checker.fault for number in decoded]
    nbest, _ = lists.merged(2)
    assert len(nbest.texts) == 60
    rows = [int(nbest.texts.words(row)[0][1:]) for row in range(60)]
    for weights in ((0.3, -1.0), (5.0, 5.0), (0.01, 0.0)):
        best = best_hypotheses(nbest, FeatureWeights.of(dict(zip("AB", weights, strict=True))))
        as_decoder = (values @ (*weights, hidden)).reshape(5, 12).argmax(axis=1)
        assert [rows[row] % 12 for row in best] == as_decoder.tolist()
    assert bool(nbest.unlisted.size) == bool(hidden)
    # The first list tells of it, the second not again.
    assert [bool(fault) for fault in faults] == [bool(hidden), False]
    assert not hidden or faults[0].endswith("the search leaves that part of the scores as it is")
