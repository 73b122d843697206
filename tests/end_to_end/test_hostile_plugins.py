"""Components of other packages that fail: a traceback and their name; one line for answers."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

import portmert
from portmert.tuner.base.errors import ProgramError
from tests.support.extensions import install, wheel
from tests.support.forks import forks
from tests.support.places import INVENTED

CODE = """
from __future__ import annotations
import gzip
from dataclasses import replace
from typing import ClassVar
import numpy as np
from pydantic.dataclasses import dataclass
from portmert.aligners._base import Aligner
from portmert.metrics._base import Metric
from portmert.tuner.texts.annotator import Annotation, Annotator
from portmert.tuner.decoders._base import Decoder
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.records import Hypothesis
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.optimizers._base import SearchResult as Found
from portmert.tuner.weights.feature_weights import FeatureWeights

def wrong(kind, right=np.ones(3), **more):
    if kind in more:
        return more[kind]()
    with np.errstate(all="ignore"):
        return {
            "right": lambda: right, "list": lambda: np.asarray(right).tolist(),
            "float32": lambda: np.asarray(right, np.float32),
            "float16": lambda: np.asarray(right, np.float16),
            "scalar": lambda: 0.5, "long": lambda: np.append(right, 1.0),
            "deep": lambda: np.stack([right, right], -1), "text": lambda: "x",
            "none": lambda: None, "generator": lambda: (n for n in [1.0]),
            "object": lambda: np.asarray(right).astype(object), "complex": lambda: right * 1j,
            "nan": lambda: right * np.nan, "inf": lambda: np.float64(1) / (right * 0.0),
            "low": lambda: np.where(right < 0.6, np.nan, right),
            "zero": lambda: 1 / 0,
            "key": lambda: {}["a\\x1b[31m\\nb"], "value": lambda: int("x"),
            "file": lambda: open("/nowhere/x"), "memory": lambda: np.ones(10**15),
        }[kind]()

@dataclass(frozen=True)
class Evil(Metric):
    at: str = "score"
    kind: str = "zero"

    def load(self):
        if self.at == "load":
            wrong(self.kind)
    @property
    def stat_names(self):
        return wrong(self.kind) if self.at == "stat_names" else ("matched", "length")
    @property
    def needs(self):
        return wrong(self.kind) if self.at == "needs" else frozenset()
    @property
    def signature(self):
        return wrong(self.kind) if self.at == "signature" else "evil"
    def stats(self, batch):
        found = np.array([[len({*w} & {*r[0]}), len(w)] for w, r in batch.words()], float)
        return wrong(self.kind, found) if self.at == "stats" else found
    def score(self, stats):
        found = stats[..., 0] / np.maximum(stats[..., 1], 1)
        return wrong(self.kind, found) if self.at == "score" else found

@dataclass(frozen=True)
class BadReader(Reader):
    kind: str = "zero"
    title: ClassVar[str] = "bad"
    example: ClassVar[tuple[str, ...]] = ("0;a\\n",)
    @classmethod
    def recognises(cls, head):
        return np.ones(3) if head[0] == "an array" else 1 / 0
    def records(self, file):
        fine = Hypothesis(1, 0, "a b", {"F": 1.0})
        def changed(**fields):
            return lambda: [fine._replace(**fields), *(fine._replace(segment=s) for s in (1, 2))]
        return wrong(
            self.kind, fine=changed(), rows=lambda: [("0", "a b")],
            words=changed(text=["a", "b"]), negative=changed(segment=-1),
            segments=changed(segment=7), features=changed(features={"F": np.nan}),
            ints=changed(features={"F": "1"}), names=changed(features={"F": 1.0, "G": 1.0}),
            scores=changed(score=None), links=changed(links=[(0, 7)]), empty=lambda: [],
        )

@dataclass(frozen=True)
class BadAligner(Aligner):
    kind: str = "zero"
    def align(self, *, source, target, workdir):
        return wrong(
            self.kind, fine=lambda: [[(0, 0)] for _ in source],
            numpy=lambda: (np.zeros((2, 2), int) for _ in source),
            short=lambda: [[(0, 0)]], words=lambda: [["x"] for _ in source],
            floats=lambda: [[(0.0, 0.0)] for _ in source],
            outside=lambda: [[(0, 0), (0, 3)] for _ in source],
            negative=lambda: [[(0, -1)] for _ in source],
        )

