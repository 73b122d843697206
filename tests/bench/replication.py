"""The replication of the PORT paper: mert-moses.pl's tunings, results as JSON, tables and a plot.

`python -m tests.bench.replication` prints the tables of docs/explanation/reproduction.md and draws
its plot, all from the committed results, configs/paper-port/results/*.json. It decodes nothing.

`... mert-moses CONFIG --moses DIR --seeds N` tunes with mert-moses.pl what CONFIG describes.
`... collect CONFIG` scores all tunings of CONFIG and writes its results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

import portmert
from portmert.tuner.ground.files import file_digest
from portmert.tuner.weights.feature_weights import read_weights

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "configs" / "paper-port" / "results"
JUDGES = ("bleu", "port", "ter", "meteor", "chrf", "v", "kendall", "rho")
FIRST = "bleu"
"""The system that all others are compared with."""
NORMAL = 1.959964
"""Half the width of a 95 % interval, in standard errors."""


class Condition(NamedTuple):
    """A configuration of `portmert reproduce`, and where it lies."""

    path: Path
    tables: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Condition:
        """Read a configuration."""
        return cls(path, tomllib.loads(path.read_text(encoding="utf-8")))

    def file(self, table: str, key: str) -> Path:
        """Return the file that a key names."""
        return (self.path.parent / self.tables[table][key]).resolve()

    def files(self, key: str) -> list[Path]:
        """Return the files that a key of [data] names."""
        return [(self.path.parent / name).resolve() for name in self.tables["data"][key]]

    @property
    def name(self) -> str:
        """The name of the configuration."""
        return self.path.stem

    @property
    def output(self) -> Path:
        """The folder of all tunings."""
        return self.file("tune", "output")


# mert-moses.pl.


def mert_moses(condition: Condition, programs: Path, seeds: range) -> None:
    """Tune on BLEU with mert-moses.pl once for each seed, and decode the test set."""
    references = condition.files("references")
    stem = str(references[0])
    if len(references) > 1:  # REF0, REF1, ... are given by their stem
        stem = stem.removesuffix("0")
    tune, decoder = condition.tables["tune"], condition.tables["decoder"]
    for seed in seeds:
        folder = condition.output / "mert-moses" / f"replica-{seed}"
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "moses.ini").exists():
            words = [
                programs / "scripts/training/mert-moses.pl",
                condition.file("data", "source"), stem, programs / "bin/moses",
                condition.file("decoder", "config"), f"--working-dir={work}",
                f"--mertdir={programs / 'bin'}", f"--nbest={tune['nbest']}",
                f"--maximum-iterations={tune['iterations']}", "--no-filter-phrase-table",
                f"--decoder-flags={decoder['flags']}", f"--mertmertargs=-r {seed} ",
            ]  # fmt: skip
            if (work / "finished_step.txt").exists():
                words.append("--continue")
            with (folder / "tuning.log").open("a") as log:
                subprocess.run(words, check=True, cwd=folder, stdout=log, stderr=log)
        decode_test(condition, programs, work / "moses.ini", folder / "test")


def decode_test(condition: Condition, programs: Path, ini: Path, folder: Path) -> None:
    """Decode the test set under the weights of a moses.ini, as `tune` does."""
    folder.mkdir(exist_ok=True)
    if (folder / "output.txt").exists():
        return
    with (folder / "decoder.log").open("w") as log:
        subprocess.run(
            [
                programs / "bin/moses", "-config", ini,
                *condition.tables["decoder"]["flags"].split(),
                "-input-file", condition.file("data", "test_source"),
                "-n-best-list", folder / "nbest", "1",
                "-print-alignment-info-in-n-best", "true",
            ],
            check=True, stdout=subprocess.DEVNULL, stderr=log,
        )  # fmt: skip
    text = (folder / "nbest").read_text(encoding="utf-8")
    (folder / "nbest").unlink()
    with gzip.open(folder / "nbest.gz", "wt", encoding="utf-8") as out:
        out.write(text)
    lines = [line.split(" ||| ")[1].strip() for line in text.splitlines()]
    (folder / "output.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


# Results.


def collect(condition: Condition) -> dict[str, Any]:
    """Score all finished tunings of a condition, and return what is committed of them."""
    data = condition.tables["data"]
    found = {
        folder.name: [path.parent for path in _numbered(folder.glob("replica-*/test/output.txt"))]
        for folder in sorted(condition.output.iterdir())
        if folder.is_dir()
    }
    systems = {name: folders for name, folders in found.items() if folders}
    systems = {FIRST: systems.pop(FIRST), **systems}
    links = [
        *condition.files("test_reference_links"),
        *(_output_links(folder) for folders in systems.values() for folder in folders),
    ]
    compared = portmert.compare(
        {name: [folder / "output.txt" for folder in folders] for name, folders in systems.items()},
        portmert.TestSet(
            condition.files("test_references"),
            source=condition.file("data", "test_source"),
            links=[f"giza={','.join(map(str, links))}"],
        ),
        metric=list(JUDGES),
        threads=1,
        timing=False,
    ).document
    return {
        "condition": condition.name,
        "portmert": portmert.__version__,
        "dev": len(condition.file("data", "source").read_bytes().splitlines()),
        "test": len(condition.file("data", "test_source").read_bytes().splitlines()),
        "references": len(data["references"]),
        "settings": {
            "iterations": condition.tables["tune"]["iterations"],
            "nbest": condition.tables["tune"]["nbest"],
            "flags": condition.tables["decoder"]["flags"],
        },
        "systems": compared["systems"],
        "ngrams": compared["ngrams"],
        "scores": compared["scores"],
        "tunings": [
            {"system": name, **_tuning(folder)}
            for name, folders in systems.items()
            for folder in folders
        ],
    }


def _numbered(paths: Any) -> list[Path]:
    return sorted(paths, key=lambda path: int(path.parts[-3].rpartition("-")[2]))


def _output_links(folder: Path) -> Path:
    """Write the decoder's own links, the last column of its list."""
    path = folder / "output.links"
    with gzip.open(folder / "nbest.gz", "rt", encoding="utf-8") as lines:
        links = [line.rstrip("\n").split("|||")[4].strip() for line in lines]
    path.write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    return path


