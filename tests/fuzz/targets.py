"""What is thrown at: calls of the command line, each with a folder of good files."""

import io
import json
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from portmert.extensions.graphs.collection import read_graphs
from portmert.metrics._base import Vocabulary
from portmert.tuner import families
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.files import read_lines
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import write_nbest
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.extensions.graphs.test_graphs import DATA as GRAPHS
from tests.extensions.graphs.test_graphs import FST, HYPERGRAPH, KALDI, OSGX, PLF, SLF
from tests.fuzz import commands, judges, moses
from tests.fuzz.target import Same, Target, new_place
from tests.support import strategies_readers as made
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import (
    DATA,
    LINKS,
    RECORDED,
    REFERENCE,
    SOURCE,
    write_lines,
    write_lists,
)
from tests.tuner.texts.test_forms import CTM, PLAIN, STM, WITH_IDS

SEGMENTS = 3
LISTED = [
    made.Hypothesis(n % SEGMENTS, words, (0.5 * n - 1, -0.25 * n), -0.1 * n, ((0, 0),))
    for n, words in enumerate([("a", "b", "the"), ("b",), ("é", "a"), ("日本", "b"), ("a",)] * 2)
]
LISTS = {
    "moses": [made.moses(LISTED, linked=True), made.moses(LISTED, linked=False)],
    "marian": [made.marian(LISTED, linked=True, scored=True)],
    "cdec": [made.cdec(LISTED)],
    "travatar": [made.travatar(LISTED)],
    "fairseq": [made.fairseq(LISTED)],
    "tsv": [made.tsv(LISTED)],
    "jsonl": [made.jsonl(LISTED, as_pairs=True), made.jsonl(LISTED, as_pairs=False)],
}
"""Lists besides the readers' own examples, which are found for every reader."""


def make_targets(folder: Path) -> list[Target]:
    """Write the good files of every target to a folder of its name, and return all targets."""
    makers = (
        _lists, _beside_lists, _joined_lists, _columns, _speech_folders, _scores, _gold_edits,
        _texts, _forms, _paths, _features, _statistics, judges.targets, moses.targets,
        commands.targets, _graphs, _configs, _runs, _records,
    )  # fmt: skip
    targets = [target for maker in makers for target in maker(folder)]
    for target in targets:  # so that kernels are loaded, and what is damaged was good
        with TemporaryDirectory() as copy, chdir(copy):
            shutil.copytree(folder / target.name, copy, dirs_exist_ok=True)
            damaged = next(Path().glob(target.damaged[0]))
            words = target.command(str(damaged))
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
                assert target.call(words) == target.statuses[0], (words, said.getvalue())
            if target.then is not None:
                target.then(damaged)
    return targets


def _lists(folder):
    names = [name for name in families.own_names("reader") if _example(name)]  # one file each
    seeds = {name: [*LISTS.get(name, []), _example(name)] for name in names if name != "auto"}
    for name, texts in seeds.items():
        for number, text in enumerate(texts):
            place = new_place(folder, f"list-{name}-{number}")
            (place / "list").write_text(text, encoding="utf-8")
            reader = "flat:n=2" if name == "flat" else name
            nbest = _read(place / "list", reader)
            write_lines(place / "ref", REFERENCE[: len(nbest)])
            # Texts alone, as of a recognizer whose costs are in other files, get a feature.
            more = () if nbest.feature_names else ("--feature", "length")
            names = nbest.feature_names or (("length", 1),)
            weights = FeatureWeights({n: (0.5,) * size for n, size in names})
            (place / "weights.json").write_text(weights.to_json())
            for chosen in (reader, *(["auto"] if _recognised(place / "list", nbest) else [])):
                given = ("--nbest", "{}", "--nbest-format", chosen, *more)
                shared = {"damaged": ("list",), "packs": True, "then": _RoundTrip(chosen)}
                yield Target(
                    place.name,
                    ("rerank", *given, "--weights", "weights.json", "--out", "best"),
                    out=("best",),
                    **shared,
                )
            yield Target(
                place.name,
                ("optimize", *given, "--ref", "ref", "--metric", "bleu", "--out", "w.json",
                 "--threads", "1"),
                out=("w.json",),
                **shared,
            )  # fmt: skip


def _recognised(path, nbest):
    """Whether the format shows in the list."""
    try:
        found = _read(path, "auto")
    except InputError:
        return False
    return (len(found), found.feature_names) == (len(nbest), nbest.feature_names)


