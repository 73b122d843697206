"""A score stands beside weights only if these weights, as written, have it on the same data.

Each door tunes weights and writes them. Then they are read from their file, choose from the same
data anew, and what they choose is scored.
"""

import gzip
import json
import random
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import portmert
from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.runs import loop
from portmert.tuner.runs.scorer import held_out_split
from portmert.tuner.search.weight_search import find_weights
from portmert.tuner.weights.feature_weights import FeatureWeights
from portmert.tuner.weights.weights_file import read_weights_file
from tests.support.cli import fault, run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE

RECORDED = INVENTED / "recorded"
LISTS = (RECORDED / "1.nbest.gz", RECORDED / "2.nbest.gz")
REF = RECORDED / "dev.tgt"
QUICK = ("--optimizer", "mert:restarts=1,searches_per_feature=30")
BAGGED = [setting.removeprefix("optimizer.") for setting in LITTLE]
SEEDS = (1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6)))
BAD_STARTS = (
    {"-graph": 1, "-acoustic": 1, "length": 0},
    {"-graph": 0.1, "-acoustic": -1, "length": 3},
)


def anew(weights, lists=LISTS, metric="bleu", ref=REF, **options):
    """Return the score of what weights from a file choose from lists or graphs."""
    if isinstance(lists, portmert.Lists):
        chosen = portmert.rerank(lists, weights)
    else:
        chosen = portmert.rerank(portmert.Lists.read(list(lists), **options), weights)
    return portmert.score(list(chosen.lines), [ref], metric=metric).score


def words(lists):
    return [word for path in lists for word in ("--nbest", path)]


def printed(result, label="bleu"):
    """Return the score after the arrow of the line that a command prints."""
    return float(re.search(rf"{label}[^\n]* -> ([\d.]+)", result.stdout)[1])


def test_optimize(tmp_path):
    out = tmp_path / "weights"
    result = run("optimize", *words(LISTS), "--ref", REF, "--metric", "bleu", *QUICK, "--out", out)
    stored = json.loads(out.read_text())["score"]
    assert stored == pytest.approx(anew(out), abs=1e-12)
    assert printed(result) == round(100 * stored, 2)


def test_optimize_with_a_length_penalty(tmp_path):
    out = tmp_path / "weights"
    run("optimize", *words(LISTS), "--ref", REF, "--metric", "bleu", *QUICK, "--out", out,
        "--length-penalty", "0:1")  # fmt: skip
    stored = json.loads(out.read_text())
    assert stored["length_penalty"] > 0
    assert stored["score"] == pytest.approx(anew(out), abs=1e-12)


def test_optimize_on_changed_texts(tmp_path):
    out = tmp_path / "weights"
    result = run("optimize", *words(LISTS), "--ref", REF, "--metric", "bleu", *QUICK, "--out", out,
                 "--text", "lowercase,13a", "--json")  # fmt: skip
    document = json.loads(result.stdout)
    printed_out = tmp_path / "printed"
    printed_out.write_text(json.dumps({"weights": document["weights"]}))
    for path in (out, printed_out):
        chosen = portmert.rerank(portmert.Lists.read(list(LISTS)), path)
        score = portmert.score(list(chosen.lines), [REF], metric="bleu", text="lowercase,13a")
        assert document["final_score"] == pytest.approx(score.score, abs=1e-12)


def test_records():
    lists = portmert.Lists.read(list(LISTS))
    nbest = lists.nbest
    records = [
        {
            "id": int(segment),
            "text": " ".join(nbest.texts.words(row)),
            "features": {f"f{k}": value for k, value in enumerate(nbest.features[row].tolist())},
        }
        for row, segment in enumerate(nbest.segment_of_row)
    ]
    lists = portmert.Lists.from_records(records, refs=[REF])
    optimized = portmert.optimize(lists, "bleu", optimizer=QUICK[1])
    assert optimized.score == pytest.approx(anew(optimized.weights, lists), abs=1e-12)


def test_moses_dat(tmp_path):
    folder, out = tmp_path / "work", tmp_path / "weights"
    mert_moses(folder)
    dat = [[folder / f"run1.{kind}.dat"] for kind in ("features", "scores")]
    result = run("optimize-dat", "--metric", "bleu", "--features-dat", dat[0][0], "--scores-dat",
                 dat[1][0], *QUICK, "--out", out)  # fmt: skip
    lists, stored = read_dat(*dat), json.loads(out.read_text())["score"]
    best = best_hypotheses(lists, read_weights_file(out).weights)
    match, total = lists.counted.rows[best].sum(axis=0)[:8].reshape(4, 2).T
    length = lists.counted.rows[best].sum(axis=0)[8]
    bleu = np.exp(np.log(match / total).mean() + min(0, 1 - length / total[0]))
    assert stored == pytest.approx(bleu, abs=1e-12)
    assert printed(result) == round(100 * stored, 2)