def _tuning(test: Path) -> dict[str, Any]:
    """Return what is committed of one tuning, given its folder `test`."""
    folder, work = test.parent, test.parent / "work"
    if work.is_dir():  # mert-moses.pl
        logs = sorted(work.glob("run*.mert.log"), key=lambda p: int(re.sub(r"\D", "", p.name)))
        rises = [re.findall(r"Best point: .* => ([\d.]+)", log.read_text()) for log in logs]
        weights = read_weights(work / "moses.ini")
        on_lists = [float(found[-1]) for found in rises if found]
        more: dict[str, Any] = {"seed": int(folder.name.partition("-")[2]), "on_lists": on_lists}
    else:
        result = json.loads((folder / "result.json").read_text())
        weights = read_weights(folder / "weights.json")
        more = {
            "seed": int(folder.name.partition("-")[2]),
            "dev": [one["dev_score"] for one in result["iterations"]],
            "best_iteration": result["best_iteration"],
            "stopped": result["stopped"],
        }
    return {
        **more,
        "weights": {name: list(values) for name, values in weights.values.items()},
        "output": file_digest(test / "output.txt"),
    }


# Pooling.


class Pooled(NamedTuple):
    """A mean difference over conditions, its 95 % interval, and how much conditions differ.

    Parameters
    ----------
    between
        Standard deviation of the true difference from condition to condition.
    """

    mean: float
    low: float
    high: float
    between: float


def pool(differences: Sequence[float], errors: Sequence[float]) -> Pooled:
    """Pool the differences of K conditions, at least two, as a random effect.

    Each condition has a true difference of its own, drawn from a normal distribution. It is
    measured with a standard error. The variance between conditions is that under which the
    weighted squares add up to their expectation, K - 1, or 0 (Paule and Mandel, 1982). The
    interval is that of Hartung and Knapp (2001), never narrower than without their factor: under
    this variance the factor is 1, so it is Student's t with K - 1 degrees of freedom.
    """

    def at(between: float) -> tuple[float, float, float]:
        """Return the mean, the sum of weights, and the weighted squares."""
        weights = [1 / (error**2 + between) for error in errors]
        total = sum(weights)
        mean = sum(w * d for w, d in zip(weights, differences, strict=True)) / total
        squares = sum(w * (d - mean) ** 2 for w, d in zip(weights, differences, strict=True))
        return mean, total, squares

    free = len(differences) - 1
    between = 0.0
    if at(0.0)[2] > free:
        largest = (max(differences) - min(differences)) ** 2 * len(differences)
        between = brentq(lambda one: at(one)[2] - free, 0.0, largest)
    mean, total, _ = at(between)
    half = float(stdtrit(free, 0.975)) / total**0.5
    return Pooled(mean, mean - half, mean + half, between**0.5)


# Tables.

OLDER = {"German": "de-en", "Japanese": "ja-en"}
"""Conditions of docs/explanation/moses-results.md; their differences are known as printed."""
PRINTED = r"^(\w+) +port +([-+][\d.]+) +([-+][\d.]+)\.\.([-+][\d.]+)"
SHOWN = {"bleu": "BLEU", "port": "PORT", "ter": "TER", "meteor": "METEOR", "chrf": "chrF"}
ORDERS = {"v": "v", "kendall": "Kendall", "rho": "rho"}

Row = dict[str, Any]
Table = tuple[Sequence[str], list[list[str]]]


def load(folder: Path = RESULTS) -> dict[str, Row]:
    """Return condition -> its results, those from scratch first."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {one["condition"]: one for one in found}


def older() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return condition -> metric -> PORT minus BLEU and interval, as moses-results.md has it."""
    page = (ROOT / "docs/explanation/moses-results.md").read_text(encoding="utf-8")
    page = page.split("## Tuned on PORT against tuned on BLEU")[1]
    found = {}
    for language, condition in OLDER.items():
        block = page.split(f"{language}, five tunings")[1].split("```")[1]
        found[condition] = {
            metric: (float(change), float(low), float(high))
            for metric, change, low, high in re.findall(PRINTED, block, re.MULTILINE)
        }
    return found


