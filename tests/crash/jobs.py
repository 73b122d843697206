"""What is killed: calls of the command line, each with a folder of good files, all small."""

import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from tests.crash import programs
from tests.support import annotation_models
from tests.support.cli import run
from tests.support.languages.grammar import generate
from tests.support.run_folders import DATA, RECORDED, write_lines, write_lists
from tests.support.thot_config import thot_config


@dataclass(frozen=True)
class Job:
    """Stands for a call in a folder of good files.

    Parameters
    ----------
    name
    words
    runs_here
        Whether this process can run it once, to load kernels, and still fork: no library with
        threads of its own is loaded.
    faults
        What the program that it runs can be told to do wrong.
    again
        More words of a call that goes on where another ended.
    begun
        A file of this name is there where one can go on.
    out
        Where the command's results go; nothing else may change.
    """

    name: str
    words: tuple[str, ...]
    runs_here: bool = True
    faults: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    begun: str = ""
    out: tuple[str, ...] = ("run",)


CONFIG = f"""\
[tune]
output = "run"
iterations = 2
nbest = 6
{DATA}\
[metric]
name = "port"
[optimizer]
name = "mert"
searches_per_feature = 2
"""
INI = "[weight]\nF0= 0.5\nF1= -1\n"
MOSES = (
    "mert-moses", "test.src", "test.ref", "./decoder", "moses.ini", "--working-dir=run",
    "--no-filter-phrase-table", "--nbest=6", "--maximum-iterations=2", "--timeout-seconds=15",
    "--sctype=PORT", "--scconfig=source:test.src,reflinks:test.links",
    "--mertmertargs=--type powell --set searches_per_feature=2", "--threads=1",
)  # fmt: skip


def make_jobs(folder: Path, only=None) -> list[Job]:
    """Write the good files of every job to a folder of its name, and return all jobs.

    Parameters
    ----------
    only
        Names of jobs; None: all.
    """
    makers = (_tune, _moses, _lists, _comparison)
    if only is None or any(name.startswith(("annotate", "align")) for name in only):
        makers += (_annotation, _alignment)
    if only is None or "cluster" in only:
        makers += (_cluster,)
    found = [job for maker in makers for job in maker(folder)]
    return [job for job in found if only is None or job.name in only]


def new_place(folder, name):
    """Make the folder of a job's good files."""
    place = folder / name
    place.mkdir(parents=True)
    return place


def listed_place(folder, name):
    """Make the folder of a job with a test set, lists of it, and what tunes on them."""
    place = new_place(folder, name)
    write_lists(place, "dev.nbest", "other.nbest")
    (place / "tune.toml").write_text(CONFIG + RECORDED)
    return place


def _tune(folder):
    kinds = {
        "tune": (),
        "tune-bleu": ("metric.name=bleu", "tune.prior=0.1"),
        "tune-replicas": ("tune.replicas=2",),
        "tune-bootstrap": ("tune.bootstrap=3", "tune.iterations=1", "tune.held_out=0.5"),
    }
    for name, settings in kinds.items():
        listed_place(folder, name)
        words = [word for setting in settings for word in ("--set", setting)]
        yield Job(name, ("tune", "tune.toml", "--threads", "1", *words))
    listed_place(folder, "reproduce")
    yield Job("reproduce", ("reproduce", "tune.toml", "--tune-on", "bleu", "--tune-on", "wer",
                            "--metric", "bleu", "--threads", "1"))  # fmt: skip
    place = new_place(folder, "tune-thot")
    pairs = generate(60, seed=2)
    for side in ("source", "target"):
        lines = [" ".join(getattr(pair, side)) for pair in pairs]
        suffix = "src" if side == "source" else "tgt"
        write_lines(place / f"train.{suffix}", lines[:54])
        write_lines(place / f"dev.{suffix}", lines[54:])
    (place / "tune.toml").write_text(
        thot_config(iterations=1, nbest=6, rounds=2, decoder="processes = 2")
    )
    yield Job("tune-thot", ("tune", "tune.toml"), runs_here=False, out=("run", "model"))


def _moses(folder):
    for name, words in (("moses", ()), ("moses-replicas", ("--replicas=2", "--seed=1"))):
        place = listed_place(folder, name)
        _decoder(place)
        yield Job(name, (*MOSES, *words), again=("--continue",), begun="finished_step.txt",
                  faults=programs.DECODER_FAULTS)  # fmt: skip
    place = listed_place(folder, "tune-moses")
    _decoder(place)
    ours = '[decoder]\nname = "moses"\nconfig = "moses.ini"\nprogram = "./decoder"\nthreads = 1\n'
    (place / "tune.toml").write_text(f"{CONFIG}{ours}timeout_seconds = 15\n")
    yield Job("tune-moses", ("tune", "tune.toml", "--threads", "1"),
              faults=programs.DECODER_FAULTS[:-1])  # fmt: skip

    place = listed_place(folder, "tune-lines")
    (place / "decoder").write_text(programs.ANSWERER)
    (place / "decoder").chmod(0o755)
    ours = '[decoder]\nname = "command"\nprogram = ["./decoder"]\nprotocol = "lines"\n'
    ours += "timeout_seconds = 15\n[weights]\nlm = 0.5\nam = 1\n"
    (place / "tune.toml").write_text(CONFIG.replace('"port"', '"bleu"') + ours)
    yield Job("tune-lines", ("tune", "tune.toml", "--threads", "1"),
              faults=programs.ANSWERER_FAULTS)  # fmt: skip