@dataclass(frozen=True)
class BadOptimizer(Optimizer):
    kind: str = "zero"
    def search(self, problem, start, bounds, rng):
        return wrong(
            self.kind, fine=lambda: Found(start, 0.5), nan=lambda: Found(start * np.nan, 0.5),
            long=lambda: Found(np.ones(3), 0.5), words=lambda: Found("x", 0.5),
            ragged=lambda: Found([[1.0], [1.0, 2.0]], 0.5), worthless=lambda: Found(start, None),
            infinite=lambda: Found(start, np.inf), outside=lambda: Found(start * 0 - 9.0, 0.5),
            unseen=lambda: Found(start, 0.5, unseen=0.5),
        )

@dataclass(frozen=True)
class BadAnnotator(Annotator):
    kind: str = "zero"
    at: str = "annotate"
    gives: ClassVar = frozenset({"tags"})
    def fingerprint(self):
        return wrong(self.kind) if self.at == "fingerprint" else "bad"
    def has(self):
        return wrong(self.kind) if self.at == "has" else self.gives
    def annotate(self, sentences, request, *, processes=1):
        if self.at == "call":
            return wrong(self.kind)
        return self.each(sentences)
    def each(self, sentences):
        fine = [Annotation(tags=("N",) * len(words)) for words in sentences]
        more = {"fine": fine, "few": fine[:-1], "many": [*fine, *fine]}
        for each in more.get(self.kind, sentences):
            yield each if self.kind in more else wrong(
                self.kind, tags=lambda: Annotation(tags=(1, 2)),
                text=lambda: Annotation(tags=None),
                long=lambda: Annotation(tags=("N",) * 9),
            )

@dataclass(frozen=True)
class BadDecoder(Decoder):
    kind: str = "zero"
    at: str = "read_weights"
    def read_weights(self):
        weights = FeatureWeights({"F": (1.0,)})
        if self.at != "read_weights":
            return weights
        return wrong(self.kind, no=lambda: FeatureWeights({}))
    def decode(self, weights, *, source, size, out, workdir):
        if self.at != "decode":
            rows = [f"{n} ||| a ||| F= 1 ||| 1\\n" for n in range(3)]
            out.write_bytes(gzip.compress("".join(rows).encode()))
        return wrong(self.kind, garbage=lambda: out.write_bytes(gzip.compress(b"x\\n")))
    def write_config(self, weights, path, *, header):
        return wrong(self.kind)
"""
POINTS = {"portmert.metrics": {"evil": "evil:Evil"}} | {
    f"portmert.{base.lower()}s": {"bad": f"evil:Bad{base}"}
    for base in ("Reader", "Aligner", "Optimizer", "Annotator", "Decoder")
}
CONFIG = """
[tune]
output = "run"
[data]
source = "ref"
references = ["ref"]
[metric]
name = "bleu"
[decoder]
name = "bad"
{}
"""
LIST = ["--nbest", "list", "--ref", "ref"]
TUNE = ["--optimizer", "coordinate:restarts=1"]
TEST = ["--test-nbest", "list", "--test-ref", "ref", "--replicas", "2", "--out-dir", "out"]
COMMANDS = {
    "score": ["score", "--hyp", "a", "--ref", "ref", "--metric", "METRIC"],
    "compare": ["compare", "a=a", "b=b", "--ref", "ref", "--samples", "50", "--metric", "METRIC"],
    "optimize": ["optimize", *LIST, *TUNE, "--out", "w", "--metric", "METRIC"],
    "formula": ["optimize", *LIST, *TUNE, "--out", "w", "--metric", "0.5*bleu + 0.5*METRIC"],
    "also": ["optimize", *LIST, *TUNE, "--out", "w", "--metric", "bleu", "--also", "METRIC"],
    "replicas": ["optimize", *LIST, *TUNE, *TEST, "--metric", "METRIC"],
    "crossval": ["crossval", *LIST, "--splits", "2", *TUNE, "--metric", "METRIC"],
    "rerank-tune": ["rerank-tune", *LIST, *TUNE, *TEST, "--metric", "METRIC"],
    "mbr": ["rerank", "--nbest", "list", "--mbr", "METRIC"],
    "oracle": ["rerank", *LIST, "--oracle", "METRIC"],
    "feature": ["optimize", *LIST, "--out", "w", "--metric", "bleu", "--feature", "x=mbr:METRIC"],
    "metaeval": ["metaeval", "--human", "human", "--outputs", "systems", "--ref", "ref",
                 "--samples", "20", "--metric", "METRIC"],
}  # fmt: skip


def write_files(folder):
    (folder / "ref").write_text("a b\nd e\nf g h\n")
    (folder / "a").write_text("a c\nd x\nf g h\n")
    (folder / "b").write_text("a b\nd e\ny z h\n")
    rows = [(0, "a b", 1, 2), (0, "c", 2, 0), (1, "d x", 0, 1), (1, "d e", 2, 2), (2, "f g", 1, 1)]
    (folder / "list").write_text(
        "".join(f"{s} ||| {text} ||| F= {f} G= {g} ||| {f}\n" for s, text, f, g in rows)
    )
    (folder / "systems").mkdir()
    for name in ("a", "b"):
        shutil.copy(folder / name, folder / "systems" / f"{name}.en")
    human = "".join(f"{name}\t{s}\t{s}\n" for name in "ab" for s in range(3))
    (folder / "human").write_text(f"system\tsegment\tscore\n{human}")


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A process with the package, and with all code ready that the commands use."""
    folder = tmp_path_factory.mktemp("evil")
    installed = install(folder / "installed", wheel(folder, "evil", {"evil.py": CODE}, POINTS))
    write_files(folder)
    with forks(installed) as process:
        for words in COMMANDS.values():
            good = [word.replace("METRIC", "bleu:smooth=add1") for word in words]
            process.alone(*good, folder=folder)
        yield process


