"""Commands on a Dask cluster: real worker processes, killed and all."""

import contextlib
import json
import os
import signal
import socketserver
import ssl
import subprocess
import sys
import threading
import time

import pytest

from portmert.extensions.cluster.cluster import Cluster
from portmert.extensions.parsers.udpipe import Udpipe
from portmert.tuner.annotation.annotating import annotated_shard
from portmert.tuner.base.context import current
from portmert.tuner.base.errors import AnnotatorError, InputError, PortmertError, StateError
from portmert.tuner.base.threads import team
from portmert.tuner.base.warn import collected_warnings, notices_to
from portmert.tuner.executors.opening import opened
from portmert.tuner.texts.annotator import AnnotationRequest
from tests.support.annotation_models import SENTENCES, udpipe
from tests.support.cli import fault, run
from tests.support.clusters import NEEDS_DASK, PROGRAMS, cluster, files, kill_one_at_work
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import LITTLE

pytestmark = NEEDS_DASK

DATA = INVENTED / "recorded"
LISTS = (
    *("--nbest", DATA / "1.nbest.gz", "--nbest", DATA / "2.nbest.gz", "--ref", DATA / "dev.tgt"),
    *("--weights", DATA / "start.json", "--metric", "bleu"),
)
QUICK = "mert:searches_per_feature=5,restarts=1"
LITTLE_BAGGED = "bagged:" + ",".join(setting.removeprefix("optimizer.") for setting in LITTLE)
LINES = [" ".join((*words, str(n))) for n in range(8) for words in SENTENCES]


def crossval(folder, executor):
    run("crossval", *LISTS, "--optimizer", QUICK, "--splits", 3, "--seeds", 2,
        "--out-dir", folder, "--executor", executor)  # fmt: skip
    return files(folder)


def replicas(folder, executor):
    run("optimize", *LISTS, "--optimizer", "mert:searches_per_feature=20,restarts=2",
        "--replicas", 3,
        "--test-nbest", DATA / "1.nbest.gz", "--test-ref", DATA / "dev.tgt",
        "--out-dir", folder, "--executor", executor)  # fmt: skip
    return files(folder)


def samples(folder, executor):
    """Restarts beyond one thread, then bootstrap samples."""
    folder.mkdir()
    run("optimize", *LISTS, "--optimizer", "mert:searches_per_feature=20,restarts=3",
        "--threads", 1,
        "--bootstrap", 3, "--out", folder / "weights.json", "--json", folder / "found.json",
        "--executor", executor)  # fmt: skip
    found = json.loads((folder / "found.json").read_text())
    assert found.pop("seconds")["search"] > 0
    return found, (folder / "weights.json").read_bytes()


def annotate(folder, executor):
    folder.mkdir()
    (folder / "text").write_text("".join(f"{line}\n" for line in LINES))
    run("annotate", "--annotator", "udpipe", "--model", os.path.relpath(udpipe()), "--in",
        folder / "text", "--out", folder / "out.conllu", "--annotation-cache",
        folder.with_suffix(".cache"), "--executor", executor)  # fmt: skip
    return files(folder)


def compare(folder, executor):
    folder.mkdir()
    texts = INVENTED / "compare"
    lines = (texts / "port.txt").read_text().splitlines()
    (folder / "other.txt").write_text("".join(f"{line}\n" for line in [*lines[1:], lines[0]]))
    run("compare", f"untuned={texts / 'untuned.txt'}",
        f"port={texts / 'port.txt'},{folder / 'other.txt'}", "--ref", texts / "test.ref",
        "--metric", "bleu", "--metric", "hwcm", "--annotator", f"udpipe:model={udpipe()}",
        "--annotation-cache", folder / "cache", "--no-timing", "--samples", 3000,
        "--json", folder / "found.json", "--executor", executor)  # fmt: skip
    return (folder / "found.json").read_bytes()


