"""What commands import: numba, scipy and the like only where they are needed."""

import json
import subprocess
import sys

from portmert.tuner.cli import main
from tests.support.places import INVENTED, ROOT

HEAVY = [
    "dask", "jinja2", "matplotlib", "numba", "numpy", "pydantic", "sacrebleu", "scipy",
    "thot", "ufal",
]  # fmt: skip
PROGRAM = """
import json, os, sys
from portmert.__main__ import main

heavy, commands = map(json.loads, sys.argv[1:])
for words in commands:
    sys.stdout.flush()
    if os.fork() == 0:  # the same start for all
        out = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv[1:] = words
        try:
            main()
        finally:
            names = [name for name in heavy if name in sys.modules]
            os.write(out, json.dumps(names).encode() + b"\\n")
            os._exit(0)
    os.wait()
"""


def imports(*commands):
    """Return the heavy packages that each command has imported when it ends."""
    words = [HEAVY, [[str(word) for word in command] for command in commands]]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(json.dumps, words)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [set(json.loads(line)) for line in run.stdout.splitlines()]


def test_help_imports_nothing_heavy():
    names = main.list_commands(None)
    needed = dict(zip(names, imports(*([name, "--help"] for name in names)), strict=True))
    assert needed == {name: set() for name in names}


LOADED = """
import json, sys
from portmert.tuner.cli import main

try:
    main(json.loads(sys.argv[1]), prog_name="portmert")
except SystemExit:
    print(json.dumps([name for name in sys.modules if name.startswith("portmert.")]))
"""


def test_score_loads_no_search_and_optimize_no_comparison(tmp_path):
    text, lists = INVENTED / "recorded/dev.tgt", INVENTED / "recorded/1.nbest.gz"
    score = ["score", "--metric", "bleu", "--ref", text, "--hyp", text]
    optimize = ["optimize", "--metric", "bleu", "--ref", text, "--nbest", lists, "--optimizer",
                "mert", "--set", "restarts=1", "--out", tmp_path / "weights.json"]  # fmt: skip
    for words, unwanted in ((score, "tuner.search"), (optimize, "tuner.evaluation")):
        run = subprocess.run(
            [sys.executable, "-c", LOADED, json.dumps([str(word) for word in words])],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        loaded = json.loads(run.stdout.splitlines()[-1])
        assert "portmert.tuner.components.registry" in loaded
        assert [name for name in loaded if f"portmert.{unwanted}." in name] == []


def test_little_text_is_scored_on_bleu_without_numba_and_scipy():
    text = INVENTED / "recorded/dev.tgt"
    texts = ("--ref", text, "--hyp", text)
    bleu, both = imports(
        ["score", *texts, "--metric", "bleu"],
        ["score", *texts, "--metric", "bleu", "--metric", "ter"],
    )
    assert bleu == {"numpy", "pydantic"}
    assert "numba" in both
