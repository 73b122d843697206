"""No rule ends a tuning behind a step that was cut short.

A decoder that always returns all it has leaves one set of lists. So `tune` must end where
`optimize` ends on these lists, whatever rule ends the run and wherever it begins.
"""

import gzip
import random

import pytest

import portmert
from portmert.tuner.base import streams
from portmert.tuner.runs import loop
from portmert.tuner.search import averaging, steps
from portmert.tuner.search.steps import Steps
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.extensions.mert_moses.test_mert_moses import BAGGED, FOUR, RECORDED, tune, without_dates
from tests.support.run_folders import LITTLE

QUICK = "bagged:" + ",".join(setting.removeprefix("optimizer.") for setting in LITTLE)
SEGMENTS, HYPOTHESES = 40, 20
NEAR, FAR = {"good": 1.0, "noise": 0.2}, {"good": -1.0, "noise": 1.0}


class Everything:
    """Lists of noisy copies of references; `good` tells how much of a hypothesis is right.

    `decode` returns the `shown` best hypotheses of each segment, all of them by default, and
    counts its calls. The call `fails` raises an error.
    """

    def __init__(self, seed=1, shown=HYPOTHESES):
        draw = random.Random(seed)
        words = ["".join(draw.choices("abcdefgh", k=5)) for _ in range(60)]
        self.references = [" ".join(draw.choices(words, k=12)) for _ in range(SEGMENTS)]
        self.lists = [
            [self.hypothesis(reference, words, draw) for _ in range(HYPOTHESES)]
            for reference in self.references
        ]
        self.shown, self.calls, self.fails = shown, 0, None

    @staticmethod
    def hypothesis(reference, words, draw):
        share = draw.random()
        text = [w if draw.random() < share else draw.choice(words) for w in reference.split()]
        features = {"good": share + draw.gauss(0, 0.15), "noise": draw.gauss(0, 1)}
        return {"text": " ".join(text), "features": features}

    def decode(self, weights, sources, _size):
        self.calls += 1
        if self.calls == self.fails:
            raise RuntimeError("no power")

        def score(hypothesis):
            return sum(weights[name] * value for name, value in hypothesis["features"].items())

        ranked = [sorted(self.lists[int(one)], key=score, reverse=True) for one in sources]
        return [one[: self.shown] for one in ranked]

    def tuned(self, folder, start, **settings):
        return portmert.tune(
            self.decode, [str(n) for n in range(SEGMENTS)], self.references, start=start,
            **{"metric": "chrf", "optimizer": QUICK} | settings,
            folder=folder )  # fmt: skip

    def optimized(self, folder, start, optimizer):
        """Return what `optimize` finds on the lists of the first decoding.

        It leaves the start weights, as `tune` does.
        """
        optimizer += ",keeps_start=false" * optimizer.startswith("bagged:")
        lists = portmert.Lists.read([folder / "iteration-01" / "nbest.gz"], refs=[self.references])
        return portmert.optimize(
            lists, "chrf", weights=start, optimizer=optimizer, seed=streams.iteration(1, 1),
            )  # fmt: skip


def change(one, other):
    return averaging.weight_change(FeatureWeights.of(one), FeatureWeights.of(other))


RULES = (
    {},
    {"patience": 1},
    {"min_gain": 1e6},
    {"iterations": 1},
    {"decodings": 2},
    {"decodings": 3, "iterations": 2},
    {"patience": 1, "min_gain": 1e6, "iterations": 1, "decodings": 2},
)
CASES = [(QUICK, start, rules) for start in (NEAR, FAR) for rules in RULES]
# Near the end, such weights "stand still" before anything else is asked.
CASES += [(QUICK, FAR, rules | {"min_weight_change": 0.3}) for rules in RULES]
CASES += [("mert:searches_per_feature=20", start, {}) for start in (NEAR, FAR)]


@pytest.mark.parametrize(("optimizer", "start", "rules"), CASES, ids=str)
def test_tune_ends_where_optimize_ends_on_the_same_lists(tmp_path, optimizer, start, rules):
    decoder = Everything()
    tuned = decoder.tuned(tmp_path, start, optimizer=optimizer, **rules)
    found = decoder.optimized(tmp_path, start, optimizer)
    last = tuned.result.iterations[-1]
    assert last.dev_score == pytest.approx(found.score, abs=1e-12)
    after = read_weights(tmp_path / f"iteration-{last.number:02d}" / "weights.json").values
    assert change(after, found.weights.values) < 1e-12
    if start is FAR:
        assert tuned.result.score == last.dev_score > tuned.result.start_score + 0.3
        assert change(tuned.weights, found.weights.values) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_held_out_text_does_not_end_a_run_on_the_way(tmp_path, seed):
    """With text held out, other segments are searched; the way is gone to its end all the same."""
    tuned = Everything(seed).tuned(tmp_path, FAR, held_out=0.25, patience=1)
    assert tuned.result.iterations[-1].held_out_score > 0.75
    assert tuned.result.score > 0.75


@pytest.mark.parametrize("seed", range(3))
def test_a_decoder_with_few_alternatives_does_not_end_a_run_on_the_way(tmp_path, seed):
    decoder = Everything(seed, shown=3)
    tuned = decoder.tuned(tmp_path, FAR)
    assert tuned.result.iterations[0].dev_score < 0.5
    assert tuned.result.score > 0.8


