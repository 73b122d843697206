"""Measure what a reader would use instead: the rivals' table of "Does it help?".

python -m research.rivals run RECORDS.jsonl [--tasks NAME ...] [--splits N]
python -m research.rivals page RECORDS.jsonl

Needs optuna and lightgbm too. Each task is a set of candidate lists. A split halves the
segments at random: every method learns on one half and its choices are scored on the other. `run`
writes a record for each task, split and method, and does not repeat those that RECORDS has. Seeds
are the splits' numbers.

Methods get features that are divided by their spread within segments on the half that they learn
from. What cannot take a metric of whole texts learns from a score of each candidate: sentence BLEU
with one added to the counts of n-grams, or the outcome.
"""

import argparse
import json
import lzma
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import lightgbm
import numpy as np
import optuna
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import t as student

import portmert
from portmert.tuner.base.tables import aligned
from portmert.tuner.components import registry
from portmert.tuner.search.list_statistics import statistics_table
from research.many_segments import best_expected
from tests.bench.lists import REAL

TANAKA = Path("configs/tanaka")
TRIALS = 200


class Task(NamedTuple):
    """Candidates of S segments: (S, N, F) features and (S, N, K) statistics; N is the longest.

    A segment with fewer candidates repeats its last one, which changes no choice. `gains` (S, N)
    is what learners of means take in place of the metric.
    """

    metric: str
    features: np.ndarray
    stats: np.ndarray
    gains: np.ndarray

    def of(self, segments: np.ndarray) -> "Task":
        """Return the task of some segments."""
        return Task(self.metric, *(array[segments] for array in self[1:]))

    def score(self, weights: np.ndarray) -> float:
        """Return the metric of the best candidates, in percent; of equal ones the first counts."""
        return self.of_choice(np.argmax(self.features @ weights, axis=1))

    def of_choice(self, choice: np.ndarray) -> float:
        """Return the metric of (S,) candidates in percent, higher is better."""
        chosen = self.stats[np.arange(len(choice)), choice].sum(axis=0)
        if self.metric == "outcome":
            return float(100 * chosen[0] / len(choice))
        metric = registry.metric(self.metric)
        return float(100 * metric.oriented(metric.score(chosen)))


def lists_of(metric: str, files: Iterator[tuple[list[Path], dict[str, object]]]) -> Task:
    """Read lists with references."""
    features, stats, gains = [], [], []
    for paths, options in files:
        lists = portmert.Lists.read([str(path) for path in paths], **options)
        nbest, counts = lists.nbest, {}
        for name in (metric, "bleu:smooth=add-k"):
            table = statistics_table(nbest, lists.references, registry.metric(name))
            counts[name] = table.take(np.arange(len(nbest.features)))
        smoothed = registry.metric("bleu:smooth=add-k")
        sentence = np.array([smoothed.score(row) for row in counts["bleu:smooth=add-k"]])
        for begin, end in pairwise(nbest.offsets):
            features.append(nbest.features[begin:end])
            stats.append(counts[metric][begin:end])
            gains.append(sentence[begin:end])
    longest = max(map(len, gains))
    return Task(
        metric,
        *(
            np.stack([part[np.minimum(np.arange(longest), len(part) - 1)] for part in parts])
            for parts in (features, stats, gains)
        ),
    )


def tanaka(name: str, metric: str) -> Task:
    """Return the lists of one system of configs/tanaka, dev and test together."""
    suffix = "jsonl" if name == "l2r" else "nbest"
    return lists_of(
        metric,
        (
            ([TANAKA / f"{name}.{part}.{suffix}.gz"], {"refs": [str(TANAKA / f"{part}.ref")]})
            for part in ("dev", "test")
        ),
    )


def moses() -> Task:
    """Return the lists of seven iterations of mert-moses.pl."""
    paths = [REAL / "mert-bleu" / f"run{number}.best100.out.gz" for number in range(1, 8)]
    return lists_of("bleu", iter([(paths, {"refs": [str(REAL / "dev.en")]})]))