COMMANDS = [crossval, replicas, samples, annotate, compare]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_bytes_are_those_of_one_machine_though_a_worker_is_killed(tmp_path, command):
    local = command(tmp_path / "local", "local")
    with cluster(2) as own:  # not the shared one: its nanny may be slow to replace the worker
        killed = threading.Thread(target=kill_one_at_work, args=(own,))
        killed.start()
        assert command(tmp_path / "cluster", f"dask:{own.scheduler_address}") == local
        killed.join(100)
    assert not killed.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_no_number_of_workers_changes_a_byte(tmp_path, workers):
    with cluster(workers) as some:
        for command in COMMANDS:
            local = command(tmp_path / f"local-{command.__name__}", "local")
            place = f"dask:{some.scheduler_address}"
            assert command(tmp_path / command.__name__, place) == local


def test_metrics_of_syntax_are_annotated_by_workers_before_they_search(tmp_path, place):
    def found(name, executor):
        result = run(
            "crossval", *LISTS[:8], "--metric", "hwcm", "--annotator", f"udpipe:model={udpipe()}",
            "--annotation-cache", tmp_path / name, "--optimizer", QUICK, "--splits", 2,
            "--executor", executor,
        )  # fmt: skip
        return result.stdout, result.stderr

    local, remote = found("local", "local"), found("remote", place)
    assert local[0] == remote[0]
    assert "hypotheses are annotated here before workers search" in remote[1]


def fails(folder, number):
    """Count how often it was tried."""
    if number == 1:
        (folder / f"{time.monotonic_ns()}.tried").touch()
        raise InputError("line 7: no such thing")
    return number


def test_a_task_that_fails_three_times_ends_the_run_with_its_own_message(tmp_path, place):
    done = {}
    tasks = [(tmp_path, number) for number in range(3)]
    with opened(place):
        with pytest.raises(InputError, match=r"line 7: no such thing \(on worker tcp://") as said:
            done.update(team().run(fails, tasks))
        assert len(list(tmp_path.glob("*.tried"))) == 3
        assert "\n" not in str(said.value)
        with pytest.raises(PortmertError, match="failed 3 times: ZeroDivisionError: "):
            list(team().run(divmod, [(1, 0)]))
        assert dict(team().run(divmod, [(7, 2)])) == {0: (3, 1)}  # goes on to work


def waits(folder):
    (folder / "begun").touch()
    for _ in range(2400):
        time.sleep(0.05)
        try:
            current().progress("waiting", 0, 0)
        except Exception:
            (folder / "dropped").touch()
            raise


def test_tasks_end_that_nobody_waits_for(tmp_path, place):
    with opened(place):
        running = team().run(waits, [(tmp_path,), (tmp_path,)])

        def interrupt():
            appears(tmp_path / "begun")
            os.kill(os.getpid(), signal.SIGINT)

        # A shell that starts the tests in the background has them ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=interrupt).start()
        try:
            with pytest.raises(KeyboardInterrupt):
                next(running)
        finally:
            signal.signal(signal.SIGINT, before)
    appears(tmp_path / "dropped")


def appears(path, seconds=600):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


def test_another_version_at_a_worker_is_refused(tmp_path):
    from distributed import Client

    old = tmp_path / "old.py"
    old.write_text("import portmert\nportmert.__version__ = '0.0.1'\n")
    with cluster(1, preload=[str(old)]) as other:
        place = f"dask:{other.scheduler_address}"
        said = fault("crossval", *LISTS, "--splits", 1, "--executor", place)
        assert "has portmert 0.0.1, here it is " in said
        assert said.rstrip().endswith("install the same on all machines")
        # One that came later is found out by its first task.
        with (
            Client(other.scheduler_address, set_as_default=False) as client,
            pytest.raises(PortmertError, match=r"has portmert 0\.0\.1, here it is "),
        ):
            list(Cluster(client, place).run(abs, [(1,)]))


