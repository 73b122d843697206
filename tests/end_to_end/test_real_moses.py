"""Moses' own programs and scripts with ours in their place, and ours with Moses' decoder."""

import gzip
import subprocess
import sys
from dataclasses import replace

import pytest

from portmert.extensions.graphs.decodings import strings_of_decodings
from portmert.metrics._base import Vocabulary
from portmert.tuner.nbest.check import score_fault
from portmert.tuner.nbest.model import best_hypotheses, model_scores
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.support.cli import fault, run
from tests.support.places import PROGRAMS, ROOT, programs
from tests.support.real_moses import real_system

REFERENCE = "the little house\nthe house\nlittle house\nthe\nlittle house\n"


@pytest.fixture
def system(tmp_path):
    """The arguments of mert-moses.pl: source, reference, decoder, its configuration."""
    decoder, source = real_system(tmp_path)
    (tmp_path / "dev.ref").write_text(REFERENCE)
    return [source, tmp_path / "dev.ref", decoder.program, decoder.config]


@pytest.fixture
def script():
    """Moses' own script, and Perl for it."""
    (perl,) = programs("perl")
    path = PROGRAMS.parent / "scripts" / "training" / "mert-moses.pl"
    if not path.exists():
        pytest.skip("shared data: tools/moses/scripts")
    return [perl, path]


def done(command, folder):
    """Run a command in a folder to its end; return what it printed."""
    ended = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def portmert(*arguments):
    return [sys.executable, "-m", "portmert", *arguments]


def test_the_tuning_step_of_ems_with_the_real_decoder(tmp_path, system):
    # As EMS writes it, with our tuning-script and tuning-settings.
    step = " ".join(map(str, [
        *portmert("mert-moses"), *system, "--nbest 10", f"--working-dir {tmp_path}/tuning/work.1",
        '--decoder-flags " -v 0 "', f"--rootdir {PROGRAMS.parent}/scripts",
        f"-mertdir {PROGRAMS}", "--maximum-iterations 2", "--no-filter-phrase-table",
    ]))  # fmt: skip
    (tmp_path / "step.sh").write_text(
        f"mkdir -p {tmp_path}/tuning\n{step}\n"
        f"cp {tmp_path}/tuning/work.1/moses.ini {tmp_path}/tuning/moses.tuned.ini.1\n"
    )
    done(["bash", "-e", tmp_path / "step.sh"], ROOT)
    assert "MERT optimized" in (tmp_path / "tuning" / "moses.tuned.ini.1").read_text()
    # The decoder takes the tuned configuration.
    output = subprocess.run(
        [system[2], "-config", tmp_path / "tuning" / "moses.tuned.ini.1", "-v", "0"],
        input=b"kleine haus\n", capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert output.split()[1:] == [b"house"]


def test_lattice_samples_are_hypotheses_too(tmp_path, system):
    command = [
        "mert-moses", *system, "--nbest=2", "--maximum-iterations=2", "--no-filter-phrase-table",
        "--decoder-flags=-v 0", "--predictable-seeds",
    ]  # fmt: skip
    run(*command, "--working-dir", tmp_path / "plain")
    run(*command, "--working-dir", tmp_path / "work", "--lattice-samples=40")
    work = tmp_path / "work"
    with gzip.open(work / "run1.lsamp40.out.gz", "rt") as file:
        samples = file.read().splitlines()
    assert {line.split(" ||| ")[0] for line in samples} == {"0", "1", "2", "3", "4"}
    counts = [
        len((folder / "run1.features.dat").read_text().splitlines())
        for folder in (tmp_path / "plain", work)
    ]
    assert counts[0] < counts[1]
    nbest = (work / "run1.best2.out.gz").read_bytes()
    assert nbest == (tmp_path / "plain" / "run1.best2.out.gz").read_bytes()
    before = (work / "moses.ini").read_text().splitlines()[-10:]
    (work / "run2.lsamp40.out.gz").unlink()
    said = fault(*command, "--working-dir", work, "--continue", "--lattice-samples=40")
    assert "run2.lsamp40.out.gz" in said
    assert before == (work / "moses.ini").read_text().splitlines()[-10:]


def test_the_graphs_of_the_real_decoder_hold_its_lists(tmp_path):
    decoder, source = real_system(tmp_path)
    decoder = replace(decoder, graphs=True)
    weights, graphs = decoder.read_weights(), tmp_path / "graphs.gz"
    decoder.decode(
        weights, source=source, size=20, out=tmp_path / "list", workdir=tmp_path, graphs=graphs
    )
    words = Vocabulary()
    lists = [
        read_nbest([tmp_path / "list"], words),
        strings_of_decodings(decoder, [graphs], [weights], size=20, vocabulary=words),
    ]
    of_moses, of_graphs = ([*map(nbest.texts.words, range(len(nbest.texts)))] for nbest in lists)
    assert lists[0].offsets.tolist() == lists[1].offsets.tolist()
    assert sorted(map(tuple, of_moses)) == sorted(map(tuple, of_graphs))
    assert lists[0].texts.links.row(0).tolist() == lists[1].texts.links.row(0).tolist()


@pytest.mark.parametrize(
    ("feature", "untuned"),
    [
        ("KENLM", "KENLM tuneable=false"),
        ("Distortion", "Distortion tuneable=false"),
        ("PhraseDictionaryMemory", "PhraseDictionaryMemory tuneable-components=0,0,1,0"),
    ],
)
def test_features_that_moses_leaves_out_of_its_lists_count_as_in_its_decoding(
    tmp_path, feature, untuned
):
    decoder, source = real_system(tmp_path)
    decoder.config.write_text(decoder.config.read_text().replace(feature, untuned, 1))
    start = decoder.read_weights()
    vector = start.vector(start.names)
    words, lists = Vocabulary(), {}
    for number, weights in enumerate((vector, 3 * vector, -vector, vector[::-1])):
        weights = FeatureWeights.from_vector(start.names, weights)  # noqa: PLW2901
        decoder.decode(
            weights, source=source, size=1000, out=tmp_path / f"{number}", workdir=tmp_path
        )
        lists[number] = weights, read_nbest([tmp_path / f"{number}"], words)
    weights, nbest = lists[0]
    assert score_fault(nbest, weights).is_unlisted
    nbest = replace(nbest, unlisted=nbest.model_scores - model_scores(nbest, weights))
    for weights, decoded in lists.values():
        best = best_hypotheses(nbest, weights)
        found = [nbest.texts.words(row) for row in best]
        assert found == [decoded.texts.words(row) for row in decoded.offsets[:-1]]
