"""What --executor and the table [executor] may say."""

import os
import subprocess
import sys

import pytest

from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, PortmertError, ProgramError, StateError
from portmert.tuner.base.threads import team
from portmert.tuner.executors.opening import Workplace, opened
from tests.support.clusters import NEEDS_DASK, PROGRAMS, cluster
from tests.support.places import ROOT


def test_places_that_are_understood(tmp_path):
    assert Workplace.parse("local").is_local
    assert Workplace.parse("dask:tcp://host:8786").address == "tcp://host:8786"
    assert Workplace.parse("dask:scheduler.json").address == "scheduler.json"
    slurm = Workplace.parse("dask-slurm:20")
    assert (slurm.kind, slurm.jobs, slurm.options) == ("slurm", 20, {})
    file = tmp_path / "cluster.toml"
    file.write_text('[executor]\nname = "dask-sge:3"\ncores = 8\nmemory = "16GB"\n')
    sge = Workplace.parse(str(file))
    assert (sge.kind, sge.jobs, sge.options) == ("sge", 3, {"cores": 8, "memory": "16GB"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("loca", "did you mean 'local'"),
        ("local:3", "[executor]; --threads sets how many tasks run at once on this"),
        ("dask", "expected local, dask:ADDRESS"),
        ("dask:", "[executor]; known: htcondor, lsf, moab, oar, pbs, sge, slurm"),
        ("dask-foo:1", "[executor]; known: htcondor, lsf, moab, oar, pbs, sge, slurm"),
        ("dask-slum:3", "did you mean 'slurm'"),
        ("dask-slurm", "how many jobs? As dask-slurm:20"),
        ("dask-slurm:0", "how many jobs"),
        ("dask-slurm:many", "how many jobs"),
        ("absent.toml", "absent.toml: No such file"),
        ("dask:tcp://", "'tcp://' is no address of a scheduler; expected tcp://HOST:PORT"),
        ("dask:tcp://host", "expected tcp://HOST:PORT"),
        ("dask:tcp://:8786", "expected tcp://HOST:PORT"),
        ("dask:tcp://host:many", "expected tcp://HOST:PORT"),
        ("dask:tcp://host:99999", "expected tcp://HOST:PORT"),
        ("dask:tcp://host:8786/x", "expected tcp://HOST:PORT"),
        ("dask:tcp://one two:8786", "expected tcp://HOST:PORT"),
        *(
            (f"dask:{scheme}://host:8786", "expected tcp://HOST:PORT or tls://HOST:PORT")
            for scheme in ("http", "inproc", "ucx", "ws", "wss")
        ),
    ],
)
def test_other_places_are_one_line(given, message):
    with pytest.raises(PortmertError) as fault:
        Workplace.parse(given)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no table [executor]"),
        ("executor = 3", "has no table [executor]"),
        (
            "[executor]",
            "name must be given, expected one of local, dask:ADDRESS, dask:FILE.json, ",
        ),
        (
            "[executor]\nname = 3",
            "name is 3, expected one of local, dask:ADDRESS, dask:FILE.json, ",
        ),
        ("[executor]\nname = []", "name is [], expected one of local, dask:ADDRESS, dask:FILE"),
        ('[executor]\nname = "t6.toml"', "name is 't6.toml', expected one of local, dask:ADDRESS"),
        ('[executor]\nname = "local"\ncores = 3', "executor 'local' has no option 'cores'"),
        ("[executor", "is not TOML"),
    ],
)
def test_other_tables_are_one_line(tmp_path, text, message):
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as fault:
        Workplace.parse(str(file))
    assert message in str(fault.value)


def test_this_machine_is_threads():
    with using(threads=3), opened("local"):
        assert not team().is_remote
        assert team().threads == 3


@pytest.mark.parametrize(
    ("place", "absent"),
    [("dask:tcp://127.0.0.1:1", "distributed"), ("dask-slurm:2", "dask_jobqueue")],
)
def test_who_lacks_the_extra_is_told_what_to_install(monkeypatch, place, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    with (
        pytest.raises(ConfigError, match=r"pip install 'portmert\[dask\]'"),
        opened(place),
    ):
        pass


@NEEDS_DASK
def test_a_file_of_a_scheduler_that_is_absent(tmp_path):
    place = f"dask:{tmp_path}/scheduler.json"
    with (
        pytest.raises(StateError, match=r"no such file, and no address as tcp://"),
        opened(place),
    ):
        pass


@NEEDS_DASK
@pytest.mark.parametrize(
    "content", ["", "{}", "[]", "junk", '{"address": 3}', '{"address": "x"}', "\udcff"]
)
def test_a_file_that_no_scheduler_wrote_is_one_line(tmp_path, content):
    file = tmp_path / "scheduler.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with (
        pytest.raises(PortmertError) as fault,
        opened(f"dask:{file}"),
    ):
        pass
    assert str(fault.value).startswith(f"{file}: ")
    assert "\n" not in str(fault.value)


