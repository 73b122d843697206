"""Options, configurations, folders and stdin of the commands."""

import json
import shutil
import sys
from contextlib import chdir
from unittest.mock import patch

from tests.fuzz.judges import scored_place
from tests.fuzz.target import Same, Target, new_place
from tests.support import annotation_models
from tests.support.cli import run
from tests.support.languages.grammar import generate
from tests.support.places import INVENTED
from tests.support.run_folders import DATA, LINKS, RECORDED, REFERENCE, write_lines, write_lists
from tests.support.thot_config import thot_config

LISTED = ("--nbest", "dev.nbest", "--ref", "test.ref")
LINKED = ("--source", "test.src", "--ref-links", "test.links")
TEST = ("--test-nbest", "other.nbest", "--test-ref", "test.ref")
QUICK = ("--optimizer", "mert", "--set", "searches_per_feature=1", "--threads", "1")
SYSTEMS = ("--human", "human.tsv", "--outputs", "systems", "--ref", "ref", "--samples", "10")
CONFIG = f"""\
[tune]
output = "run"
iterations = 1
nbest = 4
{DATA}\
[metric]
name = "bleu"
[optimizer]
name = "mert"
searches_per_feature = 1
{RECORDED}"""
PUBLISHED = """\
citation = "One: A Paper, 2012"
[[table]]
number = 4
caption = "A set"
headers = ["system", "bleu"]
rows = [["untuned", "12.5*"], ["bleu", "13"]]
"""
QUICK_RUN = ("tune.output='run'", "tune.iterations=1", "optimizer.name='mert'",
             "optimizer.searches_per_feature=1")  # fmt: skip
SPOKEN = ("--", "stdin", "language", "aligner",
          "metric", "optimizer", "reader", "text step", "feature", "annotator", "formula",
          "length penalty", "sentencepiece", "o such file", "expected a file",
          "File name too long", "no folder of a run", "not the folder of a run")  # fmt: skip
"""What messages about options say besides their names: what is damaged may be a file's name."""

