"""Search graphs from the command line: one pass, whole tunings, killed and gone on with."""

import json
import subprocess
import sys

import numpy as np
import pytest

import portmert
from tests.support.cli import fault, run
from tests.support.run_folders import write_lines

LATTICE = """VERSION=1.0
start=0 end=2
N=3 L=4
I=0
I=1
I=2
J=0 S=0 E=1 W=the a=-1 l=-3
J=1 S=0 E=1 W=a a=-2 l=-1
J=2 S=1 E=2 W=cat a=-1 l=-1
J=3 S=1 E=2 W=hat a=-{0} l=-2
"""
DECODER = """
import gzip, itertools, sys
source, weights, nbest, graph = sys.argv[1:]
weights = dict(line.split() for line in open(weights))
x, y = float(weights["x"]), float(weights["y"])
lines = open(source).read().splitlines()
with open(nbest, "w") as lists, open(graph, "w") as graphs:
    for number, line in enumerate(lines):
        words = [[(word, -1.0 - len(word) % 2, -2.0), (word.upper(), -2.0, -0.5)] for word in line.split()]
        best = [max(pair, key=lambda arc: x * arc[1] + y * arc[2]) for pair in words]
        values = [sum(arc[place] for arc in best) for place in (1, 2)]
        lists.write(f"{number} ||| {' '.join(arc[0] for arc in best)} ||| x= {values[0]} y= {values[1]} ||| 0\\n")
        arcs = ["".join(f"('{w}',{{'x':{a},'y':{b}}},1)," for w, a, b in pair) for pair in words]
        graphs.write("(" + "".join(f"({arc})," for arc in arcs) + ")\\n")
"""  # noqa: E501
CONFIG = """
[tune]
output = "run"
nbest = 4
decodings = 2
[data]
source = "dev.src"
references = ["dev.ref"]
[metric]
name = "wer"
[decoder]
{decoder}
"""


@pytest.fixture
def lattices(tmp_path):
    """A folder of lattices by name, and the references."""
    (tmp_path / "lattices").mkdir()
    for n in (10, 2, 30):
        (tmp_path / "lattices" / f"utt-{n}.slf").write_text(LATTICE.format(n))
    lines = [f"utt-{n} the cat\n" for n in (2, 10, 30)]
    (tmp_path / "text").write_text("".join(lines))
    return tmp_path / "lattices"


