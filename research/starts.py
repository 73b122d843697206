"""Tunings of real Moses from good, poor, random and bad start weights, by several tuners.

python -m research.starts run zh-en SYSTEM --work DIR [--arm NAME] [--starts own,poor,...]
                                              [--sizes 200,1000] [--seeds 1,2,3]
python -m research.starts page

`run` writes one record of each tuning into research/starts.jsonl; what is there already is not
made again. SYSTEM is a folder of configs/paper-port/train-moses.sh. It needs the programs of
../shared. `page` prints the tables of research/starts.md from the records.

Arms: `perl` is mert-moses.pl; `tune` and `mert-moses` are ours as they are. Any other name is
written into the record of a `tune` as it is, such as `before` for one of an earlier commit.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import portmert
from portmert.tuner.base.tables import aligned
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from research import graphs
from tests.support.places import PROGRAMS, ROOT

RECORDS = ROOT / "research" / "starts.jsonl"
TEST, BEAM, DECODINGS = 300, 20, 4
SMALL = 100
"""Dev sets of so many segments have lists of 50, others of 100."""
CONSTANT = "UnknownWordPenalty0"
"""Its value is the same for all hypotheses of a segment."""
TINY, RUNAWAY = "tiny", "runaway"
BAD = (
    "no-lm", "flipped", RUNAWAY, TINY, "constant", "negated", "wordy",
    *(f"random-{number}" for number in range(1, 6)),
)  # fmt: skip
"""Twelve bad starts: language model 0; signs of translation model and word penalty flipped; one
reordering weight of -0.99 and the rest about 0.001; all 1e-39; 100,000 on a feature that is
constant within each list; all signs flipped; word penalty 1 and language model -0.2; random
ones."""
CONDITIONS = (
    ("zh-en", 200, "own"), ("zh-en", 200, "poor"), ("zh-en", 1000, "random"),
    ("es-en", 200, "poor"), ("es-en", 200, "random"), ("es-en", 1000, "own"),
)  # fmt: skip


class System(graphs.System):
    """A Moses system with narrow beams, a small test set, and any start weights."""

    def __init__(self, pair: str, trained: Path, work: Path, size: int) -> None:
        super().__init__(pair, trained, work / str(size))
        self.size = size
        self.nbest = 50 if size <= SMALL else 100

    def flags(self, beam: int = BEAM) -> str:
        """Return switches of Moses."""
        return super().flags(beam)

    def part(self, seed: int) -> tuple[Path, list[Path], Path]:
        """Return the files of a part; the constant feature is made one that is tuned."""
        graphs.TEST = dict.fromkeys(graphs.TEST, TEST)  # type: ignore[misc]
        graphs.DEV = {"cube": self.size}  # type: ignore[misc]
        source, references, ini = super().part(seed)
        text = ini.read_text()
        if "UnknownWordPenalty tuneable" not in text:
            text = text.replace("\nUnknownWordPenalty\n", "\nUnknownWordPenalty tuneable=true\n")
            ini.write_text(text)
        return source, references, ini

    def start(self, name: str) -> FeatureWeights:
        """Return start weights by name, see `BAD`; `random` with a number draws others."""
        if name in graphs.STARTS:
            return super().start(name)
        own = self.own.values
        if name.startswith("random"):
            number = int(name.partition("-")[2] or 0)
            rng = np.random.default_rng(1000 + number)
            drawn = {key: rng.normal(size=len(row)) * 0.3 for key, row in own.items()}
            drawn[CONSTANT] = np.ones(1)
            return FeatureWeights.of({key: row.tolist() for key, row in drawn.items()})
        changed = {key: np.array(row) for key, row in own.items()}
        if name == "no-lm":
            changed["LM0"] *= 0
        elif name == "flipped":
            changed["TranslationModel0"] *= -1
            changed["WordPenalty0"] *= -1
        elif name == RUNAWAY:
            rng = np.random.default_rng(1)
            changed = {key: rng.normal(size=len(row)) * 0.001 for key, row in own.items()}
            changed["LexicalReordering0"][5] = -0.99
        elif name == TINY:
            changed = {key: np.full(len(row), 1e-39) for key, row in own.items()}
        elif name == "constant":
            changed[CONSTANT] = np.full(1, 100_000.0)
        elif name == "negated":
            changed = {key: -row for key, row in changed.items()}
        elif name == "wordy":
            changed["LM0"][:] = -0.2
            changed["WordPenalty0"][:] = 1.0
        else:
            raise SystemExit(f"no start is called {name}")
        return FeatureWeights.of({key: row.tolist() for key, row in changed.items()})


def perl(system: System, seed: int, start: FeatureWeights, folder: Path) -> dict[str, Any]:
    """Tune by mert-moses.pl; return the weights after each decoding, and its dev scores."""
    command = ["perl", graphs.SCRIPTS / "mert-moses.pl"]
    options = [f"--mertdir={PROGRAMS}", f"--mertmertargs=-r {seed} "]
    options += [f"--maximum-iterations={DECODINGS + 1}"]
    return _in_place(system, seed, start, folder, command, options)


def dropped_in(system: System, seed: int, start: FeatureWeights, folder: Path) -> dict[str, Any]:
    """Tune by our `mert-moses`, as `perl` does."""
    return _in_place(
        system, seed, start, folder, ["portmert", "mert-moses"],
        [f"--seed={seed}", f"--maximum-iterations={DECODINGS}"],
    )  # fmt: skip


def _in_place(
    system: System, seed: int, start: FeatureWeights, folder: Path,
    command: Sequence[str | Path], others: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    source, references, _ = system.part(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ini, work = folder / "start.ini", folder / "work"
    system.moses(seed).write_config(start, ini, header="start")
    reference = references[0] if len(references) == 1 else Path(str(references[0])[:-1])
    words: list[str | Path] = [
        *command, source, reference, PROGRAMS / "moses", ini, f"--working-dir={work}",
        f"--nbest={system.nbest}", "--no-filter-phrase-table",
        f"--decoder-flags={system.flags()}", *others,
    ]  # fmt: skip
    before = sum(graphs.seconds())
    with (folder / "tuning.log").open("w") as log:
        subprocess.run(words, check=True, cwd=folder, stdout=log, stderr=log)
    cost = sum(graphs.seconds()) - before
    weights = []
    for number in range(2, DECODINGS + 2):
        path = work / f"run{number}.moses.ini"
        weights.append(read_weights(path if path.exists() else work / "moses.ini"))
    return {"weights": weights, "seconds": cost, "result": read_weights(work / "moses.ini")}


def tuned(system: System, seed: int, start: FeatureWeights, folder: Path) -> dict[str, Any]:
    """Tune by `tune`; return the weights after each decoding, and what result.json says."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    graphs.STARTS = {**graphs.STARTS, "this": {}}  # type: ignore[misc]
    experiment = system.experiment(seed, "own", folder, decodings=DECODINGS, nbest=system.nbest)
    folder.with_suffix(".start.json").write_text(start.to_json())
    before = sum(graphs.seconds())
    portmert.tune(experiment)
    cost = sum(graphs.seconds()) - before
    weights = []
    for number in range(2, DECODINGS + 2):
        path = folder / f"iteration-{number:02d}" / "weights.json"
        weights.append(read_weights(path) if path.exists() else None)
    result = json.loads((folder / "result.json").read_text())
    searches = []
    for number in range(1, DECODINGS + 1):
        path = folder / f"iteration-{number:02d}" / "optimized.json"
        if path.exists():
            found = json.loads(path.read_text())
            searches.append({k: v for k, v in found.items() if "without" not in k})
    return {
        "weights": weights, "seconds": cost, "result": read_weights(folder / "weights.json"),
        "said": {k: v for k, v in result.items() if k not in ("parts", "left_out")},
        "searches": searches,
    }  # fmt: skip


