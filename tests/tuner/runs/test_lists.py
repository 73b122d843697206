"""The lists of a run's iterations, merged."""

from types import SimpleNamespace

from portmert.metrics._base import Vocabulary
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs.lists import ListMerger


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