def contents(folder):
    """Return the bytes of a run's files, but for its log and its programs' logs."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "log.txt" and "scratch" not in path.parts
    }


def test_optimize_and_rerank_go_from_lattices_to_their_output(tmp_path, lattices):
    out = tmp_path / "weights.json"
    result = run("optimize", "--metric", "wer", "--graphs", lattices, "--ref", tmp_path / "text",
                 "--ids", "--out", out)  # fmt: skip
    assert "50.00 -> 16.67" in result.stdout
    run("rerank", "--graphs", lattices, "--weights", out, "--out", tmp_path / "best")
    lists = portmert.Lists.from_graphs(lattices, out, size=1)
    reranked = portmert.rerank(lists, out)
    assert (tmp_path / "best").read_text().splitlines() == list(reranked.lines)
    assert reranked.ids == ("utt-2", "utt-10", "utt-30")


def test_rerank_tune_goes_from_folders_of_lattices_to_a_tested_result(tmp_path, lattices):
    refs = ("--ref", tmp_path / "text", "--test-ref", tmp_path / "text", "--ids")
    command = ("rerank-tune", "--metric", "wer", "--graphs", lattices, "--test-graphs", lattices,
               *refs, "--out-dir", tmp_path / "tuned", "--replicas", 2)  # fmt: skip
    document = json.loads(run(*command, "--json", "-").stdout)
    scores = {one["system"]: one["score"] for one in document["comparison"]["scores"]}
    assert scores["start"] == pytest.approx(1 / 2)
    assert scores["averaged"] == pytest.approx(5 / 6)
    assert (tmp_path / "tuned/output.txt").read_text() == "the hat\nthe cat\nthe cat\n"
    again = run(*command)
    assert "wer ↓ 50.00 -> 16.67 on the lists tuned on" in again.stdout
    (lattices / "utt-2.slf").write_text(LATTICE.format(3))
    assert "holds work of another experiment" in fault(*command)


def test_weights_in_the_header_of_a_lattice_are_the_start(tmp_path):
    header = "base=10 lmscale=3 wdpenalty=-0.5\nstart"
    (tmp_path / "lattice").write_text(LATTICE.format(2).replace("start", header))
    lists = portmert.Lists.from_graphs(tmp_path / "lattice", size=1)
    expected = {"length": -0.5 * np.log(10), "acoustic": 1.0, "language": 3.0}
    found = {name: value for name, (value,) in lists.strings.start.values.items()}
    assert found == pytest.approx(expected)


def test_wrong_graphs_are_told_in_one_line(tmp_path, lattices):
    (lattices / "utt-10.slf").write_text("VERSION=1.0\nN=1 L=1\nI=0\nJ=0 S=0 E=4 a=1\n")
    line = fault("rerank", "--graphs", lattices, "--weights", "w", "--out", "x")
    assert line.endswith("portmert: error: w: No such file or directory\n")
    (tmp_path / "w").write_text('{"weights": {"acoustic": [1], "language": [1], "length": [1]}}')
    line = fault("rerank", "--graphs", lattices, "--weights", tmp_path / "w", "--out", "x")
    assert line.endswith("utt-10.slf:4: segment utt-10: node 4 has no line I=4\n")
    (lattices / "utt-2.slf").write_text("0 ||| the cat ||| LM0= 1 ||| 2\n")
    line = fault("rerank", "--graphs", lattices, "--weights", tmp_path / "w", "--out", "x")
    assert (
        "utt-2.slf:1: segment utt-2: `0 ||| the cat ||| LM0= 1 ||| 2 ` is an n-best list" in line
    )
    (lattices / "utt-2.slf").write_text(LATTICE.format(2))
    (lattices / "utt-10.slf").rename(lattices / "utt-9.slf")
    (lattices / "utt-9.slf").write_text(LATTICE.format(9))
    line = fault("optimize", "--metric", "wer", "--graphs", lattices, "--ids", "--ref",
                 tmp_path / "text", "--out", tmp_path / "out")  # fmt: skip
    assert f"{lattices}/utt-9.slf: id 'utt-9' is not in" in line
    line = fault("rerank-tune", "--metric", "wer", "--graphs", lattices, "--test-nbest", "n",
                 "--out-dir", tmp_path / "out", status=2)  # fmt: skip
    assert "--test-nbest does not go with --graphs" in line
    line = fault("rerank", "--graphs", "g", "--nbest", "n", "--weights", "w", status=2)
    assert "give --nbest or --graphs, not both" in line


def config(folder, decoder):
    text = [f"alpha{n} be gamma{n} dee" for n in range(12)]
    (folder / "dev.src").write_text("".join(f"{line}\n" for line in text))
    (folder / "dev.ref").write_text("".join(f"{line.upper()}\n" for line in text))
    (folder / "config.toml").write_text(CONFIG.format(decoder=decoder))
    return folder / "config.toml"


def test_tune_on_graphs_alone(tmp_path):
    (tmp_path / "decode.py").write_text(DECODER)
    (tmp_path / "weights").write_text("x 1\ny 0.1\n")
    path = config(tmp_path, 'name = "graphs"\ngraphs = ["graphs.plf"]\nstart = "start.json"')
    (tmp_path / "start.json").write_text('{"weights": {"x": [1], "y": [0.1]}}')
    files = ("dev.src", "weights", "list", "graphs.plf")
    subprocess.run([sys.executable, "decode.py", *files], cwd=tmp_path, check=True)
    portmert.tune(path)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["start_dev_score"] < result["dev_score"]


def test_a_run_with_graphs_that_was_killed_goes_on_to_equal_bytes(tmp_path):
    (tmp_path / "decode.py").write_text(DECODER)
    words = ", ".join(
        f'"{word}"' for word in (sys.executable, str(tmp_path / "decode.py"), "{source}",
        "{weights}", "{nbest}", "{graph}")
    )  # fmt: skip
    path = config(
        tmp_path, f'name = "command"\nprogram = [{words}]\n[decoder.weights]\nx = 1.0\ny = 0.1'
    )
    portmert.tune(path)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["start_dev_score"] < result["dev_score"] == 1.0
    whole = contents(tmp_path / "run")
    first = tmp_path / "run" / "iteration-01"
    assert json.loads((first / "optimized.json").read_text())["searches"] > 1
    assert {"graphs.gz", "graph-strings-0.json", "graph-strings-1.json"} <= {
        file.name for file in first.iterdir()
    }
    for gone in ("optimized.json", "graph-strings-1.json"):
        (first / gone).unlink()
    for gone in ("iteration-02/scores.json", "iteration-02/graphs.gz", "result.json"):
        (tmp_path / "run" / gone).unlink()
    portmert.tune(path)
    assert contents(tmp_path / "run") == whole


def test_graphs_without_a_feature_are_refused_in_one_line(tmp_path):
    rules = [1, "[X] ||| a ||| a", 2, "[X] ||| b ||| b"]
    edges = [{"tail": [], "feats": [], "rule": rule} for rule in (1, 2)]
    graph = {"rules": rules, "features": [], "edges": edges, "node": {"in_edges": [0, 1]}}
    path = write_lines(tmp_path / "graph.json", [json.dumps(graph)])
    reference = write_lines(tmp_path / "ref", ["a"])
    said = fault("optimize", "--metric", "bleu", "--graphs", path, "--ref", reference,
                 "--out", tmp_path / "weights.json")  # fmt: skip
    assert "the hypotheses have no scores to find weights of" in said
