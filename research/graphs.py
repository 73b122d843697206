"""Search graphs in place of decodings: tunings of real Moses, and what they gained.

python -m research.graphs tune zh-en SYSTEM --work DIR [--start poor|far|own] [--seeds 1,2,3]
                                               [--arms lists,graphs,tight,mert]
                                               [--setting cube|default|thousand]
python -m research.graphs page [--work DIR]

`tune` writes one record of each tuning into DIR/records; what is there already is not made again.
SYSTEM is a folder of configs/paper-port/train-moses.sh. It needs the programs of ../shared. `page`
draws the plot and writes the tables of research/graphs.md from research/graphs.json; with `--work`
it first puts the records there.

lists: `tune` with at most eight decodings. It goes through what it does with fewer, and with
`min_gain`, so these are read from it. graphs: `graphs = true`, two decodings. tight: four, the
first three with a narrow beam. mert: mert-moses.pl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

import portmert
from portmert.extensions.plots import drawing as plots
from portmert.tuner.base.tables import aligned
from portmert.tuner.decoders.moses import Moses
from portmert.tuner.evaluation.document import Chart, ChartChoice, Series
from portmert.tuner.runs.stopping import FEWEST
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.places import PROGRAMS, ROOT

RESULTS = ROOT / "research" / "graphs.json"
PAGE, PLOT = RESULTS.with_suffix(".md"), ROOT / "docs" / "figures" / "graphs.svg"
MARK = "## All tunings"
"""What stands behind it on the page is made from the results."""
SCRIPTS = PROGRAMS.parent / "scripts" / "training"
SETTINGS: Mapping[str, str] = {
    "cube": "", "default": "Moses' default search, ", "thousand": "1,000 dev segments, ",
}  # fmt: skip
"""What is decoded, and how: cube pruning of 200 dev segments is the rule. `default` searches with
stacks of 100, as Moses does where nothing is said; `thousand` has more dev segments."""
DEV: Mapping[str, int] = {"cube": 200, "default": 200, "thousand": 1000}
TEST: Mapping[str, int] = {"zh-en": 1000, "es-en": 2000}
MOST = 8
SHOWN = (1, 2, 4, 8)
FAR: Mapping[str, float] = {
    "LM0": 0.1, "PhrasePenalty0": -0.2, "LexicalReordering0": 0.05, "Distortion0": 0.05,
}  # fmt: skip
STARTS: Mapping[str, Mapping[str, float]] = {
    "poor": {**FAR, "WordPenalty0": -0.3}, "far": FAR, "own": {},
}  # fmt: skip
"""Start weights: these features get other weights than training wrote. `far` makes far too many
words."""
FEWEST_DRAWN = 3
"""With fewer tunings there are no curves."""
LIMITS = {"zh-en": 10, "es-en": 6}
TIGHT, WIDE = 15, 50


class System:
    """A Moses system, with a dev set for each seed and one test set."""

    def __init__(self, pair: str, trained: Path, work: Path, setting: str = "cube") -> None:
        self.pair, self.trained, self.setting = pair, trained, setting
        self.name = pair if setting == "cube" else f"{pair}-{setting}"
        self.folder = work / self.name
        self.source, self.target = pair.split("-")
        self.folder.mkdir(parents=True, exist_ok=True)

    def flags(self, beam: int = WIDE) -> str:
        """Return switches of Moses: cube pruning with a beam, or nothing but the limit."""
        limit = f"-distortion-limit {LIMITS[self.pair]}"
        if self.setting == "default":
            return limit
        return (
            f"{limit} -search-algorithm 1 -s {beam} "
            f"-cube-pruning-pop-limit {beam} -cube-pruning-deterministic-search true"
        )

    def part(self, seed: int) -> tuple[Path, list[Path], Path]:
        """Return source, references and moses.ini of a seed's dev set; of the test set for 0.

        The dev segments are dealt to as many seeds as they are enough for, then dealt anew.
        """
        name = "dev" if seed else "test"
        folder = self.folder / (f"dev-{seed}" if seed else "test")
        files = [
            path
            for language in (self.source, self.target)
            for path in sorted(self.trained.glob(f"{name}.{language}*"))
            if path.stem == name
        ]
        if not (folder / "model" / "moses.ini").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            lines = {path.name: path.read_bytes().splitlines(keepends=True) for path in files}
            count = len(next(iter(lines.values())))
            rows = np.linspace(0, count, TEST[self.pair], endpoint=False).astype(int)
            if seed:
                segments = DEV[self.setting]
                deal, place = divmod(seed - 1, count // segments)
                order = np.random.default_rng(deal).permutation(count)
                rows = np.sort(order[place * segments : (place + 1) * segments])
            for file, texts in lines.items():
                (folder / file).write_bytes(b"".join(texts[row] for row in rows))
            subprocess.run(
                [SCRIPTS / "filter-model-given-input.pl", folder / "model",
                 self.trained / "filtered" / "moses.ini", folder / f"{name}.{self.source}"],
                check=True, capture_output=True,
            )  # fmt: skip
        texts = [folder / path.name for path in files]
        source = folder / f"{name}.{self.source}"
        return source, [path for path in texts if path != source], folder / "model" / "moses.ini"

    def moses(self, seed: int, **options: Any) -> Moses:
        """Return the decoder of a dev set, or of the test set."""
        program, ini = PROGRAMS / "moses", self.part(seed)[2]
        return Moses(config=ini, program=program, flags=self.flags(), threads=1, **options)

    @cached_property
    def own(self) -> FeatureWeights:
        """The weights that training wrote."""
        return self.moses(0).read_weights()

    def start(self, name: str) -> FeatureWeights:
        """Return start weights, see `STARTS`."""
        others = STARTS[name]
        return FeatureWeights(
            {
                feature: (others[feature],) * len(numbers) if feature in others else numbers
                for feature, numbers in self.own.values.items()
            }
        )

    def experiment(self, seed: int, start: str, output: Path, **options: Any) -> Any:
        """Return a tuning of a dev set; options are of [tune], and `graphs`."""
        source, references, ini = self.part(seed)
        decoder = {
            "name": "moses", "program": str(PROGRAMS / "moses"), "config": str(ini),
            "flags": self.flags(), "threads": 1, "graphs": options.pop("graphs", False),
        }  # fmt: skip
        weights = output.with_suffix(".start.json")
        weights.write_text(self.start(start).to_json())
        tables = {
            "tune": {"output": str(output), "seed": seed, "threads": 1, "weights": str(weights),
                     **options},
            "data": {"source": str(source), "references": [str(path) for path in references]},
            "metric": {"name": "bleu"},
            "decoder": decoder,
        }  # fmt: skip
        config = output.with_suffix(".toml")
        config.write_text(
            "\n".join(
                f"[{table}]\n" + "\n".join(f"{key} = {json.dumps(v)}" for key, v in keys.items())
                for table, keys in tables.items()
            )
        )
        return portmert.load_config(config)

    def test(self, weights: FeatureWeights) -> float:
        """Decode the test set; return its score in percent. The same weights are decoded once."""
        digest = hashlib.sha256(weights.to_json().encode()).hexdigest()[:16]
        path = self.folder / "scores" / f"{digest}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            source, references, _ = self.part(0)
            with tempfile.TemporaryDirectory() as scratch:
                out = Path(scratch, "nbest")
                request: Any = {"source": source, "size": 1, "out": out, "workdir": out.parent}
                self.moses(0).write_lists(weights, request, links=False)
                found = [line.split(" ||| ")[1] for line in out.read_text().splitlines()]
            score = portmert.score(found, list(references), metric="bleu").score
            path.write_text(json.dumps(100 * score))
        return float(json.loads(path.read_text()))


def seconds() -> tuple[float, float]:
    """Return CPU seconds of this process, and of the programs that it ran."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return tuple(usage.ru_utime + usage.ru_stime for usage in usages)  # type: ignore[return-value]


