"""Features that a user adds and that look wrong."""

import math
import random

import numpy as np
import pytest

import portmert
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.nbest.check import length_order
from tests.support.places import INVENTED, ROOT

METRICS = (
    "chrf", "bleu:smooth=exp", "ter", "wer", "per", "cer", "wil", "ribes", "nist", "meteor",
)  # fmt: skip
QUALITY = INVENTED / "quality"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return lists with references, and the score of each hypothesis by each metric."""
    rng = np.random.default_rng(1)
    words = [f"w{n}" for n in range(60)]
    folder = tmp_path_factory.mktemp("features")
    references = [list(rng.choice(words, 12)) for _ in range(120)]
    rows, targets = [], []
    for segment, reference in enumerate(references):
        for _ in range(5):
            keep = rng.random(12) > rng.random()
            pairs = zip(reference, keep, strict=True)
            hyp = [word if stays else str(rng.choice(words)) for word, stays in pairs]
            hyp = hyp[: int(rng.integers(8, 13))]
            rows.append(f"{segment} ||| {' '.join(hyp)} ||| LM= {rng.normal():.4f} ||| 0\n")
            targets.append((" ".join(hyp), " ".join(reference)))
    (folder / "list").write_text("".join(rows))
    (folder / "ref").write_text("".join(f"{' '.join(one)}\n" for one in references))
    (folder / "noise").write_text("".join(f"{one:.6f}\n" for one in rng.normal(size=len(rows))))
    for metric in METRICS:
        scores = portmert.score(
            [hyp for hyp, _ in targets], [[ref for _, ref in targets]], metric=metric
        ).segment_scores
        (folder / metric.partition(":")[0]).write_text("".join(f"{x:.4f}\n" for x in scores))
    rates = [1 - float(line) for line in (folder / "wer").read_text().split()]
    sizes = [len(reference.split()) for _, reference in targets]
    functions = {
        "edits": [rate * size for rate, size in zip(rates, sizes, strict=True)],
        "squared": [rate**2 for rate in rates],
        "logarithm": [-math.log1p(rate) for rate in rates],
        "overlap": [
            sum(word in reference.split() for word in hyp.split()) / len(hyp.split())
            for hyp, reference in targets
        ],
    }
    for name, values in functions.items():
        (folder / name).write_text("".join(f"{x:.6f}\n" for x in values))
    return folder


def warnings(folder, *features, metric="qmean"):
    lists = portmert.Lists.read(folder / "list", refs=folder / "ref", features=features)
    with collected_warnings() as found:
        portmert.optimize(lists, metric, optimizer="mert:restarts=1")
    return list(found)


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter", "wer"])
def test_a_function_of_the_references_is_found(made, metric):
    (line,) = warnings(made, f"qe={made / metric}")
    # No words are shifted here, so TER is the word error rate.
    names = ("ter", "wer") if metric in {"ter", "wer"} else (metric,)
    told = "of the hypotheses against these references"
    assert any(f"feature qe is {name} {told}" in line for name in names)


@pytest.mark.parametrize(
    "name",
    ["per", "cer", "wil", "ribes", "nist", "meteor", "edits", "squared", "logarithm", "overlap"],
)
def test_any_function_of_the_references_is_found(made, name):
    (line,) = warnings(made, f"qe={made / name}")
    assert line.startswith("feature qe is ")
    assert "where there are no references, there is no such feature" in line


def test_a_feature_that_is_the_metric_tuned_on_is_told_once(made):
    (line,) = warnings(made, f"qe={made / 'wer'}", metric="wer")
    assert line.startswith("feature qe is wer of the hypotheses against these references")


def test_a_metric_against_a_copy_of_one_reference_is_found(made, tmp_path):
    shuffled = [line.split() for line in (made / "ref").read_text().splitlines()]
    for words in shuffled:
        random.Random(3).shuffle(words)
    (tmp_path / "other").write_text("".join(f"{' '.join(one)}\n" for one in shuffled))
    (tmp_path / "copy").write_text((made / "ref").read_text())
    lists = portmert.Lists.read(
        made / "list", refs=[tmp_path / "other", made / "ref"],
        features=[f"bad=chrf:beta=3@{tmp_path / 'copy'}"],
    )  # fmt: skip
    with collected_warnings() as found:
        portmert.optimize(lists, "qmean", optimizer="mert:restarts=1")
    assert any(line.startswith("feature bad is chrf of the hypotheses") for line in found)


def test_sentence_bleu_of_short_texts_is_found(tmp_path):
    """As sacrebleu scores sentences: texts shorter than four tokens have no score of 0."""
    rng = np.random.default_rng(1)
    refs = [" ".join(rng.choice(list("abcdefgh"), 4)) for _ in range(120)]
    hyps = [[" ".join(rng.choice(list("abcdefgh"), n)) for n in (2, 3, 4)] for _ in refs]
    rows = [f"{n} ||| {hyp} ||| F= 0 ||| 0\n" for n, each in enumerate(hyps) for hyp in each]
    (tmp_path / "list").write_text("".join(rows))
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in refs))
    metric = "bleu:smooth=exp,effective_order=true"
    scores = portmert.score(
        [hyp for each in hyps for hyp in each], [np.repeat(refs, 3).tolist()], metric=metric
    )
    np.savetxt(tmp_path / "bleu", scores.segment_scores)
    found = warnings(tmp_path, f"qe={tmp_path / 'bleu'}")
    assert any(line.startswith("feature qe is bleu of the hypotheses") for line in found)


def test_features_of_a_real_decoder_are_no_functions_of_the_references(tmp_path):
    data = ROOT.parent / "shared" / "data" / "moses-ja-en"
    if not data.is_dir():
        pytest.skip("needs the real lists in shared/data")
    nbest, refs = data / "mert-bleu" / "run1.best100.out.gz", data / "dev.en"
    read = portmert.Lists.read(nbest, refs=refs).nbest
    columns = read.features.T
    for number, column in enumerate(columns):
        values = np.zeros(sum(read.list_sizes))
        values[read.lines] = column
        (tmp_path / str(number)).write_text("".join(f"{x}\n" for x in values))
    features = [f"f{number}={tmp_path / str(number)}" for number in range(len(columns))]
    lists = portmert.Lists.read(nbest, refs=refs, features=features)
    with collected_warnings() as found:
        portmert.optimize(lists, "bleu", optimizer="mert:restarts=1")
    assert not [line for line in found if "references" in line]


def test_a_copy_is_found_and_noise_is_not(made):
    assert warnings(made, f"qe={made / 'noise'}") == []
    (line,) = warnings(made, f"a={made / 'noise'}", f"b={made / 'noise'}")
    assert line.startswith("feature b is a copy of a, but for its scale")


def test_few_segments_are_told():
    lists = portmert.Lists.read(QUALITY / "dev.nbest.gz", refs=QUALITY / "dev.ref", text="debpe")
    with collected_warnings() as found:
        portmert.optimize(lists, "wer", optimizer="mert:restarts=1")
    few = [line for line in found if "to tune on, fewer than 100" in line]
    assert len(few) == (len(lists.nbest) < 100)


def test_lists_in_the_order_of_scores_by_length_are_told(tmp_path):
    rng = np.random.default_rng(2)
    orders = {
        "sum": lambda score, _: -score,
        "mean": lambda score, length: -score / length,
        "with end": lambda score, length: -score / (length + 1),
        "power": lambda score, length: -score / length**0.6,
        "wu": lambda score, length: -score / (5 + length),
    }
    for name, key in orders.items():
        rows = []
        for segment in range(30):
            lengths = rng.integers(4, 20, 8).tolist()
            scores = [-length * rng.uniform(0.5, 1.5) for length in lengths]
            pairs = sorted(zip(scores, lengths, strict=True), key=lambda one: key(*one))
            rows += [
                f"{segment} ||| {'a ' * (n - 1)}{x} ||| F= {score:.4f} ||| {score:.4f}\n"
                for x, (score, n) in enumerate(pairs)
            ]
        (tmp_path / name).write_text("".join(rows))
        with collected_warnings() as found:
            portmert.rerank(tmp_path / name, {"F": 1.0})
        told = [line for line in found if "Try --length-penalty 0:2" in line]
        assert bool(told) == (name != "sum"), found
        # Without weights the list's own scores count; where they say nothing, each feature.
        (tmp_path / "ref").write_text("a\n" * 30)
        bare = [f"{row.rpartition('|||')[0]}||| 0\n" for row in rows]
        normalised = [f"{row.rpartition('|||')[0]}||| {-n}\n" for n, row in enumerate(rows)]
        for lines in (rows, bare, normalised):
            (tmp_path / name).write_text("".join(lines))
            with collected_warnings() as found:
                portmert.optimize(
                    portmert.Lists.read(tmp_path / name, refs=tmp_path / "ref"), "wer",
                    optimizer="mert:restarts=1" )  # fmt: skip
            told = [line for line in found if "Try --length-penalty 0:2" in line]
            assert bool(told) == (name != "sum"), found


def test_an_order_of_few_neighbours_is_no_order():
    lists = portmert.Lists.from_records(
        [
            {"id": 0, "text": "a b", "features": {"LM": -1.0}},
            {"id": 0, "text": "a", "features": {"LM": -0.9}},
        ]
    )
    assert length_order(lists.nbest, np.array([-1.0, -0.9])) == ""