@NEEDS_DASK
@pytest.mark.parametrize(("host", "warns"), [("tcp://0.0.0.0", True), ("tcp://127.0.0.1", False)])
def test_an_open_scheduler_is_warned_of(host, warns, caplog):
    with (
        cluster(0, host=host) as none,
        opened(f"dask:{none.scheduler_address}"),
    ):
        pass
    assert ("listens on all interfaces" in caplog.text) == warns


@NEEDS_DASK
def test_tls_without_a_certificate_is_one_line():
    with (
        pytest.raises(ConfigError, match="TLS needs a certificate; name it in Dask's config"),
        opened("dask:tls://127.0.0.1:1"),
    ):
        pass


@NEEDS_DASK
def test_tls_without_its_package_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    file = tmp_path / "x.toml"
    file.write_text('[executor]\nname = "dask-slurm:1"\nprotocol = "tls://"\n')
    with (
        pytest.raises(ConfigError, match=r"TLS needs the package cryptography .*pip install"),
        opened(str(file)),
    ):
        pass


@NEEDS_DASK
def test_a_queueing_system_has_no_other_protocols(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text('[executor]\nname = "dask-slurm:1"\nprotocol = "ucx://"\n')
    with (
        pytest.raises(ConfigError, match="protocol 'ucx': expected tcp or tls"),
        opened(str(file)),
    ):
        pass


@NEEDS_DASK
def test_a_machine_without_the_queueing_system(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with (
        pytest.raises(ProgramError, match="no program sbatch on PATH"),
        opened("dask-slurm:2"),
    ):
        pass


@NEEDS_DASK
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # half a cluster
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("cores = 2", "no SLURMCluster: "),
        ('cores = 1\nmemory = "1GB"\nbananas = 3', "bananas"),
        (
            'cores = 1\nmemory = "1GB"\ninterface = "nosuch0"',
            "'nosuch0' is not a valid network int",
        ),
    ],
)
def test_options_that_a_queueing_system_lacks(tmp_path, monkeypatch, options, message):
    monkeypatch.setenv("PATH", str(PROGRAMS))
    file = tmp_path / "x.toml"
    file.write_text(f'[executor]\nname = "dask-slurm:1"\n{options}\n')
    with (
        pytest.raises(ConfigError, match=message),
        opened(str(file)),
    ):
        pass


@NEEDS_DASK
@pytest.mark.parametrize("content", [b"distributed: [", b"[1, 2]", b"\xff\xfe"])
@pytest.mark.parametrize("executor", ["dask:tcp://127.0.0.1:1", "dask-slurm:1"])
def test_a_damaged_file_of_dask_is_one_line(tmp_path, content, executor):
    (tmp_path / "dask.yaml").write_bytes(content)
    (tmp_path / "list").write_text("0 ||| a ||| F= -1 ||| -1\n")
    (tmp_path / "ref").write_text("a\n")
    done = subprocess.run(
        [sys.executable, "-m", "portmert", "optimize", "--nbest", "list", "--ref", "ref",
         "--metric", "bleu", "--out-dir", "run", "--replicas", "2", "--executor", executor],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DASK_CONFIG": str(tmp_path / "dask.yaml")},
    )  # fmt: skip
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("portmert: error: a Dask cluster: importing d")
    assert line.endswith("; mend Dask's configuration (DASK_CONFIG, ~/.config/dask)")


INTERRUPTED = """
import os, signal, sys
from portmert.tuner.executors.opening import opened

os.environ["PATH"] = ""
before = signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with opened("dask-slurm:2"):
        pass
except Exception as error:
    print(error)
print(sys.modules["dask_jobqueue"].__name__, signal.getsignal(signal.SIGINT).__name__)
"""


@NEEDS_DASK
def test_an_interrupt_is_one_also_with_a_queueing_system():
    """To import dask_jobqueue makes an interrupt the end of the program, with status 0."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "no program sbatch on PATH" in done.stdout
    assert done.stdout.endswith("dask_jobqueue default_int_handler\n")