@pytest.fixture
def run(evil, tmp_path):
    write_files(tmp_path)
    return lambda *words: evil.run(*words, folder=tmp_path)


def command(name, **options):
    """Return a command with the metric."""
    metric = "evil:" + ",".join(f"{key}={value}" for key, value in options.items())
    return [word.replace("METRIC", metric) for word in COMMANDS[name]]


def fault(done):
    """Return the line of error; notes, warnings and a traceback may stand before it."""
    assert done.status == 1, done
    lines = done.stderr.splitlines()
    is_raised = lines[-1].startswith("portmert: error: evil.") and " ended in " in lines[-1]
    assert ('evil.py", line' in done.stderr) == is_raised
    return lines[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_exception_names_the_metric_in_every_command(run, name):
    assert fault(run(*command(name, kind="zero"))) == (
        "portmert: error: evil.Evil.score of package evil 1.0 ended in ZeroDivisionError: "
        "division by zero"
    )


@pytest.mark.parametrize("at", ["load", "stats", "stat_names", "needs", "signature"])
def test_an_exception_anywhere_is_shown(run, at):
    said = fault(run(*command("score", at=at, kind="zero")))
    assert f"evil.Evil.{at} of package evil 1.0 ended in ZeroDivisionError" in said


@pytest.mark.parametrize(
    ("kind", "said"),
    {
        "key": "KeyError: 'a\\x1b[31m\\nb'",
        "value": "ValueError: invalid literal for int() with base 10: 'x'",
        "file": "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/x'",
        "memory": "MemoryError: Unable to allocate 7.11 PiB",
    }.items(),
)
def test_any_exception_is_shown_with_its_name(run, kind, said):
    assert f"evil.Evil.stats of package evil 1.0 ended in {said}" in fault(
        run(*command("score", at="stats", kind=kind))
    )


@pytest.mark.parametrize(
    ("kind", "found"),
    {
        "scalar": "float of shape () and type float64",
        "long": "ndarray of shape (2,) and type float64",
        "deep": "ndarray of shape (2,) and type float64",
        "text": "str of shape () and type <U1",
        "none": "NoneType of shape () and type object",
        "generator": "generator of shape () and type object",
        "object": "of shape () and type object",
        "complex": "of shape () and type complex128",
    }.items(),
)
def test_scores_of_another_shape_are_one_line(run, kind, found):
    said = fault(run(*command("optimize", kind=kind)))
    assert said.startswith("portmert: error: score() of metric evil of package evil 1.0 returned ")
    assert found in said
    assert said.endswith("; mend the metric")


@pytest.mark.parametrize("name", ["score", "compare", "metaeval", "mbr", "feature"])
def test_scores_of_another_shape_are_one_line_in_every_command(run, name):
    assert "score() of metric evil of package evil 1.0 returned" in fault(
        run(*command(name, kind="deep"))
    )


@pytest.mark.parametrize("kind", ["scalar", "long", "deep", "text", "none", "generator", "object"])
def test_statistics_of_another_shape_are_one_line(run, kind):
    said = fault(run(*command("score", at="stats", kind=kind)))
    assert "stats() of metric evil of package evil 1.0 returned " in said
    assert said.endswith("expected numbers of shape (3, 2); mend the metric")


@pytest.mark.parametrize("kind", ["list", "float32"])
def test_what_is_as_good_as_float64_is_taken(run, kind):
    right, found = (run(*command("score", at="stats", kind=one)) for one in ("right", kind))
    assert found.status == 0
    assert found.stdout == right.stdout.replace("kind=right", f"kind={kind}")


@pytest.mark.parametrize("optimizer", ["bagged", "coordinate", "mert"])
def test_scores_of_half_precision_are_taken(run, optimizer):
    words = [*command("optimize", at="score", kind="float16"), "--optimizer", optimizer]
    assert run(*words).status == 0


COMPONENTS = {
    "reader": ("records", ["optimize", *LIST, "--nbest-format", "bad:OPTIONS", "--metric", "bleu",
                           "--out", "w"]),
    "aligner": ("align", ["align", "--aligner", "bad", "--set", "OPTIONS", "--source", "ref",
                          "--target", "ref", "--out", "w"]),
    "optimizer": ("search", ["optimize", *LIST, "--metric", "bleu", "--optimizer", "bad:OPTIONS",
                             "--bound", "F=0:2", "--out", "w"]),
    "annotator": ("annotate", ["annotate", "--annotator", "bad:OPTIONS", "--in", "ref", "--out",
                               "w", "--annotation-cache", "cache"]),
    "decoder": ("read_weights", ["tune", "c.toml", "--quiet"]),
}  # fmt: skip


@pytest.fixture
def ask(run, tmp_path):
    """Call a component that answers as `kind` says; return what is said of it."""

    def asked(family, kind, *more, **options):
        method, words = COMPONENTS[family]
        if family == "annotator":
            options = {"at": "call", **options}
        options = {"kind": kind, **options}
        method = options.get("at", "call").replace("call", method)
        table = "\n".join(f'{key} = "{value}"' for key, value in options.items())
        (tmp_path / "c.toml").write_text(CONFIG.format(table))
        given = ",".join(f"{key}={value}" for key, value in options.items())
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        said = fault(run(*[word.replace("OPTIONS", given) for word in words], *more))
        assert not (tmp_path / "w").exists()
        where = f"evil.Bad{family.title()}.{method} of package evil 1.0 "
        assert said.startswith(f"portmert: error: {where}")
        return said.removeprefix(f"portmert: error: {where}")

    return asked


@pytest.mark.parametrize("family", COMPONENTS)
def test_exceptions_of_every_family_are_shown(ask, family):
    for kind, said in {
        "zero": "ended in ZeroDivisionError: division by zero",
        "value": "ended in ValueError: invalid literal for int()",
        "file": "ended in FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/x'",
    }.items():
        assert ask(family, kind).startswith(said)


@pytest.mark.parametrize("family", COMPONENTS)
def test_answers_of_no_kind_of_every_family_are_one_line(ask, family):
    expected = {
        "reader": "Hypothesis(place, segment, text, features) of finite numbers; mend the reader",
        "aligner": "the links of 3 pairs: a list of (source, target) for each; mend the aligner",
        "optimizer": "SearchResult(weights, objective); mend the optimizer",
        "annotator": "an Annotation or None for each of 3 sentences; mend the annotator",
        "decoder": "FeatureWeights of one feature or more; mend the decoder",
    }[family]
    for kind, found in {
        "none": "nothing (None)",
        "text": "str",
        "scalar": "float",
        "object": "",  # lists of something, to some families
        "list": "",
        "generator": "",
    }.items():
        said = ask(family, kind)
        assert said.startswith(f"returned {found}")
        assert said.endswith(f", expected {expected}")


WRONG = {
    ("reader", "rows"): "tuple as a record: ('0', 'a b'), expected Hypothesis(",
    ("reader", "words"): "Hypothesis as a record: Hypothesis(place=1, segment=0, text=['a', 'b']",
    ("reader", "features"): "Hypothesis as a record: Hypothesis(place=1, segment=0, text='a b', f",
    ("reader", "ints"): "Hypothesis as a record: Hypothesis(place=1, segment=0, text='a b', fe",
    ("reader", "scores"): "Hypothesis as a record: Hypothesis(place=1, segment=0, text='a b', fe",
    ("aligner", "short"): "list with 1 entry, expected the links of 3 pairs",
    ("aligner", "words"): "list for pair 1, expected the links of 3 pairs",
    ("aligner", "floats"): "list for pair 1, expected the links of 3 pairs",
    ("aligner", "outside"): "link 0-3 for pair 1, of 2 and 2 tokens, expected positions from 0",
    ("aligner", "negative"): "link 0--1 for pair 1, of 2 and 2 tokens, expected positions from 0",
    ("optimizer", "nan"): "weights [nan, nan], expected finite numbers of shape (2,)",
    ("optimizer", "long"): "weights [1.0, 1.0, 1.0], expected finite numbers of shape (2,)",
    ("optimizer", "words"): "weights str, expected finite numbers of shape (2,)",
    ("optimizer", "ragged"): "weights list, expected finite numbers of shape (2,)",
    ("optimizer", "worthless"): "an objective nothing (None), expected finite numbers of shape ()",
    ("optimizer", "infinite"): "an objective inf, expected finite numbers of shape ()",
    ("optimizer", "outside"): "weights [-9.0, -9.0], expected weights inside the bounds",
    ("optimizer", "unseen"): "unseen=float, expected Unseen or None",
    ("annotator", "few"): "2 answers, expected an Annotation or None for each of 3 sentences",
    ("annotator", "many"): "more answers, expected an Annotation or None for each of 3 sentences",
    ("annotator", "scalar"): "float for a b, expected an Annotation or None for each of 3",
    ("annotator", "tags"): "tags.0 1 for a b, expected another: Input should be a valid string",
    ("annotator", "text"): "tags None for a b, expected another: Input should be a valid tuple",
    ("decoder", "no"): "FeatureWeights, expected FeatureWeights of one feature or more",
}


@pytest.mark.parametrize(("family", "kind"), WRONG)
def test_what_is_wrong_inside_an_answer_is_one_line(ask, family, kind):
    options = {"at": "annotate"} if family == "annotator" else {}
    assert ask(family, kind, **options).startswith(f"returned {WRONG[family, kind]}")


def test_a_file_that_an_annotator_lacks_is_not_the_file_that_is_written(run, tmp_path):
    words = [word.replace("OPTIONS", "kind=file") for word in COMPONENTS["annotator"][1]]
    assert "evil.BadAnnotator.each of package evil 1.0 ended in FileNotFoundError" in fault(
        run(*words)
    )
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("family", "at", "said"),
    [
        ("annotator", "fingerprint", "returned nothing (None), expected text"),
        ("annotator", "has", "returned nothing (None), expected a set of tags, heads, tree"),
        ("decoder", "decode", "returned without a list, expected one in run/iteration-01/"),
        ("decoder", "write_config", "returned without a configuration, expected one in run/"),
    ],
)
def test_other_methods_are_checked_too(ask, family, at, said):
    assert ask(family, "none", at=at).startswith(said)


