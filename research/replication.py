"""The replication of the PORT paper: mert-moses.pl's tunings, results as JSON, tables and plots.

`python -m research.replication` puts the tables into research/reproduction.md and draws
its plots, all from the committed results, configs/paper-port/results/*.json. It decodes nothing.

`... mert-moses CONFIG --moses DIR --seeds N` tunes with mert-moses.pl what CONFIG describes.
`... by-decoding CONFIG --moses DIR --seeds N` decodes every fifth test segment under all weights.
`... collect CONFIG` scores all tunings of CONFIG and writes its results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

import portmert
from portmert.tuner.base.files import file_digest
from portmert.tuner.weights.feature_weights import read_weights

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "configs" / "paper-port" / "results"
JUDGES = ("bleu", "port", "qmean", "ter", "meteor", "chrf", "v", "kendall", "rho")
JUDGED = ("bleu", "port", "ter", "meteor")
"""The metrics of the longer tables."""
WORDNET = "meteor-wordnet"
"""METEOR that links stems and synonyms, a judge where WordNet is at hand."""
UNTUNED = "untuned"
EVERY = 5
"""The plot's scores are of every fifth segment of the test set."""
FIRST = "bleu"
"""The system that all others are compared with."""
MOSES = "mert-moses"
THIRDS = 3
FEWEST = 3
"""The fewest tunings of a system whose differences are pooled."""
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
        return (self.path.parent / str(self.tables[table][key])).resolve()

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
    """Tune on BLEU with mert-moses.pl once for each seed, and decode the test set.

    The test set is decoded under the start weights too.
    """
    untuned = condition.output / UNTUNED / "replica-1" / "test"
    decode_test(condition, programs, condition.file("decoder", "config"), untuned)
    references = condition.files("references")
    stem = str(references[0])
    if len(references) > 1:  # REF0, REF1, ... are given by their stem
        stem = stem.removesuffix("0")
    tune, decoder = condition.tables["tune"], condition.tables["decoder"]
    for seed in seeds:
        folder = condition.output / MOSES / f"replica-{seed}"
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "moses.ini").exists():
            words: list[str | Path] = [
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


def by_decoding(condition: Condition, programs: Path, seeds: range) -> None:
    """Decode a part of the test set under the weights of each iteration, in `steps/`."""
    source = _part(condition, condition.file("data", "test_source"))
    for seed in seeds:
        for folder in (condition.output / FIRST, condition.output / MOSES):
            replica = folder / f"replica-{seed}"
            _take_known(condition, replica)
            for number, path in weights_by_decoding(replica).items():
                ini, more = path, []
                if path.suffix == ".json":
                    weights = read_weights(path).values
                    lines = (f"{name}= {' '.join(map(repr, v))}" for name, v in weights.items())
                    ini = condition.file("decoder", "config")
                    more = ["-weight-overwrite", " ".join(lines)]
                step = replica / "steps" / f"{number}"
                decode_test(condition, programs, ini, step, source, more)


def weights_by_decoding(replica: Path) -> dict[int, Path]:
    """Return the number of each decoding of the dev set in a tuning -> the weights it had."""
    inis = _numbers_of(replica / "work", "run*.moses.ini")  # mert-moses.pl's
    return inis or _numbers_of(replica, "iteration-*/weights.json")


def _take_known(condition: Condition, replica: Path) -> None:
    """Take what is decoded already: outputs of the start weights and of the chosen ones."""
    known = {1: condition.output / UNTUNED / "replica-1"}
    if (replica / "result.json").exists():
        best = json.loads((replica / "result.json").read_text())["best_iteration"]
        known[best] = replica
    for number, folder in known.items():
        whole, step = folder / "test" / "output.txt", replica / "steps" / str(number)
        if whole.exists():
            step.mkdir(parents=True, exist_ok=True)
            shutil.copy(_part(condition, whole), step / "output.txt")


def _part(condition: Condition, file: Path) -> Path:
    """Write every fifth line of a file of the test set; return its path."""
    path = condition.output / "part" / file.name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[::EVERY]))
    return path


