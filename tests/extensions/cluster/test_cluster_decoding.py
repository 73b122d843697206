"""Decoding on a Dask cluster: real worker processes that are killed, full or lack the model."""

import json
import os
import re
import shutil
import threading
from pathlib import Path

import pytest

from portmert.tuner.components import registry
from portmert.tuner.executors.opening import opened
from tests.support.annotation_models import udpipe
from tests.support.cli import fault, run
from tests.support.clusters import NEEDS_DASK, cluster, files, kill_one_at_work
from tests.support.languages.grammar import generate
from tests.support.places import INVENTED

pytestmark = NEEDS_DASK

DATA = INVENTED / "recorded"
MOSES = INVENTED / "recorded" / "recorded_moses"
CONFIG = """
[tune]
output = "run"
iterations = 2
nbest = 20
threads = 1
replicas = {replicas}
bootstrap = 3
[data]
source = "{data}/dev.src"
references = ["{data}/dev.tgt"]
test_source = "{data}/dev.src"
test_references = ["{data}/dev.tgt"]
[metric]
name = "bleu"
[optimizer]
name = "mert"
searches_per_feature = 5
[decoder]
name = "moses"
config = "{config}"
program = "{program}"
"""


def tune(
    folder, executor, *, replicas=1, config=DATA / "moses.ini", program=MOSES, may_fail=False
):
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        CONFIG.format(replicas=replicas, data=DATA, config=config, program=program)
    )
    arguments = ("tune", folder / "config.toml", "--executor", executor)
    if may_fail:
        return fault(*arguments)
    run(*arguments)
    found = files(folder / "run")
    return {name: content for name, content in found.items() if not name.endswith(".log")}


@pytest.fixture
def started():
    """Two workers for each test: a nanny may be slow to replace one that a test killed."""
    with cluster(2) as own:
        yield own


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """What one machine writes."""
    return tune(tmp_path_factory.mktemp("local"), "local")


def test_the_bytes_are_those_of_one_machine_though_a_worker_is_killed(
    tmp_path, started, place, local
):
    killed = threading.Thread(target=kill_one_at_work, args=(started,))
    killed.start()
    assert tune(tmp_path, place) == local
    killed.join(100)
    assert not killed.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_no_number_of_workers_changes_a_byte(tmp_path, local, workers):
    with cluster(workers) as some:
        assert tune(tmp_path, f"dask:{some.scheduler_address}") == local


@pytest.mark.slow
def test_replicas_share_the_workers(tmp_path, place):
    (tmp_path / "there").mkdir()
    assert tune(tmp_path / "there", place, replicas=2) == tune(
        tmp_path / "here", "local", replicas=2
    )


def test_the_table_of_a_configuration_says_where(tmp_path, started, local):
    (tmp_path / "cluster.json").write_text(json.dumps({"address": started.scheduler_address}))
    text = CONFIG.format(replicas=1, data=DATA, config=DATA / "moses.ini", program=MOSES)
    (tmp_path / "config.toml").write_text(f'{text}\n[executor]\nname = "dask:cluster.json"\n')
    result = run("tune", tmp_path / "config.toml")
    assert "dask:cluster.json: 2 workers" in result.stderr
    assert (tmp_path / "run" / "weights.json").read_bytes() == local["weights.json"]


def mert_moses(folder, executor):
    folder.mkdir()
    run("mert-moses", DATA / "dev.src", DATA / "dev.tgt", MOSES, DATA / "moses.ini",
        f"--working-dir={folder / 'work'}", "--mertmertargs=--set restarts=1", "--nbest=15",
        "--decoder-flags=-v 0", "--no-filter-phrase-table", "--maximum-iterations=2",
        "--replicas=2", f"--executor={executor}")  # fmt: skip
    return {
        name: re.sub(rb"(?m)^# finished .*$", b"", content).replace(bytes(folder), b"")
        for name, content in files(folder / "work").items()
        if "decoder/" not in name
    }


@pytest.mark.slow
def test_mert_moses_leaves_the_same_files(tmp_path, place):
    local = mert_moses(tmp_path / "local", "local")
    assert "replica-2/run2.best15.out.gz" in local
    assert mert_moses(tmp_path / "cluster", place) == local


FAILS_AT_A_LINE = """#!/usr/bin/env python3
import os, sys
if "-input-file" in sys.argv and os.path.exists({broken!r}):
    source = open(sys.argv[sys.argv.index("-input-file") + 1]).read()
    if {line!r} in source.splitlines():
        print("Exception: out of stack", file=sys.stderr)
        sys.exit(3)
os.execv({moses!r}, [{moses!r}, *sys.argv[1:]])
"""


def test_a_shard_that_fails_names_its_segments_and_the_others_are_kept(tmp_path, place, local):
    lines = (DATA / "dev.src").read_text().splitlines()
    program, broken = tmp_path / "moses", tmp_path / "broken"
    program.write_text(
        FAILS_AT_A_LINE.format(line=lines[-1], moses=str(MOSES), broken=str(broken))
    )
    program.chmod(0o755)
    broken.touch()
    said = tune(tmp_path, place, program=program, may_fail=True)
    assert f"moses, segments 21 to 40 of {DATA / 'dev.src'}, ended with status 3: " in said
    assert "Exception: out of stack" in said
    assert "(on worker tcp://" in said
    journal = tmp_path / "run" / "scratch" / "moses.journal"
    assert journal.read_bytes().count(b"\n") == 21
    broken.unlink()
    found = tune(tmp_path, place, program=program)
    about = ("state.json", "inputs.json")  # they name the program
    assert {k: v for k, v in found.items() if k not in about} == {
        k: v for k, v in local.items() if k not in about
    }
    assert not journal.exists()