@contextmanager
def watched(beams: Sequence[str]) -> Iterator[list[tuple[str, float]]]:
    """Yield a list that gets what Moses is asked for, and the CPU seconds before and within it.

    Parameters
    ----------
    beams
        The flags of the first decodings, the second and so on; nothing: those of the decoder.
    """
    events: list[tuple[str, float]] = [("begin", sum(seconds()))]

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Moses, *args: Any, **kwargs: Any) -> Any:
            before = sum(seconds())
            if name == "decode" and beams:
                count = sum(event == "decode" for event, _ in events)
                self = replace(self, flags=beams[count])
            events.append((name, before))
            result = call(self, *args, **kwargs)
            events.append(("end", sum(seconds())))
            return result

        return wrapper

    kept = Moses.decode, Moses.best_strings
    Moses.decode, Moses.best_strings = (  # type: ignore[method-assign]
        timed("decode", Moses.decode), timed("harvest", Moses.best_strings),
    )  # fmt: skip
    try:
        yield events
    finally:
        Moses.decode, Moses.best_strings = kept  # type: ignore[method-assign]
        events.append(("begin", sum(seconds())))


def spent(events: Sequence[tuple[str, float]]) -> list[dict[str, float]]:
    """Return CPU seconds of each decoding and what follows it, by what they were spent on."""
    passes: list[dict[str, float]] = []
    for (name, begin), (_, end) in pairwise(events):
        if name == "decode":
            passes.append(dict.fromkeys(("decode", "harvest", "search"), 0.0))
        if passes:
            passes[-1]["search" if name in ("begin", "end") else name] += end - begin
    return [{what: round(value, 2) for what, value in one.items()} for one in passes]