def gsm8k() -> Task:
    """Return the answers of configs/best-of-n, with seven judges, and which are right."""
    by_problem: dict[str, list[dict[str, Any]]] = {}
    for part in ("candidates", "test"):
        with lzma.open(f"configs/best-of-n/{part}.jsonl.xz", "rt") as lines:
            for answer in map(json.loads, lines):
                by_problem.setdefault(answer["id"], []).append(answer)
    answers = by_problem.values()
    right = np.array([[float(one["correct"]) for one in each] for each in answers])
    features = np.array([[list(one["features"].values()) for one in each] for each in answers])
    return Task("outcome", features, right[:, :, np.newaxis], right)


TASKS: dict[str, Callable[[], Task]] = {
    "GSM8K, % right": gsm8k,
    "l2r, BLEU": lambda: tanaka("l2r", "bleu"),
    "r2l, BLEU": lambda: tanaka("r2l", "bleu"),
    "Moses small, BLEU": lambda: tanaka("moses", "bleu"),
    "Moses pool, BLEU": moses,
    "l2r, TER": lambda: tanaka("l2r", "ter"),
}


def by_portmert(task: Task, seed: int) -> np.ndarray:
    """Return what the default learns."""
    if task.metric == "outcome":
        lists = portmert.Lists.from_arrays(task.features, scores=task.gains)
        return portmert.optimize(lists, seed=seed).vector
    lists = portmert.Lists.from_arrays(task.features, stats=task.stats)
    return portmert.optimize(lists, task.metric, seed=seed).vector


def signs(task: Task) -> np.ndarray:
    """Return for each feature the sign whose choice is better."""
    alone = np.eye(task.features.shape[2])
    return np.array([1.0 if task.score(one) >= task.score(-one) else -1.0 for one in alone])


def equal(task: Task, _: int) -> np.ndarray:
    """Return a sign for each feature."""
    return signs(task)


def single(task: Task, _: int) -> np.ndarray:
    """Return the best feature alone."""
    alone = np.diag(signs(task))
    return alone[int(np.argmax([task.score(one) for one in alone]))]


def softmax(task: Task, _: int) -> np.ndarray:
    """Return weights with the highest expected gain under a softmax of the model scores."""
    start = signs(task) / task.features.shape[2]
    return best_expected(task.features, task.gains, start, np.zeros_like(start))


def by_pairs(task: Task, seed: int) -> np.ndarray:
    """Return a logistic regression of which of two candidates has the higher gain."""
    rng = np.random.default_rng(seed)
    segments = np.repeat(np.arange(len(task.gains)), 100)
    one, two = rng.integers(task.gains.shape[1], size=(2, len(segments)))
    apart = task.gains[segments, one] - task.gains[segments, two]
    rows = (task.features[segments, one] - task.features[segments, two]) * np.sign(apart)[:, None]
    rows = rows[apart != 0]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margins = rows @ weights
        return (
            float(np.logaddexp(0, -margins).mean() + 1e-4 * weights @ weights),
            -(expit(-margins)[:, None] * rows).mean(axis=0) + 2e-4 * weights,
        )

    return minimize(loss, np.zeros(rows.shape[1]), jac=True).x


