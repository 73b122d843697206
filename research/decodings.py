"""Score on unseen text against the number of decodings: portmert and what others do.

python -m research.decodings ctc|moses [--seeds N] [--trials N] [--methods NAME,...]
                                          [--moses-ini FILE] [--work DIR] [--results FILE]
python -m research.decodings page
python -m research.decodings stops

The first form decodes and writes what it finds into research/decodings.json, a method and
a seed at a time; those that are there already are not decoded again. Methods are portmert, tpe
and random (Optuna's), grid (`ctc` only) and mert-moses (`moses` only). `ctc` needs pyctcdecode,
kenlm, Optuna and the programs and texts of ../shared; `moses` needs Optuna, ../shared and a model
of data/moses-ja-en. `--work` keeps the tunings of portmert and mert-moses.pl. `page` prints the
tables of the results; `make figures` draws them. `stops` prints what `min_gain` makes of the
tunings of research/stops.json, all of Moses on BLEU by the default optimizer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

import portmert
from portmert.tuner.base.errors import counted
from portmert.tuner.base.tables import aligned
from portmert.tuner.evaluation.document import Chart, ChartChoice, Series
from portmert.tuner.runs.stopping import FEWEST
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.places import MOSES, PROGRAMS, ROOT

RESULTS = ROOT / "research" / "decodings.json"
STOPS = RESULTS.with_name("stops.json")
SHOWN = (1, 2, 3, 4, 6, 8, 16, 32, 64, 100)
GOAL = 4
"""So many decodings by portmert are compared with all that the others did."""
GRID = 7
"""Points of a grid in each direction."""
LETTERS = " 'abcdefghijklmnopqrstuvwxyz"
BLANK = len(LETTERS)
SCRIPTS = PROGRAMS.parent / "scripts" / "training"


class Ctc:
    """pyctcdecode with KenLM on posteriors that are made from text; alpha and beta.

    A letter is one frame; a blank stands between equal letters. Logits are normal with deviation
    1; the true letter has 4.8 more, three letters that look like it 4.5 more. After one letter in
    300 a frame of any letter is added.

    Lists of a narrow beam hold next to nothing better than their first line, so the beam is wide,
    for every method and for the test set.
    """

    name, metric, unit = "ctc", "wer", "WER, pyctcdecode"
    dev, test = 40, 150
    passes = 5
    methods = ("portmert", "tpe", "grid", "random")
    ranges: Mapping[str, tuple[float, float]] = {"lm": (0.0, 2.0), "words": (0.0, 4.0)}
    start: Mapping[str, Any] = {"am": 1.0, "lm": 0.5, "words": 1.5}
    beam: Mapping[str, Any] = {"beam_width": 40, "beam_prune_logp": -20.0}

    def __init__(self, folder: Path) -> None:
        from pyctcdecode import build_ctcdecoder

        lines = [line for line in spoken(MOSES / "train.en.gz") if line]
        arpa = folder / "lm.arpa"
        with arpa.open("w") as out:
            subprocess.run(
                [PROGRAMS / "lmplz", "-o", "3"], input="\n".join(lines).encode(), stdout=out,
                stderr=subprocess.DEVNULL, check=True,
            )  # fmt: skip
        words = sorted({word for line in lines for word in line.split()})
        self.decoder = build_ctcdecoder([*LETTERS, ""], str(arpa), words)
        texts = [
            line
            for part in ("dev.en", "test.en")
            for line in spoken(MOSES / part)
            if 3 <= len(line.split()) <= 9
        ]
        rng = np.random.default_rng(1)
        look = [
            rng.choice(np.delete(np.arange(BLANK), letter), 3, replace=False)
            for letter in range(BLANK)
        ]
        self.texts = texts[-self.test :]
        self.sounds = [posteriors(line, look, rng) for line in self.texts]
        self.rest = [
            (line, posteriors(line, look, rng))
            for line in np.random.default_rng(2).permutation(texts[: -self.test]).tolist()
        ]

    def tuned_on(self, seed: int) -> tuple[list[Any], list[str]]:
        """Return sounds and references of a seed's dev set."""
        some = self.rest[(seed - 1) * self.dev : seed * self.dev]
        assert len(some) == self.dev, "too few texts for so many dev sets"
        return [sound for _, sound in some], [line for line, _ in some]

    def decode(self, weights: Mapping[str, float], sounds: Sequence[Any], size: int) -> Any:
        """Decode as `portmert.tune` wants it: texts with the acoustic score, LM and words."""
        alpha, beta = weights["lm"] / weights["am"], weights["words"] / weights["am"]
        self.decoder.reset_params(alpha=float(alpha or 1e-9), beta=float(beta))
        lists = []
        for sound in sounds:
            rows: dict[str, Any] = {}
            for text, _, _, acoustic, both in self.decoder.decode_beams(sound, **self.beam)[:size]:
                count = len(text.split())
                lm = (both - acoustic - beta * count) / (alpha or 1e-9)
                features = {"am": acoustic, "lm": lm, "words": count}
                rows.setdefault(text, {"text": text, "features": features})
            lists.append(list(rows.values()))
        return lists

    def trial_score(self, weights: Mapping[str, float], seed: int) -> float:
        """Return the score of a seed's dev set."""
        return self._score(weights, *self.tuned_on(seed))

    def test_score(self, weights: Mapping[str, Any]) -> float:
        """Return the score of the test set."""
        return self._score(weights, self.sounds, self.texts)

    def _score(self, weights: Mapping[str, float], sounds: Any, texts: list[str]) -> float:
        found = [rows[0]["text"] for rows in self.decode(weights, sounds, 1)]
        return score(found, texts, self.metric)

    def tune(self, folder: Path, seed: int) -> None:
        """Tune by portmert to the last decoding."""
        sounds, texts = self.tuned_on(seed)
        portmert.tune(
            self.decode, sounds, texts, start=dict(self.start), metric=self.metric, folder=folder,
            seed=seed, nbest=40, iterations=self.passes, patience=99, min_weight_change=0.0,
            min_gain=0.0, constraints={"signs": {"am": "+"}} )  # fmt: skip