def test_that_no_worker_is_left_is_said_once():
    said = []
    with (
        notices_to(said.append),
        cluster(1) as one,
        collected_warnings() as warned,
        opened(f"dask:{one.scheduler_address}"),
    ):
        team().check_alive()
        one.scale(0)
        end = time.monotonic() + 600
        while not warned and time.monotonic() < end:
            time.sleep(0.2)
            team().check_alive()
        team().check_alive()
    assert [line.split(": ")[1] for line in (*said, *warned)] == [
        "1 worker, 1 task at once", "no workers now; tasks wait for them",
    ]  # fmt: skip


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr("portmert.extensions.cluster.cluster._CONNECT", "1s")
    said = fault("crossval", *LISTS, "--splits", 1, "--executor", "dask:tcp://127.0.0.1:9")
    assert "dask:tcp://127.0.0.1:9: no scheduler answers there: nothing listens (Conn" in said


def refusal(place):
    """Return the one line that says why a place is not opened."""
    with pytest.raises(StateError) as said, opened(place):
        pass
    assert "\n" not in str(said.value)
    return str(said.value)


@pytest.mark.parametrize(
    ("sent", "times"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", 1),
        (b"\0" * 65536, 10**9),
        (b"\xff" * 8000, 1),
        (b"\x10" + b"\0" * 7 + b"\x01" + b"\0" * 15, 1),
        (b"", 1),
    ],
    ids=["pages", "zeros", "ones", "message", "nothing"],
)
def test_a_server_of_something_else_is_no_scheduler(sent, times):
    """Dask takes what comes for lengths and messages, and ends in errors of any kind."""

    class Sends(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                for _ in range(times):
                    self.request.sendall(sent)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sends) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"dask:tcp://127.0.0.1:{server.server_address[1]}"
        said = fault("crossval", *LISTS, "--splits", 1, "--executor", place)
        server.shutdown()
    [line] = said.splitlines()
    assert f"{place}: another server answers there, no scheduler; give the scheduler's" in line


def test_a_worker_is_no_scheduler():
    with cluster(1) as one:
        place = f"dask:{one.workers[0].worker_address}"
        assert f"{place}: another server answers there, no scheduler; give" in refusal(place)


def test_a_scheduler_that_takes_no_client_is_told(monkeypatch):
    with cluster(0) as none, monkeypatch.context() as patched:
        patched.setattr("distributed.Client", lambda *_, **__: {}["a\nb"])
        place = f"dask:{none.scheduler_address}"
        assert refusal(place) == f"{place}: the scheduler takes no client: KeyError: 'a\\nb'"


def test_tls_of_a_server_without_it_is_told(monkeypatch):
    known = {"ssl_context": ssl.create_default_context()}
    monkeypatch.setattr("distributed.Security.get_connection_args", lambda *_: known)
    with socketserver.TCPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"dask:tls://127.0.0.1:{server.server_address[1]}"
        said = refusal(place)
        server.shutdown()
    assert f"{place}: no scheduler with TLS answers there, or it and Dask's" in said


class Answers(socketserver.BaseRequestHandler):
    def handle(self):
        if self.request.recv(1000):
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("host", ["nosuchhost.invalid", "a..b"])
def test_a_host_that_does_not_exist_is_told(monkeypatch, host):
    monkeypatch.setattr("portmert.extensions.cluster.cluster._CONNECT", "1s")
    place = f"dask:tcp://{host}:8786"
    assert refusal(place) == f"{place}: no host '{host}' is known here; check the name"


def test_ctrl_c_while_a_scheduler_is_greeted_passes(monkeypatch):
    monkeypatch.setattr("distributed.utils.LoopRunner.run_sync", interrupt)
    with pytest.raises(KeyboardInterrupt), opened("dask:tcp://[::1]:9"):
        pass


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_server_that_waits_for_more_is_no_scheduler(monkeypatch):
    """As Python's http.server, which reads on until a line ends: Dask's client never gives up."""
    monkeypatch.setattr("portmert.extensions.cluster.cluster._CONNECT", "1s")
    with socketserver.TCPServer(("127.0.0.1", 0), Reads) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"dask:tcp://127.0.0.1:{server.server_address[1]}"
        said = fault("crossval", *LISTS, "--splits", 1, "--executor", place)
        server.shutdown()
    assert f"{place}: no scheduler answers there: what listens there does not speak as one" in said