def test_a_list_that_is_none_names_the_decoder_and_what_to_do(run, tmp_path):
    (tmp_path / "c.toml").write_text(CONFIG.format('kind = "garbage"\nat = "decode"'))
    said = fault(run("tune", "c.toml", "--quiet"))
    assert "run/iteration-01/nbest.gz:1: 1 field separated by |||" in said
    assert said.endswith(
        "; decoder bad of package evil 1.0 wrote this list: delete it, and it is decoded again"
    )


def test_answers_are_checked_in_threads_too(ask):
    for kind, said in {"zero": "ended in Zero", "none": "returned nothing"}.items():
        assert ask("optimizer", kind, "--threads", "2").startswith(said)


def test_tags_of_another_length_name_the_package(run):
    words = [word.replace("OPTIONS", "kind=long") for word in COMPONENTS["annotator"][1]]
    assert fault(run(*words)) == (
        "portmert: error: annotator bad of package evil 1.0: 9 tags, expected 2 (one a token) in "
        "its answer to 'a b' (2 tokens)"
    )


@pytest.mark.parametrize("family", ["reader", "aligner", "optimizer", "annotator"])
def test_right_answers_are_taken(run, tmp_path, family):
    words = [word.replace("OPTIONS", "kind=fine") for word in COMPONENTS[family][1]]
    assert run(*words).status == 0
    assert (tmp_path / "w").exists()