class Moses:
    """Moses from Japanese; fourteen weights.

    Each seed has its own dev set; the test set is the same for all. Trials choose each weight
    between 0 and twice the decoder's own.
    """

    name, metric, unit = "moses", "bleu", "BLEU, Moses"
    dev, test = 100, 300
    passes = 8
    nbest = 100
    methods = ("tpe", "portmert", "mert-moses", "random")
    flags = (
        "-distortion-limit 12 -search-algorithm 1 -cube-pruning-pop-limit 30 -s 30 "
        "-cube-pruning-deterministic-search true"
    )

    def __init__(self, folder: Path, ini: Path) -> None:
        self.folder, self.ini = folder, ini.resolve()
        self.tests = self._part("test", 0, self.test)
        self.experiment = self._experiment(1, folder / "none")
        own = self.experiment.decoder.read_weights().values
        self.sizes = {name: len(values) for name, values in own.items()}
        self.start = {
            f"{name} {n}": v for name, values in own.items() for n, v in enumerate(values)
        }
        self.ranges = {name: tuple(sorted((0.0, 2 * v))) for name, v in self.start.items()}

    def _part(self, name: str, begin: int, size: int) -> tuple[Path, Path, Path]:
        """Return source, reference and moses.ini of a part of the texts; tables are filtered."""
        folder = self.folder / f"{name}-{begin}"
        files = folder / "text.ja", folder / "text.en"
        if not folder.exists():
            folder.mkdir()
            for file in files:
                lines = (MOSES / f"{name}{file.suffix}").read_bytes().splitlines(keepends=True)
                file.write_bytes(b"".join(lines[begin : begin + size]))
            subprocess.run(
                [SCRIPTS / "filter-model-given-input.pl", folder / "model", self.ini, files[0]],
                check=True, capture_output=True,
            )  # fmt: skip
        return *files, folder / "model" / "moses.ini"

    def _dev(self, seed: int) -> tuple[Path, Path, Path]:
        return self._part("dev", (seed - 1) * self.dev, self.dev)

    def _experiment(self, seed: int, output: Path) -> Any:
        source, reference, ini = self._dev(seed)
        config = self.folder / f"{seed}.toml"
        tables = {
            "tune": {"output": str(output), "seed": seed, "iterations": self.passes,
                     "nbest": self.nbest, "patience": 99, "min_weight_change": 0.0,
                     "min_gain": 0.0, "threads": 1},
            "data": {"source": str(source), "references": [str(reference)]},
            "metric": {"name": self.metric},
            "decoder": {"name": "moses", "program": str(PROGRAMS / "moses"),
                        "config": str(ini), "flags": self.flags, "threads": 1},
        }  # fmt: skip
        config.write_text(
            "\n".join(
                f"[{table}]\n" + "\n".join(f"{key} = {json.dumps(v)}" for key, v in keys.items())
                for table, keys in tables.items()
            )
        )
        return portmert.load_config(config)

    def trial_score(self, weights: Mapping[str, float], seed: int) -> float:
        """Return the score of a seed's dev set."""
        values = {
            name: tuple(weights[f"{name} {n}"] for n in range(size))
            for name, size in self.sizes.items()
        }
        return self._score(values, self._dev(seed))

    def test_score(self, weights: Mapping[str, Any]) -> float:
        """Return the score of the test set; weights as trials or as moses.ini has them."""
        values = {
            name: weights.get(name) or tuple(weights[f"{name} {n}"] for n in range(size))
            for name, size in self.sizes.items()
        }
        return self._score(values, self.tests)

    def _score(self, values: Mapping[str, tuple[float, ...]], part: tuple[Path, ...]) -> float:
        out = self.folder / "out.gz"
        replace(self.experiment.decoder, config=part[2]).decode(
            FeatureWeights(dict(values)), source=part[0], size=1, out=out, workdir=self.folder,
            links=False,
        )  # fmt: skip
        with gzip.open(out, "rt") as lines:
            found = [line.split(" ||| ")[1] for line in lines]
        return score(found, part[1].read_text().splitlines(), self.metric)

    def tune(self, folder: Path, seed: int) -> None:
        """Tune by portmert to the last decoding."""
        portmert.tune(self._experiment(seed, folder))

    def mert(self, folder: Path, seed: int) -> list[float]:
        """Tune by mert-moses.pl; return the test score of the weights after each decoding."""
        source, reference, ini = self._dev(seed)
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        words: list[str | Path] = [
            SCRIPTS / "mert-moses.pl", source, reference, PROGRAMS / "moses", ini,
            f"--working-dir={work}", f"--mertdir={PROGRAMS}",
            f"--nbest={self.nbest}", f"--maximum-iterations={self.passes}",
            "--no-filter-phrase-table", f"--decoder-flags={self.flags}",
            f"--mertmertargs=-r {seed} ",
        ]  # fmt: skip
        if (work / "finished_step.txt").exists():
            words.append("--continue")
        with (folder / "tuning.log").open("a") as log:
            subprocess.run(words, check=True, cwd=folder, stdout=log, stderr=log)
        count = len(list(work.glob("run*.moses.ini")))
        inis = [work / f"run{n}.moses.ini" for n in range(2, count + 1)] + [work / "moses.ini"]
        return [self.test_score(read_weights(ini).values) for ini in inis]


