"""Score on unseen text against the number of decodings: portmert, Optuna, random search, a grid.

python -m tests.bench.decodings ctc|moses [--seeds N] [--trials N] [--dev N] [--test N]
                                          [--methods NAME,...] [--moses-ini FILE]
python -m tests.bench.decodings page

The first form decodes and writes what it finds into docs/explanation/decodings.json, a method and
a seed at a time; those that are there already are not decoded again. `ctc` needs pyctcdecode,
kenlm, Optuna and the programs and texts of ../shared; `moses` needs Optuna, ../shared and a model
of data/moses-ja-en. `page` makes the plot of that file and prints its tables.
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
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

import portmert
from portmert.tuner.ground.tables import aligned
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.places import MOSES, PROGRAMS, ROOT

RESULTS = ROOT / "docs" / "explanation" / "decodings.json"
PLOT = RESULTS.with_suffix(".svg")
SHOWN = (1, 2, 3, 4, 6, 8, 16, 32, 64, 100)
LETTERS = " 'abcdefghijklmnopqrstuvwxyz"
BLANK = len(LETTERS)
PASSES = 5
"""Decodings of a tuning by portmert."""


class Ctc:
    """pyctcdecode with KenLM on posteriors that are made from text; alpha and beta.

    A letter is one frame; a blank stands between equal letters. Logits are normal with deviation
    1; the true letter has 4.8 more, three letters that look like it 4.5 more. After one letter in
    300 a frame of any letter is added.

    Lists of a narrow beam hold next to nothing better than their first line: the beam for lists
    is wide. Trials and tests, which want one line, have the narrow one.
    """

    name, metric, unit = "ctc", "wer", "WER, pyctcdecode"
    ranges: Mapping[str, tuple[float, float]] = {"lm": (0.0, 2.0), "words": (0.0, 4.0)}
    start: Mapping[str, Any] = {"am": 1.0, "lm": 0.5, "words": 1.5}
    narrow: Mapping[str, Any] = {"beam_width": 16}
    wide: Mapping[str, Any] = {"beam_width": 40, "beam_prune_logp": -20.0}

    def __init__(self, dev: int, test: int, folder: Path) -> None:
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
        self.texts = texts[-test:]
        self.sounds = [posteriors(line, look, rng) for line in self.texts]
        self.dev = [
            (line, posteriors(line, look, rng))
            for line in np.random.default_rng(2).permutation(texts[:-test]).tolist()
        ]
        self.size = dev

    def tuned_on(self, seed: int) -> tuple[list[Any], list[str]]:
        """Return sounds and references of a seed's dev set."""
        some = self.dev[(seed - 1) * self.size : seed * self.size]
        assert len(some) == self.size, "too few texts for so many dev sets"
        return [sound for _, sound in some], [line for line, _ in some]

    def decode(self, weights: Mapping[str, float], sounds: Sequence[Any], size: int) -> Any:
        """Decode as `portmert.tune` wants it: texts with the acoustic score, LM and words."""
        alpha, beta = weights["lm"] / weights["am"], weights["words"] / weights["am"]
        self.decoder.reset_params(alpha=float(alpha or 1e-9), beta=float(beta))
        beam = self.wide if size > 1 else self.narrow
        lists = []
        for sound in sounds:
            rows: dict[str, Any] = {}
            for text, _, _, acoustic, both in self.decoder.decode_beams(sound, **beam)[:size]:
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
            seed=seed, nbest=40, iterations=PASSES, patience=99, min_weight_change=0.0,
            min_gain=0.0, constraints={"signs": {"am": "+"}}, log=lambda _: None,
        )  # fmt: skip


