"""Which n-grams are right how often, against dictionaries."""

from hypothesis import given

from portmert.tuner.evaluation.comparison.differences import MAX_NGRAMS, ngram_differences
from tests.oracles.comparison import right_ngrams
from tests.support.strategies_comparison import material_of, materials


@given(materials(references=2))
def test_differences_agree_with_dictionaries(drawn):
    material, outputs, golds = drawn
    counts = [right_ngrams(lines, golds) for lines in outputs]
    known = counts[0][1]
    means = [
        {ngram: (counts[2 * i][0][ngram] + counts[2 * i + 1][0][ngram]) / 2 for ngram in known}
        for i in range(2)
    ]
    expected = sorted(
        ((means[1][g] - means[0][g], g) for g in known if means[1][g] != means[0][g]),
        key=lambda pair: (-pair[0], -len(pair[1]), pair[1]),
    )
    gains = [pair for pair in expected if pair[0] > 0][:MAX_NGRAMS]
    found = ngram_differences(material)
    found_gains = [one for one in found if one["system_matched"] > one["first_matched"]]
    assert [tuple(one["ngram"].split()) for one in found_gains] == [g for _, g in gains]
    for one in found:
        ngram = tuple(one["ngram"].split())
        assert one["first_matched"] == means[0][ngram]
        assert one["system_matched"] == means[1][ngram]
        assert one["reference"] == known[ngram]
    losses = sum(1 for change, _ in expected if change < 0)
    assert len(found) == len(gains) + min(losses, MAX_NGRAMS)


def test_example_by_hand():
    golds = [[("the", "cat", "sat")], [("a", "dog")]]
    outputs = [[("the", "dog"), ("a", "cat")], [("the", "cat", "sat"), ("dog",)]]
    found = ngram_differences(material_of(outputs, golds, systems=2))
    shown = [(one["ngram"], one["first_matched"], one["system_matched"]) for one in found]
    assert shown[:3] == [("the cat sat", 0, 1), ("cat sat", 0, 1), ("the cat", 0, 1)]
    assert shown[-1] == ("a", 1, 0)  # the only one that the first has and the second has not
    counts = {one["ngram"]: one["reference"] for one in found}
    assert set(counts.values()) == {1}


def test_empty_outputs_have_nothing_right():
    material = material_of([[()], [("a",)]], [[("a",)]], systems=2)
    assert [one["ngram"] for one in ngram_differences(material)] == ["a"]
    nothing = material_of([[()], [()]], [[()]], systems=2)
    assert ngram_differences(nothing) == []