KILLS_ITS_WORKER = """#!/usr/bin/env python3
import os, sys, time
if "-input-file" in sys.argv:
    worker = os.getppid()
    while not os.path.exists(f"{folder}/{{worker}}.known"):
        time.sleep(0.01)
    os.kill(worker, 9)
os.execv({moses!r}, [{moses!r}, *sys.argv[1:]])
"""


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_is_named(tmp_path):
    program = tmp_path / "moses"
    program.write_text(KILLS_ITS_WORKER.format(moses=str(MOSES), folder=tmp_path))
    program.chmod(0o755)
    ended = threading.Event()
    with cluster(2) as two:

        def tell_of_workers():
            """A nanny whose worker dies as soon as it has come may give up."""
            while not ended.wait(0.02):
                for nanny in list(two.workers.values()):
                    if nanny.process and nanny.process.status.name == "running":
                        (tmp_path / f"{nanny.pid}.known").touch()

        teller = threading.Thread(target=tell_of_workers)
        teller.start()
        try:
            place = f"dask:{two.scheduler_address}"
            said = tune(tmp_path, place, program=program, may_fail=True)
        finally:
            ended.set()
            teller.join()
    named = rf"segments \d+ to \d+ of {re.escape(str(DATA / 'dev.src'))}"
    assert re.search(rf"{re.escape(place)}: {named}: each worker that took it died", said), said


def preloaded(folder, text):
    """Workers that first do what a text says."""
    script = folder / "preload.py"
    script.write_text(text)
    return cluster(1, preload=[str(script)])


def ends_in_one_line(said):
    """The fault is the last line, and names the worker."""
    assert re.fullmatch(r"portmert: error: .* \(on worker tcp://[\d.:]+\)", said.splitlines()[-1])
    assert said.count("portmert: error") == 1


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A worker, and the folder where it is.

    Below /proc/self/cwd each process has files of its own, as each machine has.
    """
    there = tmp_path_factory.mktemp("there")
    folder = tmp_path_factory.mktemp("preload")
    with preloaded(folder, f"import os\nos.chdir({str(there)!r})\n") as one:
        yield f"dask:{one.scheduler_address}", there


@pytest.mark.parametrize("other", [False, True])
def test_a_worker_without_the_model_refuses_to_work(tmp_path, monkeypatch, elsewhere, other):
    place, there = elsewhere
    text = (DATA / "moses.ini").read_text()
    for name in ("1.nbest.gz", "2.nbest.gz", "dev.src"):
        text = text.replace(f"\n{name}\n", f"\n{DATA / name}\n")
    (tmp_path / "moses.ini").write_text(text)
    (there / "moses.ini").unlink(missing_ok=True)
    if other:
        (there / "moses.ini").write_text(f"{text}\n# more\n")
    monkeypatch.chdir(tmp_path)
    config = Path("/proc/self/cwd/moses.ini")
    said = tune(tmp_path, place, config=config, may_fail=True)
    why = "this machine has another file there" if other else "there is no such file here"
    assert f"{config}: {why}" in said
    ends_in_one_line(said)


def test_a_worker_without_the_model_of_an_annotator_refuses_too(tmp_path, monkeypatch, elsewhere):
    place, _ = elsewhere
    shutil.copy(udpipe(), tmp_path / "model")
    (tmp_path / "text").write_text("a b c\n")
    monkeypatch.chdir(tmp_path)
    said = fault(
        "annotate", "--annotator", "udpipe", "--model", "/proc/self/cwd/model", "--in", "text",
        "--out", "out.conllu", "--annotation-cache", "cache", "--executor", place,
    )  # fmt: skip
    assert "/proc/self/cwd/model: " in said
    ends_in_one_line(said)


def test_a_worker_whose_disk_is_full_says_so(tmp_path):
    text = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
    with preloaded(tmp_path, text) as one:
        said = tune(tmp_path, f"dask:{one.scheduler_address}", may_fail=True)
    assert "moses.source" in said
    assert ": cannot write: File too large (on worker" in said
    ends_in_one_line(said)


PAIRS = generate(110, seed=2)


@pytest.mark.slow
def test_thot_is_loaded_once_and_its_bytes_are_the_same(tmp_path, started, place):
    for name in ("source", "target"):
        lines = [" ".join(getattr(pair, name)) for pair in PAIRS]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines[:100]))
        (tmp_path / f"dev.{name}").write_text("".join(f"{line}\n" for line in lines[100:]))
    options = {"train_source": tmp_path / "source", "train_target": tmp_path / "target"}
    decoder = registry.decoder("thot", {**options, "model": tmp_path / "model", "iterations": 2})
    first = decoder.read_weights()
    other = type(first)({name: (values[0] / 2 + 0.3,) for name, values in first.values.items()})

    def processes():
        from distributed import Client

        def children():
            import psutil

            names = [" ".join(one.cmdline()) for one in psutil.Process().children()]
            return os.getpid(), sum("_thot_worker" in name for name in names)

        with Client(started.scheduler_address, set_as_default=False) as client:
            return dict(client.run(children).values())

    killed = threading.Thread(target=kill_one_at_work, args=(started,))
    killed.start()
    with opened(place):
        for weights, name in ((first, "a"), (other, "b")):
            given = {
                "source": tmp_path / "dev.source", "size": 20, "workdir": tmp_path / "work",
            }  # fmt: skip
            decoder.decode(weights, **given, out=tmp_path / f"{name}.there")
            decoder.decode(weights, **given, out=tmp_path / f"{name}.here")
            there, here = ((tmp_path / f"{name}.{end}").read_bytes() for end in ("there", "here"))
            assert there == here
    killed.join(100)
    assert not killed.is_alive()
    assert max(processes().values()) == 1  # under the second weights too
