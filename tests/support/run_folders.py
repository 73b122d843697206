"""Folders of finished runs, made in a moment: what `tune` leaves, without the tuning."""

import json

from tuner.files import write_text
from tuner.runs.config import load_config
from tuner.runs.folder import open_run
from tuner.runs.inputs import write_inputs

CONFIG = """\
[tune]
output = "{name}"
replicas = {replicas}
[data]
source = "test.src"
references = ["test.ref"]
reference_links = ["test.links"]
test_source = "test.src"
test_references = ["test.ref"]
test_reference_links = ["test.links"]
[metric]
name = "{metric}"
[decoder]
name = "recorded"
lists = ["dev.nbest"]
"""

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
        listed = [
            f"{n} ||| {line} ||| F= 0 ||| 0 ||| ||| {pairs}"
            for n, (line, pairs) in enumerate(zip(lines, links, strict=True))
        ]
        write_lines(part / "test" / "nbest.gz", listed)
    result = {"metric": experiment.metric.signature, "dev_score": 0.5}
    if len(outputs) > 1:
        result["replicas"] = [{"folder": part.name} for part in parts[: len(outputs)]]
    (run / "result.json").write_text(json.dumps(result))
    return run