def _decoder(place):
    (place / "decoder").write_text(programs.DECODER)
    (place / "decoder").chmod(0o755)
    (place / "moses.ini").write_text(INI)
    (place / "list").write_bytes((place / "dev.nbest").read_bytes())


def _lists(folder):
    given = ("--nbest", "dev.nbest", "--ref", "test.ref", "--metric", "bleu", "--threads", "1")
    listed_place(folder, "replicas")
    few = (
        "--optimizer",
        "mert",
        "--set",
        "searches_per_feature=2",
        "--replicas",
        "2",
        "--out-dir",
        "run",
    )
    test = ("--test-nbest", "other.nbest", "--test-ref", "test.ref")
    yield Job("replicas", ("optimize", *given, *few, *test))
    write_lines(listed_place(folder, "rerank-tune") / "numbers", [str(n % 3) for n in range(32)])
    scores = ("--test-scores", "right=numbers", "--json", "out.json")
    yield Job("rerank-tune", ("rerank-tune", *given, *few, *test, *scores),
              out=("run", "out.json"))  # fmt: skip
    listed_place(folder, "systems")
    both = ("--nbest", "dev.nbest", "--nbest", "other.nbest", "--systems", "one,two")
    call = ("optimize", *both, *given[2:], *few[:4], "--also", "ter", "--out", "out.json")
    yield Job("systems", call, out=("out.json",))
    place = listed_place(folder, "rerank")
    (place / "weights.json").write_text('{"weights": {"F0": [1], "F1": [-0.5]}}')
    call = ("rerank", "--nbest", "dev.nbest", "--weights", "weights.json", "--out", "out.jsonl")
    yield Job("rerank", (*call, "--json", "out.json"), out=("out.jsonl", "out.json"))
    listed_place(folder, "crossval")
    few = (
        "--optimizer",
        "mert:searches_per_feature=1",
        "--optimizer",
        "kbmira",
        "--splits",
        "2",
    )
    out = ("--out-dir", "run", "--json", "out.json", "--html", "out.html")
    yield Job("crossval", ("crossval", *given, *few, *out), out=("run", "out.json", "out.html"))
    listed_place(folder, "optimize")
    few = ("--optimizer", "mert", "--set", "searches_per_feature=2", "--out", "out.json")
    yield Job("optimize", ("optimize", *given, *few), out=("out.json",))
    (listed_place(folder, "metric") / "metric.py").write_text(programs.METRIC)
    metric = ("--metric", f"command:{sys.executable} metric.py")
    yield Job("metric", ("optimize", *given[:4], *metric, *few), out=("out.json",),
              faults=programs.METRIC_FAULTS)  # fmt: skip


def _cluster(folder):
    programs.start_cluster(folder / "scheduler.json")
    (listed_place(folder, "cluster") / "here.toml").write_text(
        f'[executor]\nname = "dask:{folder}/scheduler.json"\n'
    )
    call = ("crossval", "--nbest", "dev.nbest", "--ref", "test.ref", "--metric", "bleu",
            "--optimizer", "mert:searches_per_feature=1", "--splits", "2",
            "--executor", "here.toml", "--out-dir", "run", "--json", "out.json")  # fmt: skip
    yield Job("cluster", call, runs_here=False, out=("run", "out.json"))


def _annotation(folder):
    place = new_place(folder, "annotate")
    (place / "model").write_bytes(annotation_models.udpipe().read_bytes())
    write_lines(place / "text", [" ".join(words) for words in annotation_models.SENTENCES])
    call = ("annotate", "--annotator", "udpipe:model=model", "--in", "text", "--processes", "2")
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(programs.PARSER)
    yield Job("annotate", (*call, "--out", "out.conllu.gz"), out=("out.conllu.gz", "cache"),
              faults=programs.PARSER_FAULTS)  # fmt: skip


def _alignment(folder):
    place = new_place(folder, "align")
    for name in ("source", "target"):
        lines = [" ".join(getattr(pair, name)) for pair in generate(40, seed=2)]
        write_lines(place / f"train.{name}", lines)
        write_lines(place / name, lines[:10])
    call = ("align", "--source", "source", "--target", "target", "--train-source", "train.source",
            "--train-target", "train.target", "--set", "model=ibm1", "--model", "model",
            "--out", "out.links")  # fmt: skip
    yield Job("align", call, runs_here=False, out=("out.links", "model"))


def _comparison(folder):
    with chdir(listed_place(folder, "compare")):
        for seed, name in enumerate(("one", "two")):
            settings = (f'tune.output="{name}"', "tune.iterations=1", f"tune.seed={seed}")
            words = [word for setting in settings for word in ("--set", setting)]
            run("tune", "tune.toml", "--threads", "1", *words)
    out = ("out.html", "out.json", "out.tex")
    written = ("--html", "out.html", "--json", "out.json", "--threads", "1")
    call = ("compare", "one", "two", "--samples", "50", "--no-timing", "--latex", "out.tex")
    yield Job("compare", (*call, *written), out=out)