def spoken(path: Path) -> list[str]:
    """Return the lines of a text without punctuation and numbers."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [
            " ".join(word for word in line.split() if re.fullmatch("[a-z']*[a-z]", word))
            for line in lines
        ]


def posteriors(text: str, look: Sequence[Any], rng: np.random.Generator) -> Any:
    """Return (frames, letters + blank) log probabilities, see `Ctc`."""
    frames = []

    def frame(symbol: int) -> None:
        frames.append(rng.normal(size=BLANK + 1))
        frames[-1][symbol] += 4.8
        if symbol < BLANK:
            frames[-1][look[symbol]] += 4.5

    before = ""
    for letter in text:
        if letter == before:
            frame(BLANK)
        frame(LETTERS.index(letter))
        before = letter
        if rng.random() < 0.003:
            frame(int(rng.integers(BLANK)))
            before = ""
    logits = np.array(frames)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def score(found: Sequence[str], texts: Sequence[str], metric: str) -> float:
    """Return a score; higher is better (1 - WER)."""
    return portmert.score(list(found), [list(texts)], metric=metric).score


def proposals(setting: Any, method: str, seed: int, trials: int) -> Iterator[tuple[Any, Any]]:
    """Yield the weights of each trial, and a function that wants its dev score."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "grid": lambda: optuna.samplers.GridSampler(
            {name: np.linspace(*ends, GRID).tolist() for name, ends in setting.ranges.items()},
            seed=seed,
        ),
    }
    study = optuna.create_study(direction="maximize", sampler=samplers[method]())
    if method == "tpe":
        study.enqueue_trial({name: setting.start[name] for name in setting.ranges})
    for _ in range(trials):
        trial = study.ask()
        weights = {name: trial.suggest_float(name, *ends) for name, ends in setting.ranges.items()}
        yield weights, lambda value, trial=trial: study.tell(trial, value)