@pytest.mark.parametrize("shown", [3, HYPOTHESES])
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path, shown):
    whole = Everything(shown=shown)
    whole.tuned(tmp_path / "whole", FAR)
    for call in range(1, whole.calls + 1):
        decoder = Everything(shown=shown)
        decoder.fails = call
        with pytest.raises(portmert.PortmertError, match="no power"):
            decoder.tuned(tmp_path / f"{call}", FAR)
        decoder.tuned(tmp_path / f"{call}", FAR)
        assert products(tmp_path / f"{call}") == products(tmp_path / "whole")


def products(folder):
    """Return path -> bytes of what a run leaves; not its log, which has times."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json"))
    }


def said_by(caplog):
    """Return the warnings, but that few segments are tuned on."""
    return [line for line in caplog.messages if "to tune on" not in line]


def only_short_steps(monkeypatch, farthest=steps.FARTHEST):
    """Let no step be longer, however bad the weights before are."""
    monkeypatch.setattr(steps, "FARTHEST", farthest)
    monkeypatch.setattr(loop, "is_by_chance", lambda *_, **__: False)


def test_a_limit_that_ends_a_run_on_the_way_is_a_warning(tmp_path, monkeypatch, caplog):
    only_short_steps(monkeypatch)
    said = "but the last step was cut short; more decodings would lead farther"
    decoder = Everything()
    decoder.tuned(tmp_path / "one", FAR, decodings=1)
    assert said_by(caplog) == [f"the limit of 1 decoding is reached, {said}"]
    caplog.clear()
    decoder.tuned(tmp_path / "held-out", FAR, decodings=2, held_out=0.25)
    assert said_by(caplog) == [f"the limit of 2 decodings is reached, {said}"]
    caplog.clear()
    decoder.tuned(tmp_path / "two", FAR, decodings=2)
    decoder.tuned(tmp_path / "near", NEAR, decodings=1)
    assert not said_by(caplog)


def test_what_is_behind_and_what_was_cut():
    assert not Steps(()).is_behind
    assert not Steps((1.0, 1 / 2, 1 / 3)).is_behind  # an average
    assert Steps((0.4,)).is_behind
    assert Steps((0.4, 1 / 2)).is_behind  # the average holds some of the start weights
    assert Steps((1.0, 0.4, 1 / 3)).is_behind
    assert not Steps((0.4, 1.0, 1 / 2)).is_behind  # the mean begins anew
    assert Steps((0.4, 1.0, 1 / 3)).is_behind
    assert [Steps((0.4, 1 / 2, 0.2)).is_cut(number) for number in range(5)] == [
        False, True, False, True, False,
    ]  # fmt: skip


MOSES = [*BAGGED, "--nbest=200"]


@pytest.fixture
def four(tmp_path):
    """The arguments of mert-moses, with a decoder that shows all it has: each text once."""
    lists, texts = tmp_path / "all.nbest", set()
    with gzip.open(RECORDED / "1.nbest.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if (text := tuple(line.split(" ||| ")[:2])) not in texts:
                texts.add(text)
                with lists.open("a", encoding="utf-8") as file:
                    file.write(line)
    config = (RECORDED / "moses.ini").read_text(encoding="utf-8")
    config = config.replace("1.nbest.gz\n2.nbest.gz", str(lists))
    config = config.replace("\ndev.src", f"\n{RECORDED / 'dev.src'}")
    (tmp_path / "moses.ini").write_text(config, encoding="utf-8")
    return [*FOUR[:3], tmp_path / "moses.ini"]


@pytest.mark.parametrize(
    "rule", [(), ("--required-gain=1e9",), ("--minimum-required-change-in-weights=9",)]
)
def test_mert_moses_goes_the_whole_way(tmp_path, monkeypatch, four, rule):
    tune(tmp_path / "uncut", four=four, quick=MOSES)
    only_short_steps(monkeypatch, 0.05)
    shown = tune(tmp_path / "cut", *rule, four=four, quick=MOSES).stderr
    assert "share of the way that the step goes: 0." in shown
    assert (tmp_path / "uncut" / "finished_step.txt").read_text() == "2\n"
    assert (tmp_path / "cut" / "finished_step.txt").read_text() == "3\n"
    expected, found = (
        read_weights(tmp_path / name / "moses.ini").values for name in ("uncut", "cut")
    )
    assert change(found, expected) < 1e-5  # moses.ini has few digits


def test_mert_moses_continues_behind_a_cut_step_to_the_same_files(
    tmp_path, monkeypatch, four, caplog
):
    only_short_steps(monkeypatch, 0.05)
    tune(tmp_path / "whole", four=four, quick=MOSES)
    assert not said_by(caplog)
    for last in (1, 2):
        folder = tmp_path / f"{last}"
        tune(folder, f"--maximum-iterations={last}", four=four, quick=MOSES)
        tune(folder, "--continue", four=four, quick=MOSES)
        assert without_dates(folder) == without_dates(tmp_path / "whole")
    said = "but the last step was cut short; more decodings would lead farther"
    assert said_by(caplog) == [f"the limit of 1 decoding is reached, {said}"]