def _numbers_of(folder: Path, pattern: str) -> dict[int, Path]:
    """Return the iteration that each path names -> the path."""
    numbered = {}
    for path in folder.glob(pattern):
        number = re.search(r"\d+", str(path.relative_to(folder)))
        assert number is not None, path
        numbered[int(number[0])] = path
    return dict(sorted(numbered.items()))


def decode_test(
    condition: Condition,
    programs: Path,
    ini: Path,
    folder: Path,
    source: Path | None = None,
    more: Sequence[str] = (),
) -> None:
    """Decode the test set, or another source, under the weights of a moses.ini, as `tune` does."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "output.txt").exists():
        return
    with (folder / "decoder.log").open("w") as log:
        subprocess.run(
            [
                programs / "bin/moses", "-config", ini,
                *condition.tables["decoder"]["flags"].split(), *more,
                "-input-file", source or condition.file("data", "test_source"),
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


def collect(
    condition: Condition, wordnet: Path | None = None, udpipe: Path | None = None
) -> dict[str, Any]:
    """Score all finished tunings of a condition, and return what is committed of them.

    Parameters
    ----------
    wordnet
        The folder `dict` of WordNet. With it `WORDNET` is a judge too.
    udpipe
        A model of UDPipe for English. With it EDPM is a judge too.
    """
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
    judges = {name: name for name in JUDGES}
    if wordnet:
        judges[WORDNET] = f"meteor:stem=true,synonyms={wordnet}"
    if udpipe:
        judges["edpm"] = "edpm"
    compared = portmert.compare(
        {name: [folder / "output.txt" for folder in folders] for name, folders in systems.items()},
        portmert.TestSet(
            condition.files("test_references"),
            source=condition.file("data", "test_source"),
            links=[f"giza={','.join(map(str, links))}"],
        ),
        metric=list(judges.values()),
        annotator=f"udpipe:model={udpipe}" if udpipe else None,
        threads=1,
        timing=False,
    ).document
    named = {written: name for name, written in judges.items()}
    for row in compared["scores"]:
        row["metric"] = named[row["metric"]]
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
        "by_decoding": _by_decoding(condition),
        "by_order": _by_order(condition, systems) if "port" in systems else [],
        "tunings": [
            {"system": name, **_tuning(folder)}
            for name, folders in systems.items()
            for folder in folders
            if name != UNTUNED
        ],
    }


def _by_decoding(condition: Condition) -> list[dict[str, Any]]:
    """Return the BLEU of the test set before each decoding of the dev set, where it is known."""
    references = [_part(condition, path) for path in condition.files("test_references")]
    found = []
    for path in _numbered(condition.output.glob("*/replica-*/steps"), 2):
        outputs = _numbers_of(path, "*/output.txt")
        if list(outputs) == list(weights_by_decoding(path.parent)):  # all of them are decoded
            found.append(
                {
                    "system": path.parts[-3],
                    "replica": int(path.parts[-2].partition("-")[2]),
                    "finished": (path.parent / "test" / "output.txt").exists(),
                    "bleu": [portmert.score(one, references).score for one in outputs.values()],
                }
            )
    return found


def _by_order(condition: Condition, systems: Mapping[str, list[Path]]) -> list[dict[str, Any]]:
    """Return PORT minus BLEU in three parts of the test set: from least reordered to most.

    Segments are sorted by the share of crossing pairs among the links of their first reference.
    """
    links = condition.files("test_reference_links")
    shares = [crossing(line) for line in links[0].read_text().splitlines()]
    found = []
    for third in np.array_split(np.argsort(shares, kind="stable"), THIRDS):
        folder = condition.output / "part" / f"order-{len(found)}"
        folder.mkdir(exist_ok=True)
        taken: list[Path] = []

        def some(file: Path, rows: Any = third, out: Path = folder, done: Any = taken) -> Path:
            lines = file.read_bytes().splitlines(keepends=True)
            done.append(out / str(len(done)))
            done[-1].write_bytes(b"".join(lines[row] for row in rows))
            return done[-1]

        outputs = {name: systems[name] for name in (FIRST, "port")}
        own = [some(_output_links(one)) for folders in outputs.values() for one in folders]
        references = [some(path) for path in condition.files("test_references")]
        compared = portmert.compare(
            {name: [some(f / "output.txt") for f in all_] for name, all_ in outputs.items()},
            portmert.TestSet(
                references,
                source=some(condition.file("data", "test_source")),
                links=[f"giza={','.join(map(str, [*map(some, links), *own]))}"],
            ),
            metric=list(JUDGED),
            threads=1,
            timing=False,
        ).document
        rows = [row for row in compared["scores"] if row["system"] == "port"]
        words = [one["orders"][0] for one in compared["ngrams"]]
        found.append(
            {
                "segments": len(third),
                "words": len(references[0].read_text(encoding="utf-8").split()) / len(third),
                "crossing": float(np.mean([shares[row] for row in third])),
                "lengths": [one["total"] / one["reference_total"] for one in words],
                "scores": rows,
            }
        )
    return found


def crossing(line: str) -> float:
    """Return the share of crossing pairs among the links of a segment, written as `0-0 1-2`.

    Pairs that share a word are not counted. A segment without pairs has none that cross.
    """
    pairs = np.array([one.split("-") for one in line.split()], dtype=int).reshape(-1, 2)
    apart = np.prod(pairs[:, np.newaxis] - pairs[np.newaxis], axis=2)
    return float((apart < 0).sum() / max(np.count_nonzero(apart), 1))


def _numbered(paths: Any, level: int = 3) -> list[Path]:
    return sorted(paths, key=lambda path: int(path.parts[-level].rpartition("-")[2]))


def _output_links(folder: Path) -> Path:
    """Write the decoder's own links, the last column of its list."""
    path = folder / "output.links"
    with gzip.open(folder / "nbest.gz", "rt", encoding="utf-8") as lines:
        links = [line.rpartition("|||")[2].strip() for line in lines]
    path.write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    return path


