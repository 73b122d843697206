"""The programs of aligners: recorded ones always, the real ones where there are any."""

import shlex
import sys

from tests.support.languages.grammar import generate
from tests.support.places import TESTS, programs

RECORDED = TESTS / "programs" / "recorded_aligner"
DATA = TESTS / "data" / "aligners"
PAIRS = generate(60, seed=3)
SOURCE = [" ".join(pair.source) for pair in PAIRS]
TARGET = [" ".join(pair.target) for pair in PAIRS]
NAMES = {"giza": ("mkcls", "plain2snt", "snt2cooc", "mgiza")}


def install(folder):
    """Put the recorded programs into a new folder and return it."""
    folder.mkdir(parents=True)
    # This Python and no more of it than needed: each test starts a dozen.
    start = f"exec {shlex.quote(sys.executable)} -S -E {shlex.quote(str(RECORDED))}"
    for names in NAMES.values():
        for name in names:
            (folder / name).write_text(f'#!/bin/sh\nRECORDED_ALIGNER_NAME={name} {start} "$@"\n')
            (folder / name).chmod(0o755)
    return folder


def real(aligner):
    """Return the folder of the real programs; skip the test where there are none."""
    return programs(*NAMES[aligner])[0].parent


def recorded_bitext():
    return [(DATA / side).read_text("utf-8").splitlines() for side in ("source", "target")]


def align(aligner, folder, source=SOURCE, target=TARGET):
    return aligner.align(source=source, target=target, workdir=folder)
