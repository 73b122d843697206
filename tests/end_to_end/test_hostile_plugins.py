"""Components of other packages that fail in every way: one line that names them, and no more."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

import portmert
from portmert.tuner.ground.errors import ProgramError
from tests.support.extensions import install, wheel
from tests.support.forks import forks
from tests.support.places import ROOT

CODE = """
from __future__ import annotations
from typing import ClassVar
import numpy as np
from pydantic.dataclasses import dataclass
from portmert.aligners._base import Aligner
from portmert.metrics._base import Metric
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.decoders._base import Decoder
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.search.optimizers._base import Optimizer

def wrong(kind, right=np.ones(3)):
    with np.errstate(all="ignore"):
        return {
            "right": lambda: right, "list": lambda: np.asarray(right).tolist(),
            "float32": lambda: np.asarray(right, np.float32),
            "scalar": lambda: 0.5, "long": lambda: np.append(right, 1.0),
            "deep": lambda: np.stack([right, right], -1), "text": lambda: "x",
            "none": lambda: None, "generator": lambda: (n for n in [1.0]),
            "object": lambda: np.asarray(right).astype(object), "complex": lambda: right * 1j,
            "nan": lambda: right * np.nan, "inf": lambda: np.float64(1) / (right * 0.0),
            "low": lambda: np.where(right < 0.6, np.nan, right),
            "zero": lambda: 1 / 0, "key": lambda: {}["a\\x1b[31m\\nb"], "value": lambda: int("x"),
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
        return 1 / 0
    def read(self, file, vocabulary):
        return wrong(self.kind)

@dataclass(frozen=True)
class BadAligner(Aligner):
    kind: str = "zero"
    def align(self, *, source, target, workdir):
        return wrong(self.kind)

@dataclass(frozen=True)
class BadOptimizer(Optimizer):
    kind: str = "zero"
    def search(self, problem, start, bounds, rng):
        return wrong(self.kind)

@dataclass(frozen=True)
class BadAnnotator(Annotator):
    kind: str = "zero"
    gives: ClassVar = frozenset({"tags"})
    def fingerprint(self):
        return "bad"
    def annotate(self, sentences, request, *, processes=1, progress=None):
        yield wrong(self.kind)

@dataclass(frozen=True)
class BadDecoder(Decoder):
    kind: str = "zero"
    def read_weights(self):
        return wrong(self.kind)
    def decode(self, weights, *, source, size, out, workdir, progress, team=None): ...
    def write_config(self, weights, path, *, header): ...
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
kind = "{}"
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
WHERE = "(--verbose shows where)"


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    installed = install(folder / "installed", wheel(folder, "evil", {"evil.py": CODE}, POINTS))
    with forks(installed) as process:
        yield process


@pytest.fixture
def run(evil, tmp_path):
    (tmp_path / "ref").write_text("a b\nd e\nf g h\n")
    (tmp_path / "a").write_text("a c\nd x\nf g h\n")
    (tmp_path / "b").write_text("a b\nd e\ny z h\n")
    rows = [(0, "a b", 1, 2), (0, "c", 2, 0), (1, "d x", 0, 1), (1, "d e", 2, 2), (2, "f g", 1, 1)]
    (tmp_path / "list").write_text(
        "".join(f"{s} ||| {text} ||| F= {f} G= {g} ||| {f}\n" for s, text, f, g in rows)
    )
    (tmp_path / "systems").mkdir()
    for name in ("a", "b"):
        shutil.copy(tmp_path / name, tmp_path / "systems" / f"{name}.en")
    human = "".join(f"{name}\t{s}\t{s}\n" for name in "ab" for s in range(3))
    (tmp_path / "human").write_text(f"system\tsegment\tscore\n{human}")
    return lambda *words: evil.run(*words, folder=tmp_path)


def command(name, **options):
    """Return a command with the metric."""
    metric = "evil:" + ",".join(f"{key}={value}" for key, value in options.items())
    return [word.replace("METRIC", metric) for word in COMMANDS[name]]


def fault(done):
    """Return the one line of error; notes may stand before it."""
    assert done.status == 1, done
    [line] = [line for line in done.stderr.splitlines() if ": note: " not in line]
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_an_exception_names_the_metric_in_every_command(run, name):
    assert fault(run(*command(name, kind="zero"))) == (
        "portmert: error: evil.Evil.score of package evil 1.0 ended in ZeroDivisionError: "
        f"division by zero {WHERE}"
    )


def test_verbose_shows_the_traceback(run):
    said = run(*command("score", kind="zero"), "--verbose").stderr
    assert 'evil.py", line' in said
    assert "ended in ZeroDivisionError: division by zero" in said.splitlines()[-1]


@pytest.mark.parametrize("at", ["load", "stats", "stat_names", "needs", "signature"])
def test_an_exception_anywhere_is_one_line(run, at):
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
def test_any_exception_is_one_line(run, kind, said):
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
    assert said.startswith("portmert: error: score() of metric evil returned ")
    assert found in said
    assert said.endswith("; mend the metric")


@pytest.mark.parametrize("name", ["score", "compare", "metaeval", "mbr", "feature"])
def test_scores_of_another_shape_are_one_line_in_every_command(run, name):
    assert "score() of metric evil returned" in fault(run(*command(name, kind="deep")))


@pytest.mark.parametrize("kind", ["scalar", "long", "deep", "text", "none", "generator", "object"])
def test_statistics_of_another_shape_are_one_line(run, kind):
    said = fault(run(*command("score", at="stats", kind=kind)))
    assert "stats() of metric evil returned " in said
    assert said.endswith("expected numbers of shape (3, 2); mend the metric")


@pytest.mark.parametrize("kind", ["list", "float32"])
def test_what_is_as_good_as_float64_is_taken(run, kind):
    right, found = (run(*command("score", at="stats", kind=one)) for one in ("right", kind))
    assert found.status == 0
    assert found.stdout == right.stdout.replace("kind=right", f"kind={kind}")


@pytest.mark.parametrize("family", ["reader", "aligner", "optimizer", "annotator", "decoder"])
def test_components_of_every_family_end_in_one_line(run, tmp_path, family):
    (tmp_path / "c.toml").write_text(CONFIG.format("zero"))
    method, words = {
        "reader": ("read", ["optimize", *LIST, "--nbest-format", "bad", "--metric", "bleu",
                            "--out", "w"]),
        "aligner": ("align", ["align", "--aligner", "bad", "--source", "ref", "--target", "ref",
                              "--out", "links"]),
        "optimizer": ("search", ["optimize", *LIST, "--metric", "bleu", "--optimizer", "bad",
                                 "--out", "w"]),
        "annotator": ("annotate", ["annotate", "--annotator", "bad", "--in", "ref", "--out", "t",
                                   "--annotation-cache", "cache"]),
        "decoder": ("read_weights", ["tune", "c.toml", "--quiet"]),
    }[family]  # fmt: skip
    said = fault(run(*words))
    assert f"evil.Bad{family.title()}.{method} of package evil 1.0 ended in Zero" in said


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
    assert f"metric evil is {kind} for the sums {sums} (is it 0 divided by 0?), expected" in said
    assert not (tmp_path / "w").exists()


def test_a_decoded_set_without_a_score_ends_the_run(run, tmp_path):
    given = ("metric.name=evil", "metric.kind='nan'", f"tune.output={tmp_path / 'run'}")
    words = [word for setting in given for word in ("--set", setting)]
    for _ in range(2):  # it says the same when it goes on
        said = run("tune", ROOT / "configs" / "recorded.toml", "--quiet", *words)
        assert said.status == 1
        assert "metric evil is nan for the sums matched " in said.stderr.splitlines()[-1]


def test_a_sampled_test_set_without_a_score_is_told(run):
    assert "a sampled test set: metric evil is nan for the sums " in fault(
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
