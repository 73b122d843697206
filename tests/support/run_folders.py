"""Folders of finished runs, made in a moment: what `tune` leaves, without the tuning."""

import json
import random

from portmert.tuner.base.files import file_digest, write_text
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.folder import open_run
from portmert.tuner.runs.inputs import write_inputs
from portmert.tuner.runs.records import DIGESTS
from tests.support.strategies_readers import Hypothesis, moses

DATA = """\
[data]
source = "test.src"
references = ["test.ref"]
reference_links = ["test.links"]
test_source = "test.src"
test_references = ["test.ref"]
test_reference_links = ["test.links"]
"""
RECORDED = """\
[decoder]
name = "recorded"
lists = ["dev.nbest"]
"""
CONFIG = f"""\
[tune]
output = "{{name}}"
replicas = {{replicas}}
{DATA}\
[metric]
name = "{{metric}}"
{RECORDED}"""

LITTLE = tuple(
    f"optimizer.{option}" for option in ("folds=4", "epochs=10", "iterations=3", "longest=10")
)
"""Settings with which the default optimizer has less work."""
LITTLE_SET = tuple(f"--set={setting}" for setting in LITTLE)
FEWER = " ".join(f"--set {setting.removeprefix('optimizer.')}" for setting in LITTLE)
"""The same for `mert-moses --mertargs`."""

SOURCE = ["s t u v", "u t s", "s s", "t u"]
REFERENCE = ["a b c d e", "c b a", "a a", "b c"]
LINKS = ["0-0 1-1 2-2 3-3", "0-0 1-1 2-2", "0-0 1-1", "0-1 1-0"]
GOOD = ["a b c d e", "c b a", "a x", "b c"]
BAD = ["b a d c", "a b c", "a a", "c"]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_lines(path, lines):
    write_text(path, "".join(line + "\n" for line in lines))
    return path


def write_corpus(folder):
    """Write the test set that all runs here are of."""
    for name, lines in (("src", SOURCE), ("ref", REFERENCE), ("links", LINKS)):
        write_lines(folder / f"test.{name}", lines)
    write_lines(folder / "dev.nbest", [f"{n} ||| x ||| F= 0 ||| 0" for n in range(len(SOURCE))])


def write_lists(folder, *names):
    """Write n-best lists of the test set, eight hypotheses a segment, and the test set."""
    write_corpus(folder)
    rng = random.Random(1)
    for name in names:
        hypotheses = [
            Hypothesis(
                n,
                tuple(rng.sample(line.split(), rng.randint(1, len(line.split())))),
                (rng.random(), rng.random()),
                0.0,
                ((0, 0),),
            )
            for n, line in enumerate(REFERENCE)
            for _ in range(8)
        ]
        (folder / name).write_text(moses(hypotheses, linked=True), encoding="utf-8")


def write_run(folder, name, outputs, *, metric="bleu"):
    """Write the folder of a finished run with a replica for each output."""
    config = folder / f"{name}.toml"
    config.write_text(CONFIG.format(name=name, metric=metric, replicas=len(outputs)))
    experiment = load_config(config)
    run = folder / name
    with open_run(run, experiment.fingerprint(), origin=str(config)):
        write_inputs(run, experiment)
    parts = [run] if len(outputs) == 1 else [run / f"replica-{n}" for n in (1, 2, 3)]
    for part, lines in zip(parts, outputs, strict=False):
        (part / "test").mkdir(parents=True)
        write_lines(part / "test" / "output.txt", lines)
        links = (
            " ".join(f"{i}-{i}" for i in range(min(len(line.split()), len(source.split()))))
            for line, source in zip(lines, SOURCE, strict=True)
        )
        lines_of_run = [
            f"{n} ||| {line} ||| F= 0 ||| 0 ||| ||| {pairs}"
            for n, (line, pairs) in enumerate(zip(lines, links, strict=True))
        ]
        write_lines(part / "test" / "nbest.gz", lines_of_run)
    result = {"metric": experiment.metric.signature, "dev_score": 0.5}
    if len(outputs) > 1:
        result["replicas"] = [{"folder": part.name} for part in parts[: len(outputs)]]
    else:
        result |= {"best_iteration": 1, "stopped": "converged", "iterations": []}
    (run / "result.json").write_text(json.dumps(result))
    return run


def products(folder, *but):
    """Return the files that a run leaves, {path: bytes}, but logs and files of these names."""
    no_products = {"log.txt", ".lock", "decoder.log", *but}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in no_products and "scratch" not in path.parts
    }


def renew_digest(path):
    """Change the digest of a file of a run with the file: so changed, it is read like any other.

    A file that has no digest needs none.
    """
    digests = path.with_name(DIGESTS)
    digest_of = json.loads(digests.read_text())
    if path.name in digest_of:
        digests.write_text(json.dumps({**digest_of, path.name: file_digest(path)}))