def _beside_lists(folder):
    """Lists of which parts stand in other files, and references with ids."""
    place = new_place(folder, "ids")
    write_lines(place / "list", ["u-1 a b", "u-2 b", "v-1 c"])
    write_lines(place / "ac_cost", ["u-1 1.5", "u-2 2", "v-1 tensor(0.5)"])
    write_lines(place / "text", ["v c d", "u a b"])
    kaldi = ("--nbest", "list", "--nbest-format", "kaldi:ac=ac_cost", "--ids")
    words = ("optimize", "--metric", "wer", *kaldi, "--out", "w.json", "--threads", "1")
    yield Target("ids", (*words, "--ref", "text"), ("ac_cost",), out=("w.json",))
    yield Target("ids", (*words, "--ref", "{}"), ("text",), out=("w.json",), packs=True)
    write_lines(place / "lm", ["u-1 -1", "u-2 -2.5", "v-1 -3"])
    keyed = (*words, "--ref", "text", "--feature", "lm={}", "--feature", "length")
    yield Target("ids", keyed, ("lm",), out=("w.json",), packs=True)
    scored = ("score", "--metric", "cer", "--ids", "--ref", "text", "--json", "out.json")
    write_lines(place / "hyp", ["u a b", "v c"])
    yield Target("ids", (*scored, "--hyp", "{}"), ("hyp",), out=("out.json",))
    place = new_place(folder, "arrays")
    np.savez(place / "list.npz", sequences=[["a b", "b"], ["", "c"]], sequences_scores=np.eye(2))
    write_lines(place / "ref", REFERENCE[:2])
    call = ("optimize", "--metric", "wer", "--nbest", "{}", "--ref", "ref", "--out", "w.json")
    yield Target("arrays", (*call, "--threads", "1"), ("list.npz",), out=("w.json",))


def _joined_lists(folder):
    """Lists of two systems, read together, and records of what is chosen."""
    place = new_place(folder, "systems")
    for name, listed in (("a", LISTED[:6]), ("b", LISTED[4:])):
        (place / name).write_text(made.moses(listed, linked=False), encoding="utf-8")
    (place / "answers.jsonl").write_text(made.jsonl(LISTED, as_pairs=True), encoding="utf-8")
    write_lines(place / "ref", REFERENCE[:SEGMENTS])
    both = ("--nbest", "a", "--nbest", "{}", "--systems", "one,two")
    given = ("optimize", *both, "--ref", "ref", "--metric", "bleu", "--threads", "1")
    yield Target("systems", (*given, "--out", "w.json"), ("b",), out=("w.json",), packs=True)
    with chdir(place):
        run(*(word.replace("{}", "b") for word in given), "--out", "weights.json")
        run("optimize", "--nbest", "answers.jsonl", "--ref", "ref", "--metric", "bleu", "--out",
            "other.json")  # fmt: skip
    call = ("rerank", *both, "--weights", "weights.json", "--out", "out.jsonl")
    yield Target("systems", call, ("b",), out=("out.jsonl",), packs=True)
    call = ("rerank", "--nbest", "{}", "--weights", "other.json", "--out", "out.jsonl", "--json",
            "out.json")  # fmt: skip
    yield Target("systems", call, ("answers.jsonl",), out=("out.jsonl", "out.json"), packs=True)


def _columns(folder):
    """Columns of files with ids, out of order: references, sources, features and scores."""
    place = new_place(folder, "columns")
    rows = [(f"s-{n}", text) for n, text in enumerate(REFERENCE[:SEGMENTS])]
    hypotheses = [{"text": text, "features": {"F": k}} for k, text in enumerate(("a b", "b"))]
    records = {
        "list.jsonl": [{"id": name, "hypotheses": hypotheses} for name, _ in rows],
        "ref.jsonl": [{"custom_id": name, "ref": text} for name, text in reversed(rows)],
        "qe.jsonl": [{"id": name, "index": k, "v": k} for k in (1, 0) for name, _ in rows],
    }
    for name, several in records.items():
        write_lines(place / name, map(json.dumps, several))
    write_lines(place / "src.tsv", ["id\tsrc", *("\t".join(row) for row in reversed(rows))])
    beside = ("--source", "src.tsv#src", "--feature", "v=qe.jsonl#v", "--feature", "ratio")
    given = ("optimize", "--nbest", "list.jsonl", "--ref", "ref.jsonl#ref", *beside)
    call = (*given, "--metric", "bleu", "--threads", "1", "--out", "w.json")
    for name in ("ref.jsonl", "qe.jsonl", "src.tsv"):
        for more in ((), ("--drop-missing",)):
            yield Target("columns", (*call, *more), (name,), out=("w.json",))