def changes(results: dict[str, Row], system: str) -> dict[str, dict[str, Any]]:
    """Return condition -> metric -> a system minus BLEU-tuned, and its interval, in percent."""
    return {
        name: {
            row["metric"]: tuple(
                100 * row[key] for key in ("difference", "difference_low", "difference_high")
            )
            for row in one["scores"]
            if row["system"] == system
        }
        for name, one in results.items()
        if any(row["name"] == system for row in one["systems"])
    }


def pooled_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return for each metric the difference in each condition, and pooled."""
    rows = []
    for metric, label in {**SHOWN, **ORDERS}.items():
        known = [one[metric] for one in found.values() if metric in one]
        cells = [shown(*one[metric]) if metric in one else "" for one in found.values()]
        if len(known) > 1:
            one = pool([d for d, _, _ in known], [(h - low) / 2 / NORMAL for _, low, h in known])
            cells += [shown(one.mean, one.low, one.high), f"{one.between:.2f}"]
        else:
            cells += ["", ""]
        rows.append([label, *cells])
    return ["metric", *found, "pooled", "between"], rows


def shown(change: float, low: float, high: float) -> str:
    """Return a difference and its interval."""
    return f"{change:+.2f} ({low:+.2f} to {high:+.2f})"


def scores_table(result: Row) -> Table:
    """Return the scores of each system of a condition: means, and deviations over tunings."""
    rows = []
    for system, ngrams in zip(result["systems"], result["ngrams"], strict=True):
        scores = {
            row["metric"]: row for row in result["scores"] if row["system"] == system["name"]
        }
        length = system["hypothesis_tokens"] / system["reference_tokens"]
        cells = [
            f"{100 * scores[metric]['score']:.2f}"
            + (f" ± {100 * scores[metric]['s_opt']:.2f}" if scores[metric]["s_opt"] else "")
            for metric in (*SHOWN, *ORDERS)
        ]
        unigrams = ngrams["orders"][0]
        parts = (unigrams["precision"], unigrams["recall"])
        rows.append(
            [system["name"], str(system["replicas"]), *cells, f"{length:.3f}"]
            + [f"{100 * part:.1f}" for part in parts]
        )
    labels = [*SHOWN.values(), *ORDERS.values()]
    return ["tuned on", "tunings", *labels, "length", "precision", "recall"], rows


def differences_table(result: Row) -> Table:
    """Return each system minus BLEU-tuned, with intervals."""
    others = [one["name"] for one in result["systems"] if one["name"] != FIRST]
    of_system = [changes({"": result}, name)[""] for name in others]
    rows = [
        [label, *(shown(*one[metric]) for one in of_system)]
        for metric, label in {**SHOWN, **ORDERS}.items()
    ]
    return ["metric", *others], rows


WEIGHTS = ("Distortion0", "WordPenalty0", "PhrasePenalty0", "LM0", "LexicalReordering0")


def weights_table(result: Row) -> Table:
    """Return means and deviations of some weights over tunings, each vector scaled to sum 100."""
    rows = []
    for system in result["systems"]:
        scaled = []
        for one in result["tunings"]:
            if one["system"] == system["name"]:
                total = sum(abs(n) for values in one["weights"].values() for n in values) / 100
                scaled.append([sum(one["weights"][name]) / total for name in WEIGHTS])
        columns = np.array(scaled).T
        cells = [
            f"{column.mean():.1f}" + (f" ± {column.std(ddof=1):.1f}" if len(column) > 1 else "")
            for column in columns
        ]
        rows.append([system["name"], *cells])
    return ["tuned on", *WEIGHTS], rows


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    headers, rows = table
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables() -> dict[str, str]:
    """Return every table of the page, by its title."""
    results = load()
    found = {"PORT minus BLEU": markdown(pooled_table({**changes(results, "port"), **older()}))}
    for name, one in results.items():
        found[f"{name}: scores"] = markdown(scores_table(one))
        found[f"{name}: minus BLEU"] = markdown(differences_table(one))
        found[f"{name}: weights"] = markdown(weights_table(one))
    return found


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action")
    tuned = actions.add_parser("mert-moses")
    tuned.add_argument("config", type=Path)
    tuned.add_argument("--moses", type=Path, required=True)
    tuned.add_argument("--seeds", type=int, default=3)
    collected = actions.add_parser("collect")
    collected.add_argument("config", type=Path)
    given = parser.parse_args()
    if given.action == "mert-moses":
        mert_moses(Condition.read(given.config), given.moses.resolve(), range(1, given.seeds + 1))
    elif given.action == "collect":
        condition = Condition.read(given.config)
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{condition.name}.json"
        path.write_text(json.dumps(collect(condition), indent=1) + "\n")
        click.echo(f"written: {path}")
    else:
        for title, text in tables().items():
            click.echo(f"{title}\n\n{text}\n")


if __name__ == "__main__":
    main()