def mert_moses(folder, *options, ini=RECORDED / "moses.ini"):
    return run("mert-moses", RECORDED / "dev.src", REF, RECORDED / "recorded_moses", ini,
               "--working-dir", folder, "--decoder-flags=-v 0",
               "--no-filter-phrase-table", "--nbest=15", "--predictable-seeds",
               "--maximum-iterations=2", *options)  # fmt: skip


POWELL = "--mertargs=--type powell --set searches_per_feature=20 --set restarts={}"
BY_DEFAULT = f"--mertargs={' '.join(f'--set {setting}' for setting in BAGGED)}"


def stored_by_mert_moses(folder):
    """Return the score in moses.ini; it must be the score of its weights on the folder's lists."""
    ini = (folder / "moses.ini").read_text()
    stored = float(re.search(r"# BLEU ([\d.]+) on dev", ini)[1])
    lists = sorted(folder.glob("*.best15.out.gz"))
    assert stored == pytest.approx(anew(folder / "moses.ini", lists), abs=1e-6)
    return stored


@pytest.mark.parametrize(
    "how",
    [
        [POWELL.format(1)],
        [BY_DEFAULT],
        [POWELL.format(1), "--return-best-dev"],
        [BY_DEFAULT, "--return-best-dev"],
        [POWELL.format(3), "--historic-bests"],
        [POWELL.format(1), "--historic-interpolation=0.5", "--maximum-iterations=4"],
    ],
)
def test_mert_moses(tmp_path, how):
    result = mert_moses(tmp_path / "work", *how)
    stored = stored_by_mert_moses(tmp_path / "work")
    if not {"--return-best-dev", "--historic-interpolation=0.5"} & {*how}:
        assert f"=> {stored:.6f}" in result.stdout + result.stderr


@pytest.mark.parametrize("how", [POWELL.format(1), BY_DEFAULT])
def test_mert_moses_that_goes_on(tmp_path, how):
    for name, record in (("ours", True), ("of-perl", False)):
        folder = tmp_path / name
        mert_moses(folder, how, "--maximum-iterations=1")
        if not record:  # what mert-moses.pl leaves
            (folder / "run1.portmert.json").unlink()
        mert_moses(folder, how, "--continue")
        stored_by_mert_moses(folder)


def test_mert_moses_with_replicas(tmp_path):
    folder = tmp_path / "work"
    mert_moses(folder, POWELL.format(1), "--replicas=2")
    document = json.loads((folder / "result.json").read_text())
    average = stored_by_mert_moses(folder)
    assert document["average"]["dev_score"] == pytest.approx(average, abs=1e-6)
    for row in document["replicas"]:
        stored = stored_by_mert_moses(folder / row["folder"])
        assert row["dev_score"] == pytest.approx(stored, abs=1e-6)