def _tuning(test: Path) -> dict[str, Any]:
    """Return what is committed of one tuning, given its folder `test`."""
    folder, work = test.parent, test.parent / "work"
    number = int(folder.name.partition("-")[2])
    if work.is_dir():  # mert-moses.pl
        logs = sorted(work.glob("run*.mert.log"), key=lambda p: int(re.sub(r"\D", "", p.name)))
        rises = [re.findall(r"Best point: .* => ([\d.]+)", log.read_text()) for log in logs]
        weights = read_weights(work / "moses.ini")
        on_lists = [float(found[-1]) for found in rises if found]
        more: dict[str, Any] = {"replica": number, "on_lists": on_lists}
    else:
        result = json.loads((folder / "result.json").read_text())
        weights = read_weights(folder / "weights.json")
        more = {
            "replica": number,
            "dev": [one["dev_score"] for one in result["iterations"]],
            "best_iteration": result["best_iteration"],
            "estimates": [
                json.loads(path.read_text())["unseen_score"]
                for path in sorted(folder.glob("iteration-*/optimized.json"))
            ],
            "dev_parts": [_dev_parts(folder, one) for one in (1, result["best_iteration"])],
            "stopped": result["stopped"],
        }
    return {
        **more,
        "weights": {name: list(values) for name, values in weights.values.items()},
        "output": file_digest(test / "output.txt"),
    }


DEV_PARTS = ("Qmean", "v", "SBP", "SRP", "hyp_len", "ref_len")