def tuned(system: System, seed: int, start: str, arm: str, folder: Path) -> dict[str, Any]:
    """Return the record of a tuning by portmert: a row for each decoding.

    `judged` is the estimate for unseen text of a decoding's weights, `listed` the estimate for the
    next weights before they were decoded.
    """
    options: dict[str, Any] = {"decodings": MOST}
    beams: list[str] = []
    if arm == "graphs":  # where min_gain = 1, the default with graphs, ends is read from it
        options = {"decodings": 2, "graphs": True, "min_gain": 1e-9}
    if arm == "tight":
        options = {"decodings": 4}
        beams = [system.flags(beam) for beam in (TIGHT, TIGHT, TIGHT, WIDE)]
    experiment = system.experiment(seed, start, folder, **options)
    with watched(beams) as events:
        portmert.tune(experiment)
    rows: list[dict[str, Any]] = []
    for one in spent(events):
        iteration = folder / f"iteration-{len(rows) + 1:02d}"
        row: dict[str, Any] = {"seconds": one}
        row["judged"] = json.loads((iteration / "scores.json").read_text())["unseen_score"]
        if (iteration / "optimized.json").exists():
            found = json.loads((iteration / "optimized.json").read_text())
            row |= {"gain": found["gain"], "gain_error": found["gain_error"]}
            if (folder / f"iteration-{len(rows) + 2:02d}" / "weights.json").exists():
                row |= {"listed": found["next_score"] - found["excess"]}
        rows.append(row)
    stopped = json.loads((folder / "result.json").read_text())["stopped"]
    record = {"stopped": stopped, "rows": rows, "test": {}}
    for number in sorted({taken(record, name)[1] for name in ARMS[arm]}):
        weights = read_weights(folder / f"iteration-{number:02d}" / "weights.json")
        record["test"][str(number)] = round(system.test(weights), 3)
    return record