OPTIONS = {
    "optimize": (
        (*LISTED, *LINKED, *QUICK, "--out", "out.json"),
        ("--metric=0.5*bleu + 0.5*chrf:beta=2", "--nbest-format=moses",
         "--feature=quality=numbers", "--feature=length", "--feature=near=chrf@near",
         "--feature=mbr:chrf", "--text=lowercase,hyp:debpe", "--seed=3", "--fix=F1",
         "--bound=quality=-2:2", "--sign=length=+", "--tie=near,mbr:chrf",
         "--length-penalty=0:1", "--prior=0.1", "--also=ter"),
        ("out.json",),
    ),
    "crossval": (
        (*LISTED, "--splits", "1", "--optimizer", "mert:searches_per_feature=1", "--threads", "1",
         "--json", "out.json"),
        ("--metric=chrf:word_order=1", "--feature=-quality=numbers", "--without=-quality",
         "--without=F0,F1", "--text=lowercase", "--size=2", "--seed=3", "--bound=F1=-1:",
         "--prior=0.1"),
        ("out.json",),
    ),
    "rerank": (
        ("--nbest", "dev.nbest", "--out", "out", "--links-out", "out.links"),
        ("--weights=weights.json", "--missing-features=zero", "--mbr=chrf", "--mbr-size=3",
         "--mbr-average=statistics", "--mbr-temperature=0.5", "--text=lowercase",
         "--nbest-format=moses"),
        ("out", "out.links"),
    ),
    "rerank --ref=test.ref": (
        ("--nbest", "dev.nbest", "--out", "out"),
        ("--oracle=0.5*chrf:beta=2 + 0.5*bleu", "--weights=weights.json", "--text=lowercase",
         "--missing-features=zero", "--nbest-format=moses"),
        ("out",),
    ),
    "score": (
        ("--ref", "test.ref", *LINKED, "--hyp", "near", "--json", "out.json"),
        ("--metric=port:alpha=0.5", "--metric=bleu:max_order=2", "--metric=0.5*bleu + 0.5*wer",
         "--hyp-links=test.links", "--text=lowercase,ref:debpe", "--segments"),
        ("out.json",),
    ),
    "compare": (
        ("--source", "test.src", "--ref", "test.ref", "--samples", "10", "--threads", "1",
         "--no-timing", "--json", "out.json"),
        ("good=test.ref", "near=near", "--metric=bleu", "--metric=chrf:beta=3", "--confidence=0.9",
         "--seed=3", "--text=lowercase"),
        ("out.json",),
    ),
    "tune": (
        ("tune.toml", "--threads", "1"),
        ("--seed=4", "--set=tune.prior=0.1", "--set=tune.min_weight_change=0.01",
         "--set=tune.held_out=0.5", "--set=data.text=['lowercase', 'hyp:debpe']",
         "--set=metric.max_order=2", "--set=constraints.fixed=['F0']",
         "--set=constraints.bounds={F1=[-1,'']}"),
        (),
    ),
    "compare --aligner=thot": (
        ("--source", "test.src", "--ref", "test.ref", "--set", "model=ibm1", "--set",
         "iterations=1", "--samples", "10", "--threads", "1", "--no-timing", "--json", "out.json"),
        ("good=test.ref", "near=near", "--metric=port", "--set=symmetrization=union",
         "--set=timeout_seconds=60", "--set=vocab_size=30"),
        ("out.json",),
    ),
    "metaeval": (
        (*SYSTEMS, "--json", "out.json"),
        ("--metric=bleu", "--metric=0.5*chrf:beta=3 + 0.5*bleu", "--system=good", "--system=fair",
         "--judgments=mean", "--text=lowercase,ref:debpe", "--confidence=0.9",
         "--resample=segments", "--seed=3", "--penalties", "--all"),
        ("out.json",),
    ),
    "metric-train": (
        (*SYSTEMS, "--paraphrases", "table", "--stop-words", "stop", "--out", "out.json"),
        ("--groups=TPNB", "--costs=ter", "--language=english", "--gamma=0.5", "--parses=3",
         "--system=good", "--system=fair", "--system=poor", "--text=lowercase", "--seed=3"),
        ("out.json",),
    ),
    "humaneval make": (
        ("--ref", "test.ref", "--source", "test.src", "--out", "kit", "--min-length", "0",
         "--items", "1", "--common", "1"),
        ("good=test.ref", "near=near", "--judge=ada", "--judge=bob", "--max-length=40",
         "--equal-outputs", "--top-share=1", "--condition=good and near", "--text=lowercase",
         "--seed=3"),
        (),
    ),
    "align": (
        ("--source", "test.src", "--target", "test.ref", "--out", "out.links"),
        ("--aligner=precomputed", "--set=links=test.links"),
        ("out.links",),
    ),
    "annotate": (
        ("--in", "in.txt", "--out", "out.conllu", "--processes", "1",
         "--annotation-cache", "cache"),
        ("--annotator=conllu", "--model=in.conllu", "--layer=tags", "--layer=heads", "--parses=1",
         "--max-failed=0.5"),
        ("out.conllu",),
    ),
}  # fmt: skip
"""First words -> words that stay, those that are damaged, and what is written."""


def targets(folder):
    """Return all targets of this kind."""
    yield from _options(folder)
    yield from _configurations(folder)
    yield from _decoders(folder)
    yield from _folders(folder)
    yield from _models(folder)
    yield from _pieces(folder)


def _place(folder, name):
    place = new_place(folder, name)
    write_lists(place, "dev.nbest", "other.nbest")
    (place / "tune.toml").write_text(CONFIG)
    (place / "weights.json").write_text('{"weights": {"F0": [1], "F1": [-0.5], "F2": [2]}}')
    write_lines(place / "near", [line.replace("b", "x") for line in REFERENCE])
    write_lines(place / "numbers", [f"{0.25 * n}" for n in range(8 * len(REFERENCE))])
    write_lines(place / "in.txt", [" ".join(s) for s in annotation_models.SENTENCES[:3]])
    blocks = annotation_models.treebank().read_text(encoding="utf-8").split("\n\n")
    (place / "in.conllu").write_text("".join(f"{block}\n\n" for block in blocks[:3]))
    return place


