"""What people judged, what metrics are learnt from it, and what annotators read."""

import dataclasses
import shutil

from portmert.tuner import families
from tests.fuzz.target import Target, new_place
from tests.oracles.lexical import write_paraphrases, write_wordnet
from tests.support import annotation_models
from tests.support.cli import run
from tests.support.evaluations import evaluation, export, side, written
from tests.support.run_folders import REFERENCE, SOURCE, write_lines


def targets(folder):
    """Return all targets of this kind."""
    yield from _human_scores(folder)
    yield from _sheets(folder)
    yield from _metrics(folder)
    yield from _annotators(folder)


def scored_place(folder, name):
    """Make the folder of a target with outputs of three systems and human scores of them."""
    place = new_place(folder, name)
    (place / "systems").mkdir()
    rows = ["system\tsegment\tdocument\tscore"]
    for rank, system in enumerate(("good", "fair", "poor")):
        lines = [line.replace("a", "x", rank) for line in REFERENCE]
        write_lines(place / "systems" / f"{system}.en", lines)
        rows += [f"{system}\t{n}\td{n // 2}\t{-rank - n}" for n in range(len(lines))]
    write_lines(place / "human.tsv", rows)
    write_lines(place / "ref", REFERENCE)
    write_paraphrases(place / "table")
    write_lines(place / "stop", ["a", "the"])
    return place


def _human_scores(folder):
    place = scored_place(folder, "human")
    given = ("--outputs", "systems", "--ref", "ref")
    call = ("metaeval", "--human", "{}", *given, "--metric", "bleu", "--samples", "10")
    shared = {"damaged": ("human.tsv",), "out": ("out.json",)}
    yield Target("human", (*call, "--json", "out.json"), **shared)
    call = ("metaeval", "--human", "human.tsv", *given, "--metric", "bleu", "--samples", "10")
    for name in ("systems/fair.en", "ref"):
        yield Target("human", (*call, "--json", "out.json"), (name,), out=("out.json",))
    more = ("--groups", "TPNB", "--paraphrases", "table", "--stop-words", "stop")
    call = ("metric-train", "--human", "human.tsv", *given, *more, "--out", "out.json")
    for name in ("human.tsv", "systems/fair.en", "table", "stop"):
        yield Target("human", call, (name,), out=("out.json",))
    (place / "sets.toml").write_text(SETS)
    call = ("metaeval", "--sets", "{}", "--metric", "chrf", "--samples", "10", "--all")
    yield Target("human", (*call, "--json", "out.json"), ("sets.toml",), out=("out.json",))


SETS = """\
[[set]]
name = "one"
group = "x"
scenario = "clean"
human = "human.tsv"
outputs = "systems"
refs = ["ref"]
[[set]]
name = "two"
group = "x"
scenario = "noisy"
human = "human.tsv"
outputs = "systems"
refs = ["ref", "systems/good.en"]
systems = ["fair", "poor"]
penalties = true
judgments = "mean"
"""


def _sheets(folder):
    place = new_place(folder, "sheets")
    one = evaluation(judges=("ada", "bob"))
    written(one, place / "kit", lambda _, item: len(item) % 3)

    def votes(item):
        return side(one, "bob", item, len(item) % 3)

    (place / "kit" / "judges" / "bob.json").write_text(export(one, "bob", votes))
    for kind in ("csv", "json"):
        call = ("humaneval", "read", "kit/judges/ada.csv", f"kit/judges/bob.{kind}")
        patterns = (f"kit/judges/bob.{kind}", "kit/key.json")
        yield Target("sheets", (*call, "--json", "out.json"), patterns, out=("out.json",))
    place = new_place(folder, "sheets-made")
    for name, lines in (("a", REFERENCE), ("b", SOURCE), ("ref", REFERENCE), ("src", SOURCE)):
        write_lines(place / name, lines)
    call = ("humaneval", "make", "one=a", "two=b", "--ref", "ref", "--source", "src", "--out",
            "kit", "--min-length", "0", "--items", "1", "--common", "1", "--judges=1")  # fmt: skip
    yield Target("sheets-made", call, ("a", "ref", "src"), changed=("kit",), names=("--",))


def _metrics(folder):
    """Metrics that read files."""
    place = scored_place(folder, "metrics")
    given = ("--outputs", str(place / "systems"), "--ref", str(place / "ref"))
    run("metric-train", "--human", place / "human.tsv", *given, "--groups", "NB",
        "--out", place / "model.json")  # fmt: skip
    metrics = {
        "model.json": "learned:model={}",
        "table": "meteor:version=1.5,paraphrases={}",
        "stop": "terp:stop_words={}",
        "wordnet/*": "meteor:synonyms=wordnet",
    }
    write_wordnet(place / "wordnet")
    for name, metric in metrics.items():
        call = ("score", "--metric", metric, "--hyp", "systems/fair.en", "--ref", "ref")
        yield Target("metrics", (*call, "--json", "out.json"), (name,), out=("out.json",))


SYNTAX = {"heads": "hwcm", "tree": "stm", "tags": "posf"}
"""Layer -> a metric that needs it."""


def _annotators(folder):
    """All annotators that read files of parses, and one that loads a model."""
    for name in families.own_names("annotator"):
        kind = families.component("annotator", name)
        options = {field.name for field in dataclasses.fields(kind)}
        if "files" not in options and name not in annotation_models.OPTIONS:
            continue  # a model of a large library
        place = new_place(folder, f"annotator-{name}")
        ((option, given),) = annotation_models.OPTIONS[name]().items()
        path = given[0] if isinstance(given, list) else given
        if option == "files":
            text = path.read_text(encoding="utf-8")
            (place / "model").write_text("".join(_first(text.splitlines(keepends=True))))
        else:
            shutil.copy(path, place / "model")
        words = annotation_models.SENTENCES[:3]
        write_lines(place / "text", [" ".join(sentence) for sentence in words])
        spec, kept = f"{name}:{option}={{}}", ("--annotation-cache", "cache")
        call = ("annotate", "--annotator", spec, "--in", "text", "--out", "out.conllu",
                "--processes", "1", "--max-failed", "1", *kept)  # fmt: skip
        shared = {"changed": ("cache",), "packs": option == "files"}
        yield Target(place.name, call, ("model",), out=("out.conllu",), **shared)
        if option == "files":
            metric = next(SYNTAX[layer] for layer in SYNTAX if layer in kind.gives)
            call = ("score", "--metric", metric, "--hyp", "text", "--ref", "text",
                    "--annotator", spec, *kept, "--json", "out.json")  # fmt: skip
            yield Target(place.name, call, ("model",), out=("out.json",), **shared)


def _first(lines):
    """Return the lines of the first sentences, a tree a line or with a blank line behind each."""
    ends = [n for n, line in enumerate(lines) if not line.strip()]
    return lines[: ends[2] + 1] if ends else lines[:3]
