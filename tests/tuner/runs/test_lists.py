"""The lists of a run's iterations, merged."""

from metrics._base import Vocabulary
from tuner.nbest.read import read_nbest
from tuner.runs.lists import ListMerger


def test_lists_are_read_once_and_in_order(tmp_path):
    vocabulary, asked = Vocabulary(), []

    def read(number):
        asked.append(number)
        path = tmp_path / f"{number}.nbest"
        path.write_text(f"0 ||| same ||| A= 1 ||| 0\n0 ||| own{number} ||| A= 2 ||| 0\n")
        return read_nbest([path], vocabulary)

    lists = ListMerger(read)
    one, three, again = lists.up_to(1), lists.up_to(3), lists.up_to(3)
    assert asked == [1, 2, 3]
    assert three is again
    assert len(one.merged.texts) == len(one.last.texts) == 2
    words = [" ".join(three.merged.texts.words(row)) for row in range(4)]
    assert words == ["same", "own1", "own2", "own3"]
    assert [" ".join(three.last.texts.words(row)) for row in range(2)] == ["same", "own3"]