def _options(folder):
    for name, (fixed, damaged, out) in OPTIONS.items():
        make = scored_place if fixed[0] == "--human" else _place
        place = make(folder, f"options-{name.replace(' ', '-')}")
        write_lines(place / "words", damaged)
        # What is given twice counts as it is given last.
        last = [w for setting in QUICK_RUN for w in ("--set", setting)] if name == "tune" else ()
        first, more = fixed[:1], fixed[1:]
        given = (*first, "@", *more) if name == "tune" else ("@", *fixed)
        yield Target(place.name, (*name.split(), *given, *last), ("words",), out=out,
                     changed=("run", "cache", "kit"), names=SPOKEN)  # fmt: skip


def _configurations(folder):
    place = _place(folder, "executor")
    (place / "here.toml").write_text('[executor]\nname = "local"\n')
    call = ("crossval", *LISTED, "--metric", "bleu", "--splits", "1", "--optimizer",
            "mert:searches_per_feature=1", "--executor", "{}", "--json",
            "out.json")  # fmt: skip
    yield Target("executor", call, ("here.toml",), out=("out.json",))
    (place / "scheduler.json").write_text('{"address": "tcp://127.0.0.1:9", "type": "Scheduler"}')
    call = tuple({"{}": "dask:{}"}.get(word, word) for word in call)
    yield Target("executor", call, ("scheduler.json",), out=("out.json",), program=_impatient,
                 statuses=(1, 2))  # fmt: skip


def _impatient(words):
    """Wait a second for a scheduler: none listens there."""
    with patch("portmert.extensions.cluster.cluster._CONNECT", "1s"):
        return Target("", (), ()).call(words)


ANSWERER = f"""\
#!{sys.executable} -SE
import sys
for request in sys.stdin:
    with open("answers", "rb") as answers:
        sys.stdout.buffer.write(answers.read())
    sys.stdout.flush()
"""
"""Keeps running, and answers each request with what lies in its folder."""


def _decoders(folder):
    """Programs that decode: one that is asked in lines, one that writes files."""
    words = '"sh", "-c", "cat list > \\"$1\\"", "sh", "{nbest}", "{weights}"'
    for name, program, more in (("lines", '"./answerer"', 'protocol = "lines"\n'),
                                ("files", words, "")):  # fmt: skip
        place = _place(folder, f"decoder-{name}")
        (place / "answerer").write_text(ANSWERER)
        (place / "answerer").chmod(0o755)
        rows = [
            {"id": n, "hypotheses": [
                {"text": line[2 * at :], "features": {"lm": -at, "am": at / (n + 1)}}
                for at in range(2)
            ]}
            for n, line in enumerate(REFERENCE)
        ]  # fmt: skip
        write_lines(place / "answers", map(json.dumps, rows))
        write_lines(place / "list", [
            f"{row['id']} ||| {one['text']} ||| lm= {one['features']['lm']} am= "
            f"{one['features']['am']} ||| 0"
            for row in rows for one in row["hypotheses"]
        ])  # fmt: skip
        decoder = f'[decoder]\nname = "command"\nprogram = [{program}]\n{more}'
        decoder += "timeout_seconds = 5\nscored = false\n[weights]\nlm = 0.5\nam = 1\n"
        (place / "tune.toml").write_text(CONFIG.replace(RECORDED, decoder))
        settings = [word for setting in QUICK_RUN for word in ("--set", setting)]
        yield Target(place.name, ("tune", "tune.toml", *settings, "--threads", "1"),
                     ("answers" if more else "list",), changed=("run",),
                     names=("answerer",))  # fmt: skip