def test_links_of_numpy_are_sorted_and_stand_once(run, tmp_path):
    words = [word.replace("OPTIONS", "kind=numpy") for word in COMPONENTS["aligner"][1]]
    assert run(*words).status == 0
    assert (tmp_path / "w").read_text() == "0-0\n0-0\n0-0\n"


def test_a_reader_that_fails_at_a_list_of_others_does_no_harm(run, tmp_path):
    assert run(*command("optimize", kind="right")).status == 0
    (tmp_path / "list").write_text("what is this\n")
    said = fault(run(*command("optimize", kind="right")))
    assert "fit no format of n-best lists" in said
    assert "evil.BadReader.recognises of package evil 1.0 ended in ZeroDivisionError" in said


@pytest.mark.parametrize("kind", ["nan", "inf"])
@pytest.mark.parametrize(
    ("name", "sums"),
    {
        "score": "matched 5, length 7",
        "compare": "matched 5, length 7",
        "optimize": "matched 6, length 6",
        "crossval": "matched 2, length 2",
        "rerank-tune": "matched 6, length 6",
        "oracle": "matched 5, length 6",
        "metaeval": "matched 1, length 2",
    }.items(),
)
def test_a_score_that_is_not_finite_is_no_result(run, tmp_path, name, sums, kind):
    said = fault(run(*command(name, kind=kind)))
    assert f"metric evil of package evil 1.0 is {kind} for the sums {sums} (is it 0" in said
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(("name", "said"), [("compare", "b (other)"), ("metaeval", "b")])
def test_a_statistic_that_is_not_finite_names_the_system(run, tmp_path, name, said):
    for path in (tmp_path / "other", tmp_path / "systems" / "b.en"):
        path.write_text("a b\nx x\nf h\n")
    words = command(name, at="stats", kind="low")
    words = ["b=other" if word == "b=b" else word for word in words]
    assert fault(run(*words)) == (
        f"portmert: error: {said}: segment 1 (counted from 0): statistic matched of metric evil "
        "of package evil 1.0 is nan, expected a finite number; mend the metric"
    )