class Moses:
    """Moses from Japanese; fourteen weights."""

    name, metric, unit = "moses", "bleu", "BLEU, Moses"

    def __init__(self, dev: int, test: int, folder: Path, ini: Path) -> None:
        self.folder, self.size, self.ini = folder, dev, ini
        self.test = self._part("test", 0, test)
        self.experiment = self._experiment(1, folder / "none")
        self.start = self.experiment.decoder.read_weights().values
        self.ranges = {
            f"{name} {n}": (value - 0.5, value + 0.5)
            for name, values in self.start.items()
            for n, value in enumerate(values)
        }

    def _part(self, name: str, begin: int, size: int) -> tuple[Path, Path]:
        paths = []
        for language in ("ja", "en"):
            lines = (MOSES / f"{name}.{language}").read_text().splitlines(keepends=True)
            paths.append(self.folder / f"{name}{begin}.{language}")
            paths[-1].write_text("".join(lines[begin : begin + size]))
        return paths[0], paths[1]

    def _experiment(self, seed: int, output: Path) -> Any:
        source, reference = self._part("dev", (seed - 1) * self.size, self.size)
        config = self.folder / f"{seed}.toml"
        flags = (
            "-distortion-limit 12 -search-algorithm 1 -cube-pruning-pop-limit 100 -s 100 "
            "-cube-pruning-deterministic-search true"
        )
        tables = {
            "tune": {"output": str(output), "seed": seed, "iterations": PASSES, "patience": 99,
                     "min_weight_change": 0.0, "min_gain": 0.0, "threads": 1},
            "data": {"source": str(source), "references": [str(reference)]},
            "metric": {"name": self.metric},
            "decoder": {"name": "moses", "program": str(PROGRAMS / "moses"),
                        "config": str(self.ini), "flags": flags},
        }  # fmt: skip
        config.write_text(
            "\n".join(
                f"[{table}]\n" + "\n".join(f"{key} = {json.dumps(v)}" for key, v in keys.items())
                for table, keys in tables.items()
            )
        )
        return portmert.load_config(config)

    def trial_score(self, weights: Mapping[str, Any], seed: int) -> float:
        """Return the score of a seed's dev set."""
        return self._score(weights, self._part("dev", (seed - 1) * self.size, self.size))

    def test_score(self, weights: Mapping[str, Any]) -> float:
        """Return the score of the test set."""
        return self._score(weights, self.test)

    def _score(self, weights: Mapping[str, Any], part: tuple[Path, Path]) -> float:
        values = dict(weights)
        if any(" " in name for name in values):
            values = {
                name: tuple(weights[f"{name} {n}"] for n in range(len(old)))
                for name, old in self.start.items()
            }
        out = self.folder / "out.gz"
        self.experiment.decoder.decode(
            FeatureWeights(values), source=part[0], size=1, out=out, workdir=self.folder,
            progress=lambda *_: None,
        )  # fmt: skip
        with gzip.open(out, "rt") as lines:
            found = [line.split(" ||| ")[1] for line in lines]
        return score(found, part[1].read_text().splitlines(), self.metric)

    def tune(self, folder: Path, seed: int) -> None:
        """Tune by portmert to the last decoding."""
        portmert.tune(self._experiment(seed, folder), log=lambda _: None)


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
            {name: np.linspace(*ends, 7).tolist() for name, ends in setting.ranges.items()},
            seed=seed,
        ),
    }
    study = optuna.create_study(direction="maximize", sampler=samplers[method]())
    for _ in range(trials if method != "grid" else min(trials, 7 ** len(setting.ranges))):
        trial = study.ask()
        weights = {name: trial.suggest_float(name, *ends) for name, ends in setting.ranges.items()}
        yield weights, lambda value, trial=trial: study.tell(trial, value)


def searched(setting: Any, method: str, seed: int, trials: int) -> list[float]:
    """Return the test score of the weights of the best dev score after each trial."""
    fixed = {name: value for name, value in setting.start.items() if name == "am"}
    start = {name: setting.start[name] for name in setting.ranges if name in setting.start}
    best, curve = -np.inf, []
    for number, (proposed, tell) in enumerate(proposals(setting, method, seed, trials)):
        # The decoder's own weights are what everybody tries first.
        weights = start if number == 0 and start else proposed
        value = setting.trial_score({**fixed, **weights}, seed)
        if number or not start:
            tell(value)
        if value > best:
            best = value
            curve.append(setting.test_score({**fixed, **weights}))
        else:
            curve.append(curve[-1])
    return curve


def tuned(setting: Any, seed: int) -> dict[str, list[float]]:
    """Return test scores after each decoding: of the best iteration, of the last weights found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        setting.tune(folder, seed)
        tests: list[float] = []
        judged: list[float] = []
        for number in range(1, PASSES + 2):
            iteration = folder / f"iteration-{number:02d}"
            if not (iteration / "scores.json").exists():  # it had come to rest
                tests.append(tests[-1])
                judged.append(judged[-1])
                continue
            plain = read_weights(iteration / "weights.json").values
            if setting.name == "ctc":
                plain = {name: values[0] for name, values in plain.items()}
            tests.append(setting.test_score(plain))
            judged.append(json.loads((iteration / "scores.json").read_text())["unseen_score"])
    best = [tests[int(np.argmax(judged[: n + 1]))] for n in range(PASSES)]
    return {"portmert": best, "portmert, last weights": tests[1:], "judged": judged}


def measure(setting: Any, methods: Sequence[str], seeds: int, trials: int) -> None:
    """Decode and write down what was found."""
    held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    curves = held.setdefault(setting.name, {"unit": setting.unit, "dev": setting.size})
    for seed in range(1, seeds + 1):
        for method in methods:
            if str(seed) in curves.setdefault(method, {}):
                continue
            if method == "portmert":
                for name, curve in tuned(setting, seed).items():
                    curves.setdefault(name, {})[str(seed)] = curve
            else:
                curves[method][str(seed)] = searched(setting, method, seed, trials)
            RESULTS.write_text(json.dumps(held, indent=1) + "\n")
            click.echo(f"{setting.name} seed {seed} {method}: {curves[method][str(seed)][-1]:.4f}")


def main() -> None:
    """Measure, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ctc", "moses", "page"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--dev", type=int, default=30)
    parser.add_argument("--test", type=int, default=100)
    parser.add_argument("--methods", default="portmert,tpe,random,grid")
    parser.add_argument("--moses-ini", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "page":
        page()
        return
    with tempfile.TemporaryDirectory() as name:
        try:
            setting: Any = (
                Ctc(arguments.dev, arguments.test, Path(name))
                if arguments.what == "ctc"
                else Moses(arguments.dev, arguments.test, Path(name), arguments.moses_ini)
            )
            measure(setting, arguments.methods.split(","), arguments.seeds, arguments.trials)
        except ModuleNotFoundError as error:
            sys.exit(f"this bench needs {error.name}: pip install pyctcdecode kenlm optuna")


COLOURS = {
    "portmert": "#06c", "portmert, last weights": "#093", "tpe": "#c30", "random": "#888",
    "grid": "#a6a",
}  # fmt: skip
NAMES = {"tpe": "Optuna, TPE", "random": "random search", "grid": "grid"}


def page() -> None:
    """Write the plot and print the tables."""
    held = json.loads(RESULTS.read_text())
    parts = []
    for number, one in enumerate(held.values()):
        parts.append(plot(one, 60 + 430 * number))
        click.echo(table(one) + "\n")
    width = 60 + 430 * len(held)
    PLOT.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="330" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="score by decodings">'
        f'<rect width="{width}" height="330" fill="white"/>{"".join(parts)}</svg>\n'
    )