def measure(arguments: argparse.Namespace) -> None:
    """Tune, decode the test set, write a record of each tuning."""
    done = {_key(record) for record in records()}
    for seed in arguments.seeds:
        for size in arguments.sizes:
            system = System(
                arguments.pair, arguments.system.resolve(), arguments.work.resolve(), size
            )
            for name in arguments.starts:
                record = {
                    "pair": arguments.pair, "size": size, "start": name, "seed": seed,
                    "arm": arguments.arm,
                }  # fmt: skip
                if _key(record) in done:
                    continue
                drawn = f"{name}-{20 + seed}" if name == "random" else name
                record |= case(system, seed, system.start(drawn), record, every=arguments.every)
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                click.echo(f"{_key(record)}: {record['start test']} {record['test']}")


def case(
    system: System, seed: int, start: FeatureWeights, record: Mapping[str, Any], *, every: bool
) -> dict[str, Any]:
    """Tune once; return test scores of the start, of decodings' weights, and of the result."""
    tuner = {"perl": perl, "mert-moses": dropped_in}.get(record["arm"], tuned)
    folder = system.folder / "-".join(str(record[key]) for key in ("arm", "start", "seed"))
    result = tuner(system, seed, start, folder)
    listed = result.pop("weights")
    steps = [weights for weights in listed if weights is not None]
    steps = steps if every else steps[-1:]
    scores: dict[str, Any] = {
        "start test": round(system.test(start), 3),
        "test": [round(system.test(weights), 3) for weights in steps],
        "result test": round(system.test(result.pop("result")), 3),
    }
    return {**scores, **result, "seconds": round(result["seconds"], 1)}