def _dev_parts(replica: Path, number: int) -> dict[str, float]:
    """Return the parts of the dev set's score in an iteration."""
    scored = json.loads((replica / f"iteration-{number:02d}" / "scores.json").read_text())
    return {name: part for name, part in scored["parts"].items() if name in DEV_PARTS}


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

OLDER = {
    "de-en, talks": ("moses-tests.md", "German, five tunings, on BLEU eight:"),
    "ja-en": ("moses-tests.md", "Japanese, five tunings, on BLEU eight:"),
    "nl-en": ("links.md", "Dutch, five tunings, on BLEU five:"),
}
"""Conditions whose differences are known as a page prints them, below this line."""
PRINTED = r"^(\w+) +{} +([-+][\d.]+) +([-+][\d.]+)\.\.([-+][\d.]+)"
PRINTED_AS = {"mean": "mix"}
"""The name of a system on those pages."""
SHOWN = {
    "bleu": "BLEU",
    "port": "PORT",
    "ter": "TER",
    "meteor": "METEOR",
    WORDNET: "METEOR, synonyms",
    "chrf": "chrF",
}
RICHER = ("edpm", "meteor", "meteor-1.5")
"""Metrics with more knowledge of language that systems are tuned on."""
ORDERS = {"qmean": "Qmean", "v": "v", "kendall": "Kendall", "rho": "rho"}

PARTS = ("precision", "recall", "SBP", "SRP")
"""Share of words in the reference, share of its words, and PORT's two penalties of length."""

Row = dict[str, Any]
Table = tuple[Sequence[str], list[list[str]]]


def load(folder: Path = RESULTS, *, pattern: str = "??-??") -> dict[str, Row]:
    """Return condition -> its results.

    Parameters
    ----------
    pattern
        Of the names. Variants of a condition are named after it: `zh-en-500` has 500 dev segments,
        `es-en-one` one reference.
    """
    found = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{pattern}.json"))]
    return {one["condition"]: one for one in found}


def one_of(name: str) -> Row:
    """Return the results of one file."""
    [found] = load(pattern=name).values()
    return found