def _speech_folders(folder):
    """The tables of ESPnet 2, and those that Kaldi writes beside its lists."""
    place = new_place(folder, "espnet2")
    tables = {"text": ("u a b\nv c\n", "u b\n"), "score": ("u tensor(-1.5)\nv -2\n", "u -3\n")}
    for name, texts in tables.items():
        for rank, text in enumerate(texts, 1):
            (place / "exp" / f"{rank}best_recog").mkdir(parents=True, exist_ok=True)
            (place / "exp" / f"{rank}best_recog" / name).write_text(text)
    write_lines(place / "ref", ["u a b", "v c"])
    call = ("optimize", "--nbest", "exp", "--ref", "ref", "--ids", "--metric", "wer", "--out",
            "w.json", "--threads", "1")  # fmt: skip
    damaged = ("exp/*/*",)
    yield Target("espnet2", call, damaged, out=("w.json",), names=("_recog",))
    place = new_place(folder, "kaldi")
    write_lines(place / "words", ["u-1 a b", "u-2 b", "v-1 c"])
    write_lines(place / "ac", ["u-1 1.5", "u-2 2", "v-1 0.5"])
    write_lines(place / "lm", ["u-1 -1.5", "u-2 -2", "v-1 -0.5"])
    write_lines(place / "ref", ["u a b", "v c"])
    lists = ("--nbest", "words", "--nbest-format", "kaldi:ac=ac,lm=lm", "--ids")
    call = ("crossval", *lists, "--ref", "ref", "--metric", "cer", "--splits", "1", "--optimizer",
            "mert:searches_per_feature=1", "--json", "out.json")  # fmt: skip
    yield Target("kaldi", call, ("words", "ac", "lm", "ref"), out=("out.json",))
    for name in ("words", "ac", "ref"):
        shutil.copy(place / name, place / f"test.{name}")
    call = ("rerank-tune", *lists, "--ref", "ref", "--metric", "wer", "--feature", "more=lm",
            "--test-nbest", "test.words", "--test-nbest-format", "kaldi:ac=test.ac,lm=lm",
            "--test-ref", "test.ref", "--test-feature", "more=test.ac", "--replicas", "1",
            "--optimizer", "mert:searches_per_feature=1", "--out-dir", "run",
            "--threads", "1")  # fmt: skip
    damaged = ("test.ac", "test.words", "test.ref")
    yield Target("kaldi", call, damaged, changed=("run",))


def _scores(folder):
    """Scores in hand of a test set, and answers that are counted."""
    place = new_place(folder, "scores")
    for name in ("dev.jsonl", "test.jsonl"):
        rows = [
            {"id": n // 3, "text": f"t {n}", "right": n % 2, "answer": str(n % 4),
             "features": {"a": n % 5, "b": -n % 3}}
            for n in range(12)
        ]  # fmt: skip
        write_lines(place / name, map(json.dumps, rows))
    call = ("rerank-tune", "--nbest", "dev.jsonl", "--metric", "scores:dev.jsonl#right",
            "--test-nbest", "test.jsonl", "--test-scores", "right={}#right", "--test-answers",
            "{}#answer", "--replicas", "1", "--optimizer", "mert:searches_per_feature=1",
            "--threads", "1", "--out-dir", "run")  # fmt: skip
    yield Target("scores", call, ("test.jsonl",), changed=("run",))
    write_lines(place / "numbers", [str(n % 2) for n in range(12)])
    call = tuple({"right={}#right": "right={}", "{}#answer": "test.jsonl#answer"}.get(w, w)
                 for w in call)  # fmt: skip
    yield Target("scores", call, ("numbers",), changed=("run",))