def means(one: Mapping[str, Any], method: str) -> Any:
    """Return (seeds, decodings) test scores in percent, WER as an error.

    Of the seeds that all methods have which were measured.
    """
    measured = [curves for name, curves in one.items() if name in COLOURS and curves]
    shared = set.intersection(*map(set, measured))
    curves = {seed: curve for seed, curve in one.get(method, {}).items() if seed in shared}
    length = max((len(curve) for curve in curves.values()), default=0)
    rows = [curve + curve[-1:] * (length - len(curve)) for curve in curves.values()]
    values = 100 * np.array(rows, dtype=np.float64).reshape(len(rows), length)
    return 100 - values if one["unit"].startswith("WER") else values


def table(one: Mapping[str, Any]) -> str:
    """Return the means by number of decodings, and the paired difference of the goal."""
    methods = [method for method in COLOURS if means(one, method).size]
    rows = [["tuned by", "seeds", *map(str, SHOWN)]]
    for method in methods:
        values = means(one, method)
        cells = [f"{values[:, n - 1].mean():.2f}" if n <= values.shape[1] else "" for n in SHOWN]
        rows.append([NAMES.get(method, method), str(len(values)), *cells])
    lines = [one["unit"], "", aligned(rows[0], rows[1:], style="pipe")]
    best = means(one, "tpe")
    for method in methods[:2]:
        ours = means(one, method)
        count = min(len(ours), len(best))
        if not method.startswith("portmert") or count < 2:
            continue
        differences = ours[:count, 3] - best[:count, -1]
        half = student.ppf(0.975, count - 1) * differences.std(ddof=1) / count**0.5
        lines.append(
            f"{method}, 4 decodings, less Optuna's {best.shape[1]}: "
            f"{differences.mean():+.2f} ± {half:.2f} (95 %, {count} seeds)"
        )
    return "\n".join(lines)


def plot(one: Mapping[str, Any], left: int) -> str:
    """Return the curves of a setting, means over seeds, over a logarithmic axis."""
    curves = {method: means(one, method) for method in COLOURS}
    curves = {method: values.mean(axis=0) for method, values in curves.items() if values.size}
    low = min(values.min() for values in curves.values())
    high = max(values.max() for values in curves.values())
    longest = max(map(len, curves.values()))

    def x(number: float) -> float:
        return left + 340 * float(np.log(number) / np.log(max(longest, 2)))

    def y(value: float) -> float:
        return 260 - 220 * float(value - low) / (float(high - low) or 1.0)

    parts = [f'<text x="{left}" y="20" font-weight="bold">{one["unit"]}</text>']
    parts += [
        f'<text x="{left - 8}" y="{y(value) + 4:.0f}" text-anchor="end">{value:.1f}</text>'
        f'<path d="M{left} {y(value):.1f}h340" stroke="#eee"/>'
        for value in np.linspace(low, high, 5)
    ]
    parts += [
        f'<text x="{x(n):.0f}" y="280" text-anchor="middle">{n}</text>'
        for n in (1, 2, 4, 8, 16, 32, 64, 100)
        if n <= longest
    ]
    parts.append(f'<text x="{left + 170}" y="297" text-anchor="middle">decodings</text>')
    for number, (method, values) in enumerate(curves.items()):
        points = " ".join(f"{x(n):.1f},{y(value):.1f}" for n, value in enumerate(values, 1))
        colour, name = COLOURS[method], NAMES.get(method, method)
        at = f'x="{left + 118 * (number % 3)}" y="{312 + 14 * (number // 3)}"'
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text {at} fill="{colour}">{name}</text>'
        )
    return "".join(parts)


if __name__ == "__main__":
    main()