def by_optuna(task: Task, seed: int) -> np.ndarray:
    """Return the best of the trials; each weight between -1 and 1."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    names = [f"w{place}" for place in range(task.features.shape[2])]
    study.enqueue_trial(dict(zip(names, signs(task), strict=True)))
    study.optimize(
        lambda trial: task.score(np.array([trial.suggest_float(name, -1, 1) for name in names])),
        n_trials=TRIALS,
    )
    return np.array([study.best_params[name] for name in names])


def random_search(task: Task, seed: int) -> np.ndarray:
    """Return the best of as many random directions as there are trials."""
    drawn = np.random.default_rng(seed).normal(size=(TRIALS, task.features.shape[2]))
    return drawn[int(np.argmax([task.score(one) for one in drawn]))]


def trees(task: Task, unseen: Task, seed: int) -> float:
    """Return the score of LambdaMART's choice."""
    ranks = np.argsort(np.argsort(task.gains, axis=1), axis=1)
    grades = ranks * 30 // task.gains.shape[1] if task.metric != "outcome" else task.gains
    flat = task.features.reshape(-1, task.features.shape[2])
    data = lightgbm.Dataset(
        flat, grades.ravel().astype(int), group=[grades.shape[1]] * len(grades)
    )
    options = {
        "objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 15, "seed": seed,
        "num_threads": 1, "deterministic": True, "verbose": -1,
    }  # fmt: skip
    ranker = lightgbm.train(options, data, num_boost_round=100)
    shape = unseen.features.shape
    scores = ranker.predict(unseen.features.reshape(-1, shape[2])).reshape(shape[:2])
    return unseen.of_choice(np.argmax(scores, axis=1))


METHODS: dict[str, Callable[[Task, int], np.ndarray]] = {
    "portmert": by_portmert,
    "equal weights": equal,
    "best single score": single,
    "softmax of the expected score (SciPy)": softmax,
    "pairwise logistic regression": by_pairs,
    f"Optuna, {TRIALS} trials": by_optuna,
    f"{TRIALS} random weights": random_search,
}
TREES = "LambdaMART (LightGBM)"


def measured(task: Task, split: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield each method, and what measures it on a split."""
    order = np.random.default_rng(split).permutation(len(task.gains))
    seen, unseen = (task.of(part) for part in np.array_split(order, 2))
    apart = seen.features - seen.features.mean(axis=1, keepdims=True)
    spread = np.sqrt((apart**2).mean(axis=(0, 1)))
    spread[spread == 0] = 1.0
    seen, unseen = (part._replace(features=part.features / spread) for part in (seen, unseen))
    yield "first", lambda: unseen.of_choice(np.zeros(len(unseen.gains), dtype=int))
    for name, method in METHODS.items():
        yield name, lambda method=method: unseen.score(method(seen, split))
    yield TREES, lambda: trees(seen, unseen, split)


def run(path: Path, names: list[str], splits: int) -> None:
    """Measure what the file does not have."""
    records = read(path) if path.exists() else {}
    for name in names:
        task = TASKS[name]()
        for split in range(splits):
            for method, score in measured(task, split):
                if (name, split, method) in records:
                    continue
                begin = time.process_time()
                record = {"task": name, "split": split, "method": method, "score": score()}
                record["seconds"] = round(time.process_time() - begin, 2)
                with path.open("a") as file:
                    file.write(json.dumps(record) + "\n")
            click.echo(f"{name}: split {split + 1} of {splits}", err=True)


def read(path: Path) -> dict[tuple[str, int, str], float]:
    """Return the records' scores."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(one["task"], one["split"], one["method"]): one["score"] for one in records}


def page(path: Path) -> None:
    """Print each method less portmert, with 95 % intervals of the mean over splits.

    Splits share segments, which the error counts (Nadeau & Bengio 2003, halves).
    """
    scores = read(path)
    names = list(dict.fromkeys(task for task, _, _ in scores))
    rows = []
    for method in ("first", *METHODS, TREES):
        row = [method]
        for name in names:
            splits = [split for task, split, one in scores if (task, one) == (name, method)]
            values = np.array([scores[name, split, method] for split in splits])
            if method == "portmert":
                row.append(f"{abs(values.mean()):.2f}")
                continue
            apart = values - [scores[name, split, "portmert"] for split in splits]
            error = apart.std(ddof=1) * (1 / len(apart) + 1) ** 0.5
            row.append(f"{apart.mean():+.2f} ± {student.ppf(0.975, len(apart) - 1) * error:.2f}")
        rows.append(row)
    click.echo(aligned(["method", *names], rows, style="pipe"))


def main() -> None:
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("action", choices=["run", "page"])
    parser.add_argument("records", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--splits", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments.records, arguments.tasks, arguments.splits)
    else:
        page(arguments.records)


if __name__ == "__main__":
    main()