def _gold_edits(folder):
    """Gold edits of a corrector, in the metric and as a reference."""
    place = new_place(folder, "m2")
    (place / "gold.m2").write_text(
        "S The cat sat at mat .\nA 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0\n"
        "A 4 4|||ArtOrDet|||the||a|||REQUIRED|||-NONE-|||0\n\n"
        "S The dog .\nA 1 2|||NN|||dogs|||REQUIRED|||-NONE-|||1\n\n"
    )
    write_lines(place / "hyp", ["The cat sat on the mat .", "The dog ."])
    for gold in (("--metric", "m2", "--ref", "{}"), ("--metric", "m2:{}")):
        call = ("score", *gold, "--hyp", "hyp", "--json", "out.json")
        yield Target("m2", call, ("gold.m2",), out=("out.json",))
    call = ("compare", "a=hyp", "b={}", "--metric", "m2", "--ref", "gold.m2", "--samples", "10",
            "--threads", "1", "--json", "out.json", "--html", "out.html")  # fmt: skip
    yield Target("m2", call, ("hyp",), out=("out.json", "out.html"))


def _example(name):
    return "".join(families.component("reader", name).example)


def _read(path, reader="moses"):
    return read_nbest([path], Vocabulary(), reader=registry.reader(reader))


class _RoundTrip:
    """Demands that an accepted list means the same after a round trip through our writer."""

    def __init__(self, reader):
        self.reader = reader

    def __call__(self, damaged):
        first = _read(damaged, self.reader)
        if not first.feature_names:
            return  # what has texts alone is no list that is written
        try:
            write_nbest(first, "again.gz")
        except InputError as error:
            refused = ("has the token |||", "cannot be in a Moses list")
            assert any(said in str(error) for said in refused), error  # noqa: PT017  in no test
            return
        second = _read("again.gz")
        Path("again.gz").unlink()
        for name in ("offsets", "features", "model_scores"):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name
        assert first.feature_names == second.feature_names
        rows = range(len(first.texts))
        assert [first.texts.words(n) for n in rows] == [second.texts.words(n) for n in rows]
        assert (first.texts.links is None) == (second.texts.links is None)
        if first.texts.links is not None:
            for n in rows:
                links = first.texts.links.row(n), second.texts.links.row(n)
                assert np.array_equal(*links), links
        assert (first.sparse is None) == (second.sparse is None)
        if first.sparse is not None:
            for name in ("offsets", "columns", "values"):
                assert np.array_equal(getattr(first.sparse, name), getattr(second.sparse, name))
            assert first.sparse.names == second.sparse.names


def _same_weights(damaged):
    weights = read_weights(damaged)
    Path("again.json").write_text(weights.to_json(), encoding="utf-8")
    assert read_weights("again.json") == weights
    Path("again.json").unlink()


def _paths(folder):
    """Files whose names hold the signs at which options are split."""
    place = new_place(folder, "paths")
    (place / "lr=0.1, it's").mkdir()
    write_lines(place / "lr=0.1, it's" / "ws@2+x:y#1.txt", REFERENCE)
    write_lines(place / "ref", REFERENCE)
    yield Target(
        "paths", ("compare", "a={}", "b=ref", "--ref", "ref", "--metric", "bleu", "--samples", "9",
                  "--json", "out.json"), ("lr*/ws*",), out=("out.json",),
    )  # fmt: skip


def _texts(folder):
    place = new_place(folder, "texts")
    for name, lines in (("src", SOURCE), ("ref", REFERENCE), ("hyp", REFERENCE), ("links", LINKS)):
        write_lines(place / name, lines)
    write_lines(place / "gold", [line.replace("-", "p", 1) for line in LINKS])
    texts = ("score", "--metric", "bleu", "--metric", "ter", "--metric", "port", "--json")
    linked = ("--source", "src", "--hyp-links", "{}", "--ref-links", "links")
    yield Target(
        "texts", (*texts, "out.json", "--hyp", "{}", "--ref", "ref", "--source", "src",
                  "--hyp-links", "links", "--ref-links", "links"),
        ("hyp",), out=("out.json",), packs=True,
    )  # fmt: skip
    write_lines(place / "hyp.links", LINKS)
    yield Target(
        "texts", (*texts, "out.json", "--hyp", "hyp", "--ref", "ref", *linked), ("hyp.links",),
        out=("out.json",), packs=True,
    )  # fmt: skip
    yield Target("texts", ("align", "--check", "{}", "--gold", "gold"), ("links",), packs=True)
    yield Target("texts", ("align", "--check", "links", "--gold", "{}"), ("gold",), packs=True)
    place = new_place(folder, "weights")
    write_lines(place / "list", read_lines(INVENTED / "recorded" / "1.nbest.gz")[:5])
    for name in ("start.json", "moses.ini"):
        shutil.copy(INVENTED / "recorded" / name, place)
    weights = read_weights(place / "start.json")
    (place / "run1.dense").write_text(
        "".join(f"{name}= {v!r}\n" for name, values in weights.values.items() for v in values)
    )
    for name in ("start.json", "moses.ini", "run1.dense"):
        call = ("rerank", "--nbest", "list", "--weights", "{}", "--out", "best")
        yield Target("weights", call, (name,), out=("best",), then=_same_weights)