class Reads(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.settimeout(20)
        with contextlib.suppress(OSError):
            while self.request.recv(1000):
                pass


@pytest.mark.slow
def test_a_scheduler_that_is_killed_ends_the_command_which_can_be_resumed(tmp_path):
    """Also a file that names the scheduler, as `dask scheduler` writes it."""
    name = tmp_path / "scheduler.json"
    local = crossval(tmp_path / "local", "local")
    folder = tmp_path / "cluster"

    def dask(program, *options):
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{program}", *map(str, options)],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    scheduler = dask("scheduler", "--port", 0, "--scheduler-file", name, "--no-dashboard")
    appears(name)
    worker = dask("worker", "--scheduler-file", name, "--nthreads", 1, "--no-dashboard")

    def kill_after_a_cell():
        while not any(folder.glob("cells/*.json")):
            time.sleep(0.005)
        scheduler.kill()

    try:
        threading.Thread(target=kill_after_a_cell).start()
        said = fault("crossval", *LISTS, "--optimizer", QUICK, "--splits", 3, "--seeds", 2,
                     "--out-dir", folder, "--executor", f"dask:{name}")  # fmt: skip
        assert "the scheduler is gone" in said
        assert "start the same command again" in said
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait()
    kept = files(folder)
    assert kept
    assert kept.items() < local.items()
    assert crossval(folder, "local") == local


@pytest.mark.slow
def test_jobs_of_a_queueing_system_do_the_work(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    file = tmp_path / "cluster.toml"
    options = {"cores": 1, "memory": "1GB", "interface": "lo"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    file.write_text("\n".join(["[executor]", 'name = "dask-slurm:2"', *lines]))
    assert crossval(tmp_path / "jobs", file) == crossval(tmp_path / "local", "local")
    file.write_text(file.read_text() + '\nqueue = "closed"\n')
    said = fault("crossval", *LISTS, "--splits", 1, "--executor", file)
    assert "dask-slurm:2: sbatch failed: " in said
    assert "invalid partition specified: closed" in said


def test_a_model_that_is_another_one_at_a_worker():
    tagger = Udpipe(udpipe())
    request = AnnotationRequest(frozenset({"tags"}))
    answers = annotated_shard(tagger, tagger.fingerprint(), [SENTENCES[0]], request)
    assert len(answers[0].tags) == len(SENTENCES[0])
    with pytest.raises(AnnotatorError, match="is not the same on all machines"):
        annotated_shard(tagger, "udpipe 1.2", [SENTENCES[0]], request)


@pytest.mark.parametrize("name", [LITTLE_BAGGED, "pro"], ids=["bagged", "pro"])
def test_restarts_of_searches_with_slopes_travel_too(tmp_path, place, name):
    def found(executor):
        options = ("--optimizer", name, "--restarts", 2, "--threads", 1, "--prior", 0.1)
        run("optimize", *LISTS, *options, "--out", tmp_path / "w", "--executor", executor)
        return (tmp_path / "w").read_bytes()

    assert found(place) == found("local")


def test_searches_that_workers_cannot_help_with_stay_here(tmp_path, place):
    def said(*options):
        return run("optimize", *LISTS[:8], "--out", tmp_path / "w", "--executor", place,
                   *options).stderr  # fmt: skip

    searched = said("--metric", "bleu", "--optimizer", LITTLE_BAGGED)
    assert "workers have nothing to do: " in searched
    parsed = said(
        "--metric", "hwcm", "--annotator", f"udpipe:model={udpipe()}", "--annotation-cache",
        tmp_path / "cache", "--optimizer", QUICK, "--bootstrap", 2,
    )  # fmt: skip
    assert "bootstrap samples are searched on this machine: they ask for " in parsed
    assert "nothing to do" not in parsed
