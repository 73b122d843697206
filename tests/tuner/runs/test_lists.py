"""The lists of a run's iterations, merged in memory and on disk."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.base import mapped
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs import lists as module
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.lists import ListMerger, PooledLists
from portmert.tuner.runs.scorer import Evaluator
from tests.support.places import ROOT

CONFIG = ROOT / "configs" / "recorded.toml"
SEGMENTS = 40


def test_lists_are_read_once_and_in_order(tmp_path):
    vocabulary, asked = Vocabulary(), []

    def read(path):
        number = path.stem
        asked.append(number)
        path.write_text(f"0 ||| same ||| A= 1 ||| 0\n0 ||| own{number} ||| A= 2 ||| 0\n")
        return read_nbest([path], vocabulary)

    evaluator = SimpleNamespace(references=None, read=read, for_metric=lambda nbest: (nbest, None))
    lists = ListMerger(evaluator, lambda number: tmp_path / f"{number}.nbest")
    assert [lists.count(number) for number in (1, 3, 3)] == [2, 4, 4]
    assert asked == ["1", "2", "3"]
    last = lists.last(3)
    assert [" ".join(last.texts.words(row)) for row in range(2)] == ["same", "own3"]
    assert asked == ["1", "2", "3"]


def evaluator(folder, *overrides):
    return Evaluator(
        load_config(CONFIG, overrides=[f"tune.output={folder}", *overrides]),
        annotations=folder,
        scratch=folder,
        split_seed=1,
        note=lambda _: None,
        progress=lambda *_: None,
    )


def written(folder, number, seed, *, names="A= {} B= {}", links=True):
    """Write a list whose hypotheses often are those of another one."""
    rng = np.random.default_rng(seed)
    path = folder / f"{number}.nbest"
    with path.open("w") as out:
        for segment in range(SEGMENTS):
            for _ in range(int(rng.integers(1, 9))):
                words = " ".join(f"w{n}" for n in rng.integers(0, 3, size=int(rng.integers(0, 3))))
                shown = names.format(*rng.integers(0, 2, size=2))
                linked = f" ||| {'0-0' if words and rng.random() < 0.5 else ''}" if links else ""
                out.write(f"{segment} ||| {words} ||| {shown} ||| 0{linked}\n")
    return path


@pytest.mark.parametrize("rows", [1, 7, 10**6])
@pytest.mark.parametrize("metric", ["bleu", "port"])
def test_lists_on_disk_are_those_in_memory(tmp_path, monkeypatch, rows, metric):
    monkeypatch.setattr(module, "BLOCK_BYTES", rows * 8)
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 200)
    for number in (1, 2, 3):
        written(tmp_path, number, number)

    def files(number):
        return tmp_path / f"{number}.nbest"

    def lists(cls, *more):
        return cls(evaluator(tmp_path, f"metric.name={metric}"), files, *more)

    (tmp_path / "pool").mkdir()
    memory, disk = lists(ListMerger), lists(PooledLists, tmp_path / "pool")
    for number in (1, 2, 3):
        assert disk.last(number).lines.tolist() == memory.last(number).lines.tolist()
        assert disk.count(number) == memory.count(number)
        if number == 2:  # as after a kill: of list 1 nothing is read any more
            disk = lists(PooledLists, tmp_path / "pool")
        (one, table), (other, same) = (some.searched(number) for some in (memory, disk))
        assert np.array_equal(one.features, other.features)
        assert one.offsets.tolist() == other.offsets.tolist()
        assert np.array_equal(table.rows, np.asarray(same.rows, dtype=np.float64))
        assert [path.name for path in (tmp_path / "pool").iterdir()] == [f"0{number}"]


def test_a_list_that_was_changed_makes_the_pool_anew(tmp_path):
    (tmp_path / "pool").mkdir()
    for number in (1, 2):
        written(tmp_path, number, number)

    def lists():
        return PooledLists(
            evaluator(tmp_path), lambda n: tmp_path / f"{n}.nbest", tmp_path / "pool"
        )

    before = lists().count(2)
    written(tmp_path, 1, seed=9)
    assert lists().count(2) != before
    assert [path.name for path in (tmp_path / "pool").iterdir()] == ["02"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": "B= {} A= {}"}, "sparse features, or others than in iteration 1"),
        ({"names": "A= {} B= {} C_x= 1"}, "sparse features, or others than in iteration 1"),
        ({"links": False}, "some of the lists have word alignments, others none"),
    ],
)
def test_what_no_pool_holds_is_named(tmp_path, options, message):
    (tmp_path / "pool").mkdir()
    written(tmp_path, 1, 1)
    written(tmp_path, 2, 2, **options)
    lists = PooledLists(
        evaluator(tmp_path, "metric.name=bleu"),
        lambda number: tmp_path / f"{number}.nbest",
        tmp_path / "pool",
    )
    with pytest.raises(InputError, match=message) as caught:
        lists.count(2)
    assert "2.nbest: " in str(caught.value)
    assert "leave out [tune] pool" in str(caught.value)


def test_a_metric_that_needs_the_texts_is_refused(tmp_path):
    given = evaluator(tmp_path, "metric.name=bleu")
    (tmp_path / "scores").write_text("1\n")
    metric = registry.metric(f"scores:{tmp_path}/scores")
    given.experiment = replace(given.experiment, metric=metric)
    with pytest.raises(ConfigError, match="scores does not go with a pool on disk"):
        PooledLists(given, lambda number: tmp_path / f"{number}", tmp_path)