def test_a_decoded_set_without_a_score_ends_the_run(run, tmp_path):
    given = ("metric.name=evil", "metric.kind='nan'", f"tune.output={tmp_path / 'run'}")
    words = [word for setting in given for word in ("--set", setting)]
    for _ in range(2):  # it says the same when it goes on
        said = run("tune", INVENTED / "recorded.toml", "--quiet", *words)
        assert said.status == 1
        assert (
            "metric evil of package evil 1.0 is nan for the sums matched "
            in said.stderr.splitlines()[-1]
        )


def test_a_sampled_test_set_without_a_score_is_told(run):
    assert "a sampled test set: metric evil of package evil 1.0 is nan for the sums " in fault(
        run(*command("compare", kind="low"))
    )


def test_other_scores_that_are_not_finite_are_noted(run):
    done = run(*command("also", kind="nan"))
    assert done.status == 0
    assert "evil of some of the choices is no finite number (0 divided by 0?)" in done.stderr
    done = run(*command("score", kind="low"))
    assert done.status == 0
    assert "evil of 2 segments (the first: 0, counted from 0) is no finite number" in done.stderr


@dataclass(frozen=True)
class Mine(portmert.Metric):
    """Fails as it is told."""

    kind: str = "zero"
    stat_names = ("n",)

    def stats(self, batch):
        return np.ones((len(batch.hypotheses), 1))

    def score(self, stats):
        return 1 / 0 if self.kind == "zero" else stats


def test_python_gets_the_exception_itself():
    with pytest.raises(ZeroDivisionError):
        portmert.score(["a"], [["a"]], metric=Mine())
    with pytest.raises(ProgramError, match=r"score\(\) of metric mine returned ndarray"):
        portmert.score(["a"], [["a"]], metric=Mine(kind="shape"))