def older(system: str = "port") -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return condition -> metric -> a system minus BLEU-tuned and its interval, as printed."""
    pattern = re.compile(PRINTED.format(PRINTED_AS.get(system, system)), re.MULTILINE)
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for condition, (page, line) in OLDER.items():
        text = (ROOT / "research" / page).read_text(encoding="utf-8")
        for after in text.split(line)[1:]:
            for metric, change, low, high in pattern.findall(after.split("```")[1]):
                figures = float(change), float(low), float(high)
                found.setdefault(condition, {})[metric] = figures
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
        if any(row["name"] == system and row["replicas"] >= FEWEST for row in one["systems"])
    }


def pooled_table(found: dict[str, dict[str, Any]], judges: Mapping[str, str]) -> Table:
    """Return for each metric the difference in each condition, and pooled."""
    rows = []
    for metric, label in judges.items():
        known = [one[metric] for one in found.values() if metric in one]
        cells = [shown(*one[metric]) if metric in one else "" for one in found.values()]
        if len(known) > 1:
            one = pool([d for d, _, _ in known], [(h - low) / 2 / NORMAL for _, low, h in known])
            cells += [shown(one.mean, one.low, one.high), f"{one.between:.2f}"]
        else:
            cells += ["", ""]
        rows.append([label, *cells])
    return ["metric", *found, "pooled", "between"], rows


def twin_table(results: dict[str, Row]) -> Table:
    """Return PORT minus BLEU in two conditions that differ in one thing."""
    found = changes(results, "port")
    rows = [
        [label, *(shown(*one[metric]) for one in found.values())]
        for metric, label in SHOWN.items()
    ]
    return ["metric", *found], rows


def others_table(results: Mapping[str, Row]) -> Table:
    """Return each system minus BLEU-tuned, a row for each that was tuned often enough."""
    rows = [
        [name, system["name"], *(shown(*found[metric]) for metric in JUDGED)]
        for name, one in results.items()
        for system in one["systems"]
        if system["name"] not in {FIRST, *RICHER}
        for found in changes({name: one}, system["name"]).values()
    ]
    return ["condition", "tuned on", *(SHOWN[metric] for metric in JUDGED)], rows


def richer_table(results: Mapping[str, Row]) -> Table:
    """Return systems tuned on PORT and on richer metrics minus BLEU-tuned, and their lengths."""
    judges = {**{metric: SHOWN[metric] for metric in (*JUDGED, WORDNET)}, "edpm": "EDPM"}
    rows = []
    for name, one in results.items():
        if not any(system["name"] in RICHER for system in one["systems"]):
            continue
        for system, ngrams in zip(one["systems"], one["ngrams"], strict=True):
            if system["name"] in ("port", *RICHER):
                found = changes({name: one}, system["name"])[name]
                words = ngrams["orders"][0]
                length = f"{words['total'] / words['reference_total']:.3f}"
                cells = [shown(*found[metric]) for metric in judges]
                rows.append([name, system["name"], *cells, length])
    return ["condition", "tuned on", *judges.values(), "length"], rows


def sizes_table(results: Mapping[str, Row]) -> Table:
    """Return the test BLEU of tunings on BLEU by size of the dev set."""
    rows = []
    for name, base in results.items():
        variants = load(pattern=f"{name}-*").values()
        for one in sorted([base, *variants], key=lambda one: int(one["dev"])):
            if one["references"] != base["references"]:
                continue
            cells = [""] * (2 * len(NAMES))
            for row in one["scores"]:
                if row["metric"] == "bleu" and row["system"] in NAMES:
                    tunings = next(
                        s["replicas"] for s in one["systems"] if s["name"] == row["system"]
                    )
                    score = f"{100 * row['score']:.2f}"
                    score += f" ± {100 * row['s_opt']:.2f}" if row["s_opt"] is not None else ""
                    at = 2 * list(NAMES).index(row["system"])
                    cells[at : at + 2] = [str(tunings), score]
            rows.append([name, str(one["dev"]), *cells])
    headers = [word for label in NAMES.values() for word in ("tunings", label)]
    return ["condition", "dev segments", *headers], rows


def shown(change: float, low: float, high: float) -> str:
    """Return a difference and its interval."""
    return f"{change:+.2f} ({low:+.2f} to {high:+.2f})"


def scores_table(result: Row, judges: Mapping[str, str], *, parts: bool = False) -> Table:
    """Return the scores of each system of a condition: means, and deviations over tunings.

    Parameters
    ----------
    parts
        Whether to add `PARTS`, else length.
    """
    rows = []
    for system, ngrams in zip(result["systems"], result["ngrams"], strict=True):
        scores = {
            row["metric"]: row for row in result["scores"] if row["system"] == system["name"]
        }
        cells = [
            f"{100 * scores[metric]['score']:.2f}"
            + (f" ± {100 * scores[metric]['s_opt']:.2f}" if scores[metric]["s_opt"] else "")
            for metric in judges
        ]
        words = ngrams["orders"][0]
        if parts:
            shares = [words["precision"], words["recall"]]
            shares += [ngrams["strict_brevity_penalty"], ngrams["strict_redundancy_penalty"]]
            cells += [f"{100 * share:.1f}" for share in shares]
        else:
            cells.append(f"{words['total'] / words['reference_total']:.3f}")
        rows.append([system["name"], str(system["replicas"]), *cells])
    added = PARTS if parts else ("length",)
    return ["tuned on", "tunings", *judges.values(), *added], rows


WEIGHTS = ("Distortion0", "WordPenalty0", "PhrasePenalty0", "LM0", "LexicalReordering0")


def weights_of(result: Row, system: str) -> list[list[float]]:
    """Return `WEIGHTS` of each tuning of a system, each vector scaled to sum 100."""
    found = []
    for one in result["tunings"]:
        if one["system"] == system:
            total = sum(abs(n) for values in one["weights"].values() for n in values) / 100
            found.append([sum(one["weights"][name]) / total for name in WEIGHTS])
    return found


def dev_table(results: Mapping[str, Row]) -> Table:
    """Return the parts of PORT on the dev set: of the start weights, and means over tunings."""
    rows = []
    for name, one in results.items():
        tuned = [t["dev_parts"] for t in one["tunings"] if t["system"] == "port"]
        for label, number in ((UNTUNED, 0), ("port", 1)):
            parts = [pair[number] for pair in tuned]
            cells = [
                f"{100 * np.mean([part[key] for part in parts]):.2f}" for key in DEV_PARTS[:4]
            ]
            length = np.mean([part["hyp_len"] / part["ref_len"] for part in parts])
            rows.append([name, label, *cells, f"{length:.3f}"])
    return ["condition", "tuned on", *DEV_PARTS[:4], "length"], rows


def estimates_table(results: Mapping[str, Row]) -> Table:
    """Return the first search's gains over the start weights, a number for each seed.

    All seeds search the same list. The gain is estimated for unseen text before anything is
    decoded with the new weights, then measured on the dev set.
    """
    rows = []
    for name, one in results.items():
        for system in (FIRST, "port"):
            own = [tuning for tuning in one["tunings"] if tuning["system"] == system]
            guesses = [100 * (tuning["estimates"][0] - tuning["dev"][0]) for tuning in own]
            gains = [100 * (tuning["dev"][1] - tuning["dev"][0]) for tuning in own]
            listed = [", ".join(f"{gain:+.2f}" for gain in some) for some in (guesses, gains)]
            rows.append([name, system, listed[0], f"{np.std(guesses, ddof=1):.2f}", listed[1]])
    return ["condition", "tuned on", "estimated gain", "deviation", "dev set's gain"], rows


def order_table(results: Mapping[str, Row]) -> Table:
    """Return PORT minus BLEU by reordering: a row for each third of each condition.

    *Length* is that of outputs tuned on BLEU and of those tuned on PORT.
    """
    rows = []
    for name, one in results.items():
        for third in one.get("by_order", ()):
            scores = {row["metric"]: row for row in third["scores"]}
            keys = ("difference", "difference_low", "difference_high")
            values = [[scores[metric][key] for key in keys] for metric in JUDGED]
            cells = ["-" if None in ends else shown(*(100 * x for x in ends)) for ends in values]
            lengths = ", ".join(f"{length:.3f}" for length in third["lengths"])
            crossed = f"{100 * third['crossing']:.0f} %"
            rows.append([name, crossed, f"{third['words']:.0f}", lengths, *cells])
    labels = [SHOWN[metric] for metric in JUDGED]
    return ["condition", "crossing", "words", "length", *labels], rows


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    headers, rows = table
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PAGE = ROOT / "research" / "reproduction.md"
PAGES = (
    PAGE,
    PAGE.with_name("replication-details.md"),
    PAGE.with_name("replication-tables.md"),
    PAGE.with_name("replication-variants.md"),
)
NAMES = {FIRST: "portmert", MOSES: "mert-moses.pl"}


def by_decodings(result: Row) -> dict[tuple[str, int], list[float]]:
    """Return (system, replica) -> the test BLEU of its weights before each decoding, in percent.

    A tuning that has ended keeps the score of its result: portmert's of the iteration that its
    estimate chose, mert-moses.pl's of the last one. One that was broken off has NaN.
    """
    chosen = {
        (one["system"], one["replica"]): one["best_iteration"] - 1
        for one in result.get("tunings", ())
        if "best_iteration" in one
    }
    tunings = result["by_decoding"]
    steps = max((len(one["bleu"]) for one in tunings), default=0)
    found = {}
    for one in tunings:
        key, scores = (one["system"], one["replica"]), [100 * score for score in one["bleu"]]
        last = scores[chosen.get(key, -1)] if one["finished"] else math.nan
        found[key] = scores + [last] * (steps - len(scores))
    return found


def decodings_table(results: Mapping[str, Row]) -> Table:
    """Return the mean test BLEU of each system's tunings before each decoding."""
    rows = []
    for name, one in results.items():
        lines = by_decodings(one)
        for system, label in NAMES.items():
            own = [line for (owner, _), line in lines.items() if owner == system]
            means = np.mean(own, axis=0) if own else []
            cells = ["" if math.isnan(mean) else f"{mean:.2f}" for mean in means]
            rows += [[name, label, str(len(own)), *cells]] if own else []
    longest = max(map(len, rows), default=3)
    rows = [row + [""] * (longest - len(row)) for row in rows]
    return ["condition", "by", "tunings", *map(str, range(1, longest - 2))], rows


