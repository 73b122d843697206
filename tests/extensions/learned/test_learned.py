"""Features of learnt metrics, files of models, the metric."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given

from portmert.extensions.learned.learned import (
    GROUPS,
    TERP_ALONE,
    LearnedFeatures,
    LearnedModel,
    checked_groups,
)
from portmert.metrics._base import Arcs, Batch, Vocabulary
from portmert.metrics._lexicon_files import content_hash
from portmert.metrics.terp import PRESETS, terp_counts
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import dependencies
from tests.oracles import lexical as oracle
from tests.oracles.metrics import Text
from tests.support.strategies_metrics import arrays, batch_of, corpora

REFERENCE = Text(
    ("the", "red", "cat", "ate"), heads=((3, "det"), (3, "mod"), (4, "subj"), (0, "root"))
)
HYPOTHESIS = Text(("the", "cat", "stumbled"), heads=((2, "det"), (3, "subj"), (0, "root")))


def with_parses(text, *others):
    parses = ((-10.0, text.heads), *others)
    return dataclasses.replace(text, tags=tuple("X" for _ in text.words), parses=parses)


def example(*others):
    vocabulary = Vocabulary()
    offsets = np.array([0, 1])
    hypotheses = arrays([with_parses(HYPOTHESIS, *others)], vocabulary)
    return Batch(hypotheses, offsets, arrays([with_parses(REFERENCE)], vocabulary), offsets)


def values(features, batch):
    return features.values(batch, features.lexicon({}))


def write(path, model, **changes):
    path.write_text(json.dumps(json.loads(model.text()) | changes))
    return path


def test_features_of_the_worked_example():
    found = values(LearnedFeatures("ETNB", parses=1), example())[0]
    assert found[:8] == pytest.approx([2 / 3, 1 / 2, 2 / 3, 1 / 2, 1 / 3, 1 / 4, 1 / 3, 1 / 4])
    # `the cat stumbled`: two words match, one is replaced, one is missing; over 4 words.
    assert found[8:15] == pytest.approx(np.array([2, 0, 1, 1, 0, 0, 0]) / 4)
    assert found[15:19] == pytest.approx([2 / 3, 1 / 2, 0, 0])
    assert found[19:] == pytest.approx([0, 0.25])


def test_names_are_those_of_the_specification():
    assert LearnedFeatures("EN").names == (
        "p_lh", "r_lh", "p_dl", "r_dl", "p_dlh", "r_dlh", "p_dh", "r_dh",
        "p_1g", "r_1g", "p_2g", "r_2g",
    )  # fmt: skip
    assert [len(names) for names in GROUPS.values()] == [8, 7, 4, 4, 2]


@given(corpora())
def test_features_are_those_against_the_reference_cheapest_for_terp(corpus):
    found = values(LearnedFeatures("ETPNB"), batch_of(corpus))
    for segment, row in zip(corpus, found, strict=True):
        twin = oracle.Terp(oracle.NOTHING, oracle.TERPA, oracle.TERPA_PHRASE)
        own = segment.hypothesis
        edits = [twin.edits(own.words, r.words) for r in segment.references]
        best = min(range(len(edits)), key=lambda k: edits[k][1])
        reference = segment.references[best]
        length = sum(len(r.words) for r in segment.references) / len(segment.references)
        counts = dependencies.counts(own, reference, "lh+dl+dlh+dh+1g+2g", parses=50, gamma=0.25)
        shares = [
            float(dependencies.share(match, total))
            for match, *totals in counts
            for total in totals
        ]
        rates = [count / (length or 1) for count in edits[best][0]]
        expected = [*shares[:8], *rates, *shares[8:]]
        more = len(own.words) - len(reference.words)
        relative = more / max(len(reference.words), 1)
        assert row == pytest.approx([*expected, max(0, relative), max(0, -relative)], abs=1e-9)


def test_without_a_model_it_is_terp_negated():
    batch = example()
    metric = registry.metric("learned")
    edits = terp_counts(batch, metric._lexicon, PRESETS["terpa"])[:, -1]
    assert metric.stats(batch) == pytest.approx(np.column_stack([-edits, [4.0]]))
    assert metric.needs == frozenset()


def test_score_is_the_mean_weighted_by_length(tmp_path):
    model = LearnedModel(LearnedFeatures("B"), (-1.0, -2.0))
    path = write(tmp_path / "m.json", model)
    metric = registry.metric(f"learned:model={path}")
    one = example()
    assert metric.stats(one) == pytest.approx(np.array([[4 * -0.5, 4.0]]))
    rows = np.array([[-2.0, 4.0], [6.0, 1.0]])
    assert metric.score(rows) == pytest.approx([-0.5, 6.0])
    assert metric.score(rows.sum(axis=0)) == pytest.approx(4 / 5)
    assert metric.parts(rows[0]) == {"ref_len": 4.0}  # no share, to be shown in percent


def test_it_travels_to_other_processes_with_its_model(tmp_path):
    path = write(tmp_path / "m.json", LearnedModel(LearnedFeatures("B"), (-1.0, -2.0)))
    metric = registry.metric(f"learned:model={path}")
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301  our own
    path.unlink()  # there may be no such file there
    assert again.needs == metric.needs
    assert again.stats(example()).tolist() == metric.stats(example()).tolist()


@pytest.mark.parametrize(
    ("parses", "need"), [(1, "heads"), (50, Arcs(50, 0.25)), (0, Arcs(0, 0.25))]
)
def test_parses_are_needed_for_dependency_links_only(tmp_path, parses, need):
    for groups, needs in (("E", {need}), ("TN", set())):
        features = LearnedFeatures(groups, parses)
        path = write(tmp_path / "m.json", LearnedModel(features, (0.5,) * len(features.names)))
        assert registry.metric(f"learned:model={path}").needs == needs


def test_model_is_written_and_read_again(tmp_path):
    features = LearnedFeatures("TB", 3, 0.5, "terph", "german")
    weights = (-1e100, 1e100, *(-0.1 * k for k in range(7)))  # the heaviest there may be
    model = LearnedModel(features, weights, trained={"segments": 3})
    (tmp_path / "m.json").write_text(model.text())
    metric = registry.metric(f"learned:model={tmp_path}/m.json")
    assert metric._model == model
    assert metric.signature == "learned:model=m.json"


def test_files_must_be_those_it_was_learnt_with(tmp_path):
    table = oracle.write_paraphrases(tmp_path / "table")
    wordnet = oracle.write_wordnet(tmp_path / "wordnet")
    hashes = {"paraphrases": content_hash(table), "synonyms": content_hash(wordnet)}
    model = dataclasses.replace(TERP_ALONE, resources=hashes)
    path = write(tmp_path / "m.json", model)
    both = f"learned:model={path},paraphrases={table},synonyms={wordnet}"
    assert registry.metric(both)._lexicon.wordnet is not None
    with pytest.raises(ConfigError, match=r"was learnt with synonyms; give the same, synonyms=\."):
        registry.metric(f"learned:model={path},paraphrases={table}")
    with pytest.raises(ConfigError, match="was learnt without stop_words; leave stop_words out"):
        registry.metric(f"{both},stop_words={table}")
    with table.open("a") as file:
        file.write("0.5 <p>a</p> <p>b</p>\n")
    with pytest.raises(ConfigError, match=r"table is not what .* was learnt with as paraphrases"):
        registry.metric(both)


ALL_WEIGHTS = dict.fromkeys(TERP_ALONE.features.names, -1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "m.json: no model of portmert metric-train: Invalid JSON"),
        ("[]", r"train: Input should be an object, found \[\]"),
        ('{"format": "x"}', "format: Input should be 'portmert learned metric 1', found 'x'"),
        ({"groups": "TX"}, "groups 'TX'; expected some of the letters ETPNB"),
        ({"groups": "T"}, "weights of other features than groups T has: phrase_edits"),
        ({"costs": "free"}, "costs: Input should be 'ter', 'terpa' or 'terph', found 'free'"),
        ("[" * 100_000, "Invalid JSON: recursion limit exceeded"),
        ({"gamma": 2}, "gamma: Input should be less than or equal to 1, found 2"),
        ({"parses": -1}, "parses: Input should be greater than or equal to 0, found -1"),
        (
            {"weights": ALL_WEIGHTS | {"stem": 1e999}},
            "weights: stem: Input should be a finite number, found inf",
        ),
        ({"weights": ALL_WEIGHTS | {"stem": -1e300}}, r"the weight of stem is -1e\+300"),
        ({"resources": {"cat": ""}}, "resources: cat: .*: Input should be 'synonyms'"),
        ({"language": "klingon"}, "m.json: no model .*: language is 'klingon'"),
    ],
)
def test_faulty_model_is_described(tmp_path, content, message):
    path = tmp_path / "m.json"
    if isinstance(content, dict):
        write(path, TERP_ALONE, **content)
    else:
        path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        registry.metric(f"learned:model={path}")


def test_missing_model_and_missing_key_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.json: No such file"):
        registry.metric(f"learned:model={tmp_path}/nowhere.json")
    content = json.loads(TERP_ALONE.text())
    del content["parses"]
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match="metric-train: parses: Field required"):
        registry.metric(f"learned:model={tmp_path}/m.json")


@pytest.mark.parametrize("groups", ["", "TT", "X", "et"])
def test_wrong_groups_are_refused(groups):
    with pytest.raises(ValueError, match="expected some of the letters ETPNB, each once"):
        checked_groups(groups)


def test_groups_are_put_in_order():
    assert checked_groups("BNTE") == "ETNB"