def _forms(folder):
    """Texts with markup around them, under the option of hypotheses, and gold links of WPT."""
    place = new_place(folder, "forms")
    for forms, name in ((PLAIN, "plain"), (WITH_IDS, "kaldi"), ({"stm": STM, "ctm": CTM}, "stm")):
        (place / f"ref-{name}").write_text(forms[name])
        for form, content in forms.items():
            file, mark, key = form.partition("#")
            (place / file).write_text(content)
            texts = ("--hyp", f"{{}}{mark}{key}", "--ref", f"ref-{name}")
            call = ("score", "--metric", "wer", *texts, "--confusions", "9", "--json", "out.json")
            yield Target("forms", call, (file,), out=("out.json",))
    write_lines(place / "wpt", ["0001 1 1", "0001 2 2 P", "0002 1 2 S 0.5"])
    write_lines(place / "links", ["0-0 1-1", "0-1"])
    yield Target("forms", ("align", "--check", "links", "--gold", "{}"), ("wpt",))


def _features(folder):
    """Numbers from outside, a feature of lists."""
    place = new_place(folder, "features")
    lines = made.moses(LISTED, linked=True).splitlines()
    write_lines(place / "list", lines)
    write_lines(place / "ref", REFERENCE[:SEGMENTS])
    write_lines(place / "numbers", [str(0.5 * n) for n in range(len(lines))])
    np.save(place / "numbers.npy", np.arange(len(lines), dtype=np.float64))
    given = ("--nbest", "list", "--ref", "ref", "--metric", "bleu", "--threads", "1")
    for name in ("numbers", "numbers.npy"):
        call = ("optimize", *given, "--feature", "quality={}", "--out", "w.json")
        yield Target("features", call, (name,), out=("w.json",), packs=name == "numbers")
        yield Target(
            "features", ("crossval", *given, "--feature=-quality={}", "--splits", "1",
                         "--optimizer", "mert:searches_per_feature=1", "--json",
                         "out.json"),
            (name,), out=("out.json",),
        )  # fmt: skip
    call = (
        "optimize",
        "--nbest",
        "list",
        "--ref",
        "ref",
        "--metric",
        "scores:{}",
        "--out",
        "w.json",
    )
    yield Target("features", (*call, "--threads", "1"), ("numbers",), out=("w.json",), packs=True)
    run("optimize", "--nbest", place / "list", "--ref", place / "ref", "--metric", "bleu",
        "--feature", f"quality={place / 'numbers'}", "--out", place / "tuned.json")  # fmt: skip
    call = ("rerank", "--nbest", "list", "--weights", "tuned.json", "--out", "best")
    yield Target("features", (*call, "--feature", "quality={}"), ("numbers",), out=("best",))


def _statistics(folder):
    place = new_place(folder, "dat")
    blocks = range(3)
    (place / "features.dat").write_text(
        "".join(
            f"FEATURES_TXT_BEGIN_0 {n} 2 2 LM_0 TM_0 \n1 {n} \n2 -1 \nFEATURES_TXT_END_0\n"
            for n in blocks
        )
    )
    (place / "scores.dat").write_text(
        "".join(
            f"SCORES_TXT_BEGIN_0 {n} 2 9 BLEU\n3 5 2 4 2 3 1 2 5 \n2 5 1 4 1 3 0 2 5 \n"
            "SCORES_TXT_END_0\n"
            for n in blocks
        )
    )
    for name in ("features.dat", "scores.dat"):
        given = {"--features-dat": "features.dat", "--scores-dat": "scores.dat"} | {
            f"--{name.replace('.', '-')}": "{}"
        }
        words = [word for pair in given.items() for word in pair]
        yield Target(
            "dat",
            ("optimize-dat", *words, "--metric", "bleu", "--out", "w.json", "--threads", "1"),
            (name,), out=("w.json",), packs=True,
        )  # fmt: skip