def tables() -> dict[str, str]:
    """Return every table of the page, by its name."""
    results = load()
    ours, means = changes(results, "port"), changes(results, "mean")
    found = {
        "port": pooled_table({**older(), **ours}, SHOWN),
        "port, parts": pooled_table(ours, ORDERS),
        "mean": pooled_table({**older("mean"), **means}, SHOWN),
        "reordering": order_table(results),
        "dev": dev_table(results),
        "estimates": estimates_table(results),
        "decodings": decodings_table(results),
        "others": others_table(results),
        "richer": richer_table(results),
        "sizes": sizes_table(results),
        "references": twin_table(
            {"four references": results["es-en"], "one reference": one_of("es-en-one")}
        ),
        "public": twin_table({"zh-en": results["zh-en"], "public": one_of("public-zh-en")}),
        "large": twin_table(
            {
                f"{name}, dev 1,000": one
                for name in results
                for one in load(pattern=f"{name}-1000").values()
            }
        ),
    }
    for name, one in results.items():
        found[f"{name}, scores"] = scores_table(one, SHOWN)
        found[f"{name}, parts"] = scores_table(one, ORDERS, parts=True)
    return {name: markdown(table) for name, table in found.items() if table[1]}


TABLE = re.compile(r"(<!-- table: (.+?) -->\n)\n?(?:\|.*\n)*\n?")