def searched(setting: Any, method: str, seed: int, trials: int) -> list[float]:
    """Return test scores of the weights of the best dev score, after as many trials as SHOWN."""
    fixed = {name: value for name, value in setting.start.items() if name not in setting.ranges}
    own = {name: setting.start[name] for name in setting.ranges}
    if method == "grid":
        trials = min(trials, GRID ** len(setting.ranges))
    best, kept, curve, scored = -np.inf, own, [], None
    for number, (proposed, tell) in enumerate(proposals(setting, method, seed, trials), 1):
        # The decoder's own weights are what everybody tries first.
        weights = own if number == 1 else proposed
        value = setting.trial_score({**fixed, **weights}, seed)
        if number > 1 or method == "tpe":
            tell(value)
        if value > best:
            best, kept = value, weights
        if number in SHOWN or number == trials:
            if kept is not scored:
                scored, worth = kept, setting.test_score({**fixed, **kept})
            curve.append(worth)
    return curve


def tuned(setting: Any, folder: Path, seed: int) -> dict[str, list[float | None]]:
    """Return what a tuning by portmert found under the weights of each iteration.

    `test`: scores of the test set. `judged`: their estimate for unseen text, and `listed` the same
    before they were decoded. `gain` and `gain_error`: as in `portmert.tuner.runs.result`.
    """
    setting.tune(folder, seed)
    rows: dict[str, list[float | None]] = {
        name: [] for name in ("test", "judged", "listed", "gain", "gain_error")
    }
    for number in range(1, setting.passes + 2):
        iteration = folder / f"iteration-{number:02d}"
        if not (iteration / "scores.json").exists():  # it had come to rest
            break
        plain: Any = read_weights(iteration / "weights.json").values
        if setting.name == "ctc":
            plain = {name: values[0] for name, values in plain.items()}
        rows["test"].append(setting.test_score(plain))
        rows["judged"].append(json.loads((iteration / "scores.json").read_text())["unseen_score"])
        if (iteration / "optimized.json").exists():
            found = json.loads((iteration / "optimized.json").read_text())
            known = found["excess"] is not None
            rows["listed"].append(found["next_score"] - found["excess"] if known else None)
            rows["gain"].append(found["gain"])
            rows["gain_error"].append(found["gain_error"])
    return rows


def measure(setting: Any, arguments: argparse.Namespace, work: Path) -> None:
    """Decode and write down what was found."""
    methods = arguments.methods.split(",") if arguments.methods else setting.methods
    for method in methods:
        for seed in range(1, arguments.seeds + 1):
            file = arguments.results
            held = json.loads(file.read_text()) if file.exists() else {}
            curves = held.setdefault(setting.name, {})
            curves |= {"unit": setting.unit, "passes": setting.passes}
            if str(seed) in curves.setdefault(method, {}):
                continue
            folder = work / f"{setting.name}-{method}-{seed}"
            if method == "portmert":
                found: Any = tuned(setting, folder, seed)
            elif method == "mert-moses":
                found = setting.mert(folder, seed)
            else:
                found = searched(setting, method, seed, arguments.trials)
            curves[method][str(seed)] = found
            file.write_text(json.dumps(held, indent=1) + "\n")
            click.echo(f"{setting.name} seed {seed} {method}: {found}")


def main() -> None:
    """Measure, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ctc", "moses", "page", "stops"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--methods")
    parser.add_argument("--moses-ini", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.what == "page":
        for one in json.loads(arguments.results.read_text()).values():
            click.echo(table(one) + "\n")
        return
    if arguments.what == "stops":
        stops(json.loads(STOPS.read_text()))
        return
    with tempfile.TemporaryDirectory() as name:
        work = (arguments.work or Path(name)).resolve()
        work.mkdir(exist_ok=True)
        try:
            setting: Any = (
                Ctc(work) if arguments.what == "ctc" else Moses(work, arguments.moses_ini)
            )
            measure(setting, arguments, work)
        except ModuleNotFoundError as error:
            sys.exit(f"this bench needs {error.name}: pip install pyctcdecode kenlm optuna")


METHODS = ("portmert", "mert-moses", "tpe", "random", "grid")
NAMES = {"mert-moses": "mert-moses.pl", "tpe": "Optuna, TPE", "random": "random search"}


def taken(rows: Mapping[str, Sequence[float]]) -> list[float]:
    """Return test scores of what `portmert tune --decodings N` takes, for N from 1.

    The iteration of the best estimate; the last one is not decoded, see docs/how-to/tune.md.
    """
    scores = []
    for number, listed in enumerate(rows["listed"], 1):
        judged = [*rows["judged"][:number], listed]
        scores.append(rows["test"][int(np.argmax(judged))])
    return scores


def values(one: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return seed -> (SHOWN,) test scores in percent, WER as an error; NaN: not so many."""
    found = {}
    for seed, curve in one.get(method, {}).items():
        known = taken(curve) if method == "portmert" else curve
        if method in ("portmert", "mert-moses"):  # one that came to rest keeps its weights
            numbers = [number for number in SHOWN if number <= one["passes"]]
            known = [known[min(number, len(known)) - 1] for number in numbers]
        row = np.full(len(SHOWN), np.nan)
        row[: len(known)] = known
        found[seed] = 100 * (1 - row if one["unit"].startswith("WER") else row)
    return found