CONFIG = """
[tune]
output = "run"
iterations = 2
nbest = 15
[data]
source = "recorded/dev.src"
references = ["recorded/dev.tgt"]
[metric]
name = "bleu"
[optimizer]
{search}
[decoder]
{decoder}
"""
SEARCHES = (
    'name = "mert"\nrestarts = 1\nsearches_per_feature = 20',
    "\n".join(['name = "bagged"', *BAGGED]),
)
DECODERS = {
    "recorded": 'name = "recorded"\nlists = ["recorded/1.nbest.gz", "recorded/2.nbest.gz"]',
    "moses": 'name = "moses"\nprogram = "recorded/recorded_moses"\n'
    'config = "recorded/moses.ini"\nflags = "-v 0"',
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("search", SEARCHES)
def test_tune(tmp_path, decoder, search):
    shutil.copytree(RECORDED, tmp_path / "recorded")
    path = tmp_path / "tune.toml"
    path.write_text(CONFIG.format(search=search, decoder=DECODERS[decoder]))
    result = run("tune", path)
    stored = json.loads((tmp_path / "run" / "result.json").read_text())["dev_score"]
    # What the recorded decoder can say is all in these lists.
    weights = tmp_path / "run" / "weights.json"
    assert stored == pytest.approx(anew(weights), abs=1e-12)
    assert printed(result) == round(100 * stored, 2)
    if decoder == "moses":
        assert stored == pytest.approx(anew(tmp_path / "run" / "decoder.config"), abs=1e-12)


def tuned(tmp_path, *options):
    """Tune with the recorded decoder; return the folder of the run and what result.json says."""
    if not (tmp_path / "recorded").exists():
        shutil.copytree(RECORDED, tmp_path / "recorded")
    path = tmp_path / "tune.toml"
    path.write_text(CONFIG.format(search=SEARCHES[0], decoder=DECODERS["recorded"]))
    run("tune", path, *options)
    return tmp_path / "run", json.loads((tmp_path / "run" / "result.json").read_text())


def test_tune_that_goes_on(tmp_path):
    folder, whole = tuned(tmp_path)
    shutil.rmtree(folder / "iteration-02")
    for name in ("result.json", "weights.json", "decoder.config"):
        (folder / name).unlink()
    folder, document = tuned(tmp_path)
    assert document == whole
    assert document["dev_score"] == pytest.approx(anew(folder / "weights.json"), abs=1e-12)


def test_tune_with_replicas(tmp_path):
    folder, _ = tuned(tmp_path, "--set", "tune.replicas=2")
    _check_replicas(folder, anew)


def test_tune_with_segments_held_out(tmp_path):
    folder, document = tuned(tmp_path, "--set", "tune.held_out=0.25")
    chosen = portmert.rerank(portmert.Lists.read(list(LISTS)), folder / "weights.json").lines
    references = REF.read_text().splitlines()
    parts = held_out_split(len(references), 0.25, 1)
    for part, key in zip(parts, ("dev_score", "held_out_score"), strict=True):
        texts = ([lines[place] for place in part] for lines in (chosen, references))
        outputs, expected = texts
        score = portmert.score(outputs, [expected], metric="bleu").score
        assert document[key] == pytest.approx(score, abs=1e-12)


def test_rerank_tune(tmp_path):
    out = tmp_path / "out"
    run("rerank-tune", *words(LISTS[:1]), "--ref", REF, "--metric", "bleu", *QUICK, "--out-dir",
        out, "--replicas", 2, "--test-nbest", LISTS[1], "--test-ref", REF)  # fmt: skip
    _check_replicas(out, lambda weights: anew(weights, LISTS[:1]))
    document = json.loads((out / "result.json").read_text())
    tested = anew(out / "weights.json", LISTS[1:])
    assert document["average"]["test"]["score"] == pytest.approx(tested, abs=1e-12)


def _check_replicas(out, score):
    document = json.loads((out / "result.json").read_text())
    assert document["average"]["dev_score"] == pytest.approx(
        score(out / "weights.json"), abs=1e-12
    )
    for replica in document["replicas"]:
        weights = out / replica["folder"] / "weights.json"
        assert replica["dev_score"] == pytest.approx(score(weights), abs=1e-12)


# Weights that stand on a tie, or that are worse than nothing, are never written without a word.

TIED = {"WordPenalty0": -1.0, "LM0": 0.0, "PhrasePenalty0": 0.0, "Distortion0": 0.0,
        "SegLenDiff0": 0.0, "PhraseTS0": 0.0, "PhraseST0": 0.0,
        "SentenceLength0": 0.0}  # fmt: skip
"""Under these all hypotheses of one length are equal, whatever the last of them is."""
FIXED = [name for name in TIED if name != "SentenceLength0"]


def by_lists(folder, lists):
    """Return the commands that search on lists, each with what it needs."""
    (folder / "start").write_text(json.dumps({"weights": TIED}))
    how = ["--metric", "bleu", *QUICK, "--weights", folder / "start"]
    how += [word for name in FIXED for word in ("--fix", name)]
    given, out = [*words(lists), "--ref", REF], folder / "out"
    return {
        "optimize": ["optimize", *given, *how, "--out", out],
        "replicas": ["optimize", *given, *how, "--replicas", 2, "--out-dir", out],
        "rerank-tune": ["rerank-tune", *given, *how, "--replicas", 2, "--out-dir", out,
                        "--test-nbest", lists[0], "--test-ref", REF],
    }  # fmt: skip


@pytest.mark.parametrize("door", ["optimize", "replicas", "rerank-tune"])
def test_lists_whose_order_decides_between_equal_scores(tmp_path, door):
    assert "the weights stand on a tie" in run(*by_lists(tmp_path, LISTS)[door]).stderr


def firsts(folder):
    """Write the first hypotheses of the first list as the reference: nothing is better."""
    lists = portmert.Lists.read([LISTS[0]])
    texts = lists.nbest.texts
    lines = (" ".join(texts.words(row)) for row in lists.nbest.offsets[:-1])
    (folder / "firsts").write_text("".join(f"{line}\n" for line in lines))
    return folder / "firsts"


@pytest.mark.parametrize("door", ["optimize", "replicas", "rerank-tune"])
def test_weights_that_are_worse_than_the_order_of_the_lists(tmp_path, door):
    first = firsts(tmp_path)
    command = [first if word is REF else word for word in by_lists(tmp_path, LISTS[:1])[door]]
    said = run(*command).stderr
    assert re.search(r"under these weights bleu is \d+\.\d+, and 100\.00 in the order", said)


def test_a_decoder_that_was_better_under_its_start_weights(tmp_path, monkeypatch):
    def backwards(*arguments, **options):
        found = find_weights(*arguments, **options)
        return replace(found, weights=found.weights.towards(FeatureWeights({}), 2.0))

    monkeypatch.setattr(loop, "find_weights", backwards)
    result = mert_moses(tmp_path / "work", POWELL.format(1), "--maximum-iterations=1")
    said = r"warning: gain over the start weights: -\d+\.\d+.*; the start weights are better"
    assert re.search(said, result.stderr)
    stored_by_mert_moses(tmp_path / "work")


def with_tied_weights(folder):
    shutil.copytree(RECORDED, folder)
    ini = folder / "moses.ini"
    text = ini.read_text()
    for name, value in TIED.items():
        text = re.sub(rf"{name}= .*", f"{name}= {value}", text)
    ini.write_text(text)


def test_decoders_whose_lists_order_equal_scores(tmp_path):
    with_tied_weights(tmp_path / "recorded")
    active = "--activate-features=SentenceLength0_0"
    ini, folder = tmp_path / "recorded" / "moses.ini", tmp_path / "work"
    result = mert_moses(folder, POWELL.format(1), active, ini=ini)
    assert "the weights stand on a tie" in result.stderr
    dat = ["--features-dat", folder / "run1.features.dat", "--scores-dat",
           folder / "run1.scores.dat"]  # fmt: skip
    (tmp_path / "start").write_text(json.dumps({"weights": TIED}))
    fixed = [word for name in FIXED for word in ("--fix", name)]
    result = run("optimize-dat", "--metric", "bleu", *dat, *QUICK, *fixed, "--weights",
                 tmp_path / "start", "--out", tmp_path / "out")  # fmt: skip
    assert "the weights stand on a tie" in result.stderr
    path = tmp_path / "tune.toml"
    config = CONFIG.format(search=SEARCHES[0], decoder=DECODERS["moses"])
    path.write_text(f"{config}\n[constraints]\nfixed = {json.dumps(FIXED)}\n")
    assert "the weights stand on a tie" in run("tune", path).stderr


# Search graphs.


def lattices(seed, folder, name):
    """Write Kaldi lattices of 25 utterances, and what was said.

    Right words are likely to the ear; the language model is worth ten times as much as the costs
    of sounds say. Words can be left out or come in between.
    """
    rng = random.Random(f"{seed}{name}")
    archive, text = [], []
    for number in range(25):
        said = [f"w{rng.randrange(40)}" for _ in range(rng.randint(4, 8))]
        lines = []
        for place, word in enumerate(said):
            wrong = [f"w{rng.randrange(40)}" for _ in range(3)]
            for other in dict.fromkeys([word, *wrong]):
                graph = rng.gauss(4 if other == word else 7, 2)
                sound = rng.gauss(60 if other == word else 75, 15)
                lines.append(f"{place} {place + 1} {other} {graph:.4f},{sound:.3f},1_2")
            lines.append(f"{place} {place + 1} <eps> 0,{rng.gauss(95, 15):.3f},1_2")
            if rng.random() < 0.5 and place:
                double = f"{place} {len(said) + place} {word} {rng.gauss(3, 2):.4f},25.1,1_2"
                lines += [double, f"{len(said) + place} {place + 1} {wrong[0]} 2.2,30.5,1_2"]
        lines.append(f"{len(said)}")
        archive.append("\n".join([f"{name}-{number:02d}", *lines, "", ""]))
        text.append(f"{name}-{number:02d} {' '.join(said)}\n")
    (folder / f"{name}.lat").write_text("".join(archive))
    (folder / f"{name}.text").write_text("".join(text))


def of_graphs(folder, name="dev"):
    def score(weights):
        lists = portmert.Lists.from_graphs(folder / f"{name}.lat", weights)
        reranked = portmert.rerank(lists, weights)
        lines = [f"{id_} {line}" for id_, line in zip(reranked.ids, reranked.lines, strict=True)]
        (folder / "chosen").write_text("".join(f"{line}\n" for line in lines))
        ref = [folder / f"{name}.text"]
        return portmert.score(folder / "chosen", ref, metric="wer", ids=True).score

    return score


def graph_words(folder, name="dev"):
    return ("--graphs", folder / f"{name}.lat", "--ref", folder / f"{name}.text", "--ids",
            "--metric", "wer")  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_optimize_on_graphs_from_any_start(tmp_path, seed):
    lattices(seed, tmp_path, "dev")
    for number, start in enumerate((None, *BAD_STARTS)):
        more, out = (), tmp_path / f"weights-{number}"
        if start is not None:
            (tmp_path / "start").write_text(json.dumps({"weights": start}))
            more = ("--weights", tmp_path / "start")
        result = run("optimize", *graph_words(tmp_path), *QUICK, *more, "--out", out)
        stored = json.loads(out.read_text())["score"]
        assert stored == pytest.approx(of_graphs(tmp_path)(out), abs=1e-12)
        assert printed(result, "wer") == round(100 * (1 - stored), 2)


def test_rerank_tune_on_graphs(tmp_path):
    for name in ("dev", "test"):
        lattices(1, tmp_path, name)
    out = tmp_path / "out"
    result = run("rerank-tune", *graph_words(tmp_path), *QUICK, "--test-graphs",
                 tmp_path / "test.lat", "--test-ref", tmp_path / "test.text", "--out-dir", out,
                 "--replicas", 3)  # fmt: skip
    _check_replicas(out, of_graphs(tmp_path))
    document = json.loads((out / "result.json").read_text())
    tested = of_graphs(tmp_path, "test")(out / "weights.json")
    assert document["average"]["test"]["score"] == pytest.approx(tested, abs=1e-12)
    # Graphs have no order of their own: tuning is compared with the start weights.
    rows = {line.partition("  ")[0] for line in result.stdout.splitlines()}
    assert "start" in rows
    assert "first" not in rows


def test_the_default_start_of_a_lattice_is_a_usual_scale(tmp_path):
    lattices(1, tmp_path, "dev")
    start = portmert.Lists.from_graphs(tmp_path / "dev.lat").strings.start
    assert start.plain() == {"-graph": 1.0, "-acoustic": 0.1, "length": 0.0}


def test_lattices_that_are_damaged_are_told_in_one_line(tmp_path):
    lattices(1, tmp_path, "dev")
    whole = (tmp_path / "dev.lat").read_text()
    (tmp_path / "w").write_text(json.dumps({"weights": BAD_STARTS[0]}))
    command = ("rerank", "--graphs", tmp_path / "dev.lat", "--weights", tmp_path / "w", "--out",
               tmp_path / "x")  # fmt: skip
    end = whole.rstrip().rpartition("\n")[0]
    for cut in (whole.rstrip(), end, end[:-3], end[: end.rindex(" ")]):
        (tmp_path / "dev.lat").write_text(cut)
        said = fault(*command)
        assert "segment dev-24: " in said
        assert "is the file cut off?" in said
    # What is left of a line may be another line: `8` of an arc is a final state.
    (tmp_path / "dev.lat").write_text(f"{whole.rstrip()}\n3 4 w1 2.5,7")
    assert "segment dev-24: `3 4 w1 2.5,7`: the last line has no line end" in fault(*command)
    (tmp_path / "dev.lat").write_text(whole.replace("dev-07\n", "dev-03\n"))
    lines = [n for n, line in enumerate(whole.split("\n"), 1) if line in ("dev-03", "dev-07")]
    twice = f"dev.lat:{lines[1] + 1}: segment dev-03: stands twice, first in"
    assert re.search(rf"{twice} .*dev\.lat:{lines[0] + 1}; leave out one", fault(*command))
    # Files of a folder are named after their segments.
    folder = tmp_path / "lattices"
    folder.mkdir()
    one = whole.partition("\n\n")[0].partition("\n")[2] + "\n"
    (folder / "dev-00.lat").write_text(one)
    with gzip.open(folder / "dev-00.gz", "wt") as file:
        file.write(one)
    said = fault(*(folder if word == tmp_path / "dev.lat" else word for word in command))
    assert "segment dev-00: stands twice, first in" in said


def test_a_lattice_with_a_language_model_and_no_scale_starts_at_a_usual_one(tmp_path):
    lattice = """VERSION=1.0\nN=2 L=1\nI=0\nI=1 W=cat\nJ=0 S=0 E=1 a=-10{}\n"""
    for scores, scale in ((" l=-1", 0.1), ("", 1.0)):
        (tmp_path / "lattice").write_text(lattice.format(scores))
        start = portmert.Lists.from_graphs(tmp_path / "lattice", size=1).strings.start
        assert start.plain()["acoustic"] == scale