def filled(page: str) -> str:
    """Return a page with each table below its mark, `<!-- table: NAME -->`, made anew."""
    known = tables()
    made = TABLE.sub(lambda found: f"{found[1]}\n{known[found[2]]}\n\n", page)
    return made.rstrip("\n") + "\n"


def made() -> dict[Path, str]:
    """Return each page that is made of the results, and its content."""
    return {page: filled(page.read_text(encoding="utf-8")) for page in PAGES}


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action")
    for action in ("mert-moses", "by-decoding"):
        tuned = actions.add_parser(action)
        tuned.add_argument("config", type=Path)
        tuned.add_argument("--moses", type=Path, required=True)
        tuned.add_argument("--seeds", type=int, default=3)
    collected = actions.add_parser("collect")
    collected.add_argument("config", type=Path)
    collected.add_argument("--wordnet", type=Path, help="the folder dict of WordNet")
    collected.add_argument("--udpipe", type=Path, help="a model of UDPipe for English")
    given = parser.parse_args()
    if given.action in {"mert-moses", "by-decoding"}:
        work = mert_moses if given.action == "mert-moses" else by_decoding
        work(Condition.read(given.config), given.moses.resolve(), range(1, given.seeds + 1))
    elif given.action == "collect":
        condition = Condition.read(given.config)
        RESULTS.mkdir(exist_ok=True)
        found = collect(condition, given.wordnet, given.udpipe)
        path = RESULTS / f"{condition.name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")
        click.echo(f"written: {path}")
    else:
        for path, text in made().items():
            path.write_text(text, encoding="utf-8")
            click.echo(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