FEW = {
    "tune.output": '"run"', "tune.iterations": 1, "tune.nbest": 4, "tune.replicas": 1,
    "tune.bootstrap": 0, "optimizer.name": "mert", "optimizer.searches_per_feature": 1,
}  # fmt: skip
"""What decides how long a run takes is ours, whatever a damaged configuration says."""


def _few(**other):
    settings = {**FEW, **{f"tune.{key}": value for key, value in other.items()}}
    return [word for pair in settings.items() for word in ("--set", "=".join(map(str, pair)))]


def _corpus(folder, name):
    place = new_place(folder, name)
    write_lists(place, "dev.nbest")
    (place / "tune.toml").write_text(CONFIG)
    return place


CONFIG = f"""\
[tune]
output = "run"
seed = 1
patience = 3
min_weight_change = 0.001
{DATA}\
lowercase = false
[metric]
name = "port"
alpha = 0.5
[optimizer]
name = "mert"
{RECORDED}\
[constraints]
signs = {{ F1 = "-" }}
bounds = {{ F0 = [-3, 3] }}
"""


def _graphs(folder):
    texts = {
        "slf": SLF, "openfst": FST, "kaldi-lattice": KALDI, "moses-hypergraph": HYPERGRAPH,
        "osgx": OSGX, "plf": PLF, "cdec-json": (GRAPHS / "cdec.hg.json").read_text(),
    }  # fmt: skip
    for name, text in texts.items():
        place = new_place(folder, f"graphs-{name}")
        (place / "graph").write_text(text, encoding="utf-8")
        columns = read_graphs([place / "graph"]).start()
        (place / "weights").write_text(columns.to_json(), encoding="utf-8")
        call = ("rerank", "--graphs", "{}", "--weights", "weights", "--mbr", "chrf")
        yield Target(place.name, (*call, "--out", "best"), ("graph",), out=("best",), packs=True)
        named = (*call, "--graph-format", name, "--out", "best")
        yield Target(place.name, named, ("graph",), out=("best",))


def _configs(folder):
    _corpus(folder, "config")
    yield Target("config", ("tune", "{}", *_few(), "--threads", "1"), ("tune.toml",),
                 changed=("run",))  # fmt: skip


def _runs(folder):
    place = _corpus(folder, "run")
    with chdir(place):
        for name in ("run", "other"):
            run("tune", "tune.toml", *_few(output=f'"{name}"'), "--threads", "1")
    damaged = ("run/*", "run/*/*")
    yield Target("run", ("tune", "tune.toml", *_few(), "--threads", "1"), damaged,
                 changed=("run",), then=Same(place / "run"))  # fmt: skip
    written = ("--json", "out.json", "--threads", "1")
    call = ("compare", "other", "run", "--samples", "10", "--no-timing", *written)
    with chdir(place):
        run(*call)
        right = Path("out.json").read_bytes()
        Path("out.json").unlink()
    yield Target("run", call, damaged, out=("out.json",), then=_SameNumbers(right))


class _SameNumbers:
    """Demands that what is shown of a damaged folder is what the whole one has."""

    def __init__(self, right):
        self.right = json.loads(right)

    def __call__(self, _):
        found = json.loads(Path("out.json").read_bytes())
        assert _shows(found, self.right), found


def _shows(found, right):
    if isinstance(found, dict) and isinstance(right, dict):
        return all(_shows(found[key], right[key]) for key in found.keys() & right.keys())
    if isinstance(found, list) and isinstance(
        right, list
    ):  # of another length: parts are left out
        return len(found) != len(right) or all(map(_shows, found, right))
    return not found or found == right


def _records(folder):
    """Records whose texts have line ends in them, and a feature by a metric against a text."""
    place = new_place(folder, "records")
    rows = [{"id": n // 2, "text": f"a b\n c {n}\u2028d\r\ne" + n * " f"} for n in range(6)]
    write_lines(place / "list.jsonl", [json.dumps(row) for row in rows])
    write_lines(place / "ref", ["a b c 0 d e"] * 3)
    given = ("optimize", "--metric", "bleu", "--ref", "ref", "--out", "w.json", "--threads", "1")
    lists = ("--nbest", "list.jsonl", "--nbest-format", "jsonl")
    call = (*given, *lists[:1], "{}", *lists[2:], "--feature", "length")
    yield Target("records", call, ("list.jsonl",), out=("w.json",), packs=True)
    yield Target("records", (*given, *lists, "--feature", "near=chrf@{}"), ("ref",),
                 out=("w.json",))  # fmt: skip