def _folders(folder):
    """Folders of interrupted commands, which go on there."""
    calls = {
        "replicas": ("optimize", *LISTED, "--metric", "bleu", *QUICK, "--replicas", "2", *TEST),
        "rerank-tune": ("rerank-tune", *LISTED, "--metric", "bleu", *QUICK, "--replicas", "2",
                        *TEST),
        "crossval": ("crossval", *LISTED, "--metric", "bleu", "--splits", "2", "--optimizer",
                     "mert:searches_per_feature=1"),
        "reproduce": ("reproduce", "tune.toml", "--tune-on", "bleu", "--tune-on", "wer",
                      "--metric", "bleu", "--threads", "1"),
    }  # fmt: skip
    for name, words in calls.items():
        place = _place(folder, f"folder-{name}")
        call = words if name == "reproduce" else (*words, "--out-dir", "run")
        with chdir(place):
            run(*call)
        yield Target(place.name, call, ("run/*", "run/*/*"), changed=("run",),
                     then=Same(place / "run"))  # fmt: skip
    write_lines(place / "other.links", LINKS)
    linked = ("--test-source", "test.src", "--test-ref-links", "{}", "--replicas", "1")
    port = ("optimize", *LISTED, *LINKED, "--metric", "port", *QUICK, *TEST, *linked)
    yield Target(place.name, (*port, "--out-dir", "out"), ("other.links",), changed=("out",))
    (place / "published").write_text(PUBLISHED)
    call = (*call, "--published", "{}")
    yield Target(place.name, call, ("published",), changed=("run",), packs=True)


def _models(folder):
    """Trained models of aligners and of the embedded decoder."""
    place = new_place(folder, "models")
    pairs = generate(40, seed=2)
    for side, suffix in (("source", "src"), ("target", "tgt")):
        lines = [" ".join(getattr(pair, side)) for pair in pairs]
        write_lines(place / f"train.{suffix}", lines)
        write_lines(place / f"dev.{suffix}", lines[:3])
    (place / "tune.toml").write_text(
        thot_config(iterations=1, nbest=4, rounds=1, aligner='saved = "links"',
                    decoder='aligner = "ibm1"\nprocesses = 1\ntimeout_seconds = 20')
    )  # fmt: skip
    write_lines(place / "near", [line.replace("b", "x") for line in lines[:3]])
    with chdir(place):
        run("tune", "tune.toml", "--threads", "1")
        shutil.rmtree("run")
    saved = ("--set", "model=ibm1")
    align = ("align", "--source", "dev.src", "--target", "dev.tgt", "--model", "links", *saved)
    yield Target("models", (*align, "--out", "out.links"), ("links/*",), out=("out.links",))
    trained = ("--train-source", "{}", "--train-target", "train.tgt", "--set", "iterations=1")
    yield Target("models", (*align[:5], *saved, *trained, "--out", "out.links"), ("train.src",),
                 out=("out.links",), packs=True)  # fmt: skip
    compare = ("compare", "good=dev.tgt", "near=near", "--source", "dev.src", "--ref", "dev.tgt",
               "--metric", "port", "--aligner", "thot", "--set", "saved=links", *saved,
               "--samples", "10", "--threads", "1", "--json", "out.json")  # fmt: skip
    yield Target("models", compare, ("links/*",), out=("out.json",))
    tune = ("tune", "tune.toml", "--threads", "1")
    yield Target("models", tune, ("model/*", "links/*"), changed=("run",))


def _pieces(folder):
    """Models of sentencepiece."""
    place = _place(folder, "pieces")
    (place / "pieces.model").write_bytes((INVENTED / "quality" / "pieces.model").read_bytes())
    call = ("score", "--metric", "bleu", "--hyp", "near", "--ref", "test.ref", "--text",
            "spm-encode", "--text-model", "{}", "--json", "out.json")  # fmt: skip
    yield Target("pieces", call, ("pieces.model",), out=("out.json",))