def taken(record: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Return the decodings of an arm, and the iteration whose weights are its result.

    An arm is a limit of decodings, `gain=` with a value of `min_gain`, or both with a space
    between them.
    """
    rows, limit, least, fewest = record["rows"], MOST, None, FEWEST
    for part in name.split():
        if part.startswith("gain="):
            least = float(part.removeprefix("gain="))
        elif part == "graphs":
            fewest = FEWEST - 1
        else:
            limit = int(part)
    judged: list[float] = []
    for number, row in enumerate(rows[:limit], 1):
        judged.append(row["judged"])
        steps = [one.get("gain") for one in rows[max(0, number - 2) : number]]
        is_known = number >= fewest and None not in steps
        if least is not None and is_known and steps[-1] <= least * (row["gain_error"] or 0.0):
            break
        if number == limit and "listed" in row:
            judged.append(row["listed"])
    return min(len(judged), len(rows), limit), int(np.argmax(judged)) + 1


ARMS: Mapping[str, Sequence[str]] = {
    "lists": ("1", "2", "4", "8", "gain=0.5"),
    "graphs": ("1", "2 graphs gain=1"),
    "tight": ("4",),
}
"""What is read from a record of each kind, see `taken`."""


def mert(system: System, seed: int, start: str, folder: Path) -> dict[str, Any]:
    """Tune by mert-moses.pl; return test scores after some decodings."""
    source, references, _ = system.part(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    ini, work = folder / "start.ini", folder / "work"
    system.moses(seed).write_config(system.start(start), ini, header="start")
    reference = references[0] if len(references) == 1 else Path(str(references[0])[:-1])
    words: list[str | Path] = [
        SCRIPTS / "mert-moses.pl", source, reference, PROGRAMS / "moses", ini,
        f"--working-dir={work}", f"--mertdir={PROGRAMS}", "--nbest=100",
        f"--maximum-iterations={MOST + 1}", "--no-filter-phrase-table",
        f"--decoder-flags={system.flags()}", f"--mertmertargs=-r {seed} ",
    ]  # fmt: skip
    before = sum(seconds())
    with (folder / "tuning.log").open("w") as log:
        subprocess.run(words, check=True, cwd=folder, stdout=log, stderr=log)
    cost, count = sum(seconds()) - before, len(list(work.glob("run*.moses.ini")))
    test = {}
    for number in SHOWN:
        path = work / f"run{number + 1}.moses.ini"
        path = path if path.exists() else work / "moses.ini"
        test[str(number)] = round(system.test(read_weights(path)), 3)
    return {"seconds": round(cost, 2), "decodings": count, "test": test}


def measure(arguments: argparse.Namespace) -> None:
    """Tune, and write a record of each tuning."""
    system = System(
        arguments.pair, arguments.system.resolve(), arguments.work.resolve(), arguments.setting
    )
    records = arguments.work.resolve() / "records"
    records.mkdir(exist_ok=True)
    for seed in arguments.seeds:
        for arm in arguments.arms.split(","):
            name = f"{system.name}-{arguments.start}-{seed}-{arm}"
            path, folder = records / f"{name}.json", system.folder / name
            if path.exists():
                continue
            shutil.rmtree(folder, ignore_errors=True)
            if arm == "mert":
                record = mert(system, seed, arguments.start, folder)
            else:
                record = tuned(system, seed, arguments.start, arm, folder)
            record |= {"pair": system.pair, "start": arguments.start, "seed": seed, "arm": arm}
            record["setting"] = system.setting
            record["start test"] = round(system.test(system.start(arguments.start)), 3)
            path.write_text(json.dumps(record) + "\n")
            click.echo(f"{name}: {record['test']}")


NAMES: Mapping[tuple[str, str], str] = {
    ("lists", "1"): "1 decoding", ("lists", "2"): "2 decodings", ("lists", "4"): "4 decodings",
    ("lists", "8"): "8 decodings", ("lists", "gain=0.5"): "`min_gain = 0.5`",
    ("graphs", "1"): "1 decoding, graphs", ("graphs", "2 graphs gain=1"): "2 decodings, graphs",
    ("tight", "4"): "4 decodings, narrow beam in three", ("mert", "2"): "mert-moses.pl, 2",
    ("mert", "4"): "mert-moses.pl, 4", ("mert", "8"): "mert-moses.pl, 8",
}  # fmt: skip
"""Kind of record and what is read from it -> the name of the arm in tables."""
PAIRS = (
    ("2 decodings, graphs", "4 decodings"), ("2 decodings, graphs", "2 decodings"),
    ("2 decodings, graphs", "8 decodings"), ("1 decoding, graphs", "1 decoding"),
    ("1 decoding, graphs", "2 decodings"), ("4 decodings", "8 decodings"),
    ("`min_gain = 0.5`", "8 decodings"), ("4 decodings, narrow beam in three", "4 decodings"),
    ("mert-moses.pl, 2", "2 decodings"), ("mert-moses.pl, 4", "4 decodings"),
    ("mert-moses.pl, 8", "8 decodings"),
)  # fmt: skip
"""Arms that are compared: what the first reaches less what the second reaches."""


def outcome(record: Mapping[str, Any], part: str) -> tuple[float, float, float]:
    """Return decodings, CPU seconds and test score of what is read from a record."""
    if record["arm"] == "mert":
        seconds = record["seconds"] if part == str(MOST) else np.nan
        return min(int(part), record["decodings"]), seconds, record["test"][part]
    count, number = taken(record, part)
    rows = record["rows"][:count]
    return count, sum(sum(row["seconds"].values()) for row in rows), record["test"][str(number)]


def outcomes(
    records: Sequence[Mapping[str, Any]],
) -> dict[str, dict[int, tuple[float, float, float]]]:
    """Return name of an arm -> seed -> its outcome, from the records of one condition."""
    found: dict[str, dict[int, tuple[float, float, float]]] = {}
    for (arm, part), name in NAMES.items():
        by_seed = {one["seed"]: outcome(one, part) for one in records if one["arm"] == arm}
        if by_seed:
            found[name] = by_seed
    return found


def interval(differences: Sequence[float]) -> str:
    """Return mean, standard error and the 95 % interval by Student's t."""
    count, mean = len(differences), float(np.mean(differences))
    error = float(np.std(differences, ddof=1)) / count**0.5
    half = float(student.ppf(0.975, count - 1)) * error
    return f"{mean:+.2f} ± {error:.2f} ({mean - half:+.2f} to {mean + half:+.2f})"


def conditions(
    records: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    """Return (pair, start weights, setting) -> records, in the order of the page."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for setting in SETTINGS:
        for start in STARTS:
            for pair in LIMITS:
                key = pair, start, setting
                some = [
                    one
                    for one in records
                    if (one["pair"], one["start"], one.get("setting", "cube")) == key
                ]
                if some:
                    found[key] = some
    return found


def tables(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tables of the page: what each arm costs and reaches, and paired differences."""
    texts = []
    for (pair, start, setting), some in conditions(records).items():
        found = outcomes(some)
        rows = []
        for name, by_seed in found.items():
            numbers = np.array(list(by_seed.values()))
            error = numbers[:, 2].std(ddof=1) / len(numbers) ** 0.5 if len(numbers) > 1 else np.nan
            count, seconds, score = numbers.mean(axis=0)
            cost = "" if np.isnan(seconds) else f"{seconds:.0f}"
            reached = f"{score:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")
            rows.append([name, str(len(numbers)), f"{count:.1f}", cost, reached])
        rows.append(["start weights", "", "0", "0", f"{some[0]['start test']:.2f}"])
        header = ["", "tunings", "decodings", "CPU seconds", "test BLEU"]
        texts.append(
            f"### {pair}, {SETTINGS[setting]}{start} start weights\n\n"
            + aligned(header, rows, style="pipe")
        )
        rows = []
        for first, second in PAIRS:
            seeds = found.get(first, {}).keys() & found.get(second, {}).keys()
            if len(seeds) > 1:
                gains = [found[first][seed][2] - found[second][seed][2] for seed in sorted(seeds)]
                rows.append([first, second, str(len(gains)), interval(gains)])
        header = ["", "less", "tunings", "mean ± error (95 % interval)"]
        if rows:
            texts.append(aligned(header, rows, style="pipe"))
    return texts


def charts(records: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Return curves from poor weights, by decodings and by CPU seconds, of the same seeds.

    Bands are 95 % intervals of each mean over the tunings.

    mert-moses.pl is drawn by decodings, as CPU seconds are known of its whole run only, and only
    where it has tuned on all of these seeds.
    """
    found_charts = []
    for (pair, start, setting), some in conditions(records).items():
        found = outcomes(some)
        if start != "poor" or not {NAMES["lists", "8"], NAMES["graphs", "1"]} <= found.keys():
            continue
        curves = {
            name: [found[NAMES[arm, part]] for part in parts]
            for arm, parts, name in (
                ("lists", ("1", "2", "4", "8"), "without graphs"),
                ("graphs", ("1", "2 graphs gain=1"), "with graphs"),
                ("mert", ("2", "4", "8"), "mert-moses.pl"),
            )
            if NAMES[arm, parts[0]] in found
        }
        seeds = found[NAMES["lists", "8"]].keys() & found[NAMES["graphs", "1"]].keys()
        if len(seeds) < FEWEST_DRAWN:
            continue
        for place, axis in ((0, "decodings of the dev set"), (1, "CPU seconds")):
            series = []
            for colour, (name, points) in enumerate(curves.items()):
                if seeds <= points[0].keys():
                    rows = np.array([[p[s] for s in seeds] for p in points])
                    means, spread = rows.mean(axis=1), rows[:, :, 2].std(axis=1, ddof=1)
                    half = student.ppf(0.975, len(seeds) - 1) * spread / np.sqrt(len(seeds))
                    x, y = means[:, place].tolist(), means[:, 2]
                    if not np.isnan(x).any():
                        low, high = (y - half).tolist(), (y + half).tolist()
                        series.append(
                            Series(name, y.tolist(), x=x, low=low, high=high, colour=colour)
                        )
            title = f"{pair}: {SETTINGS[setting]}test BLEU by {axis}"
            choice = ChartChoice("", series)
            found_charts.append(
                Chart(f"{pair}-{setting}-{place}", "lines", title, [choice], x=axis)
            )
    return found_charts


def page(work: Path | None) -> None:
    """Put records into the results, draw the plot, and write the tables into the page."""
    if work is not None:
        found = [json.loads(path.read_text()) for path in (work / "records").glob("*.json")]
        found.sort(
            key=lambda one: (
                one.get("setting", "cube"), one["pair"], one["start"], one["arm"], one["seed"],
            )
        )  # fmt: skip
        RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")
    records = json.loads(RESULTS.read_text())
    plots.draw(charts(records), PLOT)
    before = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(before + MARK + "\n\n" + "\n\n".join(tables(records)) + "\n")


def main() -> None:
    """Measure, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tune", "page"))
    parser.add_argument("pair", nargs="?", choices=tuple(LIMITS))
    parser.add_argument("system", nargs="?", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--start", choices=tuple(STARTS), default="poor")
    parser.add_argument("--setting", choices=tuple(SETTINGS), default="cube")
    parser.add_argument("--seeds", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--arms", default="lists,graphs")
    arguments = parser.parse_args()
    if arguments.what == "tune":
        measure(arguments)
    else:
        page(arguments.work)


if __name__ == "__main__":
    main()