def ended(rows: Mapping[str, Any], least: float | None) -> tuple[int, float]:
    """Return decodings and test score of a tuning that ends as `min_gain = least` says."""
    count = len(rows["judged"])
    if least is not None:
        steps = enumerate(zip(rows["gain"], rows["gain_error"], strict=True), 1)
        enough = (number for number, (gain, error) in steps if gain <= least * error)
        count = next((number for number in enough if number >= FEWEST), count)
    return count, 100 * rows["test"][int(np.argmax(rows["judged"][:count]))]


def stops(tunings: Mapping[str, Any]) -> None:
    """Print decodings and test scores by `min_gain`, as differences to runs without it."""
    rows = []
    for condition in [*dict.fromkeys(name.split()[0] for name in tunings), ""]:
        some = [rows for name, rows in tunings.items() if condition in ("", name.split()[0])]
        whole = np.array([ended(one, None) for one in some])
        cells = [condition or "all", str(len(some)), *(f"{v:.2f}" for v in whole.mean(axis=0))]
        for least in (0.0, 0.5, 1.0):
            found = np.array([ended(one, least) for one in some])
            differences = found[:, 1] - whole[:, 1]
            error = differences.std(ddof=1) / len(some) ** 0.5
            cells.append(f"{found[:, 0].mean():.2f}: {differences.mean():+.2f} ± {error:.2f}")
        rows.append(cells)
    header = ["condition", "tunings", "decodings", "test BLEU", "0", "0.5", "1"]
    click.echo(aligned(header, rows, style="pipe"))


def table(one: Mapping[str, Any]) -> str:
    """Return means and standard errors by number of decodings, and paired differences."""
    methods = [method for method in METHODS if one.get(method)]
    rows = []
    for method in methods:
        found = np.array(list(values(one, method).values()))
        cells = []
        for column in found.T:
            spread = column.std(ddof=1) / len(column) ** 0.5 if len(column) > 1 else 0.0
            cells.append("" if np.isnan(column[0]) else f"{column.mean():.2f} ± {spread:.2f}")
        rows.append([NAMES.get(method, method), str(len(found)), *cells])
    header = ["tuned by", "seeds", *map(str, SHOWN)]
    lines = [one["unit"], "", aligned(header, rows, style="pipe"), ""]
    ours = values(one, "portmert")
    for method in methods[1:]:
        other = values(one, method)
        last = int(np.flatnonzero(~np.isnan(next(iter(other.values()))))[-1])
        pairs = [
            ours[seed][SHOWN.index(GOAL)] - other[seed][last] for seed in ours if seed in other
        ]
        if len(pairs) < 2:
            continue
        half = student.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / len(pairs) ** 0.5
        lines.append(
            f"portmert after {GOAL} decodings less {NAMES.get(method, method)} at its end: "
            f"{np.mean(pairs):+.2f} ± {half:.2f} (95 %, {len(pairs)} seeds)"
        )
    return "\n".join(lines)


def chart(one: Mapping[str, Any]) -> Chart:
    """Return means over seeds with their standard errors, by number of decodings."""
    series = []
    for colour, method in enumerate(METHODS):
        if found := values(one, method):
            rows = np.array(list(found.values()))
            mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / len(rows) ** 0.5
            ends = [
                [None if np.isnan(value) else float(value) for value in row]
                for row in (mean, mean - error, mean + error)
            ]
            name = NAMES.get(method, method)
            series.append(Series(name, ends[0], low=ends[1], high=ends[2], colour=colour))
    choice = ChartChoice("", series, categories=[counted(n, "decoding") for n in SHOWN])
    title = f"{one['unit']}, by decodings of the dev set"
    return Chart("decodings", "intervals", title, [choice], x="mean and standard error over seeds")


if __name__ == "__main__":
    main()