def records() -> list[dict[str, Any]]:
    """Return the records so far."""
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    return [json.loads(line) for line in lines]


def page(arguments: argparse.Namespace) -> None:
    """Print the tables: test score after each decoding, and differences paired by tuning."""
    del arguments
    by_arm: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for record in records():
        by_arm.setdefault(record["arm"], {})[_key(record)[:-1]] = record
    for size, is_bad in sorted(
        {(key[1], key[2] in BAD) for arm in by_arm.values() for key in arm}
    ):
        some = {
            name: {k: r for k, r in arm.items() if k[1] == size and (k[2] in BAD) == is_bad}
            for name, arm in by_arm.items()
        }
        click.echo(f"\n{size} dev segments, {'bad' if is_bad else 'other'} starts: test BLEU\n")
        click.echo(_scores({name: arm for name, arm in some.items() if arm}))
        click.echo("\nDifferences, paired by tuning\n")
        click.echo(_differences({name: arm for name, arm in some.items() if arm}))


def _after(record: Mapping[str, Any], decodings: int) -> float:
    """Return the test score after some decodings; after the last one it is the result's.

    mert-moses.pl decodes once more before it writes its result, so the weights before count there.
    """
    steps = record["test"]
    if record["arm"] == "perl":
        return float(steps[min(decodings, len(steps)) - 1])
    is_last = decodings == DECODINGS or decodings > len(steps)
    return float(record["result test"] if is_last else steps[decodings - 1])


def _decodings_of(record: Mapping[str, Any]) -> Sequence[int]:
    """Return the decodings after which the test set was scored: without `--every` the last."""
    return range(1, DECODINGS + 1) if len(record["test"]) > 1 else [DECODINGS]


def _scores(arms: Mapping[str, Mapping[tuple[Any, ...], Mapping[str, Any]]]) -> str:
    keys = dict.fromkeys(key for arm in arms.values() for key in arm)
    rows = []
    for key in keys:
        of_arms = [arm.get(key) for arm in arms.values()]
        start = next(record["start test"] for record in of_arms if record)
        cells = [
            " ".join(f"{_after(record, n):.2f}" for n in _decodings_of(record)) if record else ""
            for record in of_arms
        ]
        rows.append([" ".join(map(str, (key[0], *key[2:]))), f"{start:.2f}", *cells])
    common = [key for key in keys if all(key in arm for arm in arms.values())]
    if common and all(len(arm[key]["test"]) > 1 for arm in arms.values() for key in common):
        first = next(iter(arms.values()))
        means = [
            " ".join(
                f"{np.mean([_after(arm[key], n) for key in common]):.2f}"
                for n in range(1, DECODINGS + 1)
            )
            for arm in arms.values()
        ]
        start = float(np.mean([first[key]["start test"] for key in common]))
        rows.append([f"mean of the {len(common)} of all", f"{start:.2f}", *means])
    head = ["pair, start, seed", "untuned", *(f"{name}, after 1 2 3 4" for name in arms)]
    return aligned(head, rows, style="pipe")


def _differences(arms: Mapping[str, Mapping[tuple[Any, ...], Mapping[str, Any]]]) -> str:
    rows = []
    for name, arm in arms.items():
        for other in ("untuned", *arms):
            if other == name:
                continue
            pairs = [
                (
                    _after(record, DECODINGS),
                    record["start test"]
                    if other == "untuned"
                    else _after(arms[other][key], DECODINGS),
                )
                for key, record in arm.items()
                if other == "untuned" or key in arms[other]
            ]
            if len(pairs) > 1:
                change = [ours - theirs for ours, theirs in pairs]
                rows.append([f"{name} less {other}", str(len(pairs)), graphs.interval(change)])
    return aligned(["arms", "tunings", "mean ± error (95 %)"], rows, style="pipe")


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[key] for key in ("pair", "size", "start", "seed", "arm"))


def main() -> None:
    """Run tunings, or print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.set_defaults(call=measure)
    running.add_argument("pair", choices=list(graphs.TEST))
    running.add_argument("system", type=Path)
    running.add_argument("--work", type=Path, required=True)
    running.add_argument("--arm", default="tune")
    running.add_argument("--every", action="store_true", help="test each decoding's weights")
    running.add_argument("--starts", type=lambda text: text.split(","), default=["own"])
    numbers = lambda text: [int(word) for word in text.split(",")]  # noqa: E731
    running.add_argument("--sizes", type=numbers, default=[200])
    running.add_argument("--seeds", type=numbers, default=[1, 2, 3])
    printing = commands.add_parser("page")
    printing.set_defaults(call=page)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
